"""The summary of a class whose model has none of its own, learned from its members: the one place where that happens.

An anomaly is measured against summaries, in numerator and denominator alike, so that the object's noise cancels in the Bayes
factor whatever the class model is. A population is its own summary on a grid, a process at any points
(`badac.classes.model.summary_of`). For any other class model (the exact instances, a template, one of your own) a
population, or a process, is learned from the members.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from badac.anomalies.model import Known
from badac.classes.gp import GaussianProcess
from badac.classes.model import ClassModel, summary_of
from badac.classes.population.population import Population
from badac.data.measurements import Measurements
from badac.latent.class_summary import ClassSummary
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.mixture import Mixture, deconvolve, start_mixture
from badac.latent.process_summary import ProcessSummary
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.model import noise_of_class
from badac.noise.widths import stand_in
from badac.nuisance.model import active
from badac.threads import each_apart

# A component needs so many members to be known, and every hypothesis visits every component: see benchmarks/anomalies.py.
_MEMBERS_PER_COMPONENT = 20
_MOST_COMPONENTS = 16


def class_summaries(
    known: Known, rng: np.random.Generator, *, learn: bool = False
) -> tuple[ClassSummary, ...]:
    """Return the summary of every known class on the grid of the training objects; all are learned if `learn`."""

    def of_class(index: int, own: np.random.Generator) -> ClassSummary:
        model = None if learn else known.models[index]
        found = None if model is None else _of_model_alone(known, index, model)
        if found is not None:
            return found
        return class_summary(known, index, model, known.training[known.label == index], own)

    return tuple(each_apart(of_class, len(known.models), rng))


def _of_model_alone(known: Known, index: int, model: ClassModel) -> ClassSummary | None:
    """What `class_summary` returns where no member needs to be looked at, nor copied; None where some need to."""
    noise, own = noise_of_class(known.noise, index), summary_of(model)
    if own is None or own.form != "on a grid" or own.density.of_members:
        return None
    return None if kind_of(noise) is NoiseKind.OTHER or active(model) else replace(own, noise=noise)


def class_summary(
    known: Known, index: int, model: ClassModel | None, members: Measurements, rng: np.random.Generator
) -> ClassSummary:
    """Return the summary of class `index` on a grid: that of its model, or one learned from the members.

    Objects of a class with a nuisance may come with one each: the summary is learned from members spoiled at random. Of one
    curve per member only a small mixture is kept. Noise of a form that only its matches know is described by the mixture of
    widths that comes closest (`badac.noise.widths`).
    """
    noise = stand_in(noise_of_class(known.noise, index), members)
    for wrapper in () if model is None else active(model):
        members = wrapper.spoiled(members, rng)
    own = summary_of(model)
    if own is None or own.form != "on a grid":
        # Nobody asks it what its members would say left out.
        own = Population().described(members, noise, rng, known.scales).summary()
        assert own is not None
    summary = replace(own, noise=noise)
    if not summary.density.of_members:
        return summary
    return replace(summary, density=few_components(summary, members, rng))


def few_components(summary: ClassSummary, members: Measurements, rng: np.random.Generator) -> Mixture:
    """Return a small mixture for a class whose latent density is one curve per member: every hypothesis visits them all."""
    count = min(_MOST_COMPONENTS, members.n_objects // _MEMBERS_PER_COMPONENT)
    latent = latent_likelihood(members, summary.factor, summary.noise)
    mixture = Mixture.standard(summary.factor.rank)
    if count > 1:
        mixture = deconvolve(latent, start_mixture(latent, count, rng))
    return mixture.with_one_more(members.n_objects)


def process_summaries(known: Known, rng: np.random.Generator) -> tuple[ProcessSummary, ...]:
    """Return the summary of every known class at any points."""
    return tuple(process_summary(known, index, model, rng) for index, model in enumerate(known.models))


def process_summary(known: Known, index: int, model: ClassModel, rng: np.random.Generator) -> ProcessSummary:
    """Return the summary of class `index` at any points: that of its model, or one learned from the members."""
    own = summary_of(model)
    if own is None or own.form != "at any points":
        members, noise = known.training[known.label == index], noise_of_class(known.noise, index)
        own = GaussianProcess().fit(members, noise, rng, known.scales).summary()
        assert own is not None
    return own

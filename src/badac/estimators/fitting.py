"""Learning all classes, each from its own members, and how far their evidence can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import Known
from badac.classes import (
    Auto,
    Candidate,
    ClassModel,
    Instances,
    IrregularPopulation,
    Population,
    Surroundings,
)
from badac.data.measurements import Measurements
from badac.evidence import training_log_evidence
from badac.noise import Noise, noise_of_class
from badac.nuisance import Nuisance, innermost
from badac.trust.coarsening import MOST_OBJECTS, Coarsening, learn_coarsening, relative_noise
from badac.trust.missingness import Missingness, learn_missingness
from badac.trust.opinions import Opinions, learn_opinions

Fitted = tuple[ClassModel, tuple[Candidate, ...]]


def fit_classes(
    class_models: Sequence[ClassModel],
    objects: Measurements,
    index: npt.NDArray[np.int64],
    labels: list[Any],
    noise: Noise,
    rng: np.random.Generator,
    surroundings: Surroundings,
    kept: Mapping[Any, Fitted],
    nuisance: Sequence[Nuisance] = (),
) -> list[Fitted]:
    """Fit each class with its model; classes in `kept` have no new members and stay as they are.

    Wrappers in `nuisance` come around the fitted model, the first one innermost.

    Returns
    -------
    list of (fitted model, what was tried)
        Of an `Auto` model the one that it chose.
    """
    fitted: list[Fitted] = []
    for number, label in enumerate(labels):
        if label in kept:
            fitted.append(kept[label])
            continue
        class_model = class_models[number]
        if objects.own_points and isinstance(class_model, Auto | Population):
            # The same model, with curves in place of columns.
            class_model = IrregularPopulation()
        members, own_noise = objects[index == number], noise_of_class(noise, number)
        learned_from = members
        for wrapper in nuisance:
            learned_from = wrapper.prepared(learned_from, own_noise)
        model = class_model.fit(learned_from, own_noise, rng, surroundings)
        report: tuple[Candidate, ...] = ()
        if isinstance(model, Auto) and model.chosen is not None:
            report = model.report
            model = model.chosen
        for wrapper in nuisance:
            model = wrapper.wrap(model, members, learned_from)
        fitted.append((model, report))
    return fitted


@dataclass(frozen=True, eq=False)
class Trust:
    """How far the evidence can be trusted, what gaps say, and what other models say where they are heard."""

    coarsening: Coarsening
    missingness: Missingness
    opinions: Opinions | None


def trust(
    known: Known,
    rng: np.random.Generator,
    n_threads: int,
    *,
    use_gaps: bool = True,
    ask_others: bool = False,
) -> Trust:
    """Learn how far the evidence can be trusted from training objects left out of their own class.

    The exact instances are the paper's equation and stay as they are; one class alone has nothing to be confused with.
    """
    exact = all(isinstance(innermost(model), Instances) for model in known.models)
    if exact or len(known.models) < 2:
        return Trust(Coarsening(1.0, 1.0, np.inf), Missingness.ignored(), None)
    rows = np.arange(known.training.n_objects)
    if len(rows) > MOST_OBJECTS:
        rows = np.sort(rng.choice(rows, MOST_OBJECTS, replace=False))
    evidence = training_log_evidence(
        known.models, known.training, known.label, rows=rows, n_threads=n_threads
    )
    noise = (
        relative_noise(known.training[rows], known.surroundings.scale) if known.training.has_errors else None
    )
    coarsening = learn_coarsening(evidence, known.label[rows], known.log_prior, noise)
    missingness = Missingness.ignored()
    if use_gaps and not known.training.own_points:
        tempered = coarsening.apply(evidence, noise)
        missingness = learn_missingness(known.training.observed, known.label, rows, tempered, known.log_prior)
    opinions = None
    if ask_others:
        opinions = learn_opinions(
            known.training,
            known.label,
            known.models,
            known.noise,
            known.surroundings,
            coarsening,
            missingness,
            # A generator of its own: whether others are asked must not change what is drawn later.
            rng.spawn(1)[0],
            n_threads=n_threads,
        )
    return Trust(coarsening, missingness, opinions)

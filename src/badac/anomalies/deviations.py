"""The default anomaly: three hypotheses with the object's own noise, averaged with stated priors.

    P(d | anomaly) = sum_h share_h P(d | hypothesis h)

    something else entirely                    0.80
    a known class plus a bump                  0.15
    a known class plus a smooth deviation      0.05

A density of the known classes alone is a poor score: the chi-square noise of all m points (a standard deviation of sqrt(m / 2)
nats) drowns an anomaly that costs ten. A hypothesis that is itself a model with the object's noise has the same noise
term, and it cancels in the Bayes factor. For that both sides must come from one family, so the score is the Bayes factor
under the description of the classes (`badac.anomalies.class_summary`) that the hypotheses use, whatever the class model:

    log P(d | anomaly) = log P(d | known, class models) + log [P(d | anomaly, descriptions) / P(d | known, descriptions)] .
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac.anomalies.bad_points import learned_bad_points
from badac.anomalies.bump import Bump
from badac.anomalies.class_summary import Described, View, describe
from badac.anomalies.hypothesis import Ground, Hypothesis
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.own_points import OwnPoints
from badac.anomalies.rare import rare_population, suspects
from badac.anomalies.sequence import coordinates
from badac.anomalies.smooth import SmoothDeviation
from badac.anomalies.something_else import SomethingElse
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.measurements import Measurements
from badac.latent.mixture import logsumexp_rows
from badac.noise.model import noise_of_class
from badac.posterior import log_total
from badac.registry import registered

_OBJECTS_PER_BLOCK = 512


@registered("anomaly", "auto")
@dataclass(frozen=True, eq=False)
class Deviations:
    """An average of hypotheses about what an anomaly is.

    Parameters
    ----------
    hypotheses : tuple of Hypothesis
    shares : tuple of float
        Prior probability of each, given that the object is an anomaly; they sum to one.

    Attributes
    ----------
    classes : tuple of Described
        After `fit`: the known classes as the hypotheses see them.
    log_prior : (k,)
        Of the known classes.
    rare : tuple of Described
    rare_log_prior : (number,)
        After `fit`: populations of rare members, and the log priors of belonging to them.
    ground : Ground
        After `fit`: what the hypotheses share.
    own : OwnPoints or None
        After `fit` on objects with points of their own: the classes at any points (`badac.anomalies.own_points`).
    """

    hypotheses: tuple[Hypothesis, ...] = (SomethingElse(), Bump(), SmoothDeviation())
    shares: tuple[float, ...] = (0.8, 0.15, 0.05)
    classes: tuple[Described, ...] = ()
    log_prior: FloatArray | None = None
    rare: tuple[Described, ...] = ()
    rare_log_prior: FloatArray | None = None
    ground: Ground | None = None
    own: OwnPoints | None = None

    def __post_init__(self) -> None:
        if (
            len(self.shares) != len(self.hypotheses)
            or abs(sum(self.shares) - 1.0) > 1e-6
            or min(self.shares) <= 0
        ):
            raise ValueError(
                f"`shares` must be one positive prior probability per hypothesis, {len(self.hypotheses)}, that sum "
                f"to 1: got {self.shares!r}."
            )

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        if known.training.own_points:
            return replace(self, own=OwnPoints.of(known, rng), log_prior=known.log_prior)
        classes = describe_all(known, known.models, rng)
        where = coordinates(known.training, rng)
        noise = None if where is None else learned_bad_points(known, classes, rng)
        if noise is not None:
            known = replace(known, noise=noise)
            classes = describe_all(known, (Population(),) * len(known.models), rng)
        ground = Ground.of(where, classes, known.scales)
        fitted = tuple(hypothesis.fit(ground) for hypothesis in self.hypotheses)
        first = replace(self, hypotheses=fitted, classes=classes, log_prior=known.log_prior, ground=ground)
        return first.with_rare_members(known, rng)

    def with_rare_members(self, known: Known, rng: np.random.Generator) -> Self:
        """Return a copy that knows the classes' rare members (`badac.anomalies.rare`)."""
        found, priors = [], []
        for index, described in enumerate(self.classes):
            rows = suspects(known, index, described)
            strange = self.log_bayes_factor(known.training[rows]) if rows.size else np.empty(0)
            rare = rare_population(known, index, described, rows, strange, rng)
            if rare is not None:
                found.append(rare[0])
                priors.append(rare[1] + known.log_prior[index])
        return replace(self, rare=tuple(found), rare_log_prior=np.array(priors))

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        assert self.log_prior is not None, "fit first"
        return log_total(log_known, self.log_prior) + self.log_bayes_factor(objects)

    def log_bayes_factor(self, objects: Measurements) -> FloatArray:
        """Return (n,): log P(d | anomaly) - log P(d | known classes), both under the descriptions."""
        return logsumexp_rows(self.by_hypothesis(objects) + np.log(self.shares))

    def by_hypothesis(self, objects: Measurements) -> FloatArray:
        """Return (n, hypotheses): the log Bayes factor of each hypothesis against all known classes."""
        if self.own is not None:
            return self.own.by_hypothesis(self.hypotheses, objects)
        out = np.empty((objects.n_objects, len(self.hypotheses)))
        for start in range(0, objects.n_objects, _OBJECTS_PER_BLOCK):
            block = slice(start, start + _OBJECTS_PER_BLOCK)
            some = objects[block]
            views = self.views(some)
            evidence = np.stack([one.log_evidence(some, views) for one in self.hypotheses], axis=1)
            anomaly = logsumexp_rows(evidence + np.log(self.shares))
            out[block] = evidence - self.log_known(some, views, anomaly)[:, None]
        return out

    def log_known(
        self, objects: Measurements, views: tuple[View, ...], log_anomaly: FloatArray
    ) -> FloatArray:
        """Return (n,): log P(d | known classes) under the descriptions, their rare members included.

        A population of a few rare members is not known well enough to make an object more normal than even odds with an
        anomaly, ``log_anomaly`` (n,): what it alone explains stays above the typical members in the ranking.
        """
        known = [view.log_prior + view.log_evidence for view in views]
        for one, prior in zip(self.rare, self._rare_priors, strict=True):
            known.append(np.minimum(prior + View(objects, one, prior).log_evidence, log_anomaly))
        return logsumexp_rows(np.stack(known, axis=1))

    @property
    def _rare_priors(self) -> list[float]:
        return [] if self.rare_log_prior is None else self.rare_log_prior.tolist()

    def views(self, objects: Measurements) -> tuple[View, ...]:
        """Return the objects as each known class sees them."""
        assert self.log_prior is not None, "fit first"
        return tuple(
            View(objects, one, float(prior)) for one, prior in zip(self.classes, self.log_prior, strict=True)
        )


def describe_all(
    known: Known, models: tuple[ClassModel, ...], rng: np.random.Generator
) -> tuple[Described, ...]:
    """Describe every known class, by its model if that has a description."""
    return tuple(
        describe(
            model,
            known.training[known.label == index],
            noise_of_class(known.noise, index),
            rng,
            known.scales,
        )
        for index, model in enumerate(models)
    )

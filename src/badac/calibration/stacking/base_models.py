"""The base learners of the stack beside the class models, and their outputs for an object.

Kinds of models that get wrong something else than the class models do: the members themselves, widened (`Widened`), every
point on its own (`Grouped`), `badac.calibration.stacking.trees`, and the gaps (`badac.calibration.missingness`). The output of
each is a log evidence per class; `badac.calibration.stacking.weights` adds them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import ClassVar

import numpy as np

from badac.calibration.coarsening import FloatArray
from badac.calibration.missingness import log_probability
from badac.calibration.stacking.all_classes import log_evidence_of_kind
from badac.calibration.stacking.samples import at_most
from badac.calibration.stacking.trees import Trees
from badac.classes.instances import Instances, widen
from badac.classes.model import ClassModel, learned_again
from badac.classes.pointwise import Pointwise
from badac.data.measurements import Measurements
from badac.evidence import GivesEvidence, log_evidence
from badac.noise.model import Noise
from badac.registry import registered
from badac.threads import each_apart
from badac.training import TrainingScales, TrainingSet

# Widths of the instances, in units of each point's spread: near the members, and far enough to join them.
WIDTHS = (0.03, 0.2)
# Where the wider ones stand among the base outputs.
AT_WIDE_INSTANCES = len(WIDTHS)
# Members of all classes together that the instances keep, so that the cost of an object is bounded.
MOST_INSTANCES = 4000
# So many groups of members tell the density of one point.
MOST_GROUPS = 48


@dataclass(frozen=True, eq=False)
class BaseOutputs:
    """What the base models say of some objects, and the stack of it.

    Attributes
    ----------
    objects : Measurements
        (n, m)
    log_evidences : (n, o, k)
        Of each base model, the class models first.
    stacked : (n, k)
        Their weighted sum, to be used in place of the log evidence.
    level : (n,)
        Noise levels.
    deviation : (n,) or None
        Log Bayes factor of the anomaly hypotheses, where strangeness asks for it.
    """

    objects: Measurements
    log_evidences: FloatArray
    stacked: FloatArray
    level: FloatArray
    deviation: FloatArray | None = None


@registered("part", version=2)
@dataclass(frozen=True, eq=False)
class BaseModels:
    """Other models of the same classes, learned from the same objects.

    Attributes
    ----------
    models : tuple of tuple of GivesEvidence
        Kinds of class models, each with one model per class.
    trees : tuple of Trees
    share : (k, m) or None
        Where gaps are a base learner: share of each class's members that were observed at each point.
    in_single : bool
        Whether `models` are asked in single precision (`badac.calibration.stacking.all_classes`): not in a file from before.
    """

    models: tuple[tuple[GivesEvidence, ...], ...]
    trees: tuple[Trees, ...]
    share: FloatArray | None
    in_single: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Of all base learners, the class models first."""
        trees = ("trees, gaps seen" if tree.sees_gaps else "trees" for tree in self.trees)
        named = zip_longest(self.models, kinds(), fillvalue="")
        beside = tuple(getattr(own[0], "name", usual) for own, usual in named if own)
        return ("class models", *beside, *trees, *(("gaps",) if self.share is not None else ()))

    def log_evidences(self, objects: Measurements, evidence: FloatArray, *, n_threads: int = 1) -> FloatArray:
        """Return (n, o, k): the output of each of `names` for objects (n, m) with `evidence` (n, k) under the class models."""
        ask = log_evidence_of_kind if self.in_single else log_evidence
        beside = (ask(own, objects, n_threads=n_threads) for own in self.models)
        outputs = [evidence, *beside]
        outputs += [trees.log_evidence(objects, n_threads=n_threads) for trees in self.trees]
        if self.share is not None:
            outputs.append(log_probability(objects.observed, self.share))
        return np.stack(outputs, axis=1)


def learn_kinds(training: TrainingSet) -> tuple[tuple[ClassModel, ...], ...]:
    """Learn each of `kinds` of class models; instances of many objects keep some."""
    few = at_most(training, MOST_INSTANCES)
    return tuple(
        tuple(learn_each([kind] * training.n_classes, few if kind.keeps_members else training))
        for kind in kinds().values()
    )


def learn_each(models: Sequence[ClassModel | Widened | Grouped], training: TrainingSet) -> list[ClassModel]:
    """Learn each class with its model."""
    noise, scales = training.noise, training.scales

    def learn(number: int, rng: np.random.Generator) -> ClassModel:
        return models[number].fit(training.members(number), noise, rng, scales)

    return each_apart(learn, len(models), training.rng)


def learn_each_again(models: Sequence[ClassModel], training: TrainingSet) -> list[ClassModel]:
    """Learn each class again from other members, its choices kept where the model can (`Refittable`)."""
    noise, scales = training.noise, training.scales

    def learn(number: int, rng: np.random.Generator) -> ClassModel:
        return learned_again(models[number], training.members(number), noise, rng, scales)

    return each_apart(learn, len(models), training.rng)


def kinds() -> dict[str, Widened | Grouped]:
    """Kinds of class models among the base learners, by name."""
    near = {f"instances, width {width:g}": Widened(width) for width in WIDTHS}
    return {**near, "pointwise": Grouped()}


@dataclass(frozen=True, eq=False)
class Widened:
    """Instances widened by a fraction of each point's spread."""

    fraction: float
    keeps_members: ClassVar[bool] = True

    def fit(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, scales: TrainingScales
    ) -> Instances:
        exact = Instances().fit(members, noise, rng, scales)
        assert exact.curves is not None
        width = self.fraction * scales.scale
        return replace(exact, curves=widen(exact.curves, width), width=width)


@dataclass(frozen=True, eq=False)
class Grouped:
    """Each point on its own, where neighbours among many members speak as one."""

    keeps_members: ClassVar[bool] = False

    def fit(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, scales: TrainingScales
    ) -> Pointwise:
        excess = max(members.n_objects / MOST_GROUPS, 1.0)
        few = members if excess == 1.0 else groups(members, MOST_GROUPS)
        # The kernel is as narrow as the number of members allows, not that of the groups.
        return Pointwise(width=Pointwise().width * excess**-0.2).fit(few, noise, rng, scales)


def groups(members: Measurements, most: int) -> Measurements:
    """Return (most, m): at each point the members in order of value, so many at a time, with their spread as error."""
    values, sigma = np.full((most, members.n_points), np.nan), np.full((most, members.n_points), np.inf)
    counts = members.observed.sum(axis=0)
    # Missing values stand last; points with as many members are divided alike.
    order = np.argsort(np.where(members.observed, members.values, np.inf), axis=0, kind="stable")
    for total in np.unique(counts[counts > 0]).tolist():
        points = np.flatnonzero(counts == total)
        rows = order[:total, points]
        number = min(most, total)
        first = np.arange(number) * total // number
        count = np.diff(first, append=total)
        own, variance = members.values[rows, points], members.sigma[rows, points] ** 2
        mean = np.add.reduceat(own, first, axis=0) / count[:, None]
        variance = variance + (own - np.repeat(mean, count, axis=0)) ** 2
        values[:number, points] = mean
        sigma[:number, points] = np.sqrt(np.add.reduceat(variance, first, axis=0) / count[:, None])
    return Measurements(values, sigma if members.has_errors else None)

"""Classes in the few columns that tell them apart, where there are many: a base learner of the stack.

    P(d | class) = P(some columns of d | class) P(the others | those)

Where the others say nothing more of the class, the last factor is the same for every class, and leaving it out leaves out
noise. In few columns a class may have any shape (`badac.classes.deconvolved`), in many only what a population can be.

Which columns: those by which trees divide the classes most, by the decrease of the Gini impurity (Breiman 2001), one to eight
of them. How many, and whether they tell more than is told already, is asked cheaply: of the members themselves in these
columns, widened, each object left out (`left_out_in`; `badac.calibration.stacking.gate` asks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from badac._kernels.trees import Nodes
from badac.calibration.coarsening import FloatArray, IntArray
from badac.classes.deconvolved import MOST_COLUMNS, DeconvolvedMixture
from badac.classes.instances import Instances, widen
from badac.data.measurements import Measurements
from badac.noise.model import Noise
from badac.registry import registered
from badac.threads import each_apart
from badac.training import TrainingScales, TrainingSet

# So many trees know the columns: an importance is then known to a fifth of itself.
_TREES = 40
# Of the members, in units of each column's spread, where columns are tried.
_WIDTH = 0.2
# Nats behind the best class: no object says more.
_FARTHEST = 30.0


@registered("part", holds={"columns": "(c,) >= 0"})
@dataclass(frozen=True, eq=False)
class InColumns:
    """A class in some of the columns.

    Attributes
    ----------
    columns : (c,)
    model : DeconvolvedMixture
        Of these columns.
    """

    columns: IntArray
    model: DeconvolvedMixture = field(default_factory=DeconvolvedMixture)

    @property
    def name(self) -> str:
        """What it is called among the base learners."""
        return f"mixture in {len(self.columns)} columns"

    def fit(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, scales: TrainingScales
    ) -> Self:
        """Learn the class from its members (n, m)."""
        own = self.model.fit(members.points(self.columns), noise, rng, scales.points(self.columns))
        return replace(self, model=own)

    def again(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, scales: TrainingScales
    ) -> Self:
        """Return the class as other members (n, m) teach it, with the sizes of its mixture kept."""
        few, own = members.points(self.columns), scales.points(self.columns)
        model = self.model.refit(few, noise, rng, own)
        return replace(self, model=self.model.fit(few, noise, rng, own) if model is None else model)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log evidence of the columns of objects (n, m)."""
        return self.model.log_evidence(objects.points(self.columns), n_threads=n_threads)


def sets_of_columns(importance: FloatArray) -> list[IntArray]:
    """Return the most important column, the two, three, ... most important ones; never all, which are asked anyway.

    >>> import numpy as np
    >>> sets_of_columns(np.array([5.0, 1.0, 4.0, 2.0]))
    [array([0]), array([0, 2]), array([0, 2, 3])]
    """
    order = np.argsort(-importance, kind="stable")
    return [np.sort(order[:size]) for size in range(1, min(MOST_COLUMNS, len(order) - 1) + 1)]


def importance(nodes: Nodes, seen: npt.NDArray[np.float32], label: IntArray, n_classes: int) -> FloatArray:
    """Return (f,): by how much questions about each number make rows (r, f) purer, summed over some trees."""
    roots = nodes.root[:_TREES]
    end = int(nodes.root[_TREES]) if len(nodes.root) > _TREES else len(nodes.question)
    count = np.zeros((end, n_classes))
    row, place = np.tile(np.arange(len(seen)), len(roots)), np.repeat(roots, len(seen))
    while len(place):
        count += np.bincount(place * n_classes + label[row], minlength=count.size).reshape(count.shape)
        inner = nodes.question[place] >= 0
        row, place = row[inner], place[inner]
        number = seen[row, nodes.question[place]]
        yes = np.where(np.isnan(number), nodes.gap_is_yes[place], number <= nodes.threshold[place])
        place = np.where(yes, nodes.yes[place], nodes.no[place]).astype(np.int64)
    total = count.sum(axis=1)
    impurity = total - (count**2).sum(axis=1) / np.maximum(total, 1.0)
    asks = np.flatnonzero(nodes.question[:end] >= 0)
    decrease = impurity[asks] - impurity[nodes.yes[asks]] - impurity[nodes.no[asks]]
    return np.bincount(nodes.question[asks], weights=decrease, minlength=seen.shape[1]).astype(np.float64)


def left_out_in(columns: IntArray, training: TrainingSet) -> FloatArray:
    """Return (n, k): log evidence of the columns under the members, widened, each object left out of its own class.

    Relative to the best class, and none impossible: the class of an only member says of it as little as one without members.
    """
    objects, scales = training.objects.points(columns), training.scales.points(columns)
    # All of them as curves, gaps filled, whatever their class.
    curves = Instances().fit(objects, training.noise, training.rng, scales).curves
    assert curves is not None
    match = training.noise.log_match(objects, widen(curves, _WIDTH * scales.scale))
    np.fill_diagonal(match, -np.inf)
    order = np.argsort(training.label, kind="stable")
    classes, first = np.unique(training.label[order], return_index=True)
    match = match[:, order]
    best = np.max(match, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        of_members = np.log(np.add.reduceat(np.exp(match - best), first, axis=1))
    others = training.counts[classes] - (training.label[:, None] == classes)
    out = np.full((len(training), training.n_classes), -np.inf)
    out[:, classes] = of_members - np.log(np.maximum(others, 1))
    best = out.max(axis=1, keepdims=True)
    return np.asarray(np.maximum(out - best, -_FARTHEST))


def learn_in(columns: IntArray, training: TrainingSet) -> tuple[InColumns, ...]:
    """Learn each class in some of the columns."""
    noise, scales = training.noise, training.scales

    def learn(number: int, rng: np.random.Generator) -> InColumns:
        return InColumns(columns).fit(training.members(number), noise, rng, scales)

    return tuple(each_apart(learn, training.n_classes, training.rng))


def learn_in_again(models: Sequence[InColumns], training: TrainingSet) -> list[InColumns]:
    """Learn each class again from other members, in the same columns."""
    noise, scales = training.noise, training.scales

    def learn(number: int, rng: np.random.Generator) -> InColumns:
        return models[number].again(training.members(number), noise, rng, scales)

    return each_apart(learn, len(models), training.rng)

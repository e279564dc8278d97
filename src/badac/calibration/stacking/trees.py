"""Trees: what many random questions about single points say of the class.

    P_trees(class | d) = mean over trees of the share of the class in the leaf that the object falls into

A tree asks whether one number is above a threshold, again and again; it needs no shape of a class at all, and tells classes
that no density describes. It is easily misled by noise, so it is asked about objects seen through the noise as well: the
numbers are the object's own values and its reconstruction under one population of all training objects, whatever their class,
which fills gaps and draws noisy points towards what curves look like. Trees are grown on training objects as they are and on
copies with known noise added, so that a leaf knows how far to trust a noisy object. Error bars themselves are no question:
they are no clue to the class.

The gaps of an object are seen (a missing value goes its own way at a question) or hidden (filled by the reconstruction).
Extremely randomised trees: Geurts, Ernst & Wehenkel 2006. Not a class model, but one of the base learners of
`badac.calibration.stacking.ensemble`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac import _kernels
from badac._kernels.trees import Growth, Nodes
from badac.cached import cached_property
from badac.calibration.coarsening import FloatArray, IntArray
from badac.classes.population.population import Population
from badac.data.added_noise import add_noise
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.registry import registered
from badac.training import TrainingScales, TrainingSet

BoolArray = npt.NDArray[np.bool_]

# Trees that are grown, each from so large a share of every class: an object was not seen by 32 of them, which tell the weights.
# Those that are kept for new objects: not many more than tell the weights, since more of them are surer in noise. Half of the
# objects and 96 trees lose 0.006 nats an object on the stars of `benchmarks/real.py` (seeds 100 and 101 of its random splits).
N_TREES, _SHARE, N_KEPT = 160, 0.8, 64
# Trees of each kind that tell whether gaps should be seen: ten of them had not seen an object, and both kinds are as few.
TO_CHOOSE_WITH = 48
# Objects in a leaf, their noisy copies counted.
_LEAST_IN_LEAF = 2
# Copies of each object, the object itself counted, and so many rows in all if there are many objects.
_COPIES, _ROWS = 6, 10_000
# Copies in a single tree: the object and two others of the six. All six in every tree, and three in a leaf, take twice as long
# and tell left-out objects no better (log-loss of stars .716 against .683, X-ray sources .236 / .229, asteroids .574 / .558,
# supernovae .377 / .381, digits .661 / .693; with noise of a spread added 1.462 / 1.469, .445 / .455, .879 / .881, .442 / .445,
# 1.027 / 1.050: benchmarks/default.py, seed 500).
_COPIES_PER_TREE = 3
# Rows that one tree is grown from: what a tree takes is bounded, and all trees together see every object.
_ROWS_PER_TREE = 20_000
# Bytes that the shares of the classes in all leaves may take: of a thousand classes leaves are larger (`least_in_leaf`).
_MOST_BYTES = 1_000_000_000


@registered(
    "part",
    holds={
        "root": "(t,) < q",
        "question": "(q,)",
        "threshold": "(q,)",
        "yes": "(q,) >= 0",
        "no": "(q,) >= 0",
        "gap_is_yes": "(q,)",
        "share": "(l, k) >= 0",
        "log_prior": "(k,)",
    },
)
@dataclass(frozen=True, eq=False)
class Trees:
    """Randomised trees, as arrays of their nodes.

    Attributes
    ----------
    blind : Population
        Of all training objects, which sees through the noise.
    scales : TrainingScales
        Values are asked for in units of each point's spread.
    sees_gaps : bool
    root : (t,)
        First node of each tree.
    question : (q,)
        Which number is asked for at each node; -1 at leaves.
    threshold : (q,)
    yes, no : (q,)
        Next node if the number is at most the threshold, and if not; at leaves the row of `share`.
    gap_is_yes : (q,)
        Where a missing number goes.
    share : (l, k)
        Share of the classes in each leaf.
    log_prior : (k,)
        Share of the classes in training.
    """

    blind: Population
    scales: TrainingScales
    sees_gaps: bool
    root: IntArray
    question: npt.NDArray[np.int32]
    threshold: FloatArray
    yes: npt.NDArray[np.int32]
    no: npt.NDArray[np.int32]
    gap_is_yes: npt.NDArray[np.bool_]
    share: npt.NDArray[np.float32]
    log_prior: FloatArray

    def broken(self) -> str:
        """Say what is wrong with trees from a file; "" if nothing is: nodes lead to later ones, leaves to a row of `share`."""
        inner, node = self.question >= 0, np.arange(len(self.question))
        for name, following in (("yes", self.yes), ("no", self.no)):
            onward = (following > node) & (following < len(node))
            if not np.where(inner, onward, following < len(self.share)).all():
                return f"a node of the trees leads nowhere or back ({name})"
        if np.any(self.question >= 2 * len(self.scales.centre)):
            return "a node of the trees asks for a number that no object has"
        return ""

    def first(self, count: int) -> Trees:
        """Return the first trees alone."""
        if count >= len(self.root):
            return self
        nodes = slice(0, int(self.root[count]))
        leaves = int(self.yes[nodes][self.question[nodes] < 0].max()) + 1
        return replace(
            self,
            root=self.root[:count],
            question=self.question[nodes],
            threshold=self.threshold[nodes],
            yes=self.yes[nodes],
            no=self.no[nodes],
            gap_is_yes=self.gap_is_yes[nodes],
            share=self.share[:leaves],
        )

    def and_more(self, others: Trees) -> Trees:
        """Return these trees and others that were grown from the same objects."""
        nodes, leaves = len(self.question), len(self.share)
        onward = np.where(others.question >= 0, nodes, leaves).astype(np.int32)
        return replace(
            self,
            root=np.concatenate([self.root, others.root + nodes]),
            question=np.concatenate([self.question, others.question]),
            threshold=np.concatenate([self.threshold, others.threshold]),
            yes=np.concatenate([self.yes, others.yes + onward]),
            no=np.concatenate([self.no, others.no + onward]),
            gap_is_yes=np.concatenate([self.gap_is_yes, others.gap_is_yes]),
            share=np.concatenate([self.share, others.share]),
        )

    @cached_property
    def nodes(self) -> Nodes:
        """The arrays of the nodes, for the kernels."""
        return Nodes(self.root, self.question, self.threshold, self.yes, self.no, self.gap_is_yes, self.share)

    def log_evidence(
        self, objects: Measurements, asked: BoolArray | None = None, *, n_threads: int = 1
    ) -> FloatArray:
        """Return (n, k): log of the classes' shares over those in training, one more tree voting as the latter.

        Parameters
        ----------
        objects : Measurements
            (n, m)
        asked : (n, t), optional
            Which trees each object is asked of; all without it.
        """
        seen = numbers(objects, self.blind, self.scales, sees_gaps=self.sees_gaps)
        votes = _kernels.walk_trees(seen, self.nodes, asked, n_threads=n_threads)
        count = float(len(self.root)) if asked is None else asked.sum(axis=1, keepdims=True)
        return np.asarray(np.log((votes + np.exp(self.log_prior)) / (count + 1.0)) - self.log_prior)


def numbers(
    objects: Measurements, blind: Population, scales: TrainingScales, *, sees_gaps: bool
) -> npt.NDArray[np.float32]:
    """Return (n, 2 m): each object's reconstruction and its own values, in units of each point's spread."""
    return _side_by_side(objects, blind.reconstructed_values(objects), scales, sees_gaps)


def _side_by_side(
    objects: Measurements, reconstruction: FloatArray, scales: TrainingScales, sees_gaps: bool
) -> npt.NDArray[np.float32]:
    # Farther out than this is far in any tree, and single precision ends.
    far = 1e30
    truth = (reconstruction - scales.centre) / scales.scale
    own = (objects.values - scales.centre) / scales.scale
    if not sees_gaps:
        own = np.where(objects.observed, own, truth)
    return np.clip(np.hstack([truth, own]), -far, far).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Copies:
    """What trees are grown from: training objects and noisier copies of them.

    Attributes
    ----------
    objects : Measurements
        (c n, m), the n training objects first.
    reconstruction : (c n, m)
        Under `blind`.
    blind : Population
        Of all training objects, whatever their class.
    count : int
        ``c``, the objects themselves counted.
    """

    objects: Measurements
    reconstruction: FloatArray
    blind: Population
    count: int

    @classmethod
    def of(cls, training: TrainingSet, blind: Population, levels: Sequence[float]) -> Copies:
        """Add noise of one of the levels, in units of each point's spread, to each copy of each object."""
        n, scale, rng = len(training), training.scales.scale, training.rng
        count = 1 if max(levels) == 0.0 else int(np.clip(_ROWS // n, 2, _COPIES))
        noisy = [level for level in levels if level > 0.0]
        every = [training.objects]
        for _ in range(count - 1):
            every.append(add_noise(training.objects, rng.choice(noisy, (n, 1)) * scale, rng))
        objects = concatenate(every)
        return cls(objects, blind.reconstructed_values(objects), blind, count)


def grow(
    training: TrainingSet, copies: Copies, *, sees_gaps: bool, n_trees: int = N_TREES, n_threads: int = 1
) -> tuple[Trees, BoolArray]:
    """Grow trees on training objects and noisier copies of them, each tree on a share of every class.

    Returns
    -------
    Trees
    (n, t)
        Which trees had seen neither an object nor a copy of it.
    """
    n, scales, rng = len(training), training.scales, training.rng
    seen = _side_by_side(copies.objects, copies.reconstruction, scales, sees_gaps)
    per_tree = min(copies.count, _COPIES_PER_TREE)
    drawn = draw(training.label, n_trees, _ROWS_PER_TREE // per_tree, rng)
    # Of each object in each tree: itself, and as many of its copies by chance.
    noisier = [drawn + n * rng.integers(1, copies.count, size=drawn.shape) for _ in range(per_tree - 1)]
    growth = Growth(
        seen,
        np.tile(training.label, copies.count),
        np.hstack([drawn, *noisier]),
        rng.integers(2**62, size=n_trees),
        training.n_classes,
        max(1, int(np.sqrt(seen.shape[1]))),
        least_in_leaf(drawn.size * per_tree, training.n_classes),
    )
    nodes = _kernels.grow_trees(growth, n_threads=n_threads)
    count = training.counts.astype(np.float64)
    log_prior = np.log((count + 0.5) / (count + 0.5).sum())
    return Trees(copies.blind, scales, sees_gaps, *nodes, log_prior=log_prior), not_drawn(drawn, n)


def least_in_leaf(rows: int, n_classes: int) -> int:
    """Return how many rows a leaf has at least, of trees that grow from so many in all: each leaf keeps a share of every class.

    >>> least_in_leaf(160 * 7_200, 100), least_in_leaf(160 * 20_000, 1_000)
    (2, 13)
    """
    return max(_LEAST_IN_LEAF, -(-rows * n_classes * np.dtype(np.float32).itemsize // _MOST_BYTES))


def draw(
    label: IntArray, n_trees: int, most: int, rng: np.random.Generator, share: float = _SHARE
) -> IntArray:
    """Return (t, s): rows for each tree, a share of each class and at least one of it, `most` or so in all."""
    share = min(share, most / len(label))
    parts = []
    for number in np.unique(label).tolist():
        members = np.flatnonzero(label == number)
        kept = max(1, min(round(share * len(members)), len(members) - 1))
        order = np.argsort(rng.random((n_trees, len(members))), axis=1)[:, :kept]
        parts.append(members[order])
    return np.hstack(parts)


def not_drawn(drawn: IntArray, n: int) -> BoolArray:
    """Return (n, t): which trees were grown without each of n objects."""
    out = np.ones((n, len(drawn)), dtype=np.bool_)
    out[drawn.ravel(), np.repeat(np.arange(len(drawn)), drawn.shape[1])] = False
    return out

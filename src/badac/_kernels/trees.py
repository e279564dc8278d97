"""Randomised trees: grown from labelled rows, and walked by new ones; the definition in slow and clear Python.

Extremely randomised trees (Geurts, Ernst & Wehenkel 2006). A node draws numbers of the rows in turn, until some that differ
among its rows have been tried; each gets one threshold, uniform between its least and largest value, and the split with the
least Gini impurity stays:

    least over splits of   sum over sides of   - sum_class count^2 / count of all

A gap (NaN) goes to either side by chance if the node has any, else to the larger side. A node whose rows are of one class, or
too few for two leaves, is a leaf: it holds the shares of the classes. Chance comes from a generator per tree (splitmix64:
Steele, Lea & Flood 2014), so trees do not depend on who grows them, nor on threads. Shapes: ``r`` rows, ``f`` numbers of each,
``k`` classes, ``t`` trees, ``q`` nodes, ``l`` leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from badac._kernels.arguments import FloatArray, IntArray, checked_threads

SingleArray = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

_64_BITS = (1 << 64) - 1
# Values that differ by less, in units of each point's spread, do not differ (as in scikit-learn).
SAME = 1e-7


class Nodes(NamedTuple):
    """Trees as arrays of their nodes, one tree after the other, every node before those below it.

    Attributes
    ----------
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
        Shares of the classes in each leaf.
    """

    root: IntArray
    question: Int32Array
    threshold: FloatArray
    yes: Int32Array
    no: Int32Array
    gap_is_yes: BoolArray
    share: SingleArray


@dataclass(frozen=True, eq=False)
class Growth:
    """What trees are grown from.

    Attributes
    ----------
    seen : (r, f)
        Rows, NaN where a number is missing.
    label : (r,)
        Index of the class.
    drawn : (t, s)
        Rows that each tree is grown from.
    seed : (t,)
    n_classes : int
    n_tried : int
        Numbers that a node tries.
    least_in_leaf : int
    """

    seen: SingleArray
    label: IntArray
    drawn: IntArray
    seed: IntArray
    n_classes: int
    n_tried: int
    least_in_leaf: int


class _Chance:
    """Splitmix64: uniform 64-bit numbers."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _64_BITS

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _64_BITS
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """In [0, 1), of 53 bits."""
        return (self.next() >> 11) * 2.0**-53


class _Split(NamedTuple):
    score: float
    number: int
    threshold: float
    gap_is_yes: bool
    is_yes: BoolArray


def grow_trees(growth: Growth, *, n_threads: int = 1) -> Nodes:
    """Grow trees."""
    checked_threads(n_threads)
    nodes: list[tuple[int, float, int, int, bool]] = []
    shares: list[FloatArray] = []
    roots = []
    for rows, seed in zip(growth.drawn, growth.seed.tolist(), strict=True):
        roots.append(len(nodes))
        _grow(growth, rows, _Chance(seed), nodes, shares)
    columns = list(zip(*nodes, strict=True)) if nodes else [(), (), (), (), ()]
    return Nodes(
        np.array(roots, dtype=np.int64),
        np.array(columns[0], dtype=np.int32),
        np.array(columns[1], dtype=np.float64),
        np.array(columns[2], dtype=np.int32),
        np.array(columns[3], dtype=np.int32),
        np.array(columns[4], dtype=np.bool_),
        np.array(shares, dtype=np.float32).reshape(len(shares), growth.n_classes),
    )


def _grow(
    growth: Growth,
    rows: IntArray,
    chance: _Chance,
    nodes: list[tuple[int, float, int, int, bool]],
    shares: list[FloatArray],
) -> None:
    """Add the nodes of one tree, and the shares of its leaves."""
    order = list(range(growth.seen.shape[1]))
    # Rows, and the node above with the side that they are on.
    waiting: list[tuple[IntArray, int, bool]] = [(rows, -1, True)]
    while waiting:
        rows, above, is_yes = waiting.pop()
        here = len(nodes)
        if above >= 0:
            question, threshold, yes, no, gap = nodes[above]
            nodes[above] = (
                (question, threshold, here, no, gap) if is_yes else (question, threshold, yes, here, gap)
            )
        count = np.bincount(growth.label[rows], minlength=growth.n_classes)
        split = None
        if len(rows) >= 2 * growth.least_in_leaf and count.max() < len(rows):
            split = _best(growth, rows, count, order, chance)
        if split is None:
            nodes.append((-1, 0.0, len(shares), len(shares), False))
            shares.append(count / max(len(rows), 1))
            continue
        nodes.append((split.number, split.threshold, -1, -1, split.gap_is_yes))
        waiting.append((rows[~split.is_yes], here, False))
        waiting.append((rows[split.is_yes], here, True))


def _best(
    growth: Growth, rows: IntArray, count: IntArray, order: list[int], chance: _Chance
) -> _Split | None:
    """The best of the splits tried, or None."""
    best, tried = None, 0
    for place in range(len(order)):
        if tried == growth.n_tried:
            break
        other = place + chance.next() % (len(order) - place)
        order[place], order[other] = order[other], order[place]
        number = order[place]
        values = growth.seen[rows, number].astype(np.float64)
        gaps = np.isnan(values)
        if gaps.all():
            continue
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        differ = high > low + SAME
        if not differ and not gaps.any():
            continue
        tried += 1
        threshold = high
        if differ:
            threshold = low + chance.uniform() * (high - low)
            if threshold >= high:
                threshold = low
        is_yes = values <= threshold
        if not differ:
            gap_is_yes = False
        elif gaps.any():
            gap_is_yes = chance.next() >> 63 == 1
        else:
            gap_is_yes = 2 * int(is_yes.sum()) > len(rows)
        is_yes |= gaps & gap_is_yes
        n_yes = int(is_yes.sum())
        if min(n_yes, len(rows) - n_yes) < growth.least_in_leaf:
            continue
        of_yes = np.bincount(growth.label[rows[is_yes]], minlength=growth.n_classes)
        of_no = count - of_yes
        score = int((of_yes**2).sum()) / n_yes + int((of_no**2).sum()) / (len(rows) - n_yes)
        if best is None or score > best.score:
            best = _Split(score, number, threshold, gap_is_yes, is_yes)
    return best


def walk_trees(seen: SingleArray, nodes: Nodes, asked: BoolArray | None, *, n_threads: int = 1) -> FloatArray:
    """Return (r, k): sums of the shares of the leaves that each row ends at.

    Parameters
    ----------
    seen : (r, f)
    nodes : Nodes
    asked : (r, t), optional
        Which trees each row is asked of; all without it.
    """
    checked_threads(n_threads)
    out = np.zeros((len(seen), nodes.share.shape[1]))
    rows = np.arange(len(seen))
    for tree, root in enumerate(nodes.root.tolist()):
        node = np.full(len(seen), root)
        while True:
            question = nodes.question[node]
            if (question < 0).all():
                break
            number = seen[rows, np.maximum(question, 0)]
            is_yes = np.where(np.isnan(number), nodes.gap_is_yes[node], number <= nodes.threshold[node])
            node = np.where(question < 0, node, np.where(is_yes, nodes.yes[node], nodes.no[node]))
        share = nodes.share[nodes.yes[node]].astype(np.float64)
        out += share if asked is None else np.where(asked[:, tree, None], share, 0.0)
    return out

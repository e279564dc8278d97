"""Scores of different classes and noise levels made comparable, so that all left-out objects can be one pool.

    comparable = (score - location) / scale          of the object's predicted class and range of noise levels

``location`` is a high quantile of the left-out scores of a cell, ``scale`` their mean excess over it: what matters for small
p-values. A cell of few objects borrows from all classes at its noise, and those from everybody. The map rises with the score,
so two objects of one class and noise keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_OBJECTS_PER_CELL = 200
_MOST_RANGES = 8
# Noise levels within this factor are one level.
_SAME_NOISE = 1.25
# Low enough for the body of a cell to tell, high enough to be about the tail.
_QUANTILE = 0.8
# Excesses that the wider group counts for.
_BORROWED = 20.0
_LARGEST = 1e250  # scores beyond are as far out as any


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Location and scale of the scores in each cell.

    Attributes
    ----------
    edges : (ranges - 1,)
        Noise levels at which one range ends and the next begins.
    location, scale : (classes, ranges)
    """

    edges: FloatArray
    location: FloatArray
    scale: FloatArray

    @classmethod
    def learn(
        cls, score: FloatArray, level: FloatArray, predicted: IntArray, n_classes: int, edges: FloatArray
    ) -> ScoreMap:
        """Learn from left-out objects: their scores, noise levels and predicted classes (n,)."""
        n_ranges = edges.size + 1
        where = np.searchsorted(edges, level, side="right")
        everybody = _summary(score, (0.0, 1.0), borrow=False)
        location, scale = np.empty((2, n_classes, n_ranges))
        for column in range(n_ranges):
            here = where == column
            around = _summary(score[here], everybody)
            for row in range(n_classes):
                location[row, column], scale[row, column] = _summary(score[here & (predicted == row)], around)
        return cls(edges, location, scale)

    def apply(self, score: FloatArray, level: FloatArray, predicted: IntArray) -> FloatArray:
        """Return (n,): the comparable scores."""
        cell = predicted, np.searchsorted(self.edges, level, side="right")
        return np.asarray((np.clip(score, -_LARGEST, _LARGEST) - self.location[cell]) / self.scale[cell])

    def undo(self, comparable: FloatArray, level: FloatArray, predicted: IntArray) -> FloatArray:
        """Return (n,): the scores of which these are the comparable ones."""
        cell = predicted, np.searchsorted(self.edges, level, side="right")
        return np.asarray(comparable * self.scale[cell] + self.location[cell])


def _summary(score: FloatArray, around: tuple[float, float], *, borrow: bool = True) -> tuple[float, float]:
    """Location and scale of scores (n,), drawn towards those `around` the fewer they are."""
    score = np.clip(score, -_LARGEST, _LARGEST)
    if score.size == 0:
        return around
    location = float(np.quantile(score, _QUANTILE))
    excess = score[score > location] - location
    mean = float(excess.mean()) if excess.size else 0.0
    if not borrow:
        return location, mean or 1.0
    share = excess.size / (excess.size + _BORROWED)
    scale = np.exp(share * np.log(mean) + (1.0 - share) * np.log(around[1])) if mean > 0 else around[1]
    return share * location + (1.0 - share) * around[0], float(scale)


def noise_ranges(level: FloatArray, n_classes: int) -> FloatArray:
    """Return where ranges of noise levels end, so many that cells of a class and a range have enough of n objects (n,)."""
    count = min(_MOST_RANGES, len(level) // (n_classes * _OBJECTS_PER_CELL))
    return range_edges(level, 0.7 * len(level) / max(count, 1))


def range_edges(level: FloatArray, fewest: float) -> FloatArray:
    """Return where ranges of noise levels end: each has the `fewest` objects or more, and is wide enough to matter."""
    ordered = np.sort(level)
    edges, first = [], 0
    # An edge lies between two different levels, so that objects with the same error bars stay together.
    for index in (np.flatnonzero(np.diff(ordered) > 1e-9) + 1).tolist():
        enough = index - first >= fewest and len(ordered) - index >= fewest
        if enough and ordered[index] - ordered[first] > np.log(_SAME_NOISE):
            edges.append(0.5 * (ordered[index - 1] + ordered[index]))
            first = index
    return np.array(edges)

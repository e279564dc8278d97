"""P-values by comparison with known objects of the same class and noise, and lists with a stated share of false alarms.

Some labelled objects are kept back when the model is learned. A new object's p-value is the share of those of its stratum that
look at least as strange:

    p = (1 + number of kept-back objects with score >= s) / (1 + number of kept-back objects)

(conformal p-value). If the object is one more draw from the same stratum, every rank is equally likely, so ``p`` is uniform
whatever the score and however wrong the model: exact under exchangeability, at any number of objects. A stratum is a predicted
class and a range of noise levels, both functions of the object alone that were fixed without the kept-back ones.

Benjamini and Hochberg's rule turns p-values into the longest list of which, on average, at most a stated share is false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.data.validation import is_number
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# A large class is learned as well from half of its members, and the more are kept back the finer the p-values.
_KEPT_BACK, _KEPT_BACK_OF_LARGE, _LARGE = 1.0 / 3.0, 0.5, 1000
_MOST_KEPT_BACK = 10_000
_OBJECTS_PER_STRATUM = 200
_MOST_RANGES = 8
# Noise levels within this factor are one level.
_SAME_NOISE = 1.25
# A class with less than this share of the members that it would have in a range of noise, if all noise were alike.
_RARE = 0.1


@dataclass(frozen=True, eq=False)
class Strata:
    """Which objects are compared with each other: those of one predicted class and one range of noise levels.

    Attributes
    ----------
    edges : (ranges - 1,)
        Noise levels at which one range ends and the next begins.
    populated : (classes, ranges) bool
        Where a class has members. An object of another noise than its predicted class ever shows is compared with the most
        probable class that does show it.
    """

    edges: FloatArray
    populated: BoolArray

    @classmethod
    def of(cls, level: FloatArray, label: IntArray, n_kept: int, n_classes: int) -> Strata:
        """Divide the noise levels (n,) of the learned objects into ranges that `n_kept` objects will fill."""
        count = min(_MOST_RANGES, n_kept // (n_classes * _OBJECTS_PER_STRATUM))
        edges = range_edges(level, 0.7 * len(level) / max(count, 1))
        ranges = edges.size + 1
        cell = label * ranges + np.searchsorted(edges, level, side="right")
        members = np.bincount(cell, minlength=n_classes * ranges).reshape(n_classes, ranges)
        usual = members.sum(axis=1, keepdims=True) / ranges
        return cls(edges, (members >= _RARE * usual) | (members == members.max(axis=0)))

    def number(self, level: FloatArray, log_posterior: FloatArray) -> IntArray:
        """Return (n,): the stratum of each object, from its noise level (n,) and its log posterior (n, classes)."""
        where = np.searchsorted(self.edges, level, side="right")
        possible = np.where(self.populated[:, where].T, log_posterior, -np.inf)
        return np.asarray(possible.argmax(axis=1) * self.populated.shape[1] + where)


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


@dataclass(frozen=True, eq=False)
class CalibrationScores:
    """Scores of known objects that the model did not learn from.

    Attributes
    ----------
    score : (c,)
        Sorted within each stratum; high = strange.
    stratum : (c,)
        Sorted.
    strata : Strata
    """

    score: FloatArray
    stratum: IntArray
    strata: Strata

    @classmethod
    def of(
        cls, score: FloatArray, level: FloatArray, log_posterior: FloatArray, strata: Strata
    ) -> CalibrationScores:
        """Keep the scores (c,) of objects with these noise levels (c,) and log posteriors (c, classes)."""
        stratum = strata.number(level, log_posterior)
        order = np.lexsort((score, stratum))
        return cls(score[order], stratum[order], strata)

    def pvalues(self, score: FloatArray, level: FloatArray, log_posterior: FloatArray) -> FloatArray:
        """Return (n,): the p-values of new objects with these scores, noise levels and log posteriors (n, classes).

        A stratum in which nothing was kept back is compared with all kept-back objects together.
        """
        stratum = self.strata.number(level, log_posterior)
        out = np.ones(len(score))
        everybody = np.sort(self.score)
        for which in np.unique(stratum):
            rows = stratum == which
            first, last = np.searchsorted(self.stratum, [which, which + 1])
            known = self.score[first:last] if last > first else everybody
            stranger = known.size - np.searchsorted(known, score[rows], side="left")
            out[rows] = (1.0 + stranger) / (1.0 + known.size)
        return out


def noise_level(objects: Measurements, scales: TrainingScales) -> FloatArray:
    """Return (n,): log of an object's typical sigma in units of the training objects' spread; a gap counts as noise."""
    # Points of one's own share one scale, however many there are.
    spread = (scales.scale[:1] if objects.own_points else scales.scale) ** 2
    # A billionth: exact values have a finite level too.
    information = np.where(objects.observed, spread / (objects.sigma**2 + 1e-9 * spread), 0.0)
    return np.asarray(-0.5 * np.log(np.maximum(information.mean(axis=1), 1e-12)))


def keep_back(label: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return (n,): which labelled objects to keep back, a third of every class, half of a class of a thousand or more."""
    kept = np.zeros(len(label), dtype=np.bool_)
    most = _MOST_KEPT_BACK / max(len(label), 1)
    for index in np.unique(label):
        members = np.flatnonzero(label == index)
        share = min(_KEPT_BACK_OF_LARGE if members.size >= _LARGE else _KEPT_BACK, most)
        kept[rng.permutation(members)[: int(share * members.size)]] = True
    return kept


def discoveries(pvalue: FloatArray, share: float) -> BoolArray:
    """Return (n,): the longest list of which on average at most `share` is false (Benjamini & Hochberg 1995)."""
    if not is_number(share) or not 0.0 < share < 1.0:
        raise ValueError(
            f"`fdr` must be a share of false alarms between 0 and 1: got {share!r}. Use for example 0.1."
        )
    n = len(pvalue)
    ranked = np.sort(pvalue)
    below = np.flatnonzero(ranked <= share * np.arange(1, n + 1) / n)
    if below.size == 0:
        return np.zeros(n, dtype=np.bool_)
    return np.asarray(pvalue <= ranked[below[-1]])


def expected_false_alarms(pvalue: FloatArray, found: BoolArray) -> float:
    """Return how many normal objects the list is expected to hold at most: n times its largest p-value."""
    return float(len(pvalue) * pvalue[found].max()) if found.any() else 0.0

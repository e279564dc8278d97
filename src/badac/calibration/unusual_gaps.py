"""Gaps that training objects do not have: like is compared with like.

An object that lacks points which nearly every training object has is not strange for that, but its score is another number:
fewer points, other odds. So training objects are judged with the same kind of gap, and the object is compared with those:

    left-out score with the gap  ~  score with the gap  +  (left-out score - score)            of each training object

The last bracket, what a training object gains from having been learned from, is known without the gap, and no smaller than with
it: the model is not learned again for a gap. (Scores of training objects with the gap alone are too small: lists at a level of
0.1 held 0.11 to 0.26 known objects, seeds 500 and 501 of released 1 with 2,000 training curves; with the bracket 0.02 to 0.11.)
The object's score is carried over to the score that the same share of these training objects has without the gap
(`badac.calibration.pool.Pool.as_in`), and order, p-value and probability of an anomaly are all made of that one number.
A kind of gap depends on the object alone, not on the others of its table:

    columns     one or two missing ones of a few columns; a stretch of a curve, in sixteenths of the range
    number      anything else: training objects lose points at random, until they have as many as the object
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# A column that fewer training objects lack is one whose absence left-out objects do not know; so with the number of points.
_RARELY_MISSING = 0.02
# Shares of 2,000 training objects, and the fewest points of a fiftieth of them, as another 2,000 may have them.
_MAYBE_RARELY = 1.5
# Up to so many columns a pattern is taken as it is; in longer curves in parts of the range, and by number otherwise.
_FEW_COLUMNS, _EXACT, _PARTS = 32, 2, 16
# Numbers of points to a factor of 2^(1/4): within a tenth.
_STEPS_AN_OCTAVE = 4
# Where scores are not left out one by one: share of training objects beyond which their order is chance.
_TOP = 0.05


@dataclass(frozen=True)
class Gap:
    """A kind of gap.

    Attributes
    ----------
    columns : tuple of int
        Those that are missing.
    left : int
        How many points are left, whichever they are; 0 if that is not what the kind is about.
    """

    columns: tuple[int, ...] = ()
    left: int = 0

    def applied(self, objects: Measurements) -> Measurements:
        """Return objects (n, m) with this gap; by number, each loses other points."""
        if not self.left:
            return without_columns(objects, np.isin(np.arange(objects.n_points), self.columns))
        # Ranks of random numbers: the first `left` measured points of each object in a random order stay.
        turn = np.where(objects.observed, np.random.default_rng(0).random(objects.shape), np.inf)
        return without_columns(objects, turn.argsort(axis=1).argsort(axis=1) >= self.left)


@dataclass(frozen=True, eq=False)
class UsualGaps:
    """What training objects lack.

    Attributes
    ----------
    missing : (m,)
        Share of them that lack each column.
    fewest : int
        Points that nearly all of them have at least.
    """

    missing: FloatArray
    fewest: int

    @classmethod
    def of(cls, observed: BoolArray) -> UsualGaps:
        """Count what training objects (n, m) have."""
        fewest = int(np.quantile(observed.sum(axis=1), _RARELY_MISSING)) if len(observed) else 0
        return cls(missing_share(observed), fewest)

    def given_to(self, known: Measurements, observed: BoolArray) -> Measurements:
        """Return training objects (s, m) with the gaps of others (n, m) that they do not have, in turn."""
        lacking = ~observed & (self.missing < _RARELY_MISSING)
        if not lacking.any() or not len(known):
            return known
        return without_columns(known, lacking[np.arange(len(known)) % len(lacking)])

    def may_be_unusual(self, observed: BoolArray) -> bool:
        """Whether any of some objects (n, m) may have a gap that other samples of the training objects would not have."""
        lacking = (~observed & (self.missing < _MAYBE_RARELY * _RARELY_MISSING)).any(axis=1)
        number = observed.sum(axis=1)
        return bool(((lacking | (number < _MAYBE_RARELY * self.fewest)) & (number > 0)).any())

    def kinds(self, observed: BoolArray) -> Iterator[tuple[IntArray, Gap]]:
        """Yield rows of objects (n, m) with the same kind of gap that training objects do not have, and the kind."""
        lacking = ~observed & (self.missing < _RARELY_MISSING)
        number = observed.sum(axis=1)
        # Nothing measured is nothing compared.
        concerned = np.flatnonzero((lacking.any(axis=1) | (number < self.fewest)) & (number > 0))
        keys = _keys(lacking[concerned], number[concerned])
        for key in np.unique(keys, axis=0):
            kind, first, last = key.tolist()
            gap = _gap(kind, first, last, observed.shape[1])
            if gap is not None:
                yield concerned[(keys == key).all(axis=1)], gap


_COLUMNS, _STRETCH, _NUMBER = range(3)


def _keys(lacking: BoolArray, number: IntArray) -> IntArray:
    """Three numbers (n, 3) by which objects that lack unusual points (n, m), and have a `number` of others, are alike."""
    m, count = lacking.shape[1], lacking.sum(axis=1)
    first, last = lacking.argmax(axis=1), m - 1 - lacking[:, ::-1].argmax(axis=1)
    steps = np.rint(_STEPS_AN_OCTAVE * np.log2(m / number))
    left = np.maximum(np.rint(m * 2.0 ** (-steps / _STEPS_AN_OCTAVE)), 1)
    keys = np.column_stack([np.full(len(count), _NUMBER), left, np.zeros(len(count))])
    if m <= _FEW_COLUMNS:
        exact = (count > 0) & (count <= _EXACT)
        keys[exact] = np.column_stack([np.full(len(count), _COLUMNS), first, last])[exact]
    else:
        stretch = (count > 1) & (last - first + 1 == count)
        parts = np.rint(np.stack([first, last + 1]) * _PARTS / m)
        keys[stretch] = np.column_stack([np.full(len(count), _STRETCH), *parts])[stretch]
    return keys.astype(np.int64)


def _gap(kind: int, first: int, last: int, m: int) -> Gap | None:
    """The kind of gap of objects of m points with these numbers; None if it is too small."""
    if kind == _COLUMNS:
        return Gap(tuple(sorted({first, last})))
    if kind == _STRETCH:
        columns = range(first * m // _PARTS, last * m // _PARTS)
        return Gap(tuple(columns)) if 0 < len(columns) < m else None
    return Gap(left=first) if first < m else None


def missing_share(observed: BoolArray) -> FloatArray:
    """Return (m,): share of objects (n, m) that lack each column."""
    return np.asarray(1.0 - observed.mean(axis=0)) if len(observed) else np.ones(observed.shape[1])


def without_columns(objects: Measurements, columns: BoolArray) -> Measurements:
    """Return objects (n, m) that lack some columns, (m,) or (n, m)."""
    values = np.where(columns, np.nan, objects.values)
    sigma = np.where(columns, np.inf, objects.sigma)
    return objects._changed(values=values, sigma=sigma)


def carried_over(score: FloatArray, with_gaps: FloatArray, without_gaps: FloatArray) -> FloatArray:
    """Return (n,): scores of objects with gaps as scores without, by training objects (s,) judged with and without them.

    Quantile by quantile. Among the strangest of them, and beyond, the shift is their mean one, and none makes an
    object stranger than it is: these objects were learned from, and cannot tell what a gap does to new ones that are strange.
    """
    first, second = np.sort(with_gaps), np.sort(without_gaps)
    top = max(int(_TOP * len(first)), 1)
    shift = second - first
    shift[-top:] = min(float(shift[-top:].mean()), 0.0)
    return np.asarray(score + np.interp(score, first, shift))

"""Median, scatter and typical noise of every column of some objects, missing values left out, all columns at once.

Columns are sorted once: what is missing (NaN, or an infinite error) comes last, and order statistics are then rows of a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MAD_OF_GAUSSIAN = 1.4826  # its standard deviation over the median distance from its median
_TRIMMED = 0.25  # of the error bars, at either end


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Of the columns of objects (n, m), NaN where none has the column.

    Attributes
    ----------
    count : (m,)
        Objects that have the column.
    median : (m,)
    scatter : (m,)
        Median distance from the median, times what makes it the standard deviation of a Gaussian.
    noise : (m,)
        Typical variance of the noise, by the mean of the middle half of the error bars (trimmed mean). A median would jump
        between the error bars of two instruments as soon as their shares pass one half.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.comparison.column_statistics import ColumnStatistics
    >>> found = ColumnStatistics.of(Measurements([[1.0, 5.0], [2.0, np.nan], [6.0, np.nan]], 0.1))
    >>> found.count.tolist(), found.median.tolist()
    ([3, 1], [2.0, 5.0])
    """

    count: IntArray
    median: FloatArray
    scatter: FloatArray
    noise: FloatArray

    @classmethod
    def of(cls, objects: Measurements) -> ColumnStatistics:
        count = objects.observed.sum(axis=0)
        values = sorted_columns(objects.values)
        median = _middle(values, count)
        scatter = _MAD_OF_GAUSSIAN * _middle(sorted_columns(np.abs(objects.values - median)), count)
        return cls(count, median, scatter, _trimmed_mean(sorted_columns(objects.sigma), count) ** 2)


def different_values(objects: Measurements) -> tuple[IntArray, IntArray]:
    """Return how many different values each column (m,) has, and how many objects (m,) have it."""
    count = objects.observed.sum(axis=0)
    # A step from a value to what is missing is none: a difference of NaN is not above 0.
    steps = np.diff(sorted_columns(objects.values), axis=1) > 0.0
    return np.minimum(count, 1 + steps.sum(axis=1)), count


def sorted_columns(values: FloatArray) -> FloatArray:
    """Return (m, n): the values (n, m) of each column from the smallest on, NaN last."""
    out = np.array(values.T, order="C")
    out.sort(axis=1)
    return out


def _middle(ordered: FloatArray, count: IntArray) -> FloatArray:
    """Median (m,) of the first `count` (m,) of each sorted column (m, n)."""
    if not ordered.shape[1]:
        return np.full(len(ordered), np.nan)
    column = np.arange(len(ordered))
    lower = ordered[column, np.maximum(count - 1, 0) // 2]
    upper = ordered[column, np.minimum(count // 2, ordered.shape[1] - 1)]
    return np.where(count > 0, 0.5 * (lower + upper), np.nan)


def _trimmed_mean(ordered: FloatArray, count: IntArray) -> FloatArray:
    """Mean (m,) of the first `count` (m,) of each sorted column (m, n), a quarter taken off at either end."""
    cut = (_TRIMMED * count).astype(np.int64)
    place = np.arange(ordered.shape[1])
    inside = (place >= cut[:, None]) & (place < (count - cut)[:, None])
    total = np.where(inside, ordered, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(inside.sum(axis=1), 1), np.nan)

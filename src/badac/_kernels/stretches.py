"""Columns that are zero but for a stretch of points each, kept as the stretches: what is sought along hundreds of points.

A bump of a spectrum of 5,000 points is some twenty of them long, so that 7,000 bumps are 300 MB as a table and 1 MB so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac._kernels.arguments import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Stretches:
    """Columns of a table (m, b).

    Attributes
    ----------
    n_points : int
        m
    first, length : (b,)
        Where each column's stretch begins, and of how many points it is.
    begin : (b,)
        Where its heights begin among all.
    height : (h,)
        Heights of all stretches, one after another.

    Examples
    --------
    >>> import numpy as np
    >>> from badac._kernels.stretches import Stretches
    >>> found = Stretches.of(np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 0.0]]))
    >>> found.first.tolist(), found.length.tolist(), found.height.tolist()
    ([1, 0], [2, 1], [2.0, 3.0, 1.0])
    """

    n_points: int
    first: npt.NDArray[np.int32]
    length: npt.NDArray[np.int32]
    begin: IntArray
    height: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_points, len(self.first)

    @classmethod
    def of(cls, columns: FloatArray) -> Stretches:
        """Return the stretches of a table (m, b)."""
        row, column = np.nonzero(columns)
        return cls.of_numbers(row, column, columns[row, column], columns.shape)

    @classmethod
    def of_numbers(
        cls, row: IntArray, column: IntArray, value: FloatArray, shape: tuple[int, int]
    ) -> Stretches:
        """Return the stretches of a table (m, b) by the rows, columns and values (h,) of its numbers other than 0."""
        m, count = shape
        first, last = np.full(count, m), np.zeros(count, dtype=np.int64)
        np.minimum.at(first, column, row)
        np.maximum.at(last, column, row + 1)
        length = np.maximum(last - first, 0)
        first = np.where(length > 0, first, 0)
        begin = np.cumsum(length) - length
        height = np.zeros(int(length.sum()))
        height[begin[column] + row - first[column]] = value
        return cls(m, first.astype(np.int32), length.astype(np.int32), begin, height)

    @classmethod
    def each_point(cls, m: int) -> Stretches:
        """Return the columns of the identity (m, m)."""
        place = np.arange(m)
        ones = np.ones(m, dtype=np.int32)
        return cls(m, place.astype(np.int32), ones, place, np.ones(m))

    def largest(self) -> FloatArray:
        """Return (b,): the largest size of each column's heights, 0 of an empty one."""
        out = np.zeros(len(self.first))
        np.maximum.at(out, np.repeat(np.arange(len(out)), self.length), np.abs(self.height))
        return out

    def take(self, which: npt.NDArray[np.bool_] | IntArray) -> Stretches:
        """Return some of the columns: a mask (b,), or their numbers."""
        first, length, begin = self.first[which], self.length[which], self.begin[which]
        now = np.cumsum(length, dtype=np.int64) - length
        inside = np.arange(int(length.sum())) - np.repeat(now, length)
        return Stretches(self.n_points, first, length, now, self.height[np.repeat(begin, length) + inside])

    def dense(self) -> FloatArray:
        """Return the table (m, b)."""
        out = np.zeros(self.shape)
        column = np.repeat(np.arange(len(self.first)), self.length)
        inside = np.arange(len(self.height)) - np.repeat(self.begin, self.length)
        out[self.first[column] + inside, column] = self.height
        return out

"""Columns that are zero but for a stretch of points each, kept as the stretches: what is sought along hundreds of points.

A bump of a spectrum of 5,000 points is some twenty of them long, so that 7,000 bumps are 300 MB as a table and 1 MB so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac._kernels.arguments import FloatArray, IntArray

# Numbers of a table that are looked at at a time: block size, of 16 MB.
_AT_A_TIME = 2_000_000


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
        return cls._of_rows([np.asarray(columns)], columns.shape[1])

    @classmethod
    def at(cls, columns: Callable[[FloatArray], FloatArray], where: FloatArray) -> Stretches:
        """Return the stretches of columns (m, b) that a function gives at coordinates (m,), asked for some at a time."""
        found = columns(where[:1])
        step = max(1, _AT_A_TIME // max(found.shape[1], 1))
        rows = (columns(where[start : start + step]) for start in range(0, len(where), step))
        return cls._of_rows(rows, found.shape[1])

    @classmethod
    def each_point(cls, m: int) -> Stretches:
        """Return the columns of the identity (m, m)."""
        place = np.arange(m)
        ones = np.ones(m, dtype=np.int32)
        return cls(m, place.astype(np.int32), ones, place, np.ones(m))

    @classmethod
    def _of_rows(cls, tables: Iterable[FloatArray], count: int) -> Stretches:
        """Return the stretches of `count` columns from the rows of their table, some at a time."""
        parts, m = [], 0
        for table in tables:
            row, column = np.nonzero(table)
            parts.append((row + m, column, table[row, column]))
            m += len(table)
        row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
        # Row by row: the first to be written is that of the last row to come, and the other way round.
        first, last = np.zeros((2, count), dtype=np.int64)
        first[column[::-1]] = row[::-1]
        last[column] = row + 1
        length = last - first
        begin = np.cumsum(length) - length
        height = np.zeros(int(length.sum()))
        height[begin[column] + row - first[column]] = value
        return cls(m, first.astype(np.int32), length.astype(np.int32), begin, height)

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

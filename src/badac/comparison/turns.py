"""Which of many objects are compared: the same ones, however a table is cut into batches or partitions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST = 2000
"""New objects that are compared: shares to one per cent, whatever the size of the table."""
_ROWS_AT_A_TIME = 1_000_000


def turn_of(rows: IntArray) -> FloatArray:
    """Return (n,) in [0, 1): the order in which rows are compared, lowest first: like random numbers, fixed by the row.

    So the same objects are compared however a table is cut into batches or partitions (the mixer is that of SplitMix64, Steele
    et al. 2014).
    """
    z = (np.asarray(rows, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) * 2.0**-53


def some_rows(n: int, most: int = MOST) -> IntArray:
    """Return at most so many of n rows, those whose turn is first, in that order."""
    kept = np.empty(0, dtype=np.int64)
    for start in range(0, n, _ROWS_AT_A_TIME):
        rows = np.concatenate([kept, np.arange(start, min(start + _ROWS_AT_A_TIME, n))])
        kept = rows[np.argsort(turn_of(rows), kind="stable")[:most]]
    return kept


def some_of(objects: Measurements, most: int) -> Measurements:
    """Return at most so many objects, always the same ones."""
    return objects if len(objects) <= most else objects[some_rows(len(objects), most)]

"""The order in which objects are looked at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def highest(value: FloatArray, n: int) -> IntArray:
    """Return the rows of the n highest values, highest first; those that are equal keep the order of the table.

    Only as many are sorted as are asked for: there may be 10^5 values, and a person waits.
    """
    if n <= 0:
        return np.empty(0, dtype=np.int64)
    if n < len(value) // 4:
        few = np.argpartition(-value, n - 1)[:n]
        # All that tie with the last one, so that ties keep the order of the table.
        few = np.flatnonzero(value >= value[few].min())
    else:
        few = np.arange(len(value))
    return few[np.argsort(-value[few], kind="stable")[:n]].astype(np.int64)

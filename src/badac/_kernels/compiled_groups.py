"""The compiled k-means: centres in the lanes. Twin: the functions of the same name in `NUMPY`.

Tolerance: 1e-10 of the size of the numbers, where no place is as near to two centres.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray
from badac._kernels.compiled_calls import how
from badac._kernels.groups import Groups


def k_means(
    places: FloatArray, few: FloatArray, centres: FloatArray, steps: int, *, n_threads: int = 1
) -> Groups:
    k, r = centres.shape
    found = Groups(np.empty((k, r)), np.empty(k), np.empty((k, r * (r + 1) // 2)))
    arrays = map(np.ascontiguousarray, (places, few, centres))
    _core.k_means(*found, *arrays, steps=steps, **how(n_threads, float(places.size * k)))
    return found


def spread_out(places: FloatArray, first: int, drawn: FloatArray, *, n_threads: int = 1) -> IntArray:
    out = np.empty(len(drawn) + 1, dtype=np.int64)
    arrays = np.ascontiguousarray(places), int(first), np.ascontiguousarray(drawn)
    _core.spread_out(out, *arrays, **how(n_threads, 0.0))
    return out

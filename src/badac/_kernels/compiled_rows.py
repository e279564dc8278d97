"""The compiled kernels of rows of log terms.

Twin: the functions of the same name in `NUMPY`. Tolerance: 1e-12 of the sizes of the terms.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray
from badac._kernels.compiled_calls import how
from badac._kernels.rows import Losses


def row_log_sums(terms: FloatArray, *, n_threads: int = 1) -> FloatArray:
    out = np.empty(len(terms))
    _core.row_log_sums(out, np.ascontiguousarray(terms, dtype=np.float64), **how(n_threads))
    return out


def stacked_losses(
    outputs: FloatArray, weights: FloatArray, bias: FloatArray, label: IntArray, *, n_threads: int = 1
) -> Losses:
    n, count, classes = outputs.shape
    found = Losses(np.empty(n), np.empty((n, classes)), np.empty((n, count)))
    _core.stacked_losses(
        *found,
        outputs=np.ascontiguousarray(outputs, dtype=np.float64),
        weights=np.ascontiguousarray(weights, dtype=np.float64),
        bias=np.ascontiguousarray(bias, dtype=np.float64),
        label=np.ascontiguousarray(label, dtype=np.int64),
        **how(n_threads),
    )
    return found

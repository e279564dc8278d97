"""The compiled kernels of all classes of a kind at once, in single precision.

Twin: the function of the same name in `NUMPY`. Tolerance: 1e-6 of the size of the log evidence and of the number of points.
Objects and curves that single precision does not reach (points farther out than 16,000 typical errors of the curves, or
variances of more than a factor of 4,000 beside each other) are asked of the pair kernel, in double.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, Pairs
from badac._kernels.compiled_calls import how
from badac._kernels.compiled_pairs import pair_logsumexp
from badac._kernels.single import ClassCurves, ClassMixtures

_whole = np.ascontiguousarray


def curves_log_sums(
    values: FloatArray, variance: FloatArray, curves: ClassCurves, *, n_threads: int = 1
) -> FloatArray:
    out = np.empty((len(values), len(curves.first) - 1))
    y, u, first = _whole(curves.values), _whole(curves.variance), _whole(curves.first, dtype=np.int64)
    _core.curves_log_sums(out, _whole(values), _whole(variance), y, u, first, **how(n_threads))
    beyond = np.flatnonzero(np.isnan(out[:, 0]))
    if beyond.size:
        out[beyond] = _in_double(values[beyond], variance[beyond], curves, n_threads)
    return out


def points_log_sums(
    values: FloatArray, variance: FloatArray, mixtures: ClassMixtures, *, n_threads: int = 1
) -> FloatArray:
    out = np.empty((len(values), len(mixtures.values)))
    y, u, log_weights = map(_whole, mixtures)
    _core.points_log_sums(out, _whole(values), _whole(variance), y, u, log_weights, **how(n_threads))
    return out


def _in_double(values: FloatArray, variance: FloatArray, curves: ClassCurves, n_threads: int) -> FloatArray:
    """What single precision does not reach, class by class through the pair kernel."""
    seen = np.isfinite(variance)
    d, d_sigma = np.where(seen, values, np.nan), np.sqrt(variance)
    out = np.empty((len(values), len(curves.first) - 1))
    for column, (first, last) in enumerate(zip(curves.first[:-1], curves.first[1:], strict=True)):
        own, sigma = curves.values[first:last], np.sqrt(curves.variance[first:last])
        out[:, column] = pair_logsumexp(Pairs.of(d, d_sigma, own, sigma), n_threads=n_threads)
    return out

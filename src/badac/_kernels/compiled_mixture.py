"""The mixture kernel, compiled: all curves in single precision, those that matter again in double.

Twin: `badac._kernels.mixture.mixture_logsumexp`. Precondition: none beyond its own. Tolerance: 1e-5 nats. Curves more than 10
nats below the best keep their score in single precision; tiles of curves that cannot matter any more are given up.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import (
    FloatArray,
    IntArray,
    Pairs,
    checked_skip,
    checked_threads,
    checked_weights,
    simd_level,
)


def mixture_logsumexp(
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    log_share: FloatArray,
    scale: FloatArray,
    *,
    log_weights: FloatArray | None = None,
    skip: IntArray | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Log evidence of every object, (n,); see `badac._kernels.mixture.mixture_logsumexp`."""
    pairs = Pairs.of(d, d_sigma, y, y_sigma, 0.0)
    object_factor, curve_factor, share = components(log_share, scale)
    out = np.empty(pairs.d.shape[0])
    _core.mixture_logsumexp(
        out,
        pairs.d,
        pairs.d_sigma,
        pairs.y,
        pairs.y_sigma,
        object_factor,
        curve_factor,
        share,
        log_weights=checked_weights(log_weights, pairs.y.shape[0]),
        skip=checked_skip(skip, pairs.d.shape[0], pairs.y.shape[0]),
        n_threads=checked_threads(n_threads),
        level=simd_level(),
    )
    return out


def components(log_share: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Factors on the two variances and shares (C,) of all pairs of widths that have a share, the widest first."""
    rows, columns = (index.ravel() for index in np.indices((len(scale), len(scale))))
    share = np.exp(log_share[rows] + log_share[columns])
    of_object, of_curve = scale[rows] ** 2, scale[columns] ** 2
    order = np.argsort(-(of_object + of_curve), kind="stable")
    order = order[share[order] > 0]
    return of_object[order], of_curve[order], share[order]

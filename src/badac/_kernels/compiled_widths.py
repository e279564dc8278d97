"""The width kernels, compiled: one object at a time, points (or positions) in lanes.

Twin: the functions of the same name in `badac._kernels.widths`. Precondition: at most 48 latent dimensions and 64 widths;
above that the twin is called. Tolerance: 1e-9 of the log likelihood and of the weights.
"""

from __future__ import annotations

import os

import numpy as np

from badac._kernels import _core, widths
from badac._kernels.arguments import FloatArray


def _fits(factors: FloatArray, scale: FloatArray) -> bool:
    return bool(factors.shape[1] <= _core.widths_max_rank and len(scale) <= _core.widths_max_widths)


def _whole(array: FloatArray) -> FloatArray:
    return np.ascontiguousarray(array, dtype=np.float64)


def widths_log_likelihood(
    residual: FloatArray,
    sigma: FloatArray,
    factors: FloatArray,
    psi: FloatArray,
    log_share: FloatArray,
    scale: FloatArray,
    positions: FloatArray,
) -> FloatArray:
    """Exact log likelihood (n, K) of each object at its positions (n, K, r); see `badac._kernels.widths`."""
    if not _fits(factors, scale):
        return widths.widths_log_likelihood(residual, sigma, factors, psi, log_share, scale, positions)
    out = np.empty(positions.shape[:2])
    _core.widths_log_likelihood(
        out,
        _whole(residual),
        _whole(sigma),
        _whole(factors),
        _whole(psi),
        _whole(np.exp(log_share)),
        _whole(scale),
        _whole(positions),
        level=os.environ.get("BADAC_SIMD", ""),
    )
    return out


def widths_posterior(
    residual: FloatArray,
    sigma: FloatArray,
    factors: FloatArray,
    psi: FloatArray,
    log_share: FloatArray,
    scale: FloatArray,
    *,
    max_steps: int,
    tolerance: float,
) -> tuple[FloatArray, FloatArray]:
    """Weights and squared residuals (n, m) of the points; see `badac._kernels.widths`."""
    if not _fits(factors, scale):
        return widths.widths_posterior(
            residual, sigma, factors, psi, log_share, scale, max_steps=max_steps, tolerance=tolerance
        )
    weight, squared = np.empty(residual.shape), np.empty(residual.shape)
    _core.widths_posterior(
        weight,
        squared,
        _whole(residual),
        _whole(sigma),
        _whole(factors),
        _whole(psi),
        _whole(np.exp(log_share)),
        _whole(scale),
        max_steps=max_steps,
        tolerance=tolerance,
        level=os.environ.get("BADAC_SIMD", ""),
    )
    return weight, squared

"""The width kernels, compiled: one object at a time, points (or positions) in lanes.

Twin: the functions of the same name in `badac._kernels.widths`. Precondition: at most 48 latent dimensions and 64 widths;
above that the twin is called. Tolerance: 1e-9 of the log likelihood and of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from badac._kernels import _core, widths
from badac._kernels.arguments import FloatArray, simd_level
from badac._kernels.widths import WidePoints


def widths_log_likelihood(points: WidePoints, positions: FloatArray) -> FloatArray:
    """Exact log likelihood (n, K) of each object at its positions (n, K, r); see `badac._kernels.widths`."""
    if not _fits(points):
        return widths.widths_log_likelihood(points, positions)
    out = np.empty(positions.shape[:2])
    _core.widths_log_likelihood(out, *_ready(points), positions=_whole(positions), level=simd_level())
    return out


def widths_posterior(
    points: WidePoints, *, max_steps: int, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Weights and squared residuals (n, m) of the points; see `badac._kernels.widths`."""
    if not _fits(points):
        return widths.widths_posterior(points, max_steps=max_steps, tolerance=tolerance)
    weight, squared = np.empty(points.residual.shape), np.empty(points.residual.shape)
    _core.widths_posterior(
        weight, squared, *_ready(points), max_steps=max_steps, tolerance=tolerance, level=simd_level()
    )
    return weight, squared


def _fits(points: WidePoints) -> bool:
    rank, count = points.factors.shape[1], len(points.scale)
    return bool(rank <= _core.widths_max_rank and count <= _core.widths_max_widths)


def _ready(points: WidePoints) -> Iterator[FloatArray]:
    """The arrays in the order of the core, which takes shares, not their logs."""
    return map(_whole, points._replace(log_share=np.exp(points.log_share)))


def _whole(array: FloatArray) -> FloatArray:
    return np.ascontiguousarray(array, dtype=np.float64)

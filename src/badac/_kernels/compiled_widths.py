"""The compiled kernels of noise of several widths, and of positions drawn under it.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: more than 64 widths, and
latent dimensions that matrices of one object do not hold.
Tolerance: 1e-9 of the log likelihood and of the weights.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray
from badac._kernels.backends import NUMPY
from badac._kernels.compiled_calls import how, whole
from badac._kernels.latent import Components
from badac._kernels.widths import WidePoints


def widths_log_likelihood(points: WidePoints, positions: FloatArray, *, n_threads: int = 1) -> FloatArray:
    if not _can_weigh(points):
        return NUMPY.widths_log_likelihood(points, positions)
    out = np.empty(positions.shape[:2])
    _core.widths_log_likelihood(
        out, *_shares(points), positions=whole(positions, dtype=np.float64), **how(n_threads)
    )
    return out


def widths_posterior(
    points: WidePoints,
    start: FloatArray | None = None,
    *,
    max_steps: int,
    tolerance: float,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    if not _can_weigh(points):
        return NUMPY.widths_posterior(points, start, max_steps=max_steps, tolerance=tolerance)
    weight = np.empty(points.residual.shape)
    squared = np.empty(weight.shape) if start is None else np.array(start, dtype=np.float64, order="C")
    _core.widths_posterior(
        weight,
        squared,
        *_shares(points),
        started=start is not None,
        max_steps=max_steps,
        tolerance=tolerance,
        **how(n_threads),
    )
    return weight, squared


def _can_weigh(points: WidePoints) -> bool:
    rank, count = points.factors.shape[1], len(points.scale)
    return bool(rank <= _core.widths_max_rank and count <= _core.widths_max_widths)


def _shares(points: WidePoints) -> list[FloatArray]:
    """The arrays in the order of the core, which takes shares, not their logs."""
    ready = points._replace(log_share=np.exp(points.log_share))
    return [whole(array, dtype=np.float64) for array in ready]


def latent_draws(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    responsibility: FloatArray,
    points: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    count, rank = points.shape
    if rank > _core.draws_max_rank:
        return NUMPY.latent_draws(precision, shift, components, responsibility, points)
    out = np.empty((len(shift), count, rank))
    arrays = (precision, shift, components.precision, components.shift, responsibility, points)
    own = [whole(array, dtype=np.float64) for array in arrays]
    _core.latent_draws(out, *own, n_threads=how(n_threads)["n_threads"])
    return out

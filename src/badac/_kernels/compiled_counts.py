"""The compiled kernels of counts.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: latent dimensions above
48, more than 16 nodes. Tolerance: 1e-9 of the sum of the sizes of the terms for likelihoods, 1e-8 of the population's own width
for values of counts that have settled.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray
from badac._kernels.backends import NUMPY
from badac._kernels.compiled_calls import how
from badac._kernels.counts import CountedPoints, LaplaceSteps, Quadrature


def poisson_posterior(
    points: CountedPoints, steps: LaplaceSteps, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    if points.factors.shape[1] > _core.counts_max_rank:
        return NUMPY.poisson_posterior(points, steps)
    value, variance, link = (np.empty(points.counts.shape) for _ in range(3))
    _core.poisson_posterior(value, variance, link, *_whole(points), **steps._asdict(), **how(n_threads))
    return value, variance, link


def poisson_log_likelihood(
    points: CountedPoints, positions: FloatArray, quadrature: Quadrature, *, n_threads: int = 1
) -> FloatArray:
    if points.factors.shape[1] > _core.counts_max_rank or len(quadrature.nodes) > _core.counts_max_nodes:
        return NUMPY.poisson_log_likelihood(points, positions, quadrature)
    out = np.empty(positions.shape[:2])
    _core.poisson_log_likelihood(
        out,
        *_whole(points),
        positions=np.ascontiguousarray(positions, dtype=np.float64),
        nodes=np.ascontiguousarray(quadrature.nodes, dtype=np.float64),
        log_weights=np.ascontiguousarray(quadrature.log_weights, dtype=np.float64),
        **how(n_threads),
    )
    return out


def _whole(points: CountedPoints) -> list[FloatArray]:
    return [np.ascontiguousarray(array, dtype=np.float64) for array in points]

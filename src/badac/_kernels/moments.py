"""First and second moments of weighed objects: where a factor model begins.

    w = v / (v + sigma^2)            of each point, v its spread: 0 where it is missing
    mean = sum_i w_i y_i / sum_i w_i ,      noise = sum_i w_i^2 sigma_i^2
    covariance = sum_i [w_i (y_i - mean)] [w_i (y_i - mean)]'

What a pair of points counts is the sum of ``w w'`` over the objects (`together`). The function here is the clear NumPy
definition; it runs on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads


class WeightedMoments(NamedTuple):
    """Sums over objects (n, m).

    Attributes
    ----------
    total, mean, noise : (m,)
        Sum of the weights; the mean, 0 where there are none; noise variance times the squared weights.
    covariance, together : (m, m)
        Products of the weighed residuals, and of the weights.
    """

    total: FloatArray
    mean: FloatArray
    noise: FloatArray
    covariance: FloatArray
    together: FloatArray


def weighted_moments(
    values: FloatArray, sigma: FloatArray, spread: FloatArray, *, n_threads: int = 1
) -> WeightedMoments:
    """Return the moments of objects whose points count by how little noise they have.

    Parameters
    ----------
    values, sigma : (n, m)
        NaN and inf where missing.
    spread : (m,)
        Variance of the true values, a first guess; positive.
    """
    checked_threads(n_threads)
    seen = ~np.isnan(values) & np.isfinite(sigma)
    present, variance = np.where(seen, values, 0.0), np.where(seen, sigma, 0.0) ** 2
    weight = np.where(seen, spread / (spread + variance), 0.0)
    total = weight.sum(axis=0)
    mean = (weight * present).sum(axis=0) / np.maximum(total, 1e-300)
    residual = weight * (present - mean)
    noise = (weight**2 * variance).sum(axis=0)
    return WeightedMoments(total, mean, noise, residual.T @ residual, weight.T @ weight)

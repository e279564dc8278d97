"""The spread of true values at each point, told through their errors.

    y ~ N(mean, v + sigma^2):   v <- v + sum_i [w_i^2 (y_i - mean)^2 - w_i] / sum_i w_i^2 ,    w_i = 1 / (v + sigma_i^2)

are steps of Fisher scoring, from below, so that the best measured objects decide first. The function here is the clear NumPy
definition; it runs on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads


def population_variance(
    values: FloatArray,
    variance: FloatArray,
    least: FloatArray,
    steps: int,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Return the variance (m,) of the true values at each point.

    Parameters
    ----------
    values, variance : (n, m)
        Of the noise; a missing value is any number of infinite variance.
    least : (m,)
        Where the steps begin, and what the variance is at least; positive.
    steps : int
    """
    checked_threads(n_threads)
    guess = least
    for _ in range(steps):
        weight = 1.0 / (guess + variance)
        total = np.maximum(weight.sum(axis=0), 1e-300)
        residual = weight * (values - (weight * values).sum(axis=0) / total)
        squared = np.maximum((weight**2).sum(axis=0), 1e-300)
        guess = np.maximum(guess + ((residual**2).sum(axis=0) - total) / squared, least)
    return np.asarray(guess)

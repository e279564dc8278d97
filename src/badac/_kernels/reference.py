"""The definition of every kernel, in slow and clear NumPy.

The compiled core in ``src/native`` computes the same numbers faster. These twins are what the tests hold it to, and what
runs on a platform without the core. Shapes: ``n`` objects, ``k`` curves, ``m`` points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LOG_2PI = float(np.log(2.0 * np.pi))


def pair_log_match(
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    *,
    extra_variance: float | FloatArray = 0.0,
) -> FloatArray:
    """Log density of every object under every curve, the true values integrated out (paper eq. 7).

    ``out[n, k] = sum_j log N(d_nj ; y_kj , d_sigma_nj^2 + y_sigma_kj^2 + extra_variance_j)`` over the points that the
    object has: a point with a NaN value or an infinite sigma drops out.

    Parameters
    ----------
    d, d_sigma : (n, m) and (n, m) or (1, m)
        The objects and their standard deviations.
    y, y_sigma : (k, m) and (k, m) or (1, m)
        The curves and theirs; both finite.
    extra_variance : scalar or (m,)
        Added to the variance of every pair: the intra-class variance sigma_*^2.

    Returns
    -------
    (n, k)
    """
    n, k = d.shape[0], y.shape[0]
    d_sigma = np.broadcast_to(d_sigma, d.shape)
    y_sigma = np.broadcast_to(y_sigma, y.shape)
    out = np.empty((n, k))
    curve_variance = y_sigma**2 + extra_variance
    for row in range(n):
        observed = np.isfinite(d[row]) & np.isfinite(d_sigma[row])
        residual = d[row, observed] - y[:, observed]
        variance = d_sigma[row, observed] ** 2 + curve_variance[:, observed]
        out[row] = -0.5 * np.sum(residual**2 / variance + np.log(variance) + _LOG_2PI, axis=1)
    return out


def pair_logsumexp(
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    *,
    log_weights: FloatArray | None = None,
    skip: IntArray | None = None,
    extra_variance: float | FloatArray = 0.0,
    n_threads: int = 1,
) -> FloatArray:
    """Log evidence of every object: the weighted mean of its matches, ``logsumexp_k (log w_k + log_match)``.

    Parameters
    ----------
    d, d_sigma, y, y_sigma, extra_variance
        As in `pair_log_match`.
    log_weights : (k,), optional
        Log weights of the curves; ``-log k`` each if not given.
    skip : (n,) int64, optional
        For each object the index of one curve to leave out (its own, for leave-one-out), or -1. The weights of the
        others are used as they are.
    n_threads : int
        Taken for the signature's sake: this twin runs on one thread.

    Returns
    -------
    (n,)
    """
    log_match = pair_log_match(d, d_sigma, y, y_sigma, extra_variance=extra_variance)
    log_match += np.full(y.shape[0], -np.log(y.shape[0])) if log_weights is None else log_weights
    if skip is not None:
        rows = np.flatnonzero(skip >= 0)
        log_match[rows, skip[rows]] = -np.inf
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_match, axis=1))

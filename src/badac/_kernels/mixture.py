"""Pairs under noise of several Gaussian widths: the definition in slow and clear NumPy.

    out[n, k] = sum_j log sum_st a_s a_t N(d_nj ; y_kj , (s d_sigma_nj)^2 + (t y_sigma_kj)^2)

with S factors ``s`` on sigma and their shares ``a``. Shapes: ``n`` objects, ``k`` curves, ``m`` points, ``S`` widths.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from badac._kernels.reference import FloatArray, IntArray

_LOG_2PI = float(np.log(2.0 * np.pi))


def mixture_log_match(
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    log_share: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Log density of every object under every curve.

    Parameters
    ----------
    d, d_sigma : (n, m) and (n, m) or (1, m)
        The objects; a point with a NaN value or an infinite sigma drops out.
    y, y_sigma : (k, m) and (k, m) or (1, m)
        The curves; both finite.
    log_share, scale : (S,)
        Log shares of the widths and their factors on sigma, the same on both sides.

    Returns
    -------
    (n, k)
    """
    n, k = d.shape[0], y.shape[0]
    d_sigma = np.broadcast_to(d_sigma, d.shape)
    y_sigma = np.broadcast_to(y_sigma, (1 if len(y_sigma) == 1 else k, y.shape[1]))
    out = np.empty((n, k))
    for row in range(n):
        observed = np.isfinite(d[row]) & np.isfinite(d_sigma[row])
        squared = (d[row, observed] - y[:, observed]) ** 2
        widths = _widths(d_sigma[row, observed], y_sigma[:, observed], log_share, scale)
        # The widths are added up one after the other, so that no array is larger than the pairs of one object.
        best = np.full(squared.shape, -np.inf)
        for share, variance in widths:
            np.maximum(best, share - 0.5 * (squared / variance + np.log(variance)), out=best)
        total = np.zeros(squared.shape)
        for share, variance in widths:
            total += np.exp(share - 0.5 * (squared / variance + np.log(variance)) - best)
        out[row] = (best + np.log(total)).sum(axis=1) - 0.5 * _LOG_2PI * squared.shape[1]
    return out


def _widths(
    d_sigma: FloatArray, y_sigma: FloatArray, log_share: FloatArray, scale: FloatArray
) -> list[tuple[float, FloatArray]]:
    """Log share and variance of every combination of two widths; combinations of no share are left out."""
    found: list[tuple[float, FloatArray]] = []
    for i, s in enumerate(scale):
        for j, t in enumerate(scale):
            share = float(log_share[i] + log_share[j])
            if share > -np.inf:
                found.append((share, (s * d_sigma) ** 2 + (t * y_sigma) ** 2))
    return found


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
    """Log evidence of every object, ``logsumexp_k (log w_k + log_match)``; (n,). Parameters as in `pair_logsumexp`."""
    log_match = mixture_log_match(d, d_sigma, y, y_sigma, log_share, scale)
    log_match += np.full(y.shape[0], -np.log(y.shape[0])) if log_weights is None else log_weights
    if skip is not None:
        rows = np.flatnonzero(skip >= 0)
        log_match[rows, skip[rows]] = -np.inf
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_match, axis=1))

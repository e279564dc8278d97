"""Pairs under noise of several Gaussian widths: the definition in slow and clear NumPy.

    out[n, k] = sum_j log sum_st a_s a_t N(d_nj ; y_kj , (s d_sigma_nj)^2 + (t y_sigma_kj)^2)

with S factors ``s`` on sigma and their shares ``a``. Shapes: ``n`` objects, ``k`` curves, ``m`` points, ``S`` widths.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from badac._kernels.arguments import FloatArray, Pairs, checked_threads

_LOG_2PI = float(np.log(2.0 * np.pi))
_CELLS_PER_BLOCK = 1 << 16


def mixture_log_match(pairs: Pairs, log_share: FloatArray, scale: FloatArray) -> FloatArray:
    """Log density (n, k) of every object under every curve.

    Parameters
    ----------
    pairs : Pairs
        Without an extra variance.
    log_share, scale : (S,)
        Log shares of the widths and their factors on sigma, the same on both sides.
    """
    d, y, y_sigma = pairs.d, pairs.y, pairs.y_sigma
    n, k, m = d.shape[0], y.shape[0], y.shape[1]
    d_sigma = np.broadcast_to(pairs.d_sigma, d.shape)
    out = np.empty((n, k))
    step = max(1, _CELLS_PER_BLOCK // max(1, k * m))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        observed = np.isfinite(d[rows]) & np.isfinite(d_sigma[rows])
        squared = (np.where(observed, d[rows], 0.0)[:, None, :] - y) ** 2
        widths = _widths(np.where(observed, d_sigma[rows], 1.0)[:, None, :], y_sigma, log_share, scale)
        parts = [share - 0.5 * (squared / variance + np.log(variance)) for share, variance in widths]
        best = np.maximum.reduce(parts)
        total = np.add.reduce([np.exp(part - best) for part in parts])
        match = np.where(observed[:, None, :], best + np.log(total) - 0.5 * _LOG_2PI, 0.0)
        out[rows] = match.sum(axis=2)
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
    pairs: Pairs, log_share: FloatArray, scale: FloatArray, *, n_threads: int = 1
) -> FloatArray:
    """Log evidence (n,) of every object, ``logsumexp_k (log w_k + log_match)``; parameters as above."""
    checked_threads(n_threads)
    k = len(pairs.y)
    log_match = mixture_log_match(pairs, log_share, scale)
    log_match += np.full(k, -np.log(k)) if pairs.log_weights is None else pairs.log_weights
    if pairs.skip is not None:
        rows = np.flatnonzero(pairs.skip >= 0)
        log_match[rows, pairs.skip[rows]] = -np.inf
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_match, axis=1))

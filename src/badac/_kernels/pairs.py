"""Pairs of objects and curves: the definition in slow and clear NumPy.

    log_match[n, k] = sum_j log N(d_nj ; y_kj , d_sigma_nj^2 + y_sigma_kj^2 + extra_variance_j)

over the points that the object has (paper eq. 7): the true values integrated out, a point with a NaN value or an infinite
sigma dropped. Shapes: ``n`` objects, ``k`` curves, ``m`` points.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from badac._kernels.arguments import FloatArray, IntArray, Pairs, checked_threads

_LOG_2PI = float(np.log(2.0 * np.pi))


def pair_log_match(pairs: Pairs, *, n_threads: int = 1) -> FloatArray:
    """Log density (n, k) of every object under every curve.

    Raises
    ------
    ValueError
        If a pair has no variance at all at a point that counts: its density would be infinite or zero.
    """
    checked_threads(n_threads)
    return _log_match(pairs)


def pair_logsumexp(pairs: Pairs, *, n_threads: int = 1) -> FloatArray:
    """Log evidence (n,) of every object: the weighted mean of its matches, ``logsumexp_k (log w_k + log_match)``."""
    checked_threads(n_threads)
    k = len(pairs.y)
    log_match = _log_match(pairs)
    log_match += np.full(k, -np.log(k)) if pairs.log_weights is None else pairs.log_weights
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_match, axis=1))


def pair_best(pairs: Pairs, *, n_threads: int = 1) -> IntArray:
    """Return (n,): the curve of the best match of every object, its weight included; of equal ones the first."""
    checked_threads(n_threads)
    log_match = _log_match(pairs)
    if pairs.log_weights is not None:
        log_match += pairs.log_weights
    return np.asarray(log_match.argmax(axis=1))


def _log_match(pairs: Pairs) -> FloatArray:
    """All matches, (n, k); -inf for the curve that an object skips and for curves of no weight."""
    d_sigma = np.broadcast_to(pairs.d_sigma, pairs.d.shape)
    # Standard deviations are combined by hypot, so that a tiny or huge one does not vanish or overflow when squared.
    curve_sigma = np.hypot(np.broadcast_to(pairs.y_sigma, pairs.y.shape), np.sqrt(pairs.extra_variance))
    out = np.full((len(pairs.d), len(pairs.y)), -np.inf)
    weighed = np.ones(len(pairs.y), bool) if pairs.log_weights is None else ~np.isneginf(pairs.log_weights)
    for row, (d, sigma) in enumerate(zip(pairs.d, d_sigma, strict=True)):
        observed = np.flatnonzero(np.isfinite(d) & np.isfinite(sigma))
        counts = weighed.copy()
        if pairs.skip is not None and pairs.skip[row] >= 0:
            counts[pairs.skip[row]] = False
        curves = np.flatnonzero(counts)
        at = np.ix_(curves, observed)
        total = np.hypot(sigma[observed], curve_sigma[at])
        if not total.all():
            curve, point = np.argwhere(total == 0)[0]
            raise ValueError(
                f"a pair needs a variance: the sigmas of object {row} and curve {curves[curve]} are both zero at "
                f"point {observed[point]} and extra_variance is zero there. "
                "Give one of them an error, or an extra_variance."
            )
        with np.errstate(over="ignore"):
            chi2 = ((d[observed] - pairs.y[at]) / total) ** 2
        out[row, curves] = -0.5 * np.sum(chi2 + 2.0 * np.log(total) + _LOG_2PI, axis=1)
    return out

"""The definition of every kernel, in slow and clear NumPy.

The compiled core in ``src/native`` computes the same numbers faster. These twins are what the tests hold it to, and what
runs on a platform without the core. Shapes: ``n`` objects, ``k`` curves, ``m`` points.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from badac._kernels.arguments import (
    FloatArray,
    IntArray,
    Pairs,
    checked_skip,
    checked_threads,
    checked_weights,
)

__all__ = ["FloatArray", "IntArray", "pair_log_match", "pair_logsumexp"]

_LOG_2PI = float(np.log(2.0 * np.pi))


def pair_log_match(
    d: npt.ArrayLike,
    d_sigma: npt.ArrayLike,
    y: npt.ArrayLike,
    y_sigma: npt.ArrayLike,
    *,
    extra_variance: npt.ArrayLike = 0.0,
    n_threads: int = 1,
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
    n_threads : int
        Taken for the signature's sake: this twin runs on one thread.

    Returns
    -------
    (n, k)

    Raises
    ------
    ValueError
        If a pair has no variance at all at a point that counts: its density would be infinite or zero.
    """
    checked_threads(n_threads)
    pairs = Pairs.of(d, d_sigma, y, y_sigma, extra_variance)
    return _log_match(pairs, np.full(pairs.d.shape[0], -1), np.zeros(pairs.y.shape[0], dtype=bool))


def pair_logsumexp(
    d: npt.ArrayLike,
    d_sigma: npt.ArrayLike,
    y: npt.ArrayLike,
    y_sigma: npt.ArrayLike,
    *,
    log_weights: npt.ArrayLike | None = None,
    skip: npt.ArrayLike | None = None,
    extra_variance: npt.ArrayLike = 0.0,
    n_threads: int = 1,
) -> FloatArray:
    """Log evidence of every object: the weighted mean of its matches, ``logsumexp_k (log w_k + log_match)``.

    Parameters
    ----------
    d, d_sigma, y, y_sigma, extra_variance, n_threads
        As in `pair_log_match`.
    log_weights : (k,), optional
        Log weights of the curves; ``-log k`` each if not given. A curve of weight -inf does not count.
    skip : (n,) int64, optional
        For each object the index of one curve to leave out (its own, for leave-one-out), or -1. The weights of the
        others are used as they are.

    Returns
    -------
    (n,)
    """
    checked_threads(n_threads)
    pairs = Pairs.of(d, d_sigma, y, y_sigma, extra_variance)
    n, k = pairs.d.shape[0], pairs.y.shape[0]
    weights = checked_weights(log_weights, k)
    if weights is None:
        weights = np.full(k, -np.log(k))
    left_out = checked_skip(skip, n, k)
    log_match = _log_match(pairs, np.full(n, -1) if left_out is None else left_out, np.isneginf(weights))
    log_match += weights
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_match, axis=1))


def _log_match(pairs: Pairs, skip: IntArray, ignored: npt.NDArray[np.bool_]) -> FloatArray:
    """All matches, (n, k); -inf for the curve that an object skips and for curves that are ignored."""
    d_sigma = np.broadcast_to(pairs.d_sigma, pairs.d.shape)
    # Standard deviations are combined by hypot, so that a tiny or huge one does not vanish or overflow when squared.
    curve_sigma = np.hypot(np.broadcast_to(pairs.y_sigma, pairs.y.shape), np.sqrt(pairs.extra_variance))
    out = np.full((pairs.d.shape[0], pairs.y.shape[0]), -np.inf)
    for row, (d, sigma) in enumerate(zip(pairs.d, d_sigma, strict=True)):
        observed = np.flatnonzero(np.isfinite(d) & np.isfinite(sigma))
        counts = ~ignored
        if skip[row] >= 0:
            counts[skip[row]] = False
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

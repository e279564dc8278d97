"""Evidence of a sine of unknown frequency: the paper's class 0.

    P(d) = integral dw N(w; mean, sd^2) P(d | sin(w x))

The integrand is a narrow peak, or several: at ``w`` its curvature is about ``sum_j x_j^2 cos^2(w x_j) / sigma_j^2``, a
width of 0.02 to 0.04 for the paper's smaller noise, in a range of 32. The trapezoidal rule on a grid finer than the
smallest possible width is then exact to many digits (its error falls like ``exp(-2 pi^2 (width / step)^2)``). With
Gaussian errors the whole grid costs a few matrix products. With bad points the grid is first looked at in every eighth
place, and filled in only where the integrand is not negligible.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.simulate.distributions import FloatArray, Normal
from reproduction.limits.mixture import MixtureDensity

IndexArray = npt.NDArray[np.intp]

_LOG_2PI = float(np.log(2.0 * np.pi))
_REACH = 8.0  # of the prior, in its standard deviations
_BLOCK = 2_000_000  # numbers of one array in a block of objects: 16 MB
_CACHED = 16_384  # the same, where an array is walked over many times
_COARSE = 8  # fine steps in a coarse one
_NEGLIGIBLE = 30.0  # nats below the peak


def sine_log_evidence(
    values: FloatArray,
    sigma: FloatArray,
    at: FloatArray,
    frequency: Normal,
    shared: FloatArray | None = None,
    *,
    spacing: float = 0.7,
) -> FloatArray:
    """Log evidence of a sine with Gaussian errors, independent or with a part that points share.

    Parameters
    ----------
    values, sigma : (n, m)
        Objects and their standard deviations, positive.
    at : (m,)
        Coordinates.
    frequency : Normal
        Prior of the frequency.
    shared : (m, q), optional
        Columns of a factor of the covariance: errors have covariance ``diag(sigma^2) + shared shared'``.
    spacing : float
        Step of the grid in smallest widths of the peak.

    Returns
    -------
    (n,)
    """
    node, log_weight = _grid(sigma, at, frequency, spacing)
    curve = np.sin(np.outer(node, at))
    evidence = np.empty(len(values))
    step = max(1, _BLOCK // node.size)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        log_match = _gaussian_log_match(values[rows], sigma[rows], curve, shared)
        evidence[rows] = _log_sum(log_match + log_weight)
    return evidence


def sine_log_evidence_with_bad_points(
    values: FloatArray,
    sigma: FloatArray,
    at: FloatArray,
    frequency: Normal,
    density: MixtureDensity,
    *,
    spacing: float = 0.7,
) -> FloatArray:
    """Log evidence of a sine whose errors have the given mixture density; parameters as in `sine_log_evidence`."""
    node, log_weight = _grid(sigma, at, frequency, spacing)
    curve = np.sin(np.outer(node, at))
    coarse = np.arange(0, node.size, _COARSE)
    evidence = np.empty(len(values))
    step = max(1, _CACHED // coarse.size)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        scaled, scale = values[rows] / sigma[rows], 1.0 / sigma[rows]
        total = density.begin((len(scaled), coarse.size))
        for j in range(at.size):
            total.add(scaled[:, j, None] - np.multiply.outer(scale[:, j], curve[coarse, j]))
        seen = total.total() + log_weight[coarse]
        owner, place = np.nonzero(_worth_filling(seen))
        evidence[rows] = _filled_in(scaled, scale, curve, log_weight, density, owner, coarse[place])
    return np.asarray(evidence - np.log(sigma).sum(axis=1))


def _grid(
    sigma: FloatArray, at: FloatArray, frequency: Normal, spacing: float
) -> tuple[FloatArray, FloatArray]:
    """Frequencies (k,) and the log of prior times step (k,)."""
    if frequency.sd == 0.0:
        return np.array([frequency.mean]), np.zeros(1)
    sharpest = float(np.sqrt(np.max(sigma**-2 @ at**2)))
    half = int(np.ceil(_REACH * frequency.sd * max(sharpest, 1.0 / frequency.sd) / spacing))
    z = np.linspace(-_REACH, _REACH, 2 * half + 1)
    return frequency.mean + frequency.sd * z, np.log(z[1] - z[0]) - 0.5 * (z**2 + _LOG_2PI)


def _gaussian_log_match(
    values: FloatArray, sigma: FloatArray, curve: FloatArray, shared: FloatArray | None
) -> FloatArray:
    """``log N(d ; curve_k , diag(sigma^2) + shared shared')``, (n, k), by matrix products."""
    precision = sigma**-2
    pull = precision * values
    log_determinant = 2.0 * np.log(sigma).sum(axis=1)
    offset = np.sum(pull * values, axis=1)
    quadratic = precision @ (curve**2).T
    if shared is not None:
        # C^-1 = D - F F' with one factor F = D T L'^-1 an object, where L L' = I + T' D T (Woodbury).
        weighted = precision[:, :, None] * shared
        lower = np.linalg.cholesky(np.eye(shared.shape[1]) + shared.T @ weighted)
        factor = np.linalg.solve(lower, weighted.swapaxes(1, 2))
        along = np.einsum("nqm,nm->nq", factor, values)
        offset = offset - np.sum(along**2, axis=1)
        pull = pull - np.einsum("nqm,nq->nm", factor, along)
        for q in range(shared.shape[1]):
            quadratic -= (factor[:, q] @ curve.T) ** 2
        log_determinant = log_determinant + 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    quadratic -= 2.0 * (pull @ curve.T)
    constant = offset + log_determinant + values.shape[1] * _LOG_2PI
    return np.asarray(-0.5 * (quadratic + constant[:, None]))


def _worth_filling(seen: FloatArray) -> npt.NDArray[np.bool_]:
    """Coarse places (n, k) that are not negligible, and their neighbours: peaks can stand between two places."""
    high = seen > seen.max(axis=1, keepdims=True) - _NEGLIGIBLE
    wide: npt.NDArray[np.bool_] = high.copy()
    wide[:, 1:] |= high[:, :-1]
    wide[:, :-1] |= high[:, 1:]
    return wide


def _filled_in(
    scaled: FloatArray,
    scale: FloatArray,
    curve: FloatArray,
    log_weight: FloatArray,
    density: MixtureDensity,
    owner: IndexArray,
    place: IndexArray,
) -> FloatArray:
    """Sum over the fine places around the kept coarse ones, (n,).

    `scaled` and `scale` (n, m) are ``d / sigma`` and ``1 / sigma``; `owner` ascends and names every object.
    """
    fine = place[:, None] + np.arange(-_COARSE // 2, _COARSE - _COARSE // 2)
    inside = (fine >= 0) & (fine < log_weight.size)
    fine = np.clip(fine, 0, log_weight.size - 1)
    total = density.begin(fine.shape)
    for j in range(scaled.shape[1]):
        total.add(scaled[owner, j, None] - scale[owner, j, None] * curve[fine, j])
    each = np.where(inside, total.total() + log_weight[fine], -np.inf)
    first = np.searchsorted(owner, np.arange(len(scaled)))
    return np.logaddexp.reduceat(_log_sum(each), first)


def _log_sum(log_terms: FloatArray) -> FloatArray:
    """``log sum exp`` over the last axis; unlike scipy's it makes one temporary."""
    peak = log_terms.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(log_terms - peak).sum(axis=-1)) + peak[..., 0])

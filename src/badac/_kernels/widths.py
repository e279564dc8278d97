"""Points of several Gaussian widths around a few latent positions: the definition in slow and clear NumPy.

A point is ``residual_j = factors_j z + e``, ``e ~ N(0, v_js)``, ``v_js = psi_j + (scale_s sigma_j)^2`` with a share ``a_s``.
Given the latent position ``z`` the sum over the widths is exact:

    log P(residual | z) = sum_j log sum_s a_s N(residual_j ; factors_j z , v_js)

Shapes: ``n`` objects, ``m`` points, ``r`` latent dimensions, ``S`` widths, ``K`` positions. A point with an infinite sigma is
missing and drops out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads
from badac._kernels.latent import unpack

_LOG_2PI = float(np.log(2.0 * np.pi))
_CELLS_PER_BLOCK = 1 << 18
# Of the last two steps, how far a position may be set back or ahead; also in widths_kernel.hpp. Farther ahead saves no step.
_MOST_BACK, _MOST_AHEAD = 0.5, 1.0


class WidePoints(NamedTuple):
    """The points of some objects, the factor model they are seen through, and their widths.

    Attributes
    ----------
    residual, sigma : (n, m)
        Values less the mean, and their standard deviations; anything and infinity where missing.
    factors, psi : (m, r), (m,)
    log_share, scale : (S,)
        Log shares of the widths and their factors on sigma.
    """

    residual: FloatArray
    sigma: FloatArray
    factors: FloatArray
    psi: FloatArray
    log_share: FloatArray
    scale: FloatArray


def widths_log_likelihood(points: WidePoints, positions: FloatArray, *, n_threads: int = 1) -> FloatArray:
    """Exact log likelihood of each object at each of its own positions.

    Parameters
    ----------
    points : WidePoints
    positions : (n, K, r)

    Returns
    -------
    (n, K)
    """
    checked_threads(n_threads)
    residual, sigma, factors, psi, log_share, scale = points
    n, m = residual.shape
    out = np.empty(positions.shape[:2])
    step = max(1, _CELLS_PER_BLOCK // max(1, m))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        observed = np.isfinite(sigma[rows])
        variance = psi + (scale[:, None, None] * np.where(observed, sigma[rows], 1.0)) ** 2
        height = log_share[:, None, None] - 0.5 * (np.log(variance) + _LOG_2PI)
        known = np.where(observed, residual[rows], 0.0)
        for k in range(positions.shape[1]):
            left = (known - positions[rows, k] @ factors.T) ** 2
            parts = height - 0.5 * left / variance
            top = parts.max(axis=0)
            exact = top + np.log(np.exp(parts - top).sum(axis=0))
            out[rows, k] = np.where(observed, exact, 0.0).sum(axis=1)
    return out


def widths_posterior(
    points: WidePoints,
    start: FloatArray | None = None,
    *,
    max_steps: int,
    tolerance: float,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Alternate between the widths of the points and the posterior of ``z ~ N(0, I)`` (variational EM).

    From the third step on the mean position goes ahead by what the last two steps say of the next ones (Anderson's
    acceleration, 1965, of depth one): a quarter fewer steps to the same place.

    Parameters
    ----------
    points : WidePoints
    start : (n, m), optional
        Expected squared residuals to begin with, those of a similar factor model; from anywhere in the population if not given.
    max_steps : int
    tolerance : float
        An object has settled when no coordinate of its mean position moves by more.

    Returns
    -------
    weight : (n, m)
        Expected precision of each point, ``sum_s q_js / v_js``; 0 where missing.
    squared : (n, m)
        Expected squared residual around the curve of the position; 0 where missing.
    """
    checked_threads(n_threads)
    n, m = points.residual.shape
    weight, squared = np.zeros((n, m)), np.zeros((n, m))
    step = max(1, _CELLS_PER_BLOCK // max(1, m))
    for begin in range(0, n, step):
        rows = slice(begin, begin + step)
        block = points._replace(residual=points.residual[rows], sigma=points.sigma[rows])
        begun = None if start is None else start[rows]
        weight[rows], squared[rows] = _posterior_of_block(block, begun, max_steps, tolerance)
    return weight, squared


def _posterior_of_block(
    points: WidePoints, start: FloatArray | None, max_steps: int, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    residual, sigma, factors, psi, log_share, scale = points
    n, rank = len(residual), factors.shape[1]
    observed = np.isfinite(sigma)
    residual = np.where(observed, residual, 0.0)
    sigma = np.where(observed, sigma, 1.0)
    # (S, n, m): widths first, so that the sums over them are sums of whole arrays.
    variance = psi + (scale[:, None, None] * sigma) ** 2
    height = log_share[:, None, None] - 0.5 * np.log(variance)
    rows, columns = np.triu_indices(rank)
    outer = factors[:, rows] * factors[:, columns]
    twice = np.where(rows == columns, 1.0, 2.0)
    # At first z is anywhere in the population: its spread at each point forgives what it may explain.
    squared = residual**2 / (1.0 + (factors**2).sum(axis=1) / (psi + sigma**2))
    if start is not None:
        squared = np.where(observed, start, 0.0)
    weight, position = np.zeros_like(residual), np.zeros((n, rank))
    moved_before, change_before = np.zeros((n, rank)), np.zeros((n, rank))
    # Each object goes on until it has settled, whatever the others in its block do.
    active = np.arange(n)
    for step in range(max_steps):
        part = height[:, active] - 0.5 * squared[active] / variance[:, active]
        part -= part.max(axis=0)
        np.exp(part, out=part)
        part /= part.sum(axis=0)
        weighed = np.where(observed[active], (part / variance[:, active]).sum(axis=0), 0.0)
        inverse = np.linalg.inv(unpack(weighed @ outer) + np.eye(rank))
        moved = (inverse @ ((weighed * residual[active]) @ factors)[..., None])[..., 0]
        spread = (inverse[:, rows, columns] * twice) @ outer.T
        change = moved - position[active]
        turn = change - change_before[active]
        square = (turn**2).sum(axis=1)
        back = np.divide((change * turn).sum(axis=1), square, out=np.zeros(len(active)), where=square > 0)
        back = np.clip(back, -_MOST_AHEAD, _MOST_BACK) * (step >= 2)
        ahead = moved - back[:, None] * (moved - moved_before[active])
        squared[active] = (residual[active] - ahead @ factors.T) ** 2 + spread
        settled = np.abs(change).max(axis=1, initial=0.0) < tolerance
        weight[active], position[active] = weighed, ahead
        moved_before[active], change_before[active] = moved, change
        active = active[~settled]
        if not active.size:
            break
    return weight, np.where(observed, squared, 0.0)


def responsibilities(
    squared: FloatArray, sigma: FloatArray, psi: FloatArray, log_share: FloatArray, scale: FloatArray
) -> FloatArray:
    """Return (n, m, S): share of each width in each point, given its squared residual (n, m); 0 where missing."""
    observed = np.isfinite(sigma)
    # Widths first, so that the sums over them are sums of whole arrays.
    variance = psi + (scale[:, None, None] * np.where(observed, sigma, 1.0)) ** 2
    parts = log_share[:, None, None] - 0.5 * (np.log(variance) + squared / variance)
    parts -= parts.max(axis=0)
    np.exp(parts, out=parts)
    parts /= parts.sum(axis=0)
    parts *= observed
    return np.moveaxis(parts, 0, -1)

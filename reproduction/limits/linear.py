"""Evidence of a curve that is linear in normal parameters: the paper's class 1, the parabola.

    d = mu + B z + e ,   z ~ N(0, I)

With Gaussian errors ``D = diag(sigma^2)`` everything is normal, and in the ``p`` dimensions of ``z``

    log P(d) = -1/2 [ r' D^-1 r - b' K^-1 b + log det K + log det D + m log 2 pi ] ,
    K = I + B' D^-1 B ,   b = B' D^-1 r ,   r = d - mu

With bad points the integral over ``z`` has no closed form; it is done by Gauss-Hermite quadrature around the mode, in
the metric of the curvature there. A hundred points make the posterior of ``z`` nearly normal, so few nodes are enough.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from badac.simulate.distributions import FloatArray
from reproduction.limits.mixture import MixtureDensity

_LOG_2PI = float(np.log(2.0 * np.pi))
_BLOCK = 16_384  # numbers of one array in a block of objects: fits the processor's cache


def linear_log_evidence(residual: FloatArray, sigma: FloatArray, basis: FloatArray) -> FloatArray:
    """Log evidence with Gaussian errors, in closed form.

    Parameters
    ----------
    residual : (n, m)
        Values minus the mean curve.
    sigma : (n, m)
        Standard deviations, positive.
    basis : (m, p)
        Columns scaled by the standard deviations of their coefficients.

    Returns
    -------
    (n,)
    """
    precision = sigma**-2
    curvature = _weighted_gram(precision, basis) + np.eye(basis.shape[1])
    pull = (precision * residual) @ basis
    best = _solve(curvature, pull)
    chi_square = np.sum(precision * residual**2, axis=1) - np.sum(pull * best, axis=1)
    log_determinant = np.linalg.slogdet(curvature)[1] + 2.0 * np.log(sigma).sum(axis=1)
    return np.asarray(-0.5 * (chi_square + log_determinant + residual.shape[1] * _LOG_2PI))


def linear_log_evidence_with_bad_points(
    residual: FloatArray, sigma: FloatArray, basis: FloatArray, density: MixtureDensity, n_nodes: int = 5
) -> FloatArray:
    """Log evidence with bad points, by Gauss-Hermite quadrature around the mode.

    Parameters
    ----------
    residual, sigma, basis
        As in `linear_log_evidence`.
    density : MixtureDensity
        Of the standardised errors.
    n_nodes : int
        Nodes per dimension.

    Returns
    -------
    (n,)
    """
    mode = _best_mode(residual, sigma, basis, density)
    axes = _curvature_axes(residual - mode @ basis.T, sigma, basis, density)
    node, log_weight = _hermite_nodes(n_nodes, basis.shape[1])
    evidence = np.empty(len(residual))
    step = max(1, _BLOCK // len(node))
    for start in range(0, len(residual), step):
        rows = slice(start, start + step)
        position = mode[rows, None, :] + node @ axes[rows].swapaxes(1, 2)
        at_mode = (residual[rows] - mode[rows] @ basis.T) / sigma[rows]
        slope = (basis @ axes[rows]) / sigma[rows, :, None]
        total = density.begin(position.shape[:2])
        for j in range(basis.shape[0]):
            total.add(at_mode[:, j, None] - slope[:, j] @ node.T)
        log_prior = -0.5 * np.sum(position**2, axis=2) - 0.5 * basis.shape[1] * _LOG_2PI
        evidence[rows] = np.logaddexp.reduce(total.total() + log_prior + log_weight, axis=1)
    return np.asarray(evidence + np.linalg.slogdet(axes)[1] - np.log(sigma).sum(axis=1))


def _best_mode(
    residual: FloatArray, sigma: FloatArray, basis: FloatArray, density: MixtureDensity
) -> FloatArray:
    """Most probable coefficients (n, p), the better of two ascents: from the prior mean and from a broad fit."""
    precision = sigma**-2
    broad = precision / density.factor**2
    curvature = _weighted_gram(broad, basis) + np.eye(basis.shape[1])
    fit = _solve(curvature, (broad * residual) @ basis)
    first = _ascend(np.zeros_like(fit), residual, sigma, basis, density)
    second = _ascend(fit, residual, sigma, basis, density)
    heights = [_log_posterior(mode, residual, sigma, basis, density) for mode in (first, second)]
    return np.where((heights[0] >= heights[1])[:, None], first, second)


def _log_posterior(
    z: FloatArray, residual: FloatArray, sigma: FloatArray, basis: FloatArray, density: MixtureDensity
) -> FloatArray:
    t = (residual - z @ basis.T) / sigma
    return np.asarray(density.log_density(t).sum(axis=1) - 0.5 * np.sum(z**2, axis=1))


def _ascend(
    z: FloatArray,
    residual: FloatArray,
    sigma: FloatArray,
    basis: FloatArray,
    density: MixtureDensity,
    n_steps: int = 25,
) -> FloatArray:
    """EM over which points are good: each step is a weighted fit and never lowers the posterior."""
    precision = sigma**-2
    identity = np.eye(basis.shape[1])
    for _ in range(n_steps):
        good = density.good((residual - z @ basis.T) / sigma)
        weight = precision * (good + (1.0 - good) / density.factor**2)
        z = _solve(_weighted_gram(weight, basis) + identity, (weight * residual) @ basis)
    return z


def _curvature_axes(
    residual: FloatArray, sigma: FloatArray, basis: FloatArray, density: MixtureDensity
) -> FloatArray:
    """Matrix square root (n, p, p) of the inverse curvature of the negative log posterior at the mode."""
    t = residual / sigma
    good, shrunk = density.good(t), density.factor**-2
    expected = good + (1.0 - good) * shrunk
    exact = expected - good * (1.0 - good) * ((1.0 - shrunk) * t) ** 2
    identity = np.eye(basis.shape[1])
    curvature = _weighted_gram(exact / sigma**2, basis) + identity
    # The prior alone gives 1 in every direction. Less means that the mode is flat or not reached: take the curvature
    # with the good points fixed instead, which is never below the prior's.
    flat = np.linalg.eigvalsh(curvature)[:, 0] < 1.0
    curvature[flat] = _weighted_gram((expected / sigma**2)[flat], basis) + identity
    return np.linalg.inv(np.linalg.cholesky(curvature)).swapaxes(1, 2)


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve ``matrix_i z_i = right_i`` for each object, (n, p)."""
    return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0], dtype=np.float64)


def _weighted_gram(weight: FloatArray, basis: FloatArray) -> FloatArray:
    """``B' diag(weight_i) B`` for each row of `weight` (n, m): (n, p, p)."""
    p = basis.shape[1]
    outer = (basis[:, :, None] * basis[:, None, :]).reshape(-1, p * p)
    return (weight @ outer).reshape(-1, p, p)


def _hermite_nodes(n_nodes: int, p: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (k, p) and log weights (k,) for integrals over ``dz``, the standard normal's weight divided out."""
    at, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    node = np.array(list(product(at, repeat=p)))
    log_weight = np.array(list(product(np.log(weight), repeat=p))).sum(axis=1)
    return node, log_weight + 0.5 * np.sum(node**2, axis=1)

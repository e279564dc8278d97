"""The factor kernels: objects on a grid under ``y_true = mean + factors z + eps``, ``eps ~ N(0, diag psi)``.

With ``w = 1 / (psi + sigma^2)`` of every point, 0 where it is missing, an object ``d`` says of its latent position ``z``

    -(offset - 2 shift'z + z' precision z) / 2,    precision = factors' w factors,   shift = factors' w (d - mean)

and under ``z ~ N(0, I)`` the EM of mean, factors and psi needs sums of its posterior moments over the objects. The functions
here are the clear NumPy definitions; they run on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads
from badac._kernels.latent import latent_posterior, pack, products, triangle, unpack, weigh_points

LARGEST_LEVERAGE = 0.7  # that counts: beyond it the first order says nothing
_RIDGE = 1e-6  # of a normal matrix's first element, so that points of few objects have an inverse

Likelihoods = tuple[FloatArray, FloatArray, FloatArray]
"""Precision (n, p), shift (n, r) and offset (n,)."""


class PosteriorSums(NamedTuple):
    """Sums over objects under a factor model, as one EM step needs them.

    Attributes
    ----------
    log_evidence : (1,)
        Of the objects under ``z ~ N(0, I)``.
    normal : (m, q)
        Packed normal matrices of each point's regression on ``(1, z)``, sums of ``w E[(1, z)(1, z)']``;
        ``q = (r + 1)(r + 2) / 2``.
    right : (m, r + 1)
        Right-hand sides of the same regressions, of the residuals: sums of ``w (d - mean) E[(1, z)]``.
    weight_squared, misfit : (m,)
        Sums of ``w^2`` and of ``w^2 E[residual^2]``.
    moments : (q,)
        Sums of ``E[(1, z)(1, z)']``, packed.
    """

    log_evidence: FloatArray
    normal: FloatArray
    right: FloatArray
    weight_squared: FloatArray
    misfit: FloatArray
    moments: FloatArray


def factor_project(
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    *,
    out: Likelihoods | None = None,
    n_threads: int = 1,
) -> Likelihoods:
    """Reduce objects to their latent likelihoods.

    Parameters
    ----------
    values, sigma : (n, m)
        NaN and inf where missing.
    mean, psi : (m,)
    factors : (m, r)
    out : optional
        Where to write what is returned.

    Returns
    -------
    precision, shift : (n, p), (n, r)
        The precision packed, ``p = r (r + 1) / 2``.
    offset : (n,)
        ``sum_j [w (d - mean)^2 - log w + log 2 pi]`` over the observed points.
    """
    checked_threads(n_threads)
    weight, scaled, offset = weigh_points(values, sigma, mean, psi)
    found = weight @ products(factors), scaled @ factors, offset
    if out is None:
        return found
    for room, array in zip(out, found, strict=True):
        room[:] = array
    return out


def row_products(left: FloatArray, right: FloatArray, *, n_threads: int = 1) -> FloatArray:
    """Return the products (n, s) of the rows of left (n, m) with the columns of right (m, s): few enough to stay in a cache."""
    checked_threads(n_threads)
    return np.asarray(left @ right)


def factor_sums(
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    *,
    n_threads: int = 1,
) -> PosteriorSums:
    """Add up the posterior moments of objects under ``z ~ N(0, I)``; parameters as in `factor_project`."""
    checked_threads(n_threads)
    return sums_of(*weigh_points(values, sigma, mean, psi), factors, latent_posterior)


def sums_of(
    weight: FloatArray,
    scaled: FloatArray,
    offset: FloatArray,
    factors: FloatArray,
    posterior: Callable[..., tuple[FloatArray, FloatArray, FloatArray]],
) -> PosteriorSums:
    """Return the sums from what `weigh_points` says of the objects, (n, m), (n, m), (n,), by one of the `latent_posterior`."""
    rank, outer = factors.shape[1], products(factors)
    shift = scaled @ factors
    spread, position, log_det = posterior(weight @ outer, shift, pack(np.eye(rank)), np.zeros(rank))
    evidence = -0.5 * (offset - np.einsum("ia,ia->i", shift, position) + log_det)
    augmented = np.column_stack([np.ones(len(position)), position])
    # Row 0 of the packed moments of (1, z) is (1, z) itself.
    moments = np.hstack([augmented, spread + products(position)])
    # Off-diagonal elements of the packed product count twice in w' C w.
    twice = np.where(np.equal(*triangle(rank)), 1.0, 2.0)
    left = position @ factors.T
    left *= weight
    left -= scaled
    squared = weight**2
    misfit = np.einsum("ij,ij->j", left, left) + np.einsum("jp,jp->j", squared.T @ spread, outer * twice)
    return PosteriorSums(
        np.array([evidence.sum()]),
        weight.T @ moments,
        scaled.T @ augmented,
        squared.sum(axis=0),
        misfit,
        moments.sum(axis=0),
    )


def leverage_losses(
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    position: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Return the evidence (n,) that each object owes to its own leverage in the estimates of mean and factors.

    In the regression of point ``j`` on ``(1, z)`` object ``i`` has the leverage ``l_ij = w_ij (1, z_i) N_j^-1 (1, z_i)'``,
    ``N_j = sum_i w_ij (1, z_i)'(1, z_i)``; left out, its residual there grows by ``1 / (1 - l_ij)``.

    Parameters
    ----------
    values, sigma, mean, psi, factors
        As in `factor_project`.
    position : (n, r)
        Posterior mean of each object's latent position.
    """
    checked_threads(n_threads)
    weight, scaled, _ = weigh_points(values, sigma, mean, psi)
    moments = moments_at(position)
    return losses_of(weight, scaled, factors, moments, folded_inverse(weight.T @ moments))


def moments_at(position: FloatArray) -> FloatArray:
    """Return (n, q): packed products of ``(1, z)`` at the positions (n, r)."""
    return products(np.column_stack([np.ones(len(position)), position]))


def folded_inverse(normal: FloatArray) -> FloatArray:
    """Return (q, m): inverses of packed normal matrices (m, q), so that a product with packed moments is a quadratic form."""
    matrices = unpack(normal)
    r = matrices.shape[-1]
    ridge = _RIDGE * np.maximum(normal[:, 0], 1e-300)
    inverse = np.linalg.inv(matrices + ridge[:, None, None] * np.eye(r))
    rows, columns = triangle(r)
    return np.ascontiguousarray((inverse[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)).T)


def losses_of(
    weight: FloatArray, scaled: FloatArray, factors: FloatArray, moments: FloatArray, inverse: FloatArray
) -> FloatArray:
    """Return the losses (n,) from weights and weighted residuals (n, m), `moments_at` (n, q) and `folded_inverse` (q, m)."""
    left = scaled - weight * (moments[:, 1 : 1 + factors.shape[1]] @ factors.T)
    leverage = np.clip(weight * (moments @ inverse), 0.0, LARGEST_LEVERAGE)
    growth = 1.0 / (1.0 - leverage) ** 2 - 1.0
    growth = np.divide(growth, weight, out=growth, where=weight > 0)
    return np.asarray(0.5 * np.einsum("ij,ij,ij->i", left, left, growth))

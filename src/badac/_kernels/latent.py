"""The latent kernels: objects that are Gaussian in a few latent dimensions, against Gaussian components.

Object ``i`` has the likelihood ``exp(b_i'z - z'A_i z / 2)`` of its latent position ``z`` (``r`` dimensions), component ``k``
the density ``w_k N(z ; v_k , T_k)``. With ``Q_k = T_k^-1`` and ``M = A_i + Q_k`` their match is

    log w_k - (v_k'Q_k v_k + log det T_k)/2 + ((b_i + Q_k v_k)' M^-1 (b_i + Q_k v_k) - log det M)/2 .

Symmetric matrices are packed: the upper triangle row by row, ``p = r (r + 1) / 2`` numbers (`pack`, `unpack`). The functions
here are the clear NumPy definitions; they run on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.eigen import eigh

BoolArray = npt.NDArray[np.bool_]
Sums = tuple[FloatArray, FloatArray, FloatArray, FloatArray]

# Objects in a row that share a list of near components (`latent_step`).
GROUP = 8
LEAST_SHARE = 1e-6  # of a component that counts for an object (`latent_moments`); also in latent_kernel.hpp
# Of a scoring step (`latent_improved`): members without which a component has none, the share of information that noise must
# leave to be trusted, the largest factor on a variance, and the least variance where the whole class has one.
LEAST_COUNT = 1e-3  # also in improve.cpp
LEAST_INFORMATION = 0.02
LARGEST_CHANGE = 10.0
FLOOR = 1e-6
_LOG_2PI = float(np.log(2.0 * np.pi))


class Components(NamedTuple):
    """The components of a mixture, as the kernels take them.

    Attributes
    ----------
    precision, shift : (k, p), (k, r)
        ``Q_k = T_k^-1`` packed and ``Q_k v_k``.
    log_constant : (k,)
        ``log w_k - (v_k'Q_k v_k + log det T_k) / 2``.
    """

    precision: FloatArray
    shift: FloatArray
    log_constant: FloatArray


class Gaussians(NamedTuple):
    """The components of a mixture as they are defined: weights (k,), means (k, r) and covariances (k, r, r)."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    def components(self) -> Components:
        """Return them as the kernels take them."""
        precision = inverse(self.covariances)
        shift = (precision @ self.means[..., None])[..., 0]
        log_det = np.linalg.slogdet(self.covariances)[1]
        quadratic = np.einsum("kr,kr->k", self.means, shift)
        with np.errstate(divide="ignore"):
            constant = np.log(self.weights) - 0.5 * (quadratic + log_det)
        return Components(pack(precision), shift, constant)


class Near(NamedTuple):
    """Which components an EM step looks at.

    Attributes
    ----------
    flags : (groups, k) bool
        Components that matter to any of `GROUP` objects in a row; only those are looked at.
    refresh : bool
        Look at all components, and write into `flags` which of them have a responsibility above a thousandth of
        `threshold`.
    threshold : float
        Pairs with a responsibility ``R_ik`` at or below it are left out of the sums.
    """

    flags: BoolArray
    refresh: bool = True
    threshold: float = 1e-5


@lru_cache(maxsize=64)
def triangle(r: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns (p,) of the upper triangle of an (r, r) matrix, row by row."""
    return np.triu_indices(r)


def pack(matrices: FloatArray) -> FloatArray:
    """Return the upper triangles (..., p) of symmetric matrices (..., r, r)."""
    rows, columns = triangle(matrices.shape[-1])
    return np.ascontiguousarray(matrices[..., rows, columns])


def unpack(packed: FloatArray) -> FloatArray:
    """Return the symmetric matrices (..., r, r) of upper triangles (..., p)."""
    r = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    rows, columns = triangle(r)
    out = np.empty((*packed.shape[:-1], r, r))
    out[..., rows, columns] = packed
    out[..., columns, rows] = packed
    return out


def products(vectors: FloatArray) -> FloatArray:
    """Return (n, p): the packed outer product of each row of (n, r), so that sums of them are matrix products."""
    rows, columns = triangle(vectors.shape[1])
    return np.ascontiguousarray(vectors[:, rows] * vectors[:, columns])


def inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverses (..., r, r) of matrices (..., r, r)."""
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)


def latent_log_match(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> FloatArray:
    """Log of each object's likelihood averaged over each component.

    Parameters
    ----------
    precision, shift : (n, p), (n, r)
        ``A_i`` packed and ``b_i``.
    components : Components

    Returns
    -------
    (n, k)
    """
    checked_threads(n_threads)
    out = np.empty((len(shift), len(components.log_constant)))
    likelihood = unpack(precision)
    for k, own in enumerate(unpack(components.precision)):
        factor = np.linalg.cholesky(likelihood + own)
        right = np.linalg.solve(factor, (shift + components.shift[k])[..., None])[..., 0]
        half_log_det = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        out[:, k] = components.log_constant[k] + 0.5 * (right**2).sum(axis=1) - half_log_det
    return out


def latent_log_evidence(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> FloatArray:
    """Log of the sum of an object's matches (`latent_log_match`) over the components, (n,)."""
    checked_threads(n_threads)
    return _log_sum(latent_log_match(precision, shift, components))


def latent_responsible(
    precision: FloatArray, shift: FloatArray, components: Components, count: int, *, n_threads: int = 1
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Log of the sum of an object's matches over the components, and the components that match it best.

    Returns
    -------
    (n,), (n, c), (n, c)
        The sum, which components, the best first (of equal ones the first), and their matches; c is `count`, or the
        number of components if that is smaller.
    """
    checked_threads(n_threads)
    match = latent_log_match(precision, shift, components)
    which = np.argsort(-match, axis=1, kind="stable")[:, :count]
    return _log_sum(match), which, np.take_along_axis(match, which, axis=1)


def latent_moments(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Mean (n, r) and covariance (n, p) of each object's latent position, averaged over the components.

    A component that has less than a millionth of an object is left out.
    """
    checked_threads(n_threads)
    match = latent_log_match(precision, shift, components)
    share = np.exp(match - _log_sum(match)[:, None])
    mean, second = np.zeros_like(shift), np.zeros_like(precision)
    for k, (own, pull) in enumerate(zip(components.precision, components.shift, strict=True)):
        rows = np.flatnonzero(share[:, k] > LEAST_SHARE)
        inner, position, _ = latent_posterior(precision[rows], shift[rows], own, pull)
        weight = share[rows, k, None]
        mean[rows] += weight * position
        second[rows] += weight * (inner + products(position))
    return mean, second - products(mean)


def latent_posterior(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior of each object's latent position under one component.

    Parameters
    ----------
    precision, shift : (n, p), (n, r)
    component_precision, component_shift : (p,), (r,)

    Returns
    -------
    covariance : (n, p)
        ``M^-1``, packed
    mean : (n, r)
        ``M^-1 (b_i + Q v)``
    log_det : (n,)
        ``log det M``
    """
    checked_threads(n_threads)
    full = unpack(precision + component_precision)
    covariance = inverse(full)
    mean = (covariance @ (shift + component_shift)[..., None])[..., 0]
    return pack(covariance), mean, np.asarray(np.linalg.slogdet(full)[1])


def latent_step(
    precision: FloatArray, shift: FloatArray, components: Components, near: Near, *, n_threads: int = 1
) -> tuple[FloatArray, Sums]:
    """Sum the latent posteriors of all objects, per component, weighted by responsibility: what an EM step needs.

    Parameters
    ----------
    precision, shift, components
        As in `latent_log_match`.
    near : Near

    Returns
    -------
    evidence : (n,)
        Log of the sum of the matches.
    sums : count (k,), first (k, r), second (k, p), spread (k, p)
        ``sum_i R_ik``, ``sum_i R_ik m_ik`` with the posterior mean ``m_ik = M^-1 (b_i + Q_k v_k)``,
        ``sum_i R_ik (M^-1 + m_ik m_ik')`` and ``sum_i R_ik M^-1``
    """
    checked_threads(n_threads)
    flags, refresh, threshold = near
    group = np.arange(len(shift)) // GROUP
    match = latent_log_match(precision, shift, components)
    if not refresh:
        match[~flags[group]] = -np.inf
    evidence = _log_sum(match)
    responsibility = np.exp(match - evidence[:, None])
    if refresh:
        flags[:] = False
        np.logical_or.at(flags, group, responsibility > 1e-3 * threshold)
    k, r = components.shift.shape
    p = components.precision.shape[1]
    count, first, second, spread = np.zeros(k), np.zeros((k, r)), np.zeros((k, p)), np.zeros((k, p))
    for c in range(k):
        rows = np.flatnonzero(responsibility[:, c] > threshold)
        weight = responsibility[rows, c]
        covariance, mean, _ = latent_posterior(
            precision[rows], shift[rows], components.precision[c], components.shift[c]
        )
        count[c] = weight.sum()
        first[c] = weight @ mean
        spread[c] = weight @ covariance
        second[c] = spread[c] + pack((weight[:, None] * mean).T @ mean)
    return evidence, (count, first, second, spread)


def latent_improved(
    mixture: Gaussians, sums: Sums, *, pooling: float, n_threads: int = 1
) -> tuple[Gaussians, Components]:
    """M-step from the sums of `latent_step`, with the scoring step for the covariances.

    ``rho^-1 E rho^-1`` in place of EM's ``E``, in units of the component's own covariance; ``rho`` is the share of the
    information that the noise left. A component without members keeps its place with next to no weight.

    Parameters
    ----------
    mixture : Gaussians
        That the sums were taken with.
    sums : Sums
    pooling : float
        That many members' worth of the average covariance is mixed into each component's own.
    """
    checked_threads(n_threads)
    count, first, second, spread = sums
    identity = np.eye(first.shape[1])
    safe = np.maximum(count, LEAST_COUNT)
    means = np.where(count[:, None] > LEAST_COUNT, first / safe[:, None], mixture.means)
    full = unpack(second) / safe[:, None, None]
    covariance = full - means[:, :, None] * means[:, None, :] * (count / safe)[:, None, None]
    factor = np.linalg.cholesky(mixture.covariances)
    white = np.linalg.inv(factor)
    transposed = white.transpose(0, 2, 1)
    information = identity - white @ (unpack(spread) / safe[:, None, None]) @ transposed
    asked = white @ (covariance - mixture.covariances) @ transposed
    values, vectors = eigh(information)
    inner = (vectors / np.maximum(values, LEAST_INFORMATION)[:, None, :]) @ vectors.transpose(0, 2, 1)
    values, vectors = eigh(identity + inner @ asked @ inner)
    values = np.clip(values, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE)
    turned = factor @ vectors
    changed = (turned * values[:, None, :]) @ turned.transpose(0, 2, 1)
    weights = safe / safe.sum()
    pooled = np.tensordot(weights, changed, axes=1)
    changed = (safe[:, None, None] * changed + pooling * pooled) / (safe + pooling)[:, None, None]
    changed = 0.5 * (changed + changed.transpose(0, 2, 1)) + FLOOR * identity
    found = Gaussians(weights, means, changed)
    return found, found.components()


def latent_left_out(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    means: FloatArray,
    count: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log evidence (n,) of members, each one's own share removed from the components, to first order in the share.

    The weight of component ``k`` loses ``R_ik``, its mean moves away by ``R (m - v) / N``, its covariance by
    ``R (D - T) / N`` with ``D`` the member's expected scatter around ``v``; ``N = count_k``. Shares below a
    hundredth move no component, and no component costs more than 20 nats.

    Parameters
    ----------
    precision, shift, components
        As in `latent_log_match`.
    means : (k, r)
        ``v_k``
    count : (k,)
        ``sum_i R_ik`` over the members.
    """
    checked_threads(n_threads)
    match = latent_log_match(precision, shift, components)
    responsibility = np.exp(match - _log_sum(match)[:, None])
    change = np.log(np.maximum(1.0 - responsibility / count, 1e-3))
    for k, own in enumerate(unpack(components.precision)):
        rows = np.flatnonzero(responsibility[:, k] > 1e-2)
        covariance, mean, _ = latent_posterior(
            precision[rows], shift[rows], components.precision[k], components.shift[k]
        )
        away = mean - means[k]
        pulled = away @ own
        scatter = away[:, :, None] * pulled[:, None, :] + unpack(covariance) @ own - np.eye(len(own))
        moved = np.einsum("ia,ia->i", away, pulled) + 0.5 * np.einsum("iab,iba->i", scatter, scatter)
        share = responsibility[rows, k] / np.maximum(count[k] - responsibility[rows, k], 1.0)
        change[rows, k] -= np.minimum(share * moved, 20.0)
    return _log_sum(match + change)


def weigh_points(
    values: FloatArray, sigma: FloatArray, mean: FloatArray, psi: FloatArray, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weigh the points of objects around a mean.

    Parameters
    ----------
    values, sigma : (n, m)
        NaN and inf where missing.
    mean, psi : (m,)

    Returns
    -------
    weight : (n, m)
        ``w = 1 / (psi + sigma^2)``, 0 where missing
    scaled : (n, m)
        ``w (value - mean)``, 0 where missing
    offset : (n,)
        ``sum_j [w (value - mean)^2 - log w + log 2 pi]`` over the observed points
    """
    checked_threads(n_threads)
    weight = 1.0 / (sigma**2 + psi)
    residual = values - mean
    residual[np.isnan(residual)] = 0.0
    scaled = weight * residual
    present = weight > 0
    logs = np.log(weight, out=np.zeros_like(weight), where=present)
    offset = np.einsum("ij,ij->i", scaled, residual) - logs.sum(axis=1)
    return weight, scaled, offset + present.sum(axis=1) * _LOG_2PI


def _log_sum(terms: FloatArray) -> FloatArray:
    top = terms.max(axis=1)
    return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))

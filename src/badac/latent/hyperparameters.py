"""Learning a process from all members together: the evidence of its hyperparameters, its gradient, and the climb.

With the mean's coefficients integrated out over their prior, the log evidence of all members is

    -1/2 sum_i offset_i + 1/2 shift' P^-1 shift - 1/2 log det P + 1/2 log det P_0,      P = P_0 + sum_i precision_i

and its derivative with respect to anything in K is ``sum_i tr(G_i dK_i)``, ``G = (a a' - K^-1 + X P^-1 X') / 2`` with
``a = K^-1 (r - H mean)``, ``X = K^-1 H``. One climb (L-BFGS) moves length, band covariance, psi and factors. Factors are
grown one by one: the direction that the evidence asks for most, the leading eigenvector of ``sum_i H_i' G_i H_i``, is added,
and kept if members that were held out gain by it.

Weak log-normal priors hold what a small class does not tell; they are worth about one member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from badac.latent.process import Block, Process, between_bands, covariance
from badac.training import FloatArray

_FLOOR = 1e-4  # of a standard deviation, in units of the values: the Cholesky factor of exact members exists
_FORBIDDEN = 1e100  # a loss that the line search steps back from
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Extent:
    """Units in which the priors of the hyperparameters are stated: of the values, and of the coordinate."""

    value: float
    span: float


def start(process: Process, extent: Extent) -> Process:
    """Return the process at the middle of the priors, without factors."""
    n_bands = process.basis.n_bands
    share = 0.7 * np.ones((n_bands, n_bands)) + 0.3 * np.eye(n_bands)
    return replace(
        process,
        length=0.15 * extent.span,
        bands=(0.3 * extent.value) ** 2 * share,
        psi=np.full(n_bands, (0.05 * extent.value) ** 2),
        factors=np.zeros((process.basis.size, 0)),
    )


def pack(process: Process, extent: Extent) -> FloatArray:
    """Hyperparameters as one vector without bounds: log length, Cholesky of bands, log psi, factors."""
    factor = np.linalg.cholesky(process.bands) / extent.value
    rows, columns = np.tril_indices(len(factor))
    lower = factor[rows, columns]
    lower[rows == columns] = np.log(lower[rows == columns])
    return np.concatenate(
        [
            [np.log(process.length / extent.span)],
            lower,
            0.5 * np.log(np.maximum(process.psi, 1e-300) / extent.value**2),
            (process.factors / extent.value).ravel(),
        ]
    )


def unpack(vector: FloatArray, process: Process, extent: Extent) -> Process:
    """Undo `pack`."""
    n = process.basis.n_bands
    rows, columns = np.tril_indices(n)
    factor = np.zeros((n, n))
    lower = vector[1 : 1 + rows.size].copy()
    lower[rows == columns] = np.exp(lower[rows == columns])
    factor[rows, columns] = lower
    start_psi = 1 + rows.size
    return replace(
        process,
        length=float(np.exp(vector[0]) * extent.span),
        bands=extent.value**2 * (factor @ factor.T + _FLOOR**2 * np.eye(n)),
        psi=extent.value**2 * (np.exp(2.0 * vector[start_psi : start_psi + n]) + _FLOOR**2),
        factors=extent.value * vector[start_psi + n :].reshape(process.basis.size, -1),
    )


def prior(vector: FloatArray, n_bands: int) -> tuple[float, FloatArray]:
    """Log prior of the vector, up to a constant, and its gradient."""
    rows, columns = np.tril_indices(n_bands)
    on = rows == columns
    centre = np.concatenate([[np.log(0.15)], np.where(on, np.log(0.2), 0.0), np.full(n_bands, np.log(0.05))])
    width = np.concatenate([[1.0], np.where(on, 1.5, 1.0), np.full(n_bands, 2.0)])
    centre = np.concatenate([centre, np.zeros(vector.size - centre.size)])
    width = np.concatenate([width, np.ones(vector.size - width.size)])
    away = (vector - centre) / width
    return -0.5 * float(away @ away), -away / width


def evidence(
    process: Process,
    members: Sequence[tuple[Block, FloatArray]],
    origin: float,
    prior_precision: FloatArray,
    *,
    ask: bool = True,
) -> tuple[float, dict[str, FloatArray]]:
    """Log evidence of the members, and its derivatives with respect to the parts of the process.

    Parameters
    ----------
    members : blocks, each with its features
    origin : float
    prior_precision : (size,)
        Of the mean's coefficients.
    ask : bool
        Whether "basis" is wanted: it costs more than all the others.

    Returns
    -------
    float
    dict
        "length" (log), "bands" (n_bands, n_bands), "psi" (n_bands,), "factors" (size, rank): half of it, ``sum H' G H F``;
        "basis" (size, size): ``sum H' G H``.
    """
    q, n_bands = process.basis.size, process.basis.n_bands
    total = np.diag(prior_precision)
    shift = np.zeros(q)
    value = 0.5 * float(np.log(prior_precision).sum())
    kept = []
    for block, features in members:
        full, near, slope = covariance(process, block, features)
        factor = np.linalg.cholesky(full)
        inverse = np.linalg.inv(full)
        residual = np.where(block.seen, block.values - origin, 0.0)
        solved = inverse @ features
        weight = (inverse @ residual[..., None])[..., 0]
        value -= float(np.log(np.diagonal(factor, axis1=1, axis2=2)).sum())
        value -= 0.5 * float(np.vdot(residual, weight))
        value -= 0.5 * _LOG_2PI * float(block.seen.sum())
        total += np.tensordot(features, solved, axes=([0, 1], [0, 1]))
        shift += np.tensordot(solved, residual, axes=([0, 1], [0, 1]))
        kept.append((block, features, inverse, solved, weight, near, slope))
    root = np.linalg.cholesky(total)
    half = np.linalg.solve(root, shift)
    mean = np.linalg.solve(root.T, half)
    value += 0.5 * float(half @ half) - float(np.log(np.diagonal(root)).sum())
    slopes = {
        "length": np.zeros(()),
        "bands": np.zeros((n_bands, n_bands)),
        "psi": np.zeros(n_bands),
        "factors": np.zeros_like(process.factors),
        "basis": np.zeros((q, q)),
    }
    for block, features, inverse, solved, weighted, near, slope in kept:
        weight = weighted - solved @ mean
        spread = solve_triangular(root, solved.reshape(-1, q).T, lower=True, check_finite=False)
        spread = spread.T.reshape(solved.shape)
        gradient = weight[:, :, None] * weight[:, None, :]
        gradient -= inverse
        gradient += spread @ spread.transpose(0, 2, 1)
        gradient *= 0.5
        slope *= between_bands(process, block)
        slopes["length"] = slopes["length"] + np.vdot(gradient, slope)
        one_hot = (block.band[..., None] == np.arange(n_bands)) * block.seen[..., None]
        flat = one_hot.astype(np.float64)
        if n_bands == 1:
            slopes["bands"] += np.vdot(gradient, near)
        else:
            slopes["bands"] += np.tensordot(flat, (gradient * near) @ flat, axes=([0, 1], [0, 1]))
        slopes["psi"] += np.einsum("bii,bin->n", gradient, flat)
        if process.factors.shape[1]:
            along = gradient @ (features @ process.factors)
            slopes["factors"] += np.tensordot(features, along, axes=([0, 1], [0, 1]))
        if ask:
            slopes["basis"] += np.tensordot(features, gradient @ features, axes=([0, 1], [0, 1]))
    return value, slopes


def climb(
    process: Process,
    members: Sequence[tuple[Block, FloatArray]],
    origin: float,
    prior_precision: FloatArray,
    extent: Extent,
    *,
    max_steps: int,
) -> tuple[Process, FloatArray]:
    """Maximise evidence times prior from the given process.

    Returns
    -------
    Process
    (size, size)
        ``sum H' G H`` there: where the evidence asks for another factor.
    """
    n_bands = process.basis.n_bands
    rows, columns = np.tril_indices(n_bands)

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        here = unpack(np.clip(vector, -20.0, 20.0), process, extent)
        try:
            value, slopes = evidence(here, members, origin, prior_precision, ask=False)
        except np.linalg.LinAlgError:
            # Members that agree to the last digit lead to where rounding makes a covariance singular: not there.
            return _FORBIDDEN, np.zeros_like(vector)
        factor = np.linalg.cholesky(here.bands) / extent.value
        by_factor = 2.0 * extent.value**2 * slopes["bands"] @ factor
        lower = by_factor[rows, columns]
        lower[rows == columns] *= factor[rows, columns][rows == columns]
        gradient = np.concatenate(
            [
                np.atleast_1d(slopes["length"]),
                lower,
                2.0 * here.psi * slopes["psi"],
                (2.0 * extent.value * slopes["factors"]).ravel(),
            ]
        )
        log_prior, prior_slope = prior(vector, n_bands)
        return -(value + log_prior), -(gradient + prior_slope)

    found = minimize(
        loss,
        pack(process, extent),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps, "ftol": 1e-7, "maxcor": 20},
    )
    best = unpack(np.clip(found.x, -20.0, 20.0), process, extent)
    return best, evidence(best, members, origin, prior_precision)[1]["basis"]

"""Counts seen through a factor model of their link: log rates of Poisson counts, logits of binomial ones.

    link = mean + factors z + eps ,    z ~ population,    eps ~ N(0, diag psi),    P(count | link) exact

Around the link's posterior mean each count acts as a Gaussian measurement of the link (its gradient and curvature there,
averaged over the posterior: variational Gauss), so that the population of `badac.classes.factor` is learned as from any
noisy values. What the Gaussian misses is put back as a constant per object, as in `badac.classes.sites`, by importance
sampling over the latent position and Gauss-Hermite quadrature over eps:

    log_constant = log mean_k  P(counts | z_k) / prod_j N(value_j ; mean_j + factors_j z_k , psi_j + sigma_j^2)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac._kernels.latent import unpack
from badac.classes.factor import Factor
from badac.classes.latent import products
from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.noise.model import LinkedNoise

_LOG_2PI = float(np.log(2.0 * np.pi))
_STEPS = 12
_SETTLED = 1e-3
_LARGEST_STEP = 2.0
_WIDEST = 1e3
_HERMITE = np.polynomial.hermite_e.hermegauss(3)


def linked_block(
    objects: Measurements, factor: Factor, noise: LinkedNoise, points: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the Gaussian values (n, m), their sigma (n, m) and the log constants (n,) that stand for counts.

    Parameters
    ----------
    objects : Measurements
        (n, m), counts.
    factor : Factor
        Of the links.
    noise : LinkedNoise
    points : (K, r) or None
        Standard normal points for the constants; None to do without.
    """
    observed = objects.observed
    outer = products(factor.factors)
    rows, columns = np.triu_indices(factor.rank)
    twice = np.where(rows == columns, 1.0, 2.0)
    n, rank = objects.n_objects, factor.rank
    # Each count starts from what the population says of it, not from itself: no counts are no reason for an infinite log.
    link = np.broadcast_to(factor.mean, objects.shape).copy()
    variance = np.broadcast_to((factor.factors**2).sum(axis=1) + factor.psi, objects.shape).copy()
    value, sigma2 = link.copy(), np.full(objects.shape, np.inf)
    position = np.zeros((n, rank))
    covariance = np.tile(np.eye(rank), (n, 1, 1))
    active = np.arange(n)
    for _ in range(_STEPS):
        seen, some = observed[active], objects[active]
        gradient, curvature = noise.working(some, link[active], variance[active])
        width = 1.0 / np.maximum(curvature, 1.0 / _WIDEST**2)
        told = link[active] + gradient * width
        weight = np.where(seen, 1.0 / (factor.psi + width), 0.0)
        residual = np.where(seen, told - factor.mean, 0.0)
        inverse = np.linalg.inv(unpack(weight @ outer) + np.eye(rank))
        moved = (inverse @ ((weight * residual) @ factor.factors)[..., None])[..., 0]
        spread = (inverse[:, rows, columns] * twice) @ outer.T
        smooth = factor.mean + moved @ factor.factors.T
        # The link's own posterior: the factors' part, drawn to the count as far as psi allows.
        own = np.where(seen, factor.psi * weight, 0.0)
        step = smooth + own * (np.where(seen, told, 0.0) - smooth) - link[active]
        step = np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        value[active], sigma2[active] = told, width
        position[active], covariance[active] = moved, inverse
        link[active] += step
        variance[active] = spread * (1.0 - own) ** 2 + own * np.where(seen, width, 0.0)
        # Each object goes on until it has settled, whatever the others in its block do.
        active = active[np.abs(step).max(axis=1, initial=0.0) >= _SETTLED]
        if not active.size:
            break
    constant = np.zeros(len(link))
    if points is not None:
        constant = _log_constant(
            objects, observed, value, sigma2, position, covariance, factor, noise, points
        )
    return (
        np.where(observed, value, np.nan),
        np.where(observed, np.sqrt(sigma2), np.inf),
        constant,
    )


def _log_constant(
    objects: Measurements,
    observed: npt.NDArray[np.bool_],
    value: FloatArray,
    sigma2: FloatArray,
    position: FloatArray,
    covariance: FloatArray,
    factor: Factor,
    noise: LinkedNoise,
    points: FloatArray,
) -> FloatArray:
    root = np.linalg.cholesky(covariance)
    total = factor.psi + sigma2
    node, weight = _HERMITE
    log_weight = np.log(weight / weight.sum())
    spread = np.sqrt(factor.psi)
    ratios = []
    for point in points:
        centre = factor.mean + (position + root @ point) @ factor.factors.T
        parts = [
            log_weight[k] + noise.log_likelihood(objects, centre + node[k] * spread) for k in range(len(node))
        ]
        exact = np.maximum.reduce(parts)
        exact = exact + np.log(np.add.reduce([np.exp(part - exact) for part in parts]))
        gaussian = -0.5 * ((value - centre) ** 2 / total + np.log(total) + _LOG_2PI)
        ratios.append(np.where(observed, exact - gaussian, 0.0).sum(axis=1))
    stacked = np.stack(ratios)
    top = stacked.max(axis=0)
    return np.asarray(top + np.log(np.exp(stacked - top).mean(axis=0)))

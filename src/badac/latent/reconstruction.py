"""What an object should have looked like: the posterior of its true values under a class's population.

    E[y_true | d] = mean + factors E[z | d] + psi / (psi + sigma^2) * (d - mean - factors E[z | d])

with the latent position averaged over the components of the class's density. Where the object has no value the second term
is absent and the class fills the gap, with the larger sigma that this deserves.
"""

from __future__ import annotations

import numpy as np

from badac._kernels.latent import unpack
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.kernel_density import BANDWIDTHS, KernelDensity
from badac.latent.likelihood import LatentLikelihood, blocks, products, project, weigh
from badac.latent.mixture import Mixture, logsumexp_rows
from badac.training import FloatArray


def latent_posterior(
    latent: LatentLikelihood, density: Mixture | KernelDensity
) -> tuple[FloatArray, FloatArray]:
    """Mean (n, r) and covariance (n, r, r) of the objects' latent positions under the class's density."""
    mixture = density if isinstance(density, Mixture) else as_mixture(density)
    match = mixture.log_match(latent)
    responsibility = np.exp(match - logsumexp_rows(match)[:, None])
    precision, shift, _ = mixture.components()
    likelihood = unpack(latent.precision)
    n, r = latent.shift.shape
    mean, second = np.zeros((n, r)), np.zeros((n, r, r))
    for k, own in enumerate(unpack(precision)):
        rows = np.flatnonzero(responsibility[:, k] > 1e-6)
        weight = responsibility[rows, k]
        inner = np.linalg.inv(likelihood[rows] + own)
        position = (inner @ (latent.shift[rows] + shift[k])[..., None])[..., 0]
        mean[rows] += weight[:, None] * position
        second[rows] += weight[:, None, None] * (inner + position[:, :, None] * position[:, None, :])
    return mean, second - mean[:, :, None] * mean[:, None, :]


def as_mixture(curves: KernelDensity) -> Mixture:
    """Write the members' positions with their bandwidths as the mixture that they are."""
    n, r = curves.positions.shape
    identity = np.eye(r)
    parts = [
        (np.sqrt(1.0 - h * h) * curves.positions, curves.spread + h * h * (identity - curves.spread))
        for h in BANDWIDTHS
    ]
    return Mixture(
        np.repeat(curves.weights / n, n),
        np.concatenate([means for means, _ in parts]),
        np.concatenate([np.broadcast_to(spread, (n, r, r)) for _, spread in parts]),
    )


def reconstruct(objects: Measurements, factor: Factor, density: Mixture | KernelDensity) -> Measurements:
    """Return the posterior mean and standard deviation of the objects' true values (n, m) as measurements."""
    values, sigma = np.empty(objects.shape), np.empty(objects.shape)
    outer = products(factor.factors) * np.where(np.equal(*np.triu_indices(factor.rank)), 1.0, 2.0)
    rows, columns = np.triu_indices(factor.rank)
    for block in blocks(objects):
        part = objects[block]
        latent = project(part, factor.mean, factor.factors, factor.psi)
        position, covariance = latent_posterior(latent, density)
        weight, residual = weigh(part, factor.mean, factor.psi)
        common = position @ factor.factors.T
        # With correlated errors the diagonal stands in for the covariance in this last step.
        share = factor.psi * weight
        values[block] = factor.mean + common + share * (residual - common)
        uncertain = covariance[:, rows, columns] @ outer.T
        sigma[block] = np.sqrt(np.maximum((1.0 - share) ** 2 * uncertain + factor.psi * (1.0 - share), 0.0))
    return Measurements(values, sigma, at=objects.at)

"""What an object should have looked like: the posterior of its true values under a class's population.

    E[y_true | d] = mean + factors E[z | d] + psi / (psi + sigma^2) * (d - mean - factors E[z | d])

with the latent position averaged over the components of the class's density. Where the object has no value the second term
is absent and the class fills the gap, with the larger sigma that this deserves.
"""

from __future__ import annotations

import numpy as np

from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.likelihood import blocks, products, weigh


def reconstruct(objects: Measurements, factor: Factor, density: LatentDensity) -> Measurements:
    """Return the posterior mean and standard deviation of the objects' true values (n, m) as measurements."""
    values, sigma = np.empty(objects.shape), np.empty(objects.shape)
    outer = products(factor.factors) * np.where(np.equal(*np.triu_indices(factor.rank)), 1.0, 2.0)
    rows, columns = np.triu_indices(factor.rank)
    for block in blocks(objects):
        part = objects[block]
        position, covariance = density.posterior(factor.project(part))
        weight, residual = weigh(part, factor.mean, factor.psi)
        common = position @ factor.factors.T
        # With correlated errors the diagonal stands in for the covariance in this last step.
        share = factor.psi * weight
        values[block] = factor.mean + common + share * (residual - common)
        uncertain = covariance[:, rows, columns] @ outer.T
        sigma[block] = np.sqrt(np.maximum((1.0 - share) ** 2 * uncertain + factor.psi * (1.0 - share), 0.0))
    return Measurements(values, sigma, at=objects.at)

"""What fitted classes leave of their members: pulls, and how those of neighbouring points go together.

    pull_ij = (y_ij - mean_j - factors_j z_i) / s_ij ,   s_ij^2 = sigma_ij^2 - factors_j' cov(z_i) factors_j

The curve through a member takes part of its scatter with it, so that its residuals are smaller than their error bars, and
correlated, even where the errors are not: both are taken out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.likelihood import project
from badac.noise_learning.noise_em import FactorWithNoise, held
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LAGS = 10


def residuals(
    training: Measurements,
    label: IntArray,
    basis: FloatArray | None,
    fitted: list[FactorWithNoise | None],
) -> tuple[FloatArray, FloatArray | None]:
    """Pulls of all points, and the autocorrelation of neighbours beyond what the fitted curves bring in."""
    found, products, expected = [], np.zeros(_LAGS), np.zeros(_LAGS)
    floor = 1e-12 * TrainingScales.of(training).scale.min() ** 2
    lags = min(_LAGS, training.n_points - 1)
    for number, one in enumerate(fitted):
        if one is None:
            continue
        members = training[label == number][:1000]
        factor = held(one.factor, basis)
        pull, correlation = _pulls(members, replace(factor, psi=np.full_like(factor.psi, floor)))
        seen = members.observed
        found.append(pull[seen])
        for lag in range(1, lags + 1):
            both = seen[:, lag:] & seen[:, :-lag]
            products[lag - 1] += (np.clip(pull[:, lag:], -5, 5) * np.clip(pull[:, :-lag], -5, 5))[both].sum()
            expected[lag - 1] += float(np.diagonal(correlation, lag).mean()) * both.sum()
    pulls = np.concatenate(found)
    if basis is None:
        return pulls, None
    power = float((np.clip(pulls, -5, 5) ** 2).mean()) * len(pulls)
    return pulls, np.asarray(products / power - expected / len(pulls))[:lags]


def _pulls(members: Measurements, factor: Factor) -> tuple[FloatArray, FloatArray]:
    """Residuals (k, m) around each member's own curve in units of their expected size, and their typical correlation."""
    latent = project(members, factor.mean, factor.factors, factor.psi)
    position, covariance = latent.posterior
    residual = np.where(members.observed, members.values - factor.mean, 0.0) - position @ factor.factors.T
    variance = np.where(members.observed, members.sigma, 1.0) ** 2
    taken = np.einsum("jr,nrs,js->nj", factor.factors, covariance, factor.factors)
    left = np.sqrt(np.maximum(variance - taken, 0.05 * variance))
    typical = np.median(variance, axis=0)
    full = np.diag(typical) - factor.factors @ covariance.mean(axis=0) @ factor.factors.T
    scale = np.sqrt(np.maximum(np.diagonal(full), 0.05 * typical))
    return np.where(members.observed, residual, 0.0) / left, full / np.outer(scale, scale)

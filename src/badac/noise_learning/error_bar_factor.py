"""The factor that all error bars are off by, beside the variety of the class at each point.

Members that a factor model was not learned from scatter around it by ``v_ij = t psi_j + c sigma_ij^2``: what the class has of
its own at each point, times ``t``, and the noise. Fisher scoring finds both, each step with the squared residuals expected at
the step before (ECM; Meng & Rubin 1993):

    slope_a = 1/2 sum_ij a_ij (squared_ij / v_ij - 1) ,   information_ab = 1/2 sum_ij a_ij b_ij

with the shares ``a, b`` of the variance, ``t psi / v`` and ``c sigma^2 / v``, in the logarithms of ``t`` and ``c``. Where all
error bars of a point are alike nothing tells the two apart; a weak prior around one then keeps the factor where it began.
"""

from __future__ import annotations

import numpy as np

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.factor import Factor
from badac.latent.likelihood import project

_STEPS, _SETTLED = 12, 0.005  # of the logarithm, a quarter of a percent of the factor
_PRIOR = 4.0  # inverse variance of both logarithms: half of one is as likely as not where nothing tells
_FARTHEST = 1.4  # of the logarithm: beyond twice what the search began at, something else is wrong


def error_bar_factor(members: Measurements, factor: Factor) -> float:
    """Return what the error bars of members (k, m) should be multiplied by, under a factor model of other members.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor
    >>> from badac.noise_learning.error_bar_factor import error_bar_factor
    >>> rng = np.random.default_rng(0)
    >>> sigma = rng.uniform(0.5, 2.0, (200, 10))
    >>> members = Measurements(1.5 * sigma * rng.standard_normal((200, 10)), sigma)
    >>> round(error_bar_factor(members, Factor(np.zeros(10), np.zeros((10, 1)), np.full(10, 0.1))), 1)
    1.5
    """
    seen = members.observed
    variance = np.where(seen, members.sigma, 0.0) ** 2
    logs = np.zeros(2)
    for _ in range(_STEPS):
        psi, noise = np.exp(logs[0]) * factor.psi, np.exp(logs[1]) * variance
        weight = np.where(seen, 1.0 / np.where(seen, psi + noise, 1.0), 0.0)
        squared = _squared_residuals(
            members.with_sigma(_sigma(noise, seen)), Factor(factor.mean, factor.factors, psi)
        )
        shares = np.stack([(psi * weight).ravel(), (noise * weight).ravel()])
        slope = 0.5 * shares @ (squared * weight - seen).ravel() - _PRIOR * logs
        information = 0.5 * shares @ shares.T + _PRIOR * np.eye(2)
        step = np.clip(np.linalg.solve(information, slope), -1.0, 1.0)
        logs = np.clip(logs + step, [-np.inf, -_FARTHEST], [np.inf, _FARTHEST])
        if abs(step[1]) < _SETTLED:
            break
    return float(np.exp(0.5 * logs[1]))


def _sigma(variance: FloatArray, seen: BoolArray) -> FloatArray:
    return np.where(seen, np.sqrt(variance), np.inf)


def _squared_residuals(members: Measurements, factor: Factor) -> FloatArray:
    """Squared residuals (k, m) expected under the factor model; 0 where missing."""
    position, covariance = project(members, factor.mean, factor.factors, factor.psi).posterior
    residual = np.where(members.observed, members.values - factor.mean - position @ factor.factors.T, 0.0)
    products = factor.factors[:, :, None] * factor.factors[:, None, :]
    spread = covariance.reshape(len(covariance), -1) @ products.reshape(len(products), -1).T
    return np.where(members.observed, residual**2 + spread, 0.0)

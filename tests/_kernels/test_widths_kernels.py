"""The width kernels: the definition against scipy."""

import numpy as np
import pytest
from kernel_cases import TABLE
from scipy.special import logsumexp
from scipy.stats import norm

from badac._kernels import widths


def points() -> widths.WidePoints:
    """Seven objects of five points in two dimensions; the second has one point less, the third has none."""
    return TABLE["widths_posterior"].make(7, 5, 2, 9)["points"]


def test_likelihood_is_the_sum_over_widths():
    given = points()
    residual, sigma, factors, psi, log_share, scale = given
    positions = np.random.default_rng(0).standard_normal((7, 3, 2))
    found = widths.widths_log_likelihood(given, positions)
    left = residual[1, 1:] - positions[1, 2] @ factors[1:].T
    width = np.sqrt(psi[1:, None] + (sigma[1, 1:, None] * scale) ** 2)
    expected = logsumexp(log_share + norm.logpdf(left[:, None], scale=width), axis=1).sum()
    assert found[1, 2] == pytest.approx(expected, rel=1e-12)
    assert found[2].tolist() == [0.0, 0.0, 0.0]


def test_one_width_is_the_gaussian_posterior():
    given = points()._replace(log_share=np.zeros(1), scale=np.ones(1))
    residual, sigma, factors, psi, _, _ = given
    weight, squared = widths.widths_posterior(given, max_steps=15, tolerance=1e-6)
    np.testing.assert_allclose(weight[0], 1.0 / (psi + sigma[0] ** 2), rtol=1e-12)
    covariance = np.linalg.inv(np.eye(2) + (factors.T * weight[0]) @ factors)
    left = residual[0] - factors @ covariance @ (factors.T @ (weight[0] * residual[0]))
    np.testing.assert_allclose(
        squared[0], left**2 + np.sum(factors @ covariance * factors, axis=1), rtol=1e-10
    )


def test_responsibilities_add_up():
    residual, sigma, _, psi, log_share, scale = points()
    squared = np.nan_to_num(residual) ** 2
    found = widths.responsibilities(squared, sigma, psi, log_share, scale)
    np.testing.assert_allclose(found.sum(axis=-1), np.isfinite(sigma), rtol=1e-12)

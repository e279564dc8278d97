"""The width kernels: the definition against scipy, and the compiled ones against the definition."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from badac import _kernels
from badac._kernels import widths
from badac.noise import Outliers, Student

NOISES = [Outliers(0.2, 5.0), Outliers(1e-4, 100.0), Student(3.0)]
SIZES = [(1, 1, 1), (7, 5, 2), (9, 100, 8), (4, 33, 13)]


def problem(n, m, r, noise):
    rng = np.random.default_rng(100 * m + r)
    sigma = rng.uniform(0.2, 0.6, (n, m))
    factors, psi = rng.standard_normal((m, r)), rng.uniform(0.0, 0.1, m)
    residual = rng.standard_normal((n, r)) @ factors.T + 0.5 * rng.standard_t(2.0, (n, m))
    if n > 1:
        residual[1, 0], sigma[1, 0] = np.nan, np.inf
        residual[2], sigma[2] = np.nan, np.inf
    return widths.WidePoints(residual, sigma, factors, psi, *noise.gaussian_scales())


def test_likelihood_is_the_sum_over_widths():
    points = problem(7, 5, 2, NOISES[0])
    residual, sigma, factors, psi, log_share, scale = points
    positions = np.random.default_rng(0).standard_normal((7, 3, 2))
    found = widths.widths_log_likelihood(points, positions)
    left = residual[1, 1:] - positions[1, 2] @ factors[1:].T
    width = np.sqrt(psi[1:, None] + (sigma[1, 1:, None] * scale) ** 2)
    expected = logsumexp(log_share + norm.logpdf(left[:, None], scale=width), axis=1).sum()
    assert found[1, 2] == pytest.approx(expected, rel=1e-12)
    assert found[2].tolist() == [0.0, 0.0, 0.0]


def test_one_width_is_the_gaussian_posterior():
    points = problem(7, 5, 2, NOISES[0])._replace(log_share=np.zeros(1), scale=np.ones(1))
    residual, sigma, factors, psi, _, _ = points
    weight, squared = widths.widths_posterior(points, max_steps=15, tolerance=1e-6)
    np.testing.assert_allclose(weight[0], 1.0 / (psi + sigma[0] ** 2), rtol=1e-12)
    covariance = np.linalg.inv(np.eye(2) + (factors.T * weight[0]) @ factors)
    left = residual[0] - factors @ covariance @ (factors.T @ (weight[0] * residual[0]))
    np.testing.assert_allclose(
        squared[0], left**2 + np.sum(factors @ covariance * factors, axis=1), rtol=1e-10
    )


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("n", "m", "r"), SIZES)
def test_installed_kernels_agree_with_the_definition(n, m, r, noise):
    points = problem(n, m, r, noise)
    positions = np.random.default_rng(1).standard_normal((n, 11, r))
    np.testing.assert_allclose(
        _kernels.widths_log_likelihood(points, positions),
        widths.widths_log_likelihood(points, positions),
        rtol=1e-9,
        atol=1e-9,
    )
    # No tolerance: both go on to the last step, whatever rounding says about having settled.
    ours = _kernels.widths_posterior(points, max_steps=9, tolerance=0.0)
    for found, expected in zip(
        ours, widths.widths_posterior(points, max_steps=9, tolerance=0.0), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_responsibilities_add_up():
    residual, sigma, _, psi, log_share, scale = problem(7, 5, 2, NOISES[0])
    squared = np.nan_to_num(residual) ** 2
    found = widths.responsibilities(squared, sigma, psi, log_share, scale)
    np.testing.assert_allclose(found.sum(axis=-1), np.isfinite(sigma), rtol=1e-12)

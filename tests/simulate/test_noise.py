"""Noise against its moments, shares and covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from badac.simulate import bad_point_noise, gaussian_noise, wedding_cake_covariance, wedding_cake_noise

N = 20_000


def paper_cake(m, sigma, s=0.1):
    """The paper's definition, index by index, points counted from zero."""
    cake = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            tier = int(np.floor(min(i, j) / (m / 5))) + 1
            cake[i, j] = sigma[i] * sigma[j] * (i == j) + sum(s for _ in range(tier))
    return cake


def worst_covariance_error(draws, covariance):
    """Largest deviation of a sample covariance, in its standard errors (C_ii C_jj + C_ij^2) / n."""
    d = np.diag(covariance)
    error = np.sqrt((np.outer(d, d) + covariance**2) / len(draws))
    return np.max(np.abs(draws.T @ draws / len(draws) - covariance) / error)


def test_gaussian_noise_has_the_stated_spread():
    sigma = np.random.default_rng(0).uniform(0.05, 2.0, (N, 3))
    z = gaussian_noise(sigma, np.random.default_rng(1)) / sigma
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-4


def test_bad_points_are_a_mixture():
    noise = bad_point_noise(np.full((N, 5), 0.3), np.random.default_rng(2)).ravel() / 0.3

    def cdf(z):
        return 0.8 * stats.norm.cdf(z) + 0.2 * stats.norm.cdf(z / 5)

    assert stats.kstest(noise, cdf).pvalue > 1e-4
    # Variance 0.8 + 0.2 * 25 = 5.8, fourth moment 3 (0.8 + 0.2 * 625): five standard errors.
    assert abs(np.mean(noise**2) - 5.8) < 5 * np.sqrt((3 * 125.8 - 5.8**2) / noise.size)


def test_bad_points_are_independent_between_points():
    size = bad_point_noise(np.ones((N, 4)), np.random.default_rng(3)) ** 2
    correlation = np.corrcoef(size.T)[np.triu_indices(4, 1)]
    assert np.max(np.abs(correlation)) < 5 / np.sqrt(N)


@pytest.mark.parametrize(("share", "spread"), [(0.0, 1.0), (1.0, 5.0)])
def test_all_or_none_bad(share, spread):
    noise = bad_point_noise(np.ones((N, 1)), np.random.default_rng(4), share=share)
    assert stats.kstest(noise.ravel() / spread, "norm").pvalue > 1e-4


@pytest.mark.parametrize("m", [5, 12, 100])
def test_cake_is_the_papers_formula(m):
    sigma = np.random.default_rng(5).uniform(0.1, 1.0, m)
    np.testing.assert_allclose(wedding_cake_covariance(m, sigma), paper_cake(m, sigma), rtol=1e-14)


def test_cake_shapes():
    sigma = np.random.default_rng(6).uniform(0.1, 1.0, (3, 10))
    stack = wedding_cake_covariance(10, sigma)
    for row in range(3):
        np.testing.assert_array_equal(stack[row], wedding_cake_covariance(10, sigma[row]))
    np.testing.assert_array_equal(
        wedding_cake_covariance(10, 0.3), wedding_cake_covariance(10, np.full(10, 0.3))
    )


def test_cake_is_a_covariance():
    cake = wedding_cake_covariance(100, 0.3)
    np.testing.assert_array_equal(cake, cake.T)
    assert np.linalg.eigvalsh(cake).min() > 0.089  # sigma^2 = 0.09, minus rounding


def test_cake_noise_has_the_cakes_covariance():
    sigma = np.random.default_rng(7).uniform(0.1, 0.5, 30)
    draws = wedding_cake_noise(np.tile(sigma, (N, 1)), np.random.default_rng(8))
    # 465 distinct entries: the largest normal deviate of so many stays below 5 with probability 0.9997.
    assert worst_covariance_error(draws, wedding_cake_covariance(30, sigma)) < 5.0


def test_cake_noise_with_other_tiers():
    draws = wedding_cake_noise(np.full((N, 9), 0.2), np.random.default_rng(9), steps=3, height=2.0)
    assert worst_covariance_error(draws, wedding_cake_covariance(9, 0.2, steps=3, height=2.0)) < 5.0


def test_a_cake_without_height_is_gaussian_noise():
    sigma = np.full((4, 10), 0.3)
    flat = wedding_cake_noise(sigma, np.random.default_rng(1), height=0.0)
    np.testing.assert_array_equal(flat, gaussian_noise(sigma, np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: bad_point_noise(np.ones((1, 2)), rng, share=1.2), "`share`"),
        (lambda rng: bad_point_noise(np.ones((1, 2)), rng, factor=0.0), "`factor`"),
        (lambda rng: wedding_cake_noise(np.ones((1, 3)), rng, steps=4), "`steps`"),
        (lambda rng: wedding_cake_covariance(3, 1.0, steps=0), "`steps`"),
        (lambda rng: wedding_cake_covariance(3, 1.0, steps=2, height=-0.1), "`height`"),
    ],
)
def test_impossible_noise_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0))

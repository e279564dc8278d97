"""Draws against the moments of their distributions, and what happens below zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from badac.simulate import Normal, Uniform

N = 40_000


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [(Normal(5.0, 2.0), stats.norm(5.0, 2.0)), (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0))],
)
def test_draws_follow_their_distribution(distribution, reference):
    drawn = distribution.draw(N, np.random.default_rng(1))
    # A Kolmogorov-Smirnov p-value below 1e-4 comes up once in ten thousand seeds; the seed is fixed.
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-4


def test_positive_draws_are_the_truncated_normal():
    drawn = Normal(1.0, 2.0).draw_positive((N // 10, 10), np.random.default_rng(2))
    assert drawn.shape == (N // 10, 10)
    assert drawn.min() > 0.0
    truncated = stats.truncnorm(-0.5, np.inf, loc=1.0, scale=2.0)
    assert stats.kstest(drawn.ravel(), truncated.cdf).pvalue > 1e-4


def test_positive_draws_far_from_zero_are_the_plain_draws():
    plain = Normal(0.1, 0.01).draw((50, 100), np.random.default_rng(3))
    np.testing.assert_array_equal(Normal(0.1, 0.01).draw_positive((50, 100), np.random.default_rng(3)), plain)


def test_a_constant_is_a_normal_without_spread():
    np.testing.assert_array_equal(
        Normal(0.3, 0.0).draw_positive((2, 3), np.random.default_rng(0)), np.full((2, 3), 0.3)
    )


@pytest.mark.parametrize("mean", [0.0, -1.0])
def test_positive_draws_refuse_a_mean_at_or_below_zero(mean):
    with pytest.raises(ValueError, match="positive mean"):
        Normal(mean, 1.0).draw_positive(3, np.random.default_rng(0))


@pytest.mark.parametrize("numbers", [(0.0, -1.0), (np.nan, 1.0), (0.0, np.inf)])
def test_normal_refuses_impossible_numbers(numbers):
    with pytest.raises(ValueError, match="finite"):
        Normal(*numbers)


def test_uniform_refuses_a_reversed_range():
    with pytest.raises(ValueError, match="low <= high"):
        Uniform(1.0, 0.0)

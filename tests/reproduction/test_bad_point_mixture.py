"""The running log density of bad-point noise against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.special import logsumexp
from scipy.stats import norm

from reproduction.limits.mixture import MixtureDensity


def definition(t, share, factor):
    return logsumexp(
        [np.log1p(-share) + norm.logpdf(t), np.log(share) + norm.logpdf(t, scale=factor)],
        axis=0,
    )


@pytest.mark.parametrize(("share", "factor"), [(0.2, 5.0), (1e-9, 100.0), (0.9, 1.5), (0.5, 1.0)])
@pytest.mark.parametrize("m", [1, 7, 300])
def test_running_sum_is_the_definition(share, factor, m):
    t = np.random.default_rng(m).normal(scale=4.0, size=(5, 3, m))
    running = MixtureDensity(share, factor).begin((5, 3))
    for j in range(m):
        running.add(t[:, :, j].copy())
    # Rounding of a sum of m terms of size up to ~1000.
    np.testing.assert_allclose(
        running.total(), definition(t, share, factor).sum(axis=-1), rtol=1e-12, atol=1e-11
    )


def test_far_residuals_do_not_underflow():
    running = MixtureDensity(0.2, 5.0).begin((1,))
    for _ in range(500):
        running.add(np.array([1e3]))
    np.testing.assert_allclose(running.total(), 500 * definition(1e3, 0.2, 5.0))


def test_density_integrates_to_one_and_good_is_its_share():
    density = MixtureDensity(0.2, 5.0)
    total, _ = integrate.quad(lambda t: np.exp(density.log_density(np.array(t))), -60, 60, points=[-3, 0, 3])
    good, _ = integrate.quad(
        lambda t: density.good(np.array(t)) * np.exp(density.log_density(np.array(t))),
        -60,
        60,
        points=[-3, 0, 3],
    )
    assert total == pytest.approx(1.0, abs=1e-9)
    assert good == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize(("share", "factor"), [(0.0, 5.0), (1.0, 5.0), (0.2, 0.5)])
def test_what_is_no_mixture_is_refused(share, factor):
    with pytest.raises(ValueError, match="share of bad points"):
        MixtureDensity(share, factor)

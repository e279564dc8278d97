"""Evidence of sines against brute force on a dense grid of frequencies, and its convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from badac.simulate import Normal, experiment, wedding_cake_covariance
from badac.simulate.noise import wedding_cake_tiers
from reproduction.limits.mixture import MixtureDensity
from reproduction.limits.sine import sine_log_evidence, sine_log_evidence_with_bad_points

PRIOR = Normal(5.0, 2.0)
BAD = MixtureDensity(0.2, 5.0)
DENSE = np.linspace(-11.0, 21.0, 20_001)


def objects(n, m, seed, sigma):
    rng = np.random.default_rng(seed)
    at = np.linspace(0.0, 1.0, m)
    bars = rng.uniform(0.8, 1.2, (n, m)) * sigma
    return np.sin(np.outer(rng.normal(5, 2, n), at)) + bars * rng.normal(size=(n, m)), bars, at


def dense_sum(log_match):
    """Trapezoidal rule over `DENSE` with the prior, for `log_match` (nodes,)."""
    return logsumexp(log_match + norm.logpdf(DENSE, 5.0, 2.0)) + np.log(DENSE[1] - DENSE[0])


@pytest.mark.parametrize("sigma", [0.1, 0.5])
def test_independent_errors_against_the_dense_grid(sigma):
    values, bars, at = objects(3, 40, 1, sigma)
    found = sine_log_evidence(values, bars, at, PRIOR)
    for row in range(3):
        log_match = norm.logpdf(values[row], np.sin(np.outer(DENSE, at)), bars[row]).sum(axis=1)
        assert found[row] == pytest.approx(dense_sum(log_match), abs=1e-8)


def test_one_point_against_adaptive_integration():
    # The point at x = 1, value 0.4, sigma 0.2: a multimodal integrand.
    direct, _ = integrate.quad(
        lambda w: norm.pdf(w, 5, 2) * norm.pdf(0.4, np.sin(w), 0.2), -11, 21, limit=400, epsabs=1e-13
    )
    found = sine_log_evidence(np.array([[0.4]]), np.array([[0.2]]), np.array([1.0]), PRIOR)
    assert found[0] == pytest.approx(np.log(direct), abs=1e-8)


def test_shared_errors_against_the_full_covariance():
    values, bars, at = objects(2, 15, 2, 0.2)
    found = sine_log_evidence(values, bars, at, PRIOR, wedding_cake_tiers(15))
    for row in range(2):
        full = multivariate_normal(np.zeros(15), wedding_cake_covariance(15, bars[row]))
        assert found[row] == pytest.approx(
            dense_sum(full.logpdf(values[row] - np.sin(np.outer(DENSE, at)))), abs=1e-8
        )


@pytest.mark.parametrize("sigma", [0.1, 0.4])
def test_bad_points_against_the_dense_grid(sigma):
    values, bars, at = objects(4, 40, 3, sigma)
    values[0, ::6] += 3.0 * sigma
    values[3] = 0.7 * at  # no sine: a broad integrand
    found = sine_log_evidence_with_bad_points(values, bars, at, PRIOR, BAD)
    for row in range(4):
        t = (values[row] - np.sin(np.outer(DENSE, at))) / bars[row]
        log_match = BAD.log_density(t).sum(axis=1) - np.log(bars[row]).sum()
        assert found[row] == pytest.approx(dense_sum(log_match), abs=1e-8)


@pytest.mark.parametrize(("number", "setting"), [(n, s) for n in (1, 3, 4) for s in ("printed", "released")])
def test_a_finer_grid_changes_nothing(number, setting):
    data = experiment(number, setting, n_train=1, n_test=60, contamination=0.5, rng=np.random.default_rng(4))
    arrays = (data.test.values, data.test.sigma, data.at, PRIOR)
    if number == 3:
        first, second = (sine_log_evidence_with_bad_points(*arrays, BAD, spacing=s) for s in (0.7, 0.3))
    else:
        tiers = wedding_cake_tiers(100) if number == 4 else None
        first, second = (sine_log_evidence(*arrays, tiers, spacing=s) for s in (0.7, 0.3))
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_shared_errors_of_no_size_change_nothing():
    values, bars, at = objects(3, 20, 5, 0.2)
    plain = sine_log_evidence(values, bars, at, PRIOR)
    np.testing.assert_allclose(
        sine_log_evidence(values, bars, at, PRIOR, np.zeros((20, 2))), plain, rtol=1e-13
    )


def test_a_known_frequency_needs_no_integral():
    values, bars, at = objects(3, 20, 6, 0.2)
    expected = norm.logpdf(values, np.sin(4.0 * at), bars).sum(axis=1)
    np.testing.assert_allclose(sine_log_evidence(values, bars, at, Normal(4.0, 0.0)), expected)


def test_objects_do_not_depend_on_their_block():
    values, bars, at = objects(400, 10, 7, 0.1)
    together = sine_log_evidence_with_bad_points(values, bars, at, PRIOR, BAD)
    bars_of_all = np.vstack([bars, bars])[397:]  # the same smallest width, so the same grid
    again = sine_log_evidence_with_bad_points(np.vstack([values, values])[397:], bars_of_all, at, PRIOR, BAD)
    np.testing.assert_allclose(again[:3], together[397:], rtol=1e-12)
    np.testing.assert_allclose(again[3:], together, rtol=1e-12)

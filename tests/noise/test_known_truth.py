"""The likelihood of a known truth is the object's side of each noise model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from badac import Measurements
from badac.noise import Binomial, Correlated, Gaussian, Marginal, Numeric, Outliers, Poisson, Student
from badac.noise.known_truth import log_likelihood

RNG = np.random.default_rng(4)
VALUES = RNG.normal(0, 1, (5, 6))
VALUES[2, 3] = np.nan
SIGMA = RNG.uniform(0.2, 0.6, (5, 6))
OBJECTS = Measurements(VALUES, SIGMA)
TRUTH = RNG.normal(0, 1, (4, 6))
COVARIANCE = 0.1 + 0.2 * np.eye(6)


def laplace(value: np.ndarray, truth: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    return -np.sqrt(2) * np.abs(value - truth) / sigma - np.log(np.sqrt(2) * sigma)


def bad_points(d: np.ndarray, y: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.log(0.8 * stats.norm.pdf(d, y, s) + 0.2 * stats.norm.pdf(d, y, 5 * s))


BY_POINT = {
    "gaussian": (Gaussian(), lambda d, y, s: stats.norm.logpdf(d, y, s)),
    "scaled": (Gaussian(2.0), lambda d, y, s: stats.norm.logpdf(d, y, 2 * s)),
    "student": (Student(3.0), lambda d, y, s: stats.t.logpdf(d, 3, y, s)),
    "outliers": (Outliers(0.2, 5.0), bad_points),
    "numeric": (Numeric(laplace), laplace),
}


@pytest.mark.parametrize("name", BY_POINT)
def test_points_that_were_measured_are_summed(name: str) -> None:
    noise, density = BY_POINT[name]
    expected = np.nansum(density(VALUES[:, None], TRUTH, SIGMA[:, None]), axis=2)
    np.testing.assert_allclose(log_likelihood(noise, OBJECTS, TRUTH), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "noise",
    [
        Gaussian(),
        Student(3.0),
        Outliers(0.2, 5.0),
        Correlated(COVARIANCE),
        Marginal((Gaussian(), Gaussian(2.0))),
    ],
)
def test_curves_of_an_objects_own_and_curves_of_all_agree(noise: object) -> None:
    own = np.broadcast_to(TRUTH, (5, *TRUTH.shape)).copy()
    np.testing.assert_allclose(
        log_likelihood(noise, OBJECTS, own), log_likelihood(noise, OBJECTS, TRUTH), rtol=1e-9
    )


def test_a_covariance_counts_once() -> None:
    full = Measurements(VALUES[:1], SIGMA[:1])
    expected = stats.multivariate_normal(TRUTH[1], np.diag(SIGMA[0] ** 2) + COVARIANCE).logpdf(VALUES[0])
    found = log_likelihood(Correlated(COVARIANCE), full, TRUTH)[0, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_counts_take_rates_and_probabilities() -> None:
    counts = Measurements([[0.0, 3.0, np.nan]])
    rate = np.array([[0.5, 2.0, 1.0]])
    found = log_likelihood(Poisson(exposure=2.0, background=0.1), counts, rate)
    expected = stats.poisson.logpmf([0, 3], [1.1, 4.1]).sum()
    np.testing.assert_allclose(found, [[expected]], rtol=1e-10)
    found = log_likelihood(Binomial(trials=5.0), counts, np.array([[0.2, 0.5, 0.5]]))
    np.testing.assert_allclose(found, [[stats.binom.logpmf([0, 3], 5, [0.2, 0.5]).sum()]], rtol=1e-10)
    with pytest.raises(ValueError, match="must be >= 0"):
        log_likelihood(Poisson(), counts, -rate)


def test_exact_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="sigma.*must be > 0"):
        log_likelihood(Gaussian(), Measurements(VALUES[:1]), TRUTH)

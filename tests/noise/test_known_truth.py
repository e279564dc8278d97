"""The likelihood of a known truth is the object's side of each noise model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from badac import Measurements
from badac.classes import Parametric
from badac.noise import Binomial, Correlated, Gaussian, Marginal, Numeric, Outliers, Poisson, Student
from badac.noise.known_truth import log_likelihood
from badac.noise.matches import sum_over_points

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


class Match:
    """Noise of a user's own, through a function."""

    def __init__(self, density: object, own_width: bool = False) -> None:
        self.density, self.has_own_width = density, own_width

    def log_match(self, objects: Measurements, curves: Measurements) -> np.ndarray:
        return sum_over_points(objects, curves, self.density)

    def draw(self, truth: np.ndarray, like: Measurements, rng: np.random.Generator) -> np.ndarray:
        return truth


def test_noise_of_ones_own_is_asked_for_its_match_with_exact_curves() -> None:
    noise = Match(lambda d, s, y, t: stats.norm.logpdf(d, y, np.hypot(s, t)))
    np.testing.assert_allclose(
        log_likelihood(noise, OBJECTS, TRUTH), log_likelihood(Gaussian(), OBJECTS, TRUTH), rtol=1e-12
    )
    own = np.broadcast_to(TRUTH, (5, *TRUTH.shape))
    np.testing.assert_allclose(
        log_likelihood(noise, OBJECTS, own), log_likelihood(Gaussian(), OBJECTS, TRUTH), rtol=1e-12
    )


def test_noise_that_has_no_density_around_a_truth_is_refused_in_words() -> None:
    undefined = Match(lambda d, s, y, t: (d - y) / t * t)
    with pytest.raises(ValueError, match="no density around an exact curve"):
        log_likelihood(undefined, Measurements([[0.0]], 0.1), np.zeros((1, 1)))
    counts = Match(lambda d, s, y, t: d - y, own_width=True)
    with pytest.raises(ValueError, match="log_given_truth"):
        log_likelihood(counts, OBJECTS, TRUTH)
    sine = Parametric(lambda theta, at: theta[0] * at, [stats.norm(0, 1)])
    with pytest.raises(ValueError, match="log_given_truth"):
        sine.fit(OBJECTS, counts, RNG)

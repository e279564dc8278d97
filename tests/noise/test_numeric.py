import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.noise import Gaussian, Numeric, Outliers


def gaussian(value, truth, sigma):
    return -0.5 * ((value - truth) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)


def outliers(value, truth, sigma):
    return np.logaddexp(
        np.log(0.8) + gaussian(value, truth, sigma), np.log(0.2) + gaussian(value, truth, 5 * sigma)
    )


@pytest.fixture
def sides():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4, 3))
    values[2, 1] = np.nan
    return (
        Measurements(values, rng.uniform(0.1, 0.3, (4, 3))),
        Measurements(rng.standard_normal((5, 3)), rng.uniform(0.1, 0.3, (5, 3))),
    )


@pytest.mark.parametrize(("density", "twin"), [(gaussian, Gaussian()), (outliers, Outliers(0.2, 5.0))])
def test_agrees_with_the_closed_form(sides, density, twin):
    noise = Numeric(density, reach=40.0)
    # Six nodes per sigma integrate a Gaussian to rounding; far pairs lose digits in the logs.
    np.testing.assert_allclose(noise.log_match(*sides), twin.log_match(*sides), atol=1e-6)
    assert noise.quadrature_error(*sides) < 1e-6


def test_density_that_is_not_normalised_is_refused(sides):
    with pytest.raises(ValueError, match=r"must integrate to one over the values: got 2\b"):
        Numeric(lambda v, t, s: gaussian(v, t, s) + np.log(2)).log_match(*sides)


def test_density_that_returns_nan_is_refused(sides):
    def broken(value, truth, sigma):
        return np.where(value > 0.5, np.nan, gaussian(value, truth, sigma))

    with pytest.raises(ValueError, match=r"must return a number or -inf: got nan at value 0\.\d+, truth"):
        Numeric(broken).log_match(*sides)


def test_density_that_does_not_broadcast_is_refused(sides):
    with pytest.raises(ValueError, match="broadcast"):
        Numeric(lambda v, t, s: np.zeros(3)).log_match(*sides)


def test_exact_values_and_hopeless_grids_are_refused(sides):
    with pytest.raises(ValueError, match="sigma.*> 0 for Numeric noise: got 0 at curve 0, point 0"):
        Numeric(gaussian).log_match(sides[0], Measurements(np.zeros((1, 3)), 0.0))
    with pytest.raises(ValueError, match="nodes at point 0"):
        Numeric(gaussian).log_match(sides[0], Measurements(np.full((1, 3), 1e9), 1e-3))


@pytest.mark.parametrize("class_model", ["instances", "population"])
def test_a_bad_density_is_refused_by_every_class_model(class_model):
    rng = np.random.default_rng(0)
    data, label = Measurements(rng.standard_normal((30, 3)), 0.3), np.arange(30) % 2
    for log_density, message in (
        (lambda value, truth, sigma: -0.5 * ((value - truth) / sigma) ** 2, "must integrate to one"),
        (
            lambda value, truth, sigma: np.nan * (value - truth) / sigma,
            "must return a number or -inf: got nan",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            BADACClassifier(class_model, noise=Numeric(log_density)).fit(data, label)

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac import Measurements
from badac.noise import Correlated, Gaussian, Marginal, correlated_grid
from badac.noise.matches import log_mixture, mixture_of_matches

V = 0.3 * np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 2)


@pytest.fixture
def sides():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((3, 4))
    values[1, 2] = np.nan
    objects = Measurements(values, rng.uniform(0.2, 0.4, (3, 4)))
    return objects, Measurements(rng.standard_normal((5, 4)), rng.uniform(0.2, 0.4, (5, 4)))


def test_is_the_gaussian_of_the_sum_of_covariances(sides):
    objects, curves = sides
    found = Correlated(V).log_match(objects, curves)
    for n in range(3):
        for k in range(5):
            seen = objects.observed[n]
            total = np.diag(np.where(seen, objects.sigma[n], 0) ** 2 + curves.sigma[k] ** 2) + 2 * V
            expected = multivariate_normal(curves.values[k, seen], total[np.ix_(seen, seen)]).logpdf(
                objects.values[n, seen]
            )
            assert found[n, k] == pytest.approx(expected, abs=1e-10)


def test_no_covariance_is_gaussian(sides):
    np.testing.assert_allclose(
        Correlated(np.zeros((4, 4))).log_match(*sides), Gaussian().log_match(*sides), atol=1e-10
    )


def test_whitened_once_is_the_definition():
    rng = np.random.default_rng(1)
    objects = Measurements(1e4 + rng.standard_normal((20, 4)), 0.3)
    curves = Measurements(1e4 + rng.standard_normal((30, 4)), 0.2)
    noise = Correlated(V)
    # 1e4 in double leaves 1e-12 of relative, so 1e-12 * 1e4 / 0.3 per residual of up to ten widths.
    np.testing.assert_allclose(
        log_mixture(noise, objects, curves), mixture_of_matches(noise.log_match, objects, curves), atol=1e-6
    )


def test_object_without_points_matches_everything():
    empty = Measurements([[np.nan] * 4], 0.1)
    curves = Measurements(np.zeros((2, 4)), 0.1)
    np.testing.assert_allclose(Correlated(V).log_match(empty, curves), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.ones((2, 3)), "square"),
        ([[1.0, 0.5], [0.2, 1.0]], r"symmetric: got 0.5 at \(0, 1\) but 0.2"),
        ([[1.0, 2.0], [2.0, 1.0]], "no negative eigenvalue: its smallest is -1"),
        ([[np.nan, 0.0], [0.0, 1.0]], "finite"),
    ],
)
def test_bad_covariances_are_refused(covariance, message):
    with pytest.raises(ValueError, match=message):
        Correlated(np.array(covariance))


def test_covariance_of_the_wrong_size_is_refused(sides):
    with pytest.raises(ValueError, match="for 2 points: got objects of 4"):
        Correlated(np.eye(2)).log_match(*sides)


def test_grid_of_one_is_its_part(sides):
    np.testing.assert_allclose(
        Marginal((Correlated(V),)).log_match(*sides), Correlated(V).log_match(*sides), atol=1e-12
    )


def test_grid_finds_the_amplitude():
    rng = np.random.default_rng(3)
    at = np.arange(10.0)
    true = Correlated(np.exp(-np.abs(np.subtract.outer(at, at)) / 3.0))
    like = Measurements(np.zeros((40, 10)), 0.1)
    objects = Measurements(true.draw(np.zeros((40, 10)), like, rng), 0.1)
    curve = Measurements(true.draw(np.zeros((1, 10)), like[:1], rng), 0.1)
    grid = correlated_grid(at, [0.0, 1.0], [3.0])
    each = [noise.log_match(objects, curve).sum() for noise in grid.noises]
    assert each[1] > each[0] + 100
    assert each[0] < grid.log_match(objects, curve).sum() < each[1]


def test_a_few_kinds_of_error_bars_are_whitened_together():
    rng = np.random.default_rng(8)
    noise = Correlated(0.1 * np.minimum.outer(np.arange(1, 7), np.arange(1, 7)))
    bars = np.repeat(np.where(rng.random((40, 1)) < 0.5, 0.3, 0.5), 6, axis=1)
    values = rng.standard_normal((40, 6))
    values[::5, 2] = np.nan
    objects = Measurements(values, bars)
    curves = Measurements(rng.standard_normal((15, 6)), 0.2)
    skip = rng.integers(-1, 15, 40)
    matches = noise.log_match(objects, curves)
    mixture = noise.log_mixture(objects, curves, skip=skip)
    for row in range(40):
        np.testing.assert_allclose(
            matches[row], noise.log_match(objects[row : row + 1], curves)[0], rtol=1e-10
        )
        alone = noise.log_mixture(objects[row : row + 1], curves, skip=skip[row : row + 1])
        np.testing.assert_allclose(mixture[row], alone[0], rtol=1e-10)

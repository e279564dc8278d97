"""Values that cannot be true, and values in units whose squares overflow."""

import numpy as np
import pytest

from badac import Measurements
from badac.classes import Population
from badac.classes.population.gross_outliers import _middle, gross_outliers, without
from badac.noise import Gaussian

SIGMA = 0.1
CURVE = np.sin(np.linspace(0.0, 3.0, 12))


def members(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    slope = rng.standard_normal((n, 1)) * np.linspace(0.0, 1.0, CURVE.size)
    return CURVE + slope + SIGMA * rng.standard_normal((n, CURVE.size))


def fitted(values: np.ndarray, sigma: float = SIGMA) -> Population:
    return Population().fit(Measurements(values, sigma), Gaussian(), np.random.default_rng(0))


@pytest.mark.parametrize("n", [12, 60, 600])
def test_one_wild_value_does_not_change_the_class(n: int) -> None:
    values = members(n)
    broken = values.copy()
    broken[3, 5] = 1e6
    clean, found = fitted(values), fitted(broken)
    assert found.psi is not None and found.mean is not None
    assert found.psi[5] < SIGMA**2
    assert abs(found.mean[5] - CURVE[5]) < 5.0 * np.sqrt(1.0 + SIGMA**2) / np.sqrt(n)
    new = Measurements(members(200, seed=1), SIGMA)
    # One value of 12 n is not learned from: new members lose about as much as one member of n says.
    assert found.log_evidence(new).mean() > clean.log_evidence(new).mean() - 20.0 / n
    # The member that has it is rare, not impossible: its distance is about n^(1/2) widths of all training objects.
    left_out = found.leave_one_out()
    assert left_out[3] == left_out.min()
    assert left_out[3] > -(n + 100.0)


def test_long_tails_are_not_wild() -> None:
    values = members(100)
    values[:10, 2] *= 1e7
    assert gross_outliers(Measurements(values, SIGMA)) is None


def test_missing_points_and_exact_values() -> None:
    values = members(50)
    values[::3, 1] = np.nan
    values[7, 1], values[8, 4] = -1e9, 1e9
    outliers = gross_outliers(Measurements(values))
    assert outliers is not None
    assert np.argwhere(outliers).tolist() == [[7, 1], [8, 4]]
    left = without(Measurements(values), outliers)
    assert np.isnan(left.values[[7, 8], [1, 4]]).all()
    assert not left.has_errors


@pytest.mark.parametrize("unit", [1e-200, 1e200, 1e300])
def test_units_beyond_squares_shift_the_evidence(unit: float) -> None:
    values = members(60)
    usual, extreme = fitted(values), fitted(unit * values, unit * SIGMA)
    new = members(20, seed=2)
    shift = -CURVE.size * np.log(unit)
    found = extreme.log_evidence(Measurements(unit * new, unit * SIGMA)) - shift
    # The unit is a power of two near the largest value: rounding, and what rounding changes in the iterations.
    np.testing.assert_allclose(found, usual.log_evidence(Measurements(new, SIGMA)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(extreme.leave_one_out() - shift, usual.leave_one_out(), rtol=1e-6, atol=1e-6)
    truth = extreme.reconstruct(Measurements(unit * new, unit * SIGMA))
    expected = usual.reconstruct(Measurements(new, SIGMA))
    np.testing.assert_allclose(truth.values / unit, expected.values, rtol=1e-6, atol=1e-6)


def test_the_middle_of_each_point_is_that_of_its_observed_values() -> None:
    rng = np.random.default_rng(5)
    for n in (4, 5, 30, 31):
        values, sigma = rng.standard_normal((n, 7)), rng.uniform(0.1, 1.0, (n, 7))
        values[rng.random(values.shape) < 0.4] = np.nan
        values[:, 3] = np.nan
        members = Measurements(values, sigma)
        middle, unit = _middle(members)
        for point in range(7):
            seen = ~np.isnan(values[:, point])
            if not seen.any():
                assert (middle[point], unit[point]) == (0.0, 0.0)
                continue
            own = values[seen, point]
            assert middle[point] == pytest.approx(np.median(own))
            spread = 1.4826 * np.median(np.abs(own - np.median(own)))
            assert unit[point] == pytest.approx(spread + np.median(sigma[seen, point]))

"""Units in which values are about one, there and back without a digit changed."""

import numpy as np
import pytest

from badac import Measurements
from badac.data.units import _typical, in_units, log_jacobian, reach_of, unit_of, units_of, within

VALUES = np.random.default_rng(0).normal(size=(40, 4))


def measured(factor: object = 1.0) -> Measurements:
    return Measurements(VALUES * factor, np.abs(0.1 * np.ones(4) * factor))


def test_usual_values_keep_their_unit() -> None:
    objects = measured()
    assert unit_of(objects) == 1.0
    np.testing.assert_array_equal(units_of(objects), [1.0])
    assert in_units(objects, units_of(objects)) is objects
    assert within(objects, reach_of(1.0)) is objects
    np.testing.assert_array_equal(log_jacobian(objects, units_of(objects)), 0.0)


@pytest.mark.parametrize("factor", [1e-305, 1e-200, 1e200, 1e305])
def test_extreme_values_come_near_one_and_back(factor: float) -> None:
    objects = measured(factor)
    units = units_of(objects)
    there = in_units(objects, units)
    assert 0.5 < np.median(np.abs(there.values)) < 2.0
    back = in_units(there, 1.0 / units)
    np.testing.assert_array_equal(back.values, objects.values)
    np.testing.assert_array_equal(back.sigma, objects.sigma)
    np.testing.assert_allclose(log_jacobian(objects, units), 4 * np.log(units[0]), rtol=1e-14)


def test_one_absurd_value_does_not_choose_the_unit() -> None:
    values = VALUES.copy()
    values[3, 1] = 1e250
    objects = Measurements(values, 0.1)
    assert unit_of(objects) == 1.0
    assert within(objects, reach_of(1.0)).values[3, 1] == reach_of(1.0)


def test_points_of_different_kinds_have_units_of_their_own() -> None:
    sizes = np.array([1e100, 1e-100, 1.0, 1e30])
    objects = measured(sizes)
    there = in_units(objects, units_of(objects))
    assert np.all((np.median(np.abs(there.values), axis=0) > 0.5) & (there.sigma[0] < 0.3))
    gone = Measurements(np.where([True, False, False, False], np.nan, objects.values), objects.sigma)
    expected = np.log(units_of(objects))[1:].sum()
    np.testing.assert_allclose(log_jacobian(gone, units_of(objects)), expected, rtol=1e-14)


def test_covariances_and_points_of_ones_own_follow() -> None:
    full = Measurements(VALUES * 1e150, covariance=1e300 * np.eye(4))
    there = in_units(full, np.array([2.0, 2.0, 4.0, 4.0]) * 1e10)
    np.testing.assert_allclose(np.diagonal(there.covariance), 1e300 / np.array([4, 4, 16, 16]) / 1e20)
    own = Measurements(VALUES * 1e200, 1e199, at=np.abs(VALUES))
    assert units_of(own).shape == (1,)


@pytest.mark.parametrize("values", [np.zeros((5, 2)), np.full((5, 2), np.nan)])
def test_nothing_measured_or_nothing_but_zero_has_a_unit(values: np.ndarray) -> None:
    np.testing.assert_array_equal(units_of(Measurements(values)), [1.0])


def test_errors_too_wide_to_square_are_cut_and_gaps_stay() -> None:
    objects = Measurements([[1.0, np.nan], [2.0, 3.0]], [[1e200, 1.0], [0.1, 0.1]])
    cut = within(objects, 1e30)
    np.testing.assert_array_equal(cut.sigma, [[1e30, np.inf], [0.1, 0.1]])
    np.testing.assert_array_equal(cut.observed, objects.observed)


def test_the_typical_size_of_a_column_is_the_median_of_what_is_not_zero() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((11, 5)) * np.where(rng.random((11, 5)) < 0.4, 0.0, 1.0)
    numbers[:, 3], numbers[2, 1] = 0.0, np.nan
    expected = [np.median(size[size > 0.0]) if (size > 0.0).any() else np.nan for size in np.abs(numbers).T]
    np.testing.assert_array_equal(_typical(numbers), expected)
    assert np.isnan(_typical(np.empty((0, 2)))).all()

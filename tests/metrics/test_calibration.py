"""Calibration curves and errors against scikit-learn, the definition, and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve as sklearn_curve

from badac.metrics import calibration_curve, calibration_error_by_chance, expected_calibration_error


@pytest.fixture
def calibrated():
    """Outcomes that follow their probabilities exactly."""
    rng = np.random.default_rng(5)
    probability = rng.beta(0.5, 0.5, size=4000)
    return rng.random(4000) < probability, probability


def test_curve_agrees_with_scikit_learn(calibrated):
    outcome, probability = calibrated
    curve = calibration_curve(outcome, probability, n_bins=12)
    observed, mean_probability = sklearn_curve(outcome, probability, n_bins=12)
    np.testing.assert_allclose(curve.observed, observed)
    np.testing.assert_allclose(curve.mean_probability, mean_probability)
    assert curve.count.sum() == 4000


def test_poisson_error_of_a_bin():
    curve = calibration_curve([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], np.full(10, 0.4))
    np.testing.assert_allclose(curve.error, [np.sqrt(4) / 10])


def test_poisson_error_is_the_scatter_of_repeated_counts():
    # At p = 0.05 binomial and Poisson scatter differ by sqrt(0.95); 400 repeats know a spread to 3.5 %:
    # allow four of that.
    rng = np.random.default_rng(11)
    curves = [calibration_curve(rng.random(500) < 0.05, np.full(500, 0.05)) for _ in range(400)]
    scatter = np.std([curve.observed[0] for curve in curves])
    quoted = np.mean([curve.error[0] for curve in curves])
    assert quoted * np.sqrt(0.95) == pytest.approx(scatter, rel=0.14)


def test_empty_bins_are_left_out_and_zero_counts_keep_a_bar():
    curve = calibration_curve([0, 0, 1], [0.05, 0.05, 0.95], n_bins=10)
    np.testing.assert_array_equal(curve.count, [2, 1])
    np.testing.assert_allclose(curve.error, [1 / 2, 1.0])


@pytest.mark.parametrize("probability", [0.0, 1.0])
def test_the_ends_of_the_range_have_a_bin(probability):
    curve = calibration_curve([1], [probability], n_bins=4)
    np.testing.assert_array_equal(curve.mean_probability, [probability])


def test_error_by_hand():
    # Bins (0, .5] and (.5, 1]: |0 - .2| * 2/4 + |1 - .7| * 2/4.
    assert expected_calibration_error([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8], n_bins=2) == pytest.approx(0.25)


def test_multiclass_uses_the_largest_probability():
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]])
    # Tops .7 (x, right), .6 (y, wrong) and .5 (z, right) in one bin: |2/3 - .6|.
    error = expected_calibration_error(["x", "z", "z"], probabilities, ["x", "z", "y"], n_bins=1)
    assert error == pytest.approx(2 / 3 - 0.6)


def test_two_columns_and_default_classes():
    rng = np.random.default_rng(2)
    p = rng.random(300)
    labels = (rng.random(300) < p).astype(int)
    table = np.column_stack([1 - p, p])
    top, right = table.max(axis=1), table.argmax(axis=1) == labels
    assert expected_calibration_error(labels, table) == pytest.approx(expected_calibration_error(right, top))


def test_calibrated_probabilities_are_within_chance(calibrated):
    outcome, probability = calibrated
    chance = calibration_error_by_chance(probability)
    assert abs(expected_calibration_error(outcome, probability) - chance.mean) < 4 * chance.sd


def test_overconfidence_stands_out(calibrated):
    outcome, probability = calibrated
    sharper = probability**3 / (probability**3 + (1 - probability) ** 3)
    chance = calibration_error_by_chance(sharper)
    assert expected_calibration_error(outcome, sharper) > chance.mean + 10 * chance.sd


@pytest.mark.parametrize(("low", "high", "n"), [(0.0, 1.0, 2000), (0.0, 0.02, 300), (0.9, 1.0, 100)])
def test_chance_error_matches_simulation(low, high, n):
    # Documented as good to 12 %; 600 draws know the spread to 3 % (allow four of that), and the mean to
    # spread / sqrt(600).
    rng = np.random.default_rng(3)
    probability = rng.uniform(low, high, n)
    draws = [expected_calibration_error(rng.random(n) < probability, probability) for _ in range(600)]
    chance = calibration_error_by_chance(probability)
    spread = np.std(draws)
    assert chance.mean == pytest.approx(np.mean(draws), abs=0.12 * np.mean(draws) + 4 * spread / np.sqrt(600))
    assert chance.sd == pytest.approx(spread, rel=0.28)


def test_certain_probabilities_have_no_chance_error():
    chance = calibration_error_by_chance([[1.0, 0.0], [0.0, 1.0]])
    assert chance.mean == 0.0
    assert chance.sd == 0.0


@pytest.mark.parametrize(
    ("labels", "probabilities", "classes", "message"),
    [
        ([0, 1], [0.1, 1.2], None, r"got 1.2 at object 1"),
        ([0, 1], [0.1, np.nan], None, r"got nan at object 1"),
        ([0, 1, 1], [0.1, 0.2], None, "equally long"),
        ([0, 3], [0.1, 0.2], None, "bool or 0/1"),
        ([0, 1], [[0.4, 0.6], [0.5, 0.6]], None, "got 1.1 at object 1"),
        ([0, 1], [[0.4, 0.6], [-0.5, 1.5]], None, "got -0.5 at object 1, column 0"),
        ([0, 2], [[0.4, 0.6], [0.5, 0.5]], None, "got .*2.* at object 1"),
        ([0], [[0.4, 0.6], [0.5, 0.5]], None, "one label per object"),
        ([0, 1], [[0.4, 0.6], [0.5, 0.5]], [0, 0], "2 different labels"),
        ([0, 1], [0.1, 0.2], [0, 1], "leave `classes` out"),
        ([], [], None, "one number per object"),
    ],
)
def test_bad_input_says_what_and_where(labels, probabilities, classes, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(labels, probabilities, classes)


def test_no_bins():
    with pytest.raises(ValueError, match="`n_bins` must be at least 1"):
        calibration_curve([0, 1], [0.1, 0.2], n_bins=0)

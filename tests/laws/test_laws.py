"""The laws that every class model with Gaussian noise must keep (property tests on the estimator's door)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from badac import BADACClassifier, Measurements
from badac.metrics import expected_calibration_error

SETTINGS = settings(max_examples=25, deadline=None)


def problem(
    seed: int, n: int = 14, m: int = 4, gaps: float = 0.0
) -> tuple[Measurements, np.ndarray, Measurements]:
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    truth = label[:, None] + rng.normal(size=(n, m))
    sigma = rng.uniform(0.2, 1.5, (n, m))
    new = rng.normal(size=(5, m))
    new[rng.random(new.shape) < gaps] = np.nan
    return (
        Measurements(truth + sigma * rng.normal(size=(n, m)), sigma),
        label,
        Measurements(new, rng.uniform(0.2, 1.5, (5, m))),
    )


def evidence(X: Measurements, y: np.ndarray, new: Measurements) -> np.ndarray:
    return BADACClassifier(class_model="instances", anomaly="evidence").fit(X, y).log_evidence(new)


@SETTINGS
@given(st.integers(0, 10_000))
def test_the_order_of_members_and_points_does_not_matter(seed: int) -> None:
    X, y, new = problem(seed, gaps=0.3)
    rng = np.random.default_rng(seed)
    rows, points = rng.permutation(len(X)), rng.permutation(X.n_points)
    np.testing.assert_allclose(evidence(X[rows], y[rows], new), evidence(X, y, new), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        evidence(X.points(points), y, new.points(points)), evidence(X, y, new), rtol=1e-10, atol=1e-10
    )


@SETTINGS
@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
def test_scaling_shifts_the_log_evidence(seed: int, c: float) -> None:
    X, y, new = problem(seed)
    scaled = evidence(Measurements(c * X.values, c * X.sigma), y, Measurements(c * new.values, c * new.sigma))
    np.testing.assert_allclose(scaled, evidence(X, y, new) - X.n_points * np.log(c), rtol=1e-9, atol=1e-8)


@SETTINGS
@given(st.integers(0, 10_000), st.floats(-1e4, 1e4))
def test_shifting_all_values_changes_nothing(seed: int, shift: float) -> None:
    X, y, new = problem(seed)
    shifted = evidence(
        Measurements(X.values + shift, X.sigma), y, Measurements(new.values + shift, new.sigma)
    )
    np.testing.assert_allclose(shifted, evidence(X, y, new), rtol=1e-8, atol=1e-8)


@SETTINGS
@given(st.integers(0, 10_000))
def test_swapping_class_names_swaps_columns(seed: int) -> None:
    X, y, new = problem(seed)
    np.testing.assert_allclose(evidence(X, 1 - y, new), evidence(X, y, new)[:, ::-1], rtol=1e-12)


@SETTINGS
@given(st.integers(0, 10_000))
def test_a_missing_point_is_an_infinite_sigma(seed: int) -> None:
    X, y, new = problem(seed)
    sigma = new.sigma.copy()
    sigma[:, 1] = np.inf
    huge = new.sigma.copy()
    huge[:, 1] = 1e9
    gone = (
        BADACClassifier(class_model="instances", anomaly="evidence")
        .fit(X, y)
        .predict_proba(Measurements(new.values, sigma))
    )
    vague = (
        BADACClassifier(class_model="instances", anomaly="evidence")
        .fit(X, y)
        .predict_proba(Measurements(new.values, huge))
    )
    np.testing.assert_allclose(gone, vague, atol=1e-6)


def test_duplicated_members_change_nothing() -> None:
    X, y, new = problem(1)
    twice = np.tile(np.arange(len(X)), 2)
    np.testing.assert_allclose(evidence(X[twice], y[twice], new), evidence(X, y, new), rtol=1e-12)


def test_probabilities_are_calibrated_where_the_flat_prior_holds() -> None:
    """Dense exact curves: then the flat prior does no harm, and the probabilities mean what they say."""
    rng = np.random.default_rng(8)
    n = 4000

    def draw() -> tuple[np.ndarray, np.ndarray]:
        label = rng.integers(0, 2, n)
        return label, label[:, None] * 0.8 + rng.normal(size=(n, 2))

    y, truth = draw()
    y_new, truth_new = draw()
    sigma = rng.uniform(0.3, 2.0, (n, 2))
    model = BADACClassifier(class_model="instances", anomaly="evidence").fit(truth, y, X_err=0.05)
    proba = model.predict_proba(truth_new + sigma * rng.normal(size=(n, 2)), X_err=sigma)
    # With 15 bins of the largest probability the error of a calibrated model is sampling noise: each bin's mean absolute
    # deviation is at most sqrt(p(1-p)/n_b) sqrt(2/pi), so their weighted sum at most 0.8 sqrt(15 p(1-p) / n) = 0.023.
    assert expected_calibration_error(y_new, proba) < 0.025


def test_growing_error_bars_move_probabilities_to_the_prior() -> None:
    X, y, _ = problem(4, n=60)
    model = BADACClassifier(class_model="instances", anomaly="evidence", priors=[0.3, 0.7]).fit(X, y)
    far = [model.predict_proba(Measurements(np.zeros((1, 4)), s))[0, 0] for s in (1.0, 10.0, 100.0, 1e6)]
    assert abs(far[-1] - 0.3) < 1e-3
    assert np.abs(np.array(far) - 0.3)[-1] <= np.abs(np.array(far) - 0.3)[0] + 1e-9


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 1000])
def test_block_size_changes_nothing(size: int) -> None:
    X, y, _ = problem(5, n=100)
    rng = np.random.default_rng(0)
    new = Measurements(rng.normal(size=(1000, 4)), 0.5)
    model = BADACClassifier(class_model="instances", anomaly="evidence").fit(X, y)
    whole = model.log_evidence(new)
    parts = np.concatenate(
        [model.log_evidence(new[i : i + size]) for i in range(0, 1000 if size > 2 else 20, size)]
    )
    np.testing.assert_allclose(parts, whole[: len(parts)], rtol=1e-12)

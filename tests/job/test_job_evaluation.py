"""The calibration of the probability of an anomaly, beside that of the classes."""

from __future__ import annotations

import numpy as np
import pytest

from badac.job.evaluation import AnomalyCalibration, Evaluation
from badac.job.record import CrossValidation
from badac.metrics import detection_summary


def drawn(n: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Anomalies and the log Bayes factors that N(0, 1) and N(2, 1) give: calibrated by construction."""
    strange = rng.random(n) < share
    at = rng.standard_normal(n) + 2.0 * strange
    return strange, 2.0 * at - 2.0


def test_probabilities_come_true_with_the_share_of_the_table_whatever_prior_the_model_has() -> None:
    strange, factor = drawn(20_000, 0.2, np.random.default_rng(3))
    prior = 0.01
    proba = 1.0 / (1.0 + np.exp(-factor) * (1.0 - prior) / prior)
    found = AnomalyCalibration.of(strange, proba, prior)
    curve = found.curve
    # Five standard errors of a share, in every tenth.
    error = np.sqrt(curve.mean_probability * (1.0 - curve.mean_probability) / curve.count)
    assert (np.abs(curve.observed - curve.mean_probability) < 5.0 * error).all()
    numbers = found.numbers()
    assert numbers["true_above_half"] == pytest.approx(numbers["stated_above_half"], abs=0.03)
    assert "more probably an anomaly than not" in str(found)
    # As the model states them they would be too small by far.
    assert proba.mean() < 0.5 * strange.mean()


def test_sure_ones_stay_sure() -> None:
    found = AnomalyCalibration.of(np.array([True, False, False]), np.array([1.0, 0.0, 0.2]), 0.2)
    assert found.proba[0] == 1.0 and found.proba[1] == 0.0 and 0.2 < found.proba[2] < 0.5


def test_the_figure_has_both_curves_where_there_are_anomalies() -> None:
    strange, factor = drawn(400, 0.2, np.random.default_rng(4))
    known = CrossValidation(0, np.zeros(5, dtype=np.int64), np.tile([0.9, 0.1], (5, 1)))
    alone = Evaluation(np.array(["a", "b"]), known)
    assert list(alone.calibration.curves) == ["badac"] and "anomaly_proba" not in alone.numbers()
    calibration = AnomalyCalibration.of(strange, 1.0 / (1.0 + np.exp(-factor)), 0.5)
    detected = detection_summary(strange, factor, n_flagged=int(strange.sum()))
    both = Evaluation(np.array(["a", "b"]), known, detected, ("c",), calibration)
    assert list(both.calibration.curves) == ["known classes", "anomaly"]
    assert both.numbers()["anomaly_proba"]["count"] and "stated" in both.lines()[-1]

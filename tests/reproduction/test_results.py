"""A result says what the metrics say, and survives JSON."""

import json

import numpy as np
import pytest

from badac.metrics import rank_weighted_score
from reproduction.algorithms import Answer
from reproduction.cells import Cell, Size
from reproduction.results import Result, RocCurve, measure, thinned


@pytest.fixture(scope="module")
def cell():
    return Cell(1, "released", 0, "badac-exact", Size(200, 400, 10))


def test_a_perfect_answer_gets_perfect_marks(cell):
    data = cell.data()
    probabilities = np.eye(2)[np.minimum(data.test_label, 1)]
    result = measure(cell, data, Answer(data.is_anomaly.astype(float), probabilities))
    assert result.metrics["mcc"] == result.metrics["auc"] == result.metrics["rws"] == 1.0
    assert result.metrics["accuracy"] == 1.0
    assert result.metrics["ece"] == 0.0


def test_as_many_objects_are_flagged_as_there_are_anomalies(cell):
    data = cell.data()
    score = np.random.default_rng(0).random(400)
    result = measure(cell, data, Answer(score))
    assert result.metrics["rws"] == rank_weighted_score(data.is_anomaly, score, 4)
    assert "accuracy" not in result.metrics
    assert result.calibration is None


def test_own_rules_are_measured(cell):
    data = cell.data()
    score = data.is_anomaly.astype(float)
    flagged = {"all right": data.is_anomaly, "nobody": np.zeros(400, dtype=bool)}
    metrics = measure(cell, data, Answer(score, flagged=flagged)).metrics
    assert metrics["mcc (all right)"] == 1.0
    assert metrics["flagged (all right)"] == 4
    assert metrics["mcc (nobody)"] == 0.0


def test_json_and_back(tiny_results):
    for result in tiny_results:
        back = Result.from_dict(json.loads(json.dumps(result.as_dict(), allow_nan=False)))
        assert back.cell == result.cell
        assert back.metrics == pytest.approx(dict(result.metrics))
        for name in ("roc", "calibration", "scatter"):
            assert (getattr(back, name) is None) == (getattr(result, name) is None)
        if result.scatter is not None:
            np.testing.assert_allclose(back.scatter, result.scatter, rtol=1e-5)


def test_numbers_that_are_not_finite_survive_json(cell):
    result = Result(cell, {"mcc": float("nan")}, 0.0, 0.0)
    back = Result.from_dict(json.loads(json.dumps(result.as_dict(), allow_nan=False)))
    assert np.isnan(back.metrics["mcc"])


def test_thinning_keeps_the_ends_and_the_area():
    rng = np.random.default_rng(1)
    truth = rng.random(20000) < 0.3
    curve = RocCurve.of(truth, rng.normal(size=20000) + truth)
    short = thinned(curve)
    assert len(short.false_positive) <= 300 < len(curve.false_positive)
    assert (short.false_positive[0], short.true_positive[-1]) == (0.0, 1.0)
    assert np.trapezoid(short.true_positive, short.false_positive) == pytest.approx(curve.auc, abs=5e-3)

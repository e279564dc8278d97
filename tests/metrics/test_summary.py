"""Summaries against scikit-learn's own functions, and their behaviour with ties and odd labels."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, matthews_corrcoef, roc_auc_score

from badac.metrics import (
    classification_summary,
    detection_summary,
    expected_calibration_error,
    rank_weighted_score,
)


def test_detection_agrees_with_scikit_learn():
    rng = np.random.default_rng(8)
    is_anomaly = rng.random(500) < 0.05
    score = rng.normal(size=500) + 2 * is_anomaly
    summary = detection_summary(is_anomaly, score, contamination=0.04)
    flagged = np.zeros(500, dtype=bool)
    flagged[np.argsort(-score)[:20]] = True
    assert summary.n_flagged == 20
    assert summary.n_anomalies == is_anomaly.sum()
    assert summary.mcc == pytest.approx(matthews_corrcoef(is_anomaly, flagged))
    assert summary.auc == pytest.approx(roc_auc_score(is_anomaly, score))
    assert summary.rws == rank_weighted_score(is_anomaly, score, 20)


def test_matthews_with_ties_is_the_mean_over_orders():
    is_anomaly, score = np.array([1, 0, 1, 0, 0]), np.array([2.0, 2.0, 2.0, 1.0, 3.0])
    values = []
    for order in permutations(range(5)):
        if all(np.diff(score[list(order)]) <= 0):
            flagged = np.isin(np.arange(5), order[:2])
            values.append(matthews_corrcoef(is_anomaly, flagged))
    assert detection_summary(is_anomaly, score, n_flagged=2).mcc == pytest.approx(np.mean(values))


def test_flagging_everything_has_no_correlation():
    assert detection_summary([1, 0], [2.0, 1.0], n_flagged=2).mcc == 0.0


def test_small_contamination_flags_at_least_one():
    assert detection_summary([1, 0], [2.0, 1.0], contamination=0.01).n_flagged == 1


def test_infinite_scores_are_ranked():
    assert detection_summary([1, 0, 0], [np.inf, 0.0, -np.inf], n_flagged=1).auc == 1.0


@pytest.mark.parametrize(
    ("is_anomaly", "options", "message"),
    [
        ([0, 0], {"n_flagged": 1}, "got 0 anomalies among 2 objects"),
        ([1, 1], {"n_flagged": 1}, "got 2 anomalies among 2 objects"),
        ([0, 1], {}, "either `contamination`"),
        ([0, 1], {"n_flagged": 1, "contamination": 0.1}, "either `contamination`"),
        ([0, 1], {"n_flagged": 3}, "between 1 and the 2 objects: got 3"),
        ([0, 1], {"contamination": 1.0}, r"share in \(0, 1\): got 1.0"),
    ],
)
def test_bad_detection_input(is_anomaly, options, message):
    with pytest.raises(ValueError, match=message):
        detection_summary(is_anomaly, [0.0, 1.0], **options)


def test_classification_agrees_with_scikit_learn():
    rng = np.random.default_rng(9)
    probabilities = rng.dirichlet([1.0, 1.0, 1.0], size=200)
    classes = np.array(["a", "b", "c"])
    labels = rng.choice(classes, 200)
    summary = classification_summary(labels, probabilities, classes)
    assert summary.accuracy == accuracy_score(labels, classes[probabilities.argmax(axis=1)])
    assert summary.log_loss == pytest.approx(log_loss(labels, probabilities, labels=classes))
    assert summary.ece == expected_calibration_error(labels, probabilities, classes)
    assert summary.n_objects == 200


def test_order_of_classes_does_not_matter():
    rng = np.random.default_rng(10)
    probabilities = rng.dirichlet([1.0, 1.0, 1.0], size=50)
    classes = np.array(["c", "a", "b"])
    labels = rng.choice(classes, 50)
    order = [2, 0, 1]
    first = classification_summary(labels, probabilities, classes)
    second = classification_summary(labels, probabilities[:, order], classes[order])
    assert first.accuracy == second.accuracy
    assert first.log_loss == pytest.approx(second.log_loss)
    assert first.ece == pytest.approx(second.ece)


def test_a_class_without_objects_and_a_single_class():
    summary = classification_summary([0, 0], [[0.5, 0.5], [0.5, 0.5]])
    assert summary.log_loss == pytest.approx(np.log(2))
    assert classification_summary([4], [[1.0]], [4]).log_loss == 0.0


def test_impossible_truth_costs_a_finite_loss():
    assert classification_summary([1], [[1.0, 0.0]]).log_loss == pytest.approx(-np.log(np.finfo(float).eps))

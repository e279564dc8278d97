"""The default anomaly: three hypotheses, averaged, against the known classes with their rare members."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from badac import BADACClassifier, Measurements
from badac.anomalies import Bump, Deviations, SmoothDeviation, SomethingElse
from badac.metrics import detection_summary
from badac.noise import Outliers
from badac.simulate import experiment


@pytest.fixture(scope="module")
def data():
    return experiment(
        1, "printed", n_train=1000, n_test=1500, contamination=0.03, rng=np.random.default_rng(0)
    )


@pytest.fixture(scope="module")
def model(data) -> BADACClassifier:
    return BADACClassifier(class_model="population", random_state=0).fit(data.train, data.train_label)


def test_the_average_is_the_weighted_mean_of_the_hypotheses(model, data) -> None:
    anomaly = model.anomaly_model_
    single = anomaly.by_hypothesis(data.test[:50])
    np.testing.assert_allclose(
        anomaly.log_bayes_factor(data.test[:50]),
        logsumexp(single + np.log([0.8, 0.15, 0.05]), axis=1),
        rtol=1e-12,
    )


def test_an_average_of_one_is_its_part(model, data) -> None:
    # Who may be an unseen member, or like an isolated one, depends on all hypotheses together: without them, a part is a part.
    grid = replace(model.anomaly_model_.grid, unseen=(), isolated=())
    whole = replace(model.anomaly_model_, grid=grid)
    for column, hypothesis in enumerate(whole.hypotheses):
        alone = replace(whole, hypotheses=(hypothesis,), shares=(1.0,))
        np.testing.assert_allclose(
            alone.log_bayes_factor(data.test[:20]), whole.by_hypothesis(data.test[:20])[:, column], rtol=1e-10
        )


def test_the_score_is_the_posterior_log_odds(model, data) -> None:
    score = model.anomaly_score(data.test[:50])
    expected = model.anomaly_model_.log_bayes_factor(data.test[:50]) + np.log(0.01 / 0.99)
    np.testing.assert_allclose(score, expected, atol=1e-8)


def test_block_size_changes_nothing(model, data, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = model.anomaly_model_.log_bayes_factor(data.test[:100])
    monkeypatch.setattr("badac.anomalies.on_a_grid._OBJECTS_PER_BLOCK", 7)
    np.testing.assert_allclose(
        model.anomaly_model_.log_bayes_factor(data.test[:100]), whole, rtol=1e-9, atol=1e-9
    )


def test_a_missing_point_is_an_absent_one(model, data) -> None:
    """An infinite sigma, a NaN and a hugely wrong value with a huge sigma say the same."""
    values, sigma = data.test.values[:30].copy(), data.test.sigma[:30].copy()
    values[:, 10:20] = np.nan
    gaps = model.anomaly_model_.log_bayes_factor(Measurements(values, sigma, at=data.at))
    assert np.isfinite(gaps).all()
    values[:, 10:20], sigma[:, 10:20] = 77.0, np.inf
    np.testing.assert_allclose(
        model.anomaly_model_.log_bayes_factor(Measurements(values, sigma, at=data.at)), gaps
    )


def test_it_finds_what_raw_evidence_cannot(model, data) -> None:
    """Larger sizes have MCC .93, AUC .999, RWS .99; raw evidence .2, .65, .3 (benchmarks/anomalies.py)."""
    found = detection_summary(data.is_anomaly, model.anomaly_score(data.test), contamination=0.03)
    assert found.auc > 0.98
    assert found.rws > 0.85
    raw = detection_summary(data.is_anomaly, -model.score_samples(data.test), contamination=0.03)
    assert found.rws > raw.rws + 0.2


def test_the_exact_class_model_is_described_for_the_anomaly(data) -> None:
    exact = BADACClassifier(class_model="instances", random_state=0).fit(data.train, data.train_label)
    found = detection_summary(data.is_anomaly, exact.anomaly_score(data.test), contamination=0.03)
    assert found.auc > 0.98


@pytest.mark.slow
def test_bad_points_are_not_anomalies() -> None:
    data = experiment(
        3, "printed", n_train=300, n_test=300, contamination=0.1, n_points=60, rng=np.random.default_rng(2)
    )
    model = BADACClassifier(class_model="population", noise=Outliers(0.2, 5.0), random_state=0)
    score = model.fit(data.train, data.train_label).anomaly_score(data.test)
    assert detection_summary(data.is_anomaly, score, contamination=0.1).auc > 0.95


def test_a_class_knows_its_rare_members() -> None:
    """Two members in a hundred have a wave that the others lack: new ones with it are not strange, others are."""
    rng = np.random.default_rng(3)
    at = np.linspace(0.0, 1.0, 60)

    def draw(n: int, wave: np.ndarray | float) -> Measurements:
        truth = rng.normal(1.0, 0.3, (n, 1)) * np.sin(3 * at) + wave
        return Measurements(truth + 0.1 * rng.standard_normal((n, 60)), 0.1, at=at)

    rare = np.where(
        np.arange(2000)[:, None] % 50 == 0, rng.normal(0.8, 0.1, (2000, 1)) * np.sin(25 * at), 0.0
    )
    training = draw(2000, rare)
    model = BADACClassifier(class_model="population", random_state=0).fit(training, np.zeros(2000, dtype=int))
    known = model.anomaly_score(draw(50, 0.8 * np.sin(25 * at)))
    new = model.anomaly_score(draw(50, 0.8 * np.cos(25 * at)))
    assert np.median(new) > np.median(known) + 50.0
    assert np.median(known) < 5.0


def test_shares_must_be_probabilities() -> None:
    with pytest.raises(
        ValueError, match=r"`shares` must be one positive prior probability per hypothesis, 2"
    ):
        Deviations((SomethingElse(), Bump()), (0.5, 0.6))
    assert len(Deviations((SmoothDeviation(),), (1.0,)).hypotheses) == 1

"""Anomalies drawn as the hypotheses have them."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.anomalies import Bump, Deviations, SmoothDeviation, SomethingElse
from badac.anomalies.drawn import draw_anomalies
from badac.noise import Gaussian

X = np.linspace(0.0, 1.0, 30)


def known(n: int, seed: int, sigma: float = 0.1, gaps: bool = False) -> tuple[Measurements, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    truth = np.sin((3.0 + 3.0 * label[:, None]) * X) * (1.0 + 0.2 * rng.standard_normal((n, 1)))
    values = truth + sigma * rng.standard_normal((n, 30))
    if gaps:
        values[rng.random(values.shape) < 0.2] = np.nan
    return Measurements(values, sigma, at=X), label


def fitted(hypothesis: object, gaps: bool = False) -> tuple[Deviations, Measurements]:
    objects, label = known(400, 0, gaps=gaps)
    model = BADACClassifier("population", anomaly=Deviations((hypothesis,), (1.0,)), random_state=0)  # type: ignore[arg-type]
    model.fit(objects, label)
    found = model.anomaly_model_
    assert isinstance(found, Deviations)
    return found, model.fitted_.known.training


@pytest.mark.parametrize("hypothesis", [Bump(), SmoothDeviation()])
@pytest.mark.parametrize("gaps", [False, True])
def test_average_bayes_factor_of_known_over_drawn_is_one(hypothesis: object, gaps: bool) -> None:
    # E[P(d | known) / P(d | anomaly)] over anomalies is 1 if they are drawn from what they are weighed by.
    model, members = fitted(hypothesis, gaps)
    objects = draw_anomalies(model, members, Gaussian(), 4000, np.random.default_rng(1))
    assert objects is not None and objects.shape == (4000, 30)
    ratio = np.exp(-model.log_bayes_factor(objects))
    error = ratio.std() / np.sqrt(len(ratio))
    assert abs(ratio.mean() - 1.0) < 0.15 + 4.0 * error


def test_something_else_is_as_large_as_it_says() -> None:
    model, members = fitted(SomethingElse())
    objects = draw_anomalies(model, members, Gaussian(), 4000, np.random.default_rng(1))
    assert objects is not None and model.grid is not None
    scales = model.grid.scales
    sigma = float(members.sigma.mean())
    expected = (scales.variance + 4.0 * sigma**2) * (1.0 + 0.7**2) + sigma**2
    assert np.mean((objects.values - scales.level) ** 2) == pytest.approx(expected, rel=0.1)


def test_gaps_and_error_bars_are_those_of_members() -> None:
    model, members = fitted(SomethingElse(), gaps=True)
    objects = draw_anomalies(model, members, Gaussian(), 50, np.random.default_rng(1))
    assert objects is not None
    gaps = {tuple(row) for row in members.observed.tolist()}
    assert all(tuple(row) in gaps for row in objects.observed.tolist())
    assert 0.1 < objects.observed.mean() < 0.9


def test_nothing_is_drawn_where_it_is_not_worked_out() -> None:
    model, members = fitted(SomethingElse())
    correlated = members._changed(covariance=np.broadcast_to(0.01 * np.eye(30), (len(members), 30, 30)))
    assert draw_anomalies(model, correlated, Gaussian(), 5, np.random.default_rng(1)) is None


def test_features_without_an_order() -> None:
    rng = np.random.default_rng(0)
    label = np.arange(300) % 2
    values = 3.0 * label[:, None] * [1.0, -1.0, 1.0] + rng.standard_normal((300, 3))
    model = BADACClassifier(random_state=0).fit(values, label, X_err=0.2)
    found = model.anomaly_model_
    members = model.fitted_.known.training
    objects = draw_anomalies(found, members, Gaussian(), 4000, np.random.default_rng(1))
    assert objects is not None
    assert np.median(found.log_bayes_factor(objects)) > np.median(found.log_bayes_factor(members))

"""The anomaly model of "auto" is learned when it is first asked: the same one, and never for whoever only classifies."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from badac import BADACClassifier, Measurements, load, save
from badac.anomalies.deferred import Deferred, held
from badac.estimators.fitting import Recipe
from badac.judge import FittedModel


def curves(seed: int, n: int = 60) -> tuple[Measurements, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = np.repeat([0, 1], n // 2)
    truth = np.sin(np.linspace(0.0, 3.0, 12) + label[:, None]) * rng.normal(1.0, 0.2, (n, 1))
    return Measurements(truth + 0.1 * rng.standard_normal((n, 12)), 0.1), label


@pytest.fixture
def model() -> BADACClassifier:
    return BADACClassifier(random_state=0).fit(*curves(0))


def is_learned(model: BADACClassifier) -> bool:
    found = held(model, "anomaly_model_")
    return not isinstance(found, Deferred) or "learned" in vars(found)


def test_whoever_only_classifies_learns_no_anomaly(model: BADACClassifier) -> None:
    model.predict(curves(1)[0])
    model.predict_proba(curves(1)[0])
    assert "deviations" in model.describe()
    assert not is_learned(model)
    model.anomaly_score(curves(1)[0])
    assert is_learned(model)


def test_what_is_learned_later_is_what_would_have_been_learned_at_once(
    model: BADACClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = curves(1)[0]
    # Asked in another order, and after much else.
    model.predict_proba(new)
    later = model.anomaly_score(new)
    original = Recipe.of.__func__  # type: ignore[attr-defined]

    def at_once(cls: type[Recipe], estimator: BADACClassifier) -> Recipe:
        recipe: Recipe = original(cls, estimator)
        object.__setattr__(recipe, "may_rank", False)
        return recipe

    monkeypatch.setattr(Recipe, "of", classmethod(at_once))
    now = BADACClassifier(random_state=0).fit(*curves(0))
    assert not isinstance(held(now, "anomaly_model_"), Deferred)
    assert np.array_equal(now.anomaly_score(new), later)


def test_an_anomaly_that_was_named_is_learned_in_fit() -> None:
    model = BADACClassifier(anomaly="tophat", random_state=0).fit(*curves(0))
    assert not isinstance(held(model, "anomaly_model_"), Deferred)


def test_copies_files_and_lean_models_hold_what_was_learned(model: BADACClassifier, tmp_path) -> None:
    new = curves(1)[0]
    sent = pickle.loads(pickle.dumps(model))
    assert not isinstance(held(sent, "anomaly_model_"), Deferred)
    assert not isinstance(model.fitted_.lean().anomaly_model, Deferred)
    save(model, tmp_path / "model.badac")
    expected = model.anomaly_score(new)
    assert np.array_equal(sent.anomaly_score(new), expected)
    assert np.array_equal(load(tmp_path / "model.badac").anomaly_score(new), expected)


def test_the_name_of_a_model_does_not_depend_on_when_it_was_asked(model: BADACClassifier) -> None:
    other = BADACClassifier(random_state=0).fit(*curves(0))
    other.anomaly_score(curves(1)[0])
    fitted: FittedModel = model.fitted_
    assert fitted.identity == other.fitted_.identity


def test_before_fit_there_is_none() -> None:
    with pytest.raises(AttributeError, match="anomaly_model_ before fit"):
        _ = BADACClassifier().anomaly_model_

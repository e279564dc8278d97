"""One judge: each step of the walk once, whoever asks, and a model that can be sent."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier, Measurements
from badac.anomalies.deferred import as_learned
from badac.data import Catalogue
from badac.job import score_batch
from badac.partition import judge, lean
from badac.verdicts import STANDARD


def straying(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    """Classes in two groups each, whose members stray at single points: a stack is learned there."""
    rng = np.random.default_rng(seed)
    label, side = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    height = side * np.where(label == 1, 1.0, 0.3)
    return Measurements(height[:, None] + 0.4 * rng.standard_t(1.5, (n, 10)), 0.05), label


@pytest.fixture(scope="module")
def stacked() -> BADACClassifier:
    model = BADACClassifier(random_state=0).fit(*straying(200, 1))
    assert model.fitted_.ranks_left_out
    return model


@pytest.fixture(scope="module")
def plain() -> BADACClassifier:
    return BADACClassifier("template", random_state=0).fit(*straying(200, 1)).prepare_pvalues()


@dataclass(frozen=True, eq=False)
class Counted:
    """A part of a model that counts how often it is asked."""

    part: Any
    calls: Counter[str]
    name: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)

    def log_evidence(self, objects: Measurements, *given: Any, n_threads: int = 1) -> Any:
        self.calls[self.name] += 1
        return self.part.log_evidence(objects, *given, n_threads=n_threads)


def counted(model: BADACClassifier) -> tuple[BADACClassifier, Counter[str]]:
    """The same model, whose class models and anomaly model count."""
    calls: Counter[str] = Counter()

    def counting(fitted: Any, name: str) -> Any:
        return replace(
            fitted,
            class_models=tuple(Counted(one, calls, name) for one in fitted.class_models),
            anomaly_model=Counted(as_learned(fitted.anomaly_model), calls, f"{name} anomaly"),
        )

    fitted = counting(model.fitted_, "classes")
    own = BADACClassifier(**model.get_params())
    own.n_features_in_ = model.n_features_in_
    return own.adopt(fitted), calls


@pytest.mark.parametrize("which", ["stacked", "plain"])
def test_every_step_is_done_once(which: str, request: pytest.FixtureRequest) -> None:
    model, calls = counted(request.getfixturevalue(which))
    new, _ = straying(30, 2)
    k = len(model.classes_)
    expected = {"classes": k}
    if which == "plain":
        expected |= {"classes anomaly": 1}
    catalogue = Catalogue(new, np.arange(30), None, "")
    columns = {f"y{j}": new.values[:, j] for j in range(10)} | {
        f"y{j}_err": new.sigma[:, j] for j in range(10)
    }
    for ask in (
        lambda: score_batch(model, catalogue),
        lambda: judge(pd.DataFrame(columns), model, pvalues=True),
        lambda: model.rank(new),
        lambda: model.verdicts(new, pvalues=True),
    ):
        calls.clear()
        ask()
        assert calls == expected


def test_only_what_is_asked_for_is_done(plain: BADACClassifier) -> None:
    model, calls = counted(plain)
    new, _ = straying(30, 2)
    model.predict_proba(new)
    assert calls == {"classes": 2}


@pytest.mark.parametrize("which", ["stacked", "plain"])
def test_verdicts_are_what_the_verbs_say(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    new, _ = straying(40, 3)
    found = model.verdicts(new, pvalues=True)
    np.testing.assert_array_equal(found.score, model.anomaly_score(new))
    np.testing.assert_array_equal(found.proba, model.predict_proba(new))
    np.testing.assert_array_equal(found.anomaly_proba, model.anomaly_proba(new))
    np.testing.assert_array_equal(found.pvalue, model.anomaly_pvalue(new))
    np.testing.assert_array_equal(found.label, model.predict(new))
    ranking = model.rank(new)
    np.testing.assert_array_equal(ranking.score, found.score[ranking.objects])
    np.testing.assert_array_equal(ranking.label, found.label[ranking.objects])
    everything = (*STANDARD, "pvalue", "log_evidence", "log_total", "log_proba")
    table = model.fitted_.verdicts(new, everything)
    np.testing.assert_array_equal(table["log_evidence"], model.log_evidence(new))
    np.testing.assert_array_equal(table["log_total"], model.score_samples(new))
    np.testing.assert_array_equal(table["log_proba"], model.predict_log_proba(new))


@pytest.mark.parametrize("which", ["stacked", "plain"])
def test_a_fitted_model_is_sent_small_and_judges_alike(which: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(which)
    fitted, new = model.fitted_, straying(40, 4)[0]
    sent = pickle.loads(pickle.dumps(fitted.lean()))
    assert len(pickle.dumps(sent)) < len(pickle.dumps(fitted))
    assert len(sent.training) == 0
    for name in (*STANDARD, "pvalue"):
        np.testing.assert_array_equal(sent.verdicts(new, (name,))[name], fitted.verdicts(new, (name,))[name])
    assert sent.identity == fitted.lean().identity != fitted.identity
    # Whether p-values are ready is no part of what was learned.
    assert replace(fitted, left_out=None).identity == fitted.identity
    assert replace(fitted, anomaly_prior=0.5).identity != fitted.identity


def test_pvalues_that_were_not_made_ready_say_how() -> None:
    model = BADACClassifier("template", random_state=0).fit(*straying(100, 5))
    new, _ = straying(5, 6)
    with pytest.raises(ValueError, match=r"prepare_pvalues\(\)"):
        _ = model.fitted_.judge(new).pvalue
    assert lean(model).fitted_.judge(new).pvalue.shape == (5,)


def test_no_anomaly_class_has_no_probability() -> None:
    model = BADACClassifier("template", anomaly="evidence", random_state=0).fit(*straying(100, 5))
    new, _ = straying(5, 6)
    assert "anomaly_proba" not in model.verdicts(new)
    with pytest.raises(ValueError, match="no anomaly class"):
        model.anomaly_proba(new)


def test_the_score_says_what_it_is(stacked: BADACClassifier, plain: BADACClassifier) -> None:
    assert "rank among left-out training objects" in stacked.score_meaning_
    assert "from the evidence of both" in plain.score_meaning_
    bare = BADACClassifier("template", anomaly="evidence", random_state=0).fit(*straying(100, 5))
    assert "no anomaly class" in bare.score_meaning_
    for model in (stacked, plain, bare):
        assert model.score_meaning_ in str(model) and str(model).startswith(repr(model))
    assert str(BADACClassifier()) == "BADACClassifier()"

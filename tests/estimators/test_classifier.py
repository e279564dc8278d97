"""The estimator's own behaviour: bad input, small input, labels, priors, threads, partial_fit."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.classes import Instances

RNG = np.random.default_rng(11)
VALUES = np.vstack([RNG.normal(0, 1, (30, 5)), RNG.normal(2, 1, (30, 5))])
SIGMA = RNG.uniform(0.2, 0.5, VALUES.shape)
LABEL = np.repeat(["dim", "bright"], 30)
EXACT = BADACClassifier(class_model="instances")


def fitted(**keywords: object) -> BADACClassifier:
    return BADACClassifier(class_model="instances", **keywords).fit(VALUES, LABEL, X_err=SIGMA)


def test_everything_agrees_with_everything() -> None:
    model, X = fitted(priors={"dim": 0.2, "bright": 0.8}), Measurements(VALUES, SIGMA)
    joint = model.log_evidence(X) + np.log([0.8, 0.2])
    proba = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-9)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), np.array(["bright", "dim"])[proba.argmax(axis=1)])
    np.testing.assert_allclose(model.score_samples(X), np.log(np.exp(joint).sum(axis=1)), rtol=1e-9)
    score = model.anomaly_score(X)
    # In the same order, and no surer than one over the share of known objects as strange (`badac.calibration.caution`).
    strange = model.anomaly_proba(X)
    share = model.fitted_.left_out.raw_pool.pvalue(score - np.log(0.01 / 0.99))  # type: ignore[union-attr]
    assert (strange / (1 - strange) <= 0.01 / 0.99 / share * (1 + 1e-9)).all()
    assert (np.diff(strange[np.argsort(score)]) >= -1e-12).all()
    ranking = model.rank(X)
    assert (np.diff(ranking.score) <= 0).all()
    np.testing.assert_array_equal(ranking.score, score[ranking.objects])
    np.testing.assert_array_equal(ranking.label, model.predict(X)[ranking.objects])


def test_ranking_by_evidence_has_no_probability() -> None:
    model, X = fitted(anomaly="evidence"), Measurements(VALUES, SIGMA)
    np.testing.assert_array_equal(model.anomaly_score(X), -model.score_samples(X))
    assert "anomaly_proba" not in model.rank(X).columns()
    with pytest.raises(ValueError, match="no anomaly class"):
        model.anomaly_proba(X)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"class_model": "forest"}, "`class_model` must be one of .*instances.*got 'forest'"),
        ({"class_model": Instances}, "an instance of a model"),
        ({"noise": 3}, "`noise` must be one of"),
        ({"anomaly": "weird"}, "`anomaly` must be one of .*tophat"),
        ({"anomaly_prior": 0.0}, "`anomaly_prior` must be between 0 and 1: got 0.0"),
        ({"anomaly_prior": 1.5}, "between 0 and 1"),
        ({"priors": "equal"}, "uniform"),
        ({"n_jobs": 0}, "`n_jobs` must be"),
    ],
)
def test_bad_parameters(keywords: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BADACClassifier(**keywords).fit(VALUES, LABEL, X_err=SIGMA).predict(VALUES, X_err=SIGMA)


@pytest.mark.parametrize(
    ("X", "X_err", "message"),
    [
        (np.where(VALUES[3, 2] == VALUES, np.inf, VALUES), SIGMA, "got inf at object 3, point 2"),
        (VALUES, np.where(SIGMA[4, 1] == SIGMA, -SIGMA, SIGMA), "object 4, point 1"),
        (VALUES, np.where(SIGMA[4, 1] == SIGMA, np.nan, SIGMA), "object 4, point 1"),
        (VALUES, SIGMA[:, :3], "shape of `values`"),
        (VALUES[0], SIGMA[0], "2D array"),
        (VALUES.astype(complex), SIGMA, "[Cc]omplex"),
        ([["a"] * 5] * 60, SIGMA, "got 'a' at object 0, point 0"),
        (np.empty((0, 5)), None, "0 sample"),
        (Measurements(VALUES, SIGMA), SIGMA, "`X_err` must not be given too"),
    ],
)
def test_bad_data(X: object, X_err: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EXACT.fit(X, LABEL, X_err=X_err)


def test_wrong_number_of_points_at_predict() -> None:
    with pytest.raises(ValueError, match="4 features.*expecting 5"):
        fitted().predict(VALUES[:, :4], X_err=SIGMA[:, :4])
    with pytest.raises(ValueError, match="4 features.*expecting 5"):
        fitted().predict(Measurements(VALUES[:, :4], SIGMA[:, :4]))


def test_labels() -> None:
    with pytest.raises(ValueError, match="y"):
        EXACT.fit(VALUES, None, X_err=SIGMA)
    with pytest.raises(ValueError, match="inconsistent"):
        EXACT.fit(VALUES, LABEL[:10], X_err=SIGMA)
    with pytest.raises(ValueError, match="Unknown label type|continuous"):
        EXACT.fit(VALUES, np.linspace(0, 1, 60), X_err=SIGMA)
    with pytest.raises(ValueError, match="NaN|label"):
        EXACT.fit(VALUES, np.where(np.arange(60) == 2, np.nan, 1.0), X_err=SIGMA)
    gone = np.array(["a"] * 59 + [None], dtype=object)
    with pytest.raises(ValueError, match="object 59|NoneType|label"):
        EXACT.fit(VALUES, gone, X_err=SIGMA)


def test_one_class_one_member_one_object() -> None:
    one = BADACClassifier(class_model="instances").fit(VALUES[:1], [7], X_err=SIGMA[:1])
    assert one.predict(VALUES[:3], X_err=SIGMA[:3]).tolist() == [7, 7, 7]
    assert (one.predict_proba(VALUES, X_err=SIGMA) == 1.0).all()
    assert np.isfinite(one.anomaly_score(VALUES, X_err=SIGMA)).all()
    lonely = BADACClassifier(class_model="instances").fit(VALUES, [1] + [0] * 59, X_err=SIGMA)
    assert np.isfinite(lonely.log_evidence(VALUES, X_err=SIGMA)).all()
    assert lonely.predict_proba(VALUES[:1], X_err=SIGMA[:1]).shape == (1, 2)


def test_zero_sigma_on_both_sides_is_refused_and_on_one_side_is_exact() -> None:
    exact = SIGMA.copy()
    exact[5, 2] = 0.0
    model = BADACClassifier(class_model="instances").fit(VALUES, LABEL, X_err=exact)
    assert np.isfinite(model.log_evidence(VALUES, X_err=SIGMA)).all()
    with pytest.raises(
        ValueError, match=r"both sides of a pair: got 0 at object 5, point 2, and at training curve 5"
    ):
        model.log_evidence(VALUES, X_err=exact)


def test_an_object_with_nothing_observed_gets_the_prior() -> None:
    model = fitted(priors={"dim": 0.3, "bright": 0.7})
    empty = Measurements(np.full((1, 5), np.nan), 0.1)
    np.testing.assert_allclose(model.predict_proba(empty), [[0.7, 0.3]])
    assert model.anomaly_proba(empty)[0] == pytest.approx(0.01)


def test_other_layouts_and_types_give_the_same_numbers() -> None:
    model = fitted()
    expected = model.predict_proba(VALUES, X_err=SIGMA)
    np.testing.assert_array_equal(
        model.predict_proba(np.asfortranarray(VALUES), X_err=np.asfortranarray(SIGMA)), expected
    )
    padded, padded_sigma = np.zeros((60, 10)), np.ones((60, 10))
    padded[:, ::2], padded_sigma[:, ::2] = VALUES, SIGMA
    np.testing.assert_array_equal(model.predict_proba(padded[:, ::2], X_err=padded_sigma[:, ::2]), expected)
    single = model.predict_proba(VALUES.astype(np.float32), X_err=SIGMA.astype(np.float32))
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-6)


def test_inputs_are_not_changed() -> None:
    values, sigma = VALUES.copy(), SIGMA.copy()
    values[0, 0] = np.nan
    before = values.copy(), sigma.copy()
    model = BADACClassifier().fit(values, LABEL, X_err=sigma)
    model.rank(values, X_err=sigma)
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(sigma, before[1])


def test_partial_fit_equals_fit_and_takes_new_labels() -> None:
    X = Measurements(VALUES, SIGMA)
    parts = (
        BADACClassifier(class_model="instances")
        .partial_fit(X[:40], LABEL[:40])
        .partial_fit(X[40:], LABEL[40:])
    )
    whole = fitted()
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    grown = fitted()
    untouched = grown.class_models_[0]
    grown.partial_fit(Measurements(VALUES[:3] + 9, SIGMA[:3]), ["new"] * 3)
    assert grown.classes_.tolist() == ["bright", "dim", "new"]
    assert grown.class_models_[0] is untouched
    assert grown.predict(Measurements(VALUES[:1] + 9, SIGMA[:1])) == ["new"]
    with pytest.raises(ValueError, match="needs errors exactly if fit had them"):
        grown.partial_fit(VALUES, LABEL)


def test_threads_change_nothing() -> None:
    one, two = fitted(n_jobs=1), fitted(n_jobs=2)
    np.testing.assert_array_equal(
        one.log_evidence(VALUES, X_err=SIGMA), two.log_evidence(VALUES, X_err=SIGMA)
    )


def test_the_ranking_is_a_table() -> None:
    ranking = fitted().rank(VALUES, X_err=SIGMA)
    assert len(ranking) == 60
    assert str(ranking).splitlines()[0].split() == [
        "rank",
        "object",
        "score",
        "anomaly_proba",
        "class",
        "class_proba",
    ]
    assert "40 more" in str(ranking)
    first = next(iter(ranking))
    assert first["rank"] == 1 and first["object"] == ranking.objects[0]
    frame = pytest.importorskip("pandas") and ranking.head(5).to_frame()
    assert frame.shape == (5, 6)


def test_diagnose_needs_no_fit_and_names_a_family(rng: np.random.Generator) -> None:
    model = BADACClassifier(random_state=0)
    truth = np.repeat(np.array([[0.0], [3.0]]), 100, axis=0) + np.zeros((200, 8))
    bad = rng.random(truth.shape) < 0.2
    X = Measurements(truth + np.where(bad, 5.0, 1.0) * 0.3 * rng.normal(size=truth.shape), 0.3)
    diagnosis = model.diagnose(X, np.repeat([0, 1], 100))
    assert diagnosis.best == "outliers"
    assert "outlier" in diagnosis.advice
    assert not hasattr(model, "classes_") and not hasattr(model, "n_features_in_")


def test_auto_says_what_it_chose_and_why() -> None:
    model = BADACClassifier(anomaly="evidence", random_state=0).fit(VALUES, LABEL, X_err=SIGMA)
    assert set(model.class_report_.chosen()) == {"bright", "dim"}
    assert {name for _, name in [(label, tried.name) for label, tried in model.class_report_]} == {
        "population",
        "template",
        "instances",
        "mixture",
    }
    assert "chosen" in str(model.class_report_)
    assert fitted().class_report_ is None


def test_the_papers_equation_is_never_coarsened() -> None:
    assert fitted().coarsening_.exponent == 1.0


def test_a_fitted_model_prints_what_it_learned_and_explains_by_the_names_of_the_table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    label = np.repeat(["a", "b"], 40)
    table = pandas.DataFrame(rng.standard_normal((80, 3)), columns=["u", "g", "r"])
    table["u"] += 4.0 * (label == "b")
    for name in "ugr":
        table[f"{name}_err"] = 0.1
    model = BADACClassifier(class_model="population", random_state=0).fit(table, label)
    said = str(model)
    assert said.startswith("BADACClassifier(")
    assert [line.split()[:2] for line in said.splitlines()[1:4]] == [
        ["class", "members"],
        ["a", "40"],
        ["b", "40"],
    ]
    for word in ("Noise: ", "Posterior: ", "Anomaly: ", "Score: "):
        assert word in said
    strange = table[:1].assign(g=30.0)
    found = model.explain(strange)
    assert found.about.kind == "catalogue"
    assert found.where(0) == "at g"
    assert "bump" not in str(found)


def test_objects_that_are_all_alike_are_learned_without_a_warning() -> None:
    """Warnings are errors here: groups of members at one place used to divide nothing by nothing."""
    rng = np.random.default_rng(0)
    pair = rng.normal(size=(2, 5)) + np.array([[0.0], [3.0]])
    model = BADACClassifier(random_state=0).fit(np.repeat(pair, 30, axis=0), np.repeat(["a", "b"], 30))
    assert model.predict(pair).tolist() == ["a", "b"]

"""scikit-learn's own checks, and that a `Measurements` survives its tools with the same numbers as by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import SkipTestWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from badac import BADACClassifier, Measurements, MissingErrorsWarning
from badac.data import TableWarning


def two_classes(n: int = 120, m: int = 6, seed: int = 0) -> tuple[Measurements, np.ndarray]:
    """Two overlapping classes with a different sigma at every point, so that the errors matter."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    sigma = rng.uniform(0.1, 2.0, (n, m))
    truth = label[:, None] * np.linspace(0.2, 0.8, m) + 0.2 * rng.normal(size=(n, m))
    return Measurements(truth + sigma * rng.normal(size=(n, m)), sigma), label


FOLDS = StratifiedKFold(4, shuffle=True, random_state=1)
MODEL = BADACClassifier(class_model="instances", anomaly="tophat")


def by_hand(X: Measurements, y: np.ndarray) -> list[np.ndarray]:
    return [
        clone(MODEL).fit(X[train], y[train]).predict_proba(X[test])
        for train, test in FOLDS.split(X.values, y)
    ]


def test_check_estimator_passes_every_check() -> None:
    with warnings.catch_warnings():
        # scikit-learn says which of its checks need packages that are not installed.
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(BADACClassifier(), on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    assert not [result for result in results if result["status"] == "xfail"]
    assert len(results) > 40


def test_cross_val_score_as_by_hand() -> None:
    X, y = two_classes()
    expected = [
        accuracy_score(y[test], proba.argmax(axis=1))
        for (_, test), proba in zip(FOLDS.split(X.values, y), by_hand(X, y), strict=True)
    ]
    assert cross_val_score(MODEL, X, y, cv=FOLDS).tolist() == expected


def test_cross_val_predict_as_by_hand() -> None:
    X, y = two_classes()
    found = cross_val_predict(MODEL, X, y, cv=FOLDS, method="predict_proba")
    for (_, test), proba in zip(FOLDS.split(X.values, y), by_hand(X, y), strict=True):
        np.testing.assert_array_equal(found[test], proba)


def test_grid_search_as_by_hand() -> None:
    X, y = two_classes()
    search = GridSearchCV(MODEL, {"priors": [None, [0.99, 0.01]]}, cv=FOLDS, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_ == {"priors": None}
    direct = clone(MODEL).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), direct.predict_proba(X))


def test_calibrated_classifier_sees_the_errors() -> None:
    X, y = two_classes()
    calibrated = CalibratedClassifierCV(MODEL, cv=FOLDS, ensemble=False).fit(X, y)
    inner = calibrated.calibrated_classifiers_[0].estimator
    np.testing.assert_array_equal(inner.predict_proba(X), clone(MODEL).fit(X, y).predict_proba(X))


def test_pipeline_passes_measurements_on() -> None:
    X, y = two_classes()
    halve = FunctionTransformer(lambda data: Measurements(data.values / 2, data.sigma / 2))
    found = Pipeline([("halve", halve), ("model", MODEL)]).fit(X, y).predict_proba(X)
    halved = Measurements(X.values / 2, X.sigma / 2)
    np.testing.assert_array_equal(found, clone(MODEL).fit(halved, y).predict_proba(halved))


def test_train_test_split_keeps_the_errors_with_the_values() -> None:
    X, y = two_classes()
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    values, _, sigma, _ = train_test_split(X.values, X.sigma, random_state=0)
    np.testing.assert_array_equal(train.values, values)
    np.testing.assert_array_equal(train.sigma, sigma)
    assert len(train) + len(test) == len(X)
    assert len(y_train) + len(y_test) == len(y)


def test_errors_given_as_array_as_measurements_and_as_columns_agree() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = two_classes()
    frame = pandas.DataFrame(X.values, columns=[f"x{j}" for j in range(6)]).join(
        pandas.DataFrame(X.sigma, columns=[f"x{j}_err" for j in range(6)])
    )
    first = clone(MODEL).fit(X, y).predict_proba(X)
    second = clone(MODEL).fit(X.values, y, X_err=X.sigma).predict_proba(X.values, X_err=X.sigma)
    third = clone(MODEL).fit(frame, y)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third.predict_proba(frame))
    assert third.feature_names_in_.tolist() == [f"x{j}" for j in range(6)]
    np.testing.assert_array_equal(first, third.predict_proba(frame[frame.columns[::-1]]))
    other = frame.rename(columns={"x0": "z", "x0_err": "z_err"})
    with pytest.warns(TableWarning, match="columns of the training that are missing here: x0"):
        third.predict(other)
    with pytest.raises(ValueError, match="the table lacks 3 of the 6 columns that the model was fitted on"):
        third.predict(other.drop(columns=["x1", "x1_err", "x2_err"]))


def test_forgotten_errors_warn_loudly() -> None:
    X, y = two_classes()
    model = clone(MODEL).fit(X, y)
    with pytest.warns(MissingErrorsWarning, match="fitted with errors"):
        model.predict_proba(X.values)
    with pytest.warns(MissingErrorsWarning):
        model.rank(X.values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(X.values, X_err=0.0)

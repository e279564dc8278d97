"""What comes through the door: odd labels, tables, masks and coordinates are right, or refused in words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier, Measurements

RNG = np.random.default_rng(0)
LABEL = np.arange(40) % 2
VALUES = 1.5 * LABEL[:, None] + 0.3 * RNG.standard_normal((40, 6))
SIGMA = np.full((40, 6), 0.3)
OBJECTS = Measurements(VALUES, SIGMA)


def fitted(X: object = OBJECTS, y: object = LABEL, **settings: object) -> BADACClassifier:
    X_err = None if isinstance(X, Measurements | pd.DataFrame) or hasattr(X, "column_names") else SIGMA
    return BADACClassifier(class_model="template", random_state=0, **settings).fit(X, y, X_err=X_err)


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        (np.array([1, 2] * 20, dtype=object), "i"),
        (np.array([True, False] * 20, dtype=object), "b"),
        (np.array(["x", np.str_("long")] * 20, dtype=object), "U"),
        (pd.Categorical(["a", "b"] * 20), "U"),
        (LABEL == 1, "b"),
    ],
)
def test_labels_of_any_one_kind(label: object, kind: str) -> None:
    model = fitted(y=label)
    assert model.classes_.dtype.kind == kind
    assert model.score(OBJECTS, np.asarray(label).astype(model.classes_.dtype)) > 0.9


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (np.array([1, "a"] * 20, dtype=object), "labels of one kind.*got 1 at object 0 and 'a' at object 1"),
        (pd.array(["a", pd.NA] * 20), "a label for every object.*object 1"),
        (np.array(["a", None] * 20, dtype=object), "a label for every object.*object 1"),
    ],
)
def test_labels_that_are_refused(label: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fitted(y=label)


def test_new_labels_are_of_the_kind_of_the_old_ones() -> None:
    model = fitted()
    with pytest.raises(ValueError, match="kind of the earlier ones, such as 0: got 'new'"):
        model.partial_fit(OBJECTS[:1], ["new"])
    assert model.partial_fit(OBJECTS[:1], [7]).classes_.tolist() == [0, 1, 7]


def test_masked_values_are_missing() -> None:
    mask = VALUES > 1.5
    masked = fitted(np.ma.masked_where(mask, np.where(mask, 1e6, VALUES)))
    gaps = fitted(Measurements(np.where(mask, np.nan, VALUES), SIGMA))
    new = np.ma.masked_where(mask, np.where(mask, -5.0, VALUES))
    np.testing.assert_array_equal(
        masked.predict_proba(new, X_err=SIGMA),
        gaps.predict_proba(Measurements(np.where(mask, np.nan, VALUES), SIGMA)),
    )
    with pytest.raises(ValueError, match="`sigma` must be a number where a value is measured"):
        BADACClassifier().fit(VALUES, LABEL, X_err=np.ma.masked_where(mask, SIGMA))


def test_arrow_tables_keep_their_errors() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(VALUES, columns=list("abcdef")).join(
        pd.DataFrame(SIGMA, columns=[f"{name}_err" for name in "abcdef"])
    )
    model = fitted(pyarrow.Table.from_pandas(frame))
    assert model.training_.has_errors
    np.testing.assert_array_equal(model.predict_proba(frame), fitted(frame).predict_proba(frame))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda frame: frame.assign(label="a"), "Column 'label' must hold numbers"),
        (
            lambda frame: frame.assign(day=pd.Timestamp("2020")),
            "Column 'day' must hold numbers: got datetime64.*dates",
        ),
        (
            lambda frame: pd.concat([frame, frame[["a"]].rename(columns={"a": "b_err"})] * 2, axis=1),
            "more than one column",
        ),
    ],
)
def test_the_column_at_fault_is_named(spoil: Callable[[pd.DataFrame], pd.DataFrame], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fitted(spoil(pd.DataFrame(VALUES, columns=list("abcdef"))))


def test_dates_are_no_values() -> None:
    with pytest.raises(ValueError, match="`X` must hold numbers: got datetime64"):
        BADACClassifier().fit(np.full((40, 6), np.datetime64("2020-01-01")), LABEL)


def test_objects_at_other_points_are_refused() -> None:
    at = np.arange(6.0)
    model = fitted(Measurements(VALUES, SIGMA, at=at))
    same = model.predict_proba(OBJECTS)
    np.testing.assert_array_equal(model.predict_proba(Measurements(VALUES, SIGMA, at=at + 1e-9)), same)
    np.testing.assert_array_equal(
        model.predict_proba(Measurements(VALUES, SIGMA, at=np.tile(at, (40, 1)))), same
    )
    with pytest.raises(ValueError, match="`at` must be that of the training.*got 100.0 at object 0, point 0"):
        model.predict(Measurements(VALUES, SIGMA, at=at + 100.0))
    with pytest.raises(ValueError, match="points of their own"):
        fitted().predict(Measurements(VALUES, SIGMA, at=VALUES))


@pytest.mark.parametrize("value", ["a", None, True, np.nan, 0, 1])
def test_a_share_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="`anomaly_prior` must be between 0 and 1"):
        fitted(anomaly_prior=value)


@pytest.mark.parametrize("class_model", ["auto", "instances", "population"])
def test_an_impossible_class_gets_nothing(class_model: str) -> None:
    model = BADACClassifier(class_model=class_model, priors=[1.0, 0.0], random_state=0).fit(OBJECTS, LABEL)
    np.testing.assert_array_equal(model.predict_proba(OBJECTS), np.tile([1.0, 0.0], (40, 1)))
    assert np.isfinite(model.anomaly_score(OBJECTS)).all()


def curves_in_bands(seed: int) -> Measurements:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.uniform(0, 10, (20, 6)), axis=1)
    values = np.sin(at) + 0.1 * rng.standard_normal(at.shape)
    return Measurements(values, 0.1, at=at, band=np.tile([0, 1], (20, 3)))


def test_curves_without_bands_are_refused_where_the_classes_have_them() -> None:
    model = BADACClassifier(anomaly="tophat", random_state=0).fit(curves_in_bands(0), np.arange(20) % 2)
    new = curves_in_bands(1)
    with pytest.raises(ValueError, match="new ones need `band` too"):
        model.predict(Measurements(new.values, new.sigma, at=new.at))


def test_random_states_of_every_kind() -> None:
    rng = np.random.default_rng(3)
    values, label = rng.standard_normal((40, 3)) + np.repeat([0.0, 2.0], 20)[:, None], np.repeat([0, 1], 20)
    fits = [
        BADACClassifier(random_state=make()).fit(values, label, X_err=0.1).predict_proba(values, X_err=0.1)
        for make in (lambda: np.random.default_rng(7), lambda: np.random.default_rng(7))
    ]
    np.testing.assert_array_equal(*fits)
    for wrong in ("seven", -1, 2.5):
        with pytest.raises(ValueError, match=r"`random_state` must be a whole number.*Generator.*got"):
            BADACClassifier(random_state=wrong).fit(values, label, X_err=0.1)

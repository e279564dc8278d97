"""Columns beside the points: they stay with their objects, become points, and tell the class."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score, train_test_split

import badac
from badac import BADACClassifier, Measurements
from badac.data import concatenate, from_table
from badac.data.beside import ColumnsBeside
from badac.data.peaks import align_at_peak


def curves(n: int, rng: np.random.Generator, m: int = 12) -> tuple[Measurements, np.ndarray]:
    """Two classes with the same curves; a redshift tells them apart."""
    label = np.arange(n) % 2
    at = np.sort(rng.random((n, m)), axis=1)
    values = np.sin(4.0 * at) + 0.1 * rng.standard_normal((n, m))
    redshift = np.where(rng.random(n) < 0.2, np.nan, 0.3 + 0.3 * label + 0.05 * rng.standard_normal(n))
    return Measurements(values, 0.1, at=at).with_columns({"redshift": (redshift, 0.02)}), label


def test_columns_follow_their_objects(rng: np.random.Generator) -> None:
    objects, label = curves(10, rng)
    expected = objects.columns["redshift"]
    np.testing.assert_array_equal(objects[3].columns["redshift"].values, expected.values[3:4])
    np.testing.assert_array_equal(objects[label == 1].columns["redshift"].sigma, expected.sigma[label == 1])
    back = concatenate([objects[:4], objects[4:]])
    np.testing.assert_array_equal(back.columns["redshift"].values, expected.values)
    np.testing.assert_array_equal(objects.points(slice(0, 3)).columns["redshift"].values, expected.values)
    again = pickle.loads(pickle.dumps(objects))
    np.testing.assert_array_equal(again.columns["redshift"].values, expected.values)
    part, rest = train_test_split(objects, random_state=0)
    assert part.columns["redshift"].values.shape == (len(part),) and "redshift" in rest.columns
    assert np.isinf(expected.sigma[np.isnan(expected.values)]).all()
    with pytest.raises(ValueError, match="same columns beside their points"):
        concatenate([objects, objects.without_columns()])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.zeros(3), r"one value for each of the 10 objects.*got \(3,\)"),
        ((np.zeros(10), np.zeros(2)), r"sigma of column 'z' must be a number or one for each"),
        ((np.zeros(10), np.full(10, -0.1)), r"must be >= 0: got -0.1 at object 0"),
    ],
)
def test_columns_that_do_not_fit_are_refused(column: object, message: str, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=message):
        curves(10, rng)[0].with_columns({"z": column})


def test_a_column_tells_the_class_and_a_model_file_keeps_it(rng: np.random.Generator, tmp_path: Path) -> None:
    objects, label = curves(120, rng)
    new, truth = curves(100, rng)
    model = BADACClassifier(random_state=0).fit(objects, label)
    proba = model.predict_proba(new)
    told = ~np.isnan(new.columns["redshift"].values)
    # 0.3 apart, scattered by 0.054: five standard deviations.
    assert (model.predict(new)[told] == truth[told]).mean() > 0.97
    # Nothing but chance is known of the others.
    assert proba[~told].max() < 0.9
    badac.save(model, tmp_path / "model.badac")
    np.testing.assert_allclose(badac.load(tmp_path / "model.badac").predict_proba(new), proba, atol=1e-12)
    assert model.explain(new[:2]).pull.shape == (2, new.n_points)
    with pytest.raises(ValueError, match="these objects lack redshift"):
        model.predict(new.without_columns())
    with pytest.raises(ValueError, match="no training object had: colour"):
        model.predict(new.with_columns({"colour": np.zeros(100)}))
    assert cross_val_score(BADACClassifier(random_state=0), objects, label, cv=2).mean() > 0.8


def test_columns_on_a_grid(rng: np.random.Generator) -> None:
    label = np.arange(80) % 2
    objects = Measurements(rng.standard_normal((80, 4)), 0.5).with_columns(
        {"size": (np.exp(3.0 * label + 0.3 * rng.standard_normal(80)), 0.01)}
    )
    model = BADACClassifier(random_state=0).fit(objects[:60], label[:60])
    assert (model.predict(objects[60:]) == label[60:]).all()


def test_wide_positive_columns_go_as_logarithms(rng: np.random.Generator) -> None:
    flux = 10.0 ** rng.uniform(0, 3, 50)
    objects = Measurements(rng.standard_normal((50, 3)), 0.1, at=rng.random((50, 3))).with_columns(
        {"flux": (flux, 0.1 * flux), "z": (rng.uniform(0.2, 1.0, 50), 0.1)}
    )
    beside = ColumnsBeside.of(objects)
    assert beside is not None
    np.testing.assert_array_equal(beside.logarithm, [True, False])
    joined = beside.joined(objects)
    assert joined.shape == (50, 5) and joined.band is not None
    np.testing.assert_array_equal(joined.band[0], [0, 0, 0, 1, 2])
    moved = (np.log(flux) - np.log(flux).mean()) / np.log(flux).std()
    np.testing.assert_allclose((joined.values[:, 3] - beside.middle) / beside.unit, moved)
    np.testing.assert_allclose(joined.sigma[:, 3] / beside.unit, 0.1 / np.log(flux).std())


def test_alignment_keeps_what_it_takes_away(rng: np.random.Generator) -> None:
    at = np.array([[0.0, 2.0, 5.0], [10.0, 11.0, 14.0]])
    raw = Measurements([[1.0, 8.0, 2.0], [4.0, 1.0, 2.0]], [[0.1, 0.4, 0.1], [0.2, 0.1, 0.1]], at=at)
    aligned = align_at_peak(raw.with_columns({"z": [0.1, 0.2]}))
    np.testing.assert_array_equal(aligned.columns["peak_time"].values, [2.0, 10.0])
    np.testing.assert_array_equal(aligned.columns["peak_time"].sigma, [1.0, 0.5])
    np.testing.assert_array_equal(aligned.columns["peak_value"].values, [8.0, 4.0])
    np.testing.assert_array_equal(aligned.columns["peak_value"].sigma, [0.4, 0.2])
    assert "z" in aligned.columns


def test_a_table_of_the_objects_is_joined_by_name() -> None:
    points = pd.DataFrame(
        {
            "object_id": [7, 7, 8, 9],
            "mjd": [1.0, 2.0, 1.0, 1.0],
            "flux": [1.0, 2.0, 3.0, 4.0],
            "flux_err": 0.1,
        }
    )
    objects = pd.DataFrame(
        {"object_id": [9, 7], "host_photoz": [0.4, 0.2], "host_photoz_err": [0.1, -9.0], "other": [1, 2]}
    )
    found = from_table(points, objects=objects, columns=["host_photoz"])
    column = found.objects.columns["host_photoz"]
    np.testing.assert_array_equal(column.values, [np.nan, np.nan, 0.4])
    np.testing.assert_array_equal(column.sigma, [np.inf, np.inf, 0.1])
    assert "host_photoz +- host_photoz_err" in found.recognised
    assert "1 objects are not in the table" in str(found.losses)
    with pytest.raises(ValueError, match="no column redshift"):
        from_table(points, objects=objects, columns=["redshift"])
    with pytest.raises(ValueError, match="as a list"):
        from_table(points, objects=objects)
    with pytest.raises(ValueError, match="objects=table"):
        from_table(points, columns=["host_photoz"])


def test_cells_of_the_objects_table_are_read_as_all_cells_are() -> None:
    points = pd.DataFrame(
        {"object_id": list("aabbccdd"), "mjd": [0.0, 1.0] * 4, "flux": np.arange(8.0), "flux_err": 0.1}
    )
    about = pd.DataFrame(
        {
            "object_id": list("dcba"),
            "z": [0.4, 0.3, -999.0, 0.1],
            "z_err": [-9.0, np.nan, 0.01, 0.01],
            "mass": [4.0, 3.0, 99.0, 1.0],
            "mass_ivar": [1.0, 1.0, 0.0, 4.0],
            "kind": [1.0, np.nan, 2.0, 3.0],
        }
    )
    found = from_table(points, objects=about, columns=["z", "mass", "kind"], missing=[-999])
    beside = found.objects.columns
    np.testing.assert_array_equal(beside["z"].values, [0.1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(beside["mass"].values, [1.0, np.nan, 3.0, 4.0])
    np.testing.assert_array_equal(beside["mass"].sigma, [0.5, np.inf, 1.0, 1.0])
    np.testing.assert_array_equal(beside["kind"].sigma, [0.0, 0.0, np.inf, 0.0])
    said = str(found.losses)
    for sentence in (
        "-999 means missing: z in 1 cell",
        "negative error: it is one standard deviation (row 0, column z)",
        "no error (NaN) for a measured value (row 1, column z)",
        "mass = 99 in 1 row",
    ):
        assert sentence in said
    assert "taken as exact" not in said

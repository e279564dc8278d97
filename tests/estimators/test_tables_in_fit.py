"""Tables of any library in `fit` and `predict`: the command line's rules, names, units, scales, what travels, and refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier, Measurements, load, save
from badac.data import Preparation, TableWarning, from_table

N = 40
KIND = np.array(["dwarf", "giant"] * (N // 2))


def table(seed: int = 0, value: str = "{}", error: str = "e_{}", scale: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"ra": rng.uniform(0, 360, N), "clean_flag": np.ones(N, dtype=np.int64)}
    for band in "ugri":
        columns[value.format(band)] = scale * (np.where(KIND == "dwarf", 14, 17) + rng.normal(0, 0.3, N))
        columns[error.format(band)] = scale * rng.uniform(0.05, 0.1, N)
    return pd.DataFrame(columns, index=pd.Index([f"s{seed}-{row}" for row in range(N)], name="star"))


def fitted(X: Any, y: Any = KIND) -> BADACClassifier:
    return BADACClassifier(class_model="template", anomaly="tophat", random_state=0).fit(X, y)


def as_polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def as_astropy(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("astropy.table").Table.from_pandas(frame)


def as_xarray(frame: pd.DataFrame) -> Any:
    pytest.importorskip("xarray")
    return frame.to_xarray()


@pytest.mark.parametrize("other", [as_polars, as_arrow, as_astropy, as_xarray])
def test_every_library_gives_the_same_model(other: Callable[[pd.DataFrame], Any]) -> None:
    model, same = fitted(table()), fitted(other(table()))
    assert same.feature_names_in_.tolist() == ["u", "g", "r", "i"]
    np.testing.assert_array_equal(same.predict_proba(other(table(1))), model.predict_proba(table(1)))


def test_new_tables_are_read_by_name() -> None:
    model = fitted(table())
    new = table(1)
    first = model.predict_proba(new)
    np.testing.assert_array_equal(model.predict_proba(new[new.columns[::-1]]), first)
    with pytest.warns(TableWarning, match="missing here: i"):
        model.predict(new.drop(columns=["i", "e_i"]))
    with pytest.raises(ValueError, match=r"lacks 2 of the 4 columns.*absent: u, g.*Near names: U for u\?"):
        model.predict(new.rename(columns={"u": "U", "e_u": "e_U", "g": "G", "e_g": "e_G"}))


def test_what_is_said_by_hand_is_said_once_and_kept(tmp_path: Path) -> None:
    def odd(seed: int) -> pd.DataFrame:
        frame = table(seed, "psf_{}", "noise_{}").drop(columns=["ra", "clean_flag"])
        frame.loc[frame.index[3], "psf_u"] = 77.0
        return frame

    with pytest.raises(TypeError, match="no `sample_weight`.*priors"):
        BADACClassifier().fit(table(), KIND, sample_weight=np.ones(N))
    catalogue = from_table(odd(0), pair=["psf_*=noise_*"], missing=77)
    with pytest.warns(TableWarning, match="77 means missing"):
        model = fitted(catalogue)
    assert model.feature_names_in_.tolist() == ["psf_u", "psf_g", "psf_r", "psf_i"]
    save(model, tmp_path / "m.badac")
    with pytest.warns(TableWarning, match="77 means missing"):
        found = load(tmp_path / "m.badac").predict_proba(odd(1))
    assert found.argmax(axis=1).tolist() == (KIND == "giant").astype(int).tolist()


def test_labels_of_a_catalogue() -> None:
    catalogue = from_table(table().assign(label=KIND))
    model = BADACClassifier(class_model="template", anomaly="tophat").fit(catalogue)
    assert model.classes_.tolist() == ["dwarf", "giant"]
    with pytest.raises(ValueError, match="requires y to be passed"):
        BADACClassifier().fit(table())


def test_catalogues_are_put_in_the_order_and_units_of_the_training() -> None:
    model = fitted(table())
    swapped = from_table(table(1)[["i", "e_i", "u", "e_u", "r", "e_r", "g", "e_g"]])
    np.testing.assert_array_equal(model.predict_proba(swapped), model.predict_proba(table(1)))
    with pytest.raises(ValueError, match="the objects lack i of the 4 columns"):
        model.predict(from_table(table(1).drop(columns=["i", "e_i"])))


def test_units_are_converted_refused_or_their_absence_said() -> None:
    units = pytest.importorskip("astropy.units")
    tables = pytest.importorskip("astropy.table")

    def quantities(seed: int, unit: Any, factor: float) -> Any:
        frame = table(seed).drop(columns=["ra", "clean_flag"])
        return tables.QTable({name: np.asarray(frame[name]) * factor * unit for name in frame})

    model = fitted(quantities(0, units.Jy, 1.0))
    same = model.predict_proba(quantities(1, units.Jy, 1.0))
    np.testing.assert_allclose(model.predict_proba(quantities(1, units.mJy, 1000.0)), same, rtol=1e-9)
    with pytest.raises(ValueError, match="'u', m, does not convert to Jy"):
        model.predict(quantities(1, units.m, 1.0))
    with pytest.warns(TableWarning, match="about 1000 times the training's in 4 of 4 columns"):
        fitted(table()).rank(table(1, scale=1000.0))


def test_index_and_columns_that_are_no_features_reach_the_ranking() -> None:
    found = (
        fitted(table())
        .rank(table(1))
        .to_frame()
        .sort_values("object", key=lambda name: name.map(list(table(1).index).index))
    )
    assert found["object"].tolist() == table(1).index.tolist()
    np.testing.assert_array_equal(found["ra"], table(1)["ra"])
    assert found["clean_flag"].tolist() == [1] * N
    values = table()[["u", "g"]]
    plain = BADACClassifier(class_model="template", anomaly="tophat").fit(values, KIND)
    assert set(plain.rank(table(1)[["u", "g"]]).ids) == set(table(1).index)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.assign(z=1.0), "'z' has no error column.*from_table"),
        (lambda frame: frame.assign(z_error=1.0), "'z_error' looks like an error column"),
        (lambda frame: frame[["u", "g"]].assign(sigma_v=1.0), "'sigma_v' looks like an error column"),
        (
            lambda frame: frame.assign(e_u=np.nan, e_g=np.nan, e_r=np.nan, e_i=np.nan),
            "no value has a usable error bar",
        ),
        (
            lambda frame: frame.assign(u=["x", *["1"] * (N - 1)]),
            "Column 'u' must hold numbers: got 'x' in row s0-0",
        ),
    ],
)
def test_tables_that_are_refused(change: Callable[[pd.DataFrame], pd.DataFrame], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fitted(change(table()))


def test_a_long_table_is_no_table_of_objects() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"id": np.repeat(np.arange(10), 12), "mjd": np.tile(np.arange(12.0), 10), "flux_err": 0.1}
    )
    rows["flux"] = np.where(rows["id"] % 2, np.sin(rows["mjd"]), 0.0) + 0.1 * rng.standard_normal(len(rows))
    with pytest.raises(ValueError, match="one row per measurement.*from_table"):
        BADACClassifier().fit(rows, rows["id"] % 2)
    curves = from_table(rows)
    model = BADACClassifier("gp", anomaly="tophat", random_state=0).fit(curves, np.arange(10) % 2)
    assert model.predict(rows).shape == (10,)
    aligned = Preparation(align="peak").apply(from_table(rows.assign(flux=rows["flux"] + 5)))
    with pytest.warns(TableWarning) if aligned.losses else warnings.catch_warnings():
        prepared = BADACClassifier("gp", anomaly="tophat", random_state=0).fit(aligned, np.arange(10) % 2)
    assert prepared.layout_["preparation"]["align"] == "peak"
    assert prepared.predict(rows.assign(flux=rows["flux"] + 5)).shape == (10,)


def test_verbose_says_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    BADACClassifier(class_model="template", anomaly="tophat", verbose=True).fit(table(), KIND)
    said = capsys.readouterr()
    assert said.out == ""
    assert "[badac] Learning class dwarf from 20 objects: " in said.err
    fitted(table())
    assert capsys.readouterr().err == ""


def test_measurements_stay_as_they_are() -> None:
    objects = Measurements(table()[["u", "g"]].to_numpy(), 0.1)
    model = fitted(objects)
    assert not hasattr(model, "layout_") and not hasattr(model, "feature_names_in_")
    refit = fitted(table())
    refit.fit(objects, KIND)
    assert not hasattr(refit, "layout_")

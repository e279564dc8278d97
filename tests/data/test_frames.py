"""Tables of other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from badac import BADACClassifier
from badac.data import as_frame, from_frame, from_table, matched

pandas = pytest.importorskip("pandas")


@pytest.fixture
def columns(rng: np.random.Generator) -> dict[str, Any]:
    n = 12
    return {
        "name": [f"s{number}" for number in range(n)],
        "g": rng.normal(0, 1, n),
        "e_g": np.full(n, 0.1),
        "r": rng.normal(5, 1, n),
        "e_r": np.full(n, 0.2),
    }


def same(found: Any, columns: dict[str, Any]) -> None:
    assert found.ids.tolist() == list(columns["name"])
    np.testing.assert_array_equal(found.objects.values, np.column_stack([columns["g"], columns["r"]]))
    np.testing.assert_array_equal(found.objects.sigma, np.column_stack([columns["e_g"], columns["e_r"]]))


def test_polars(columns: dict[str, Any]) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    frame = polars.DataFrame(columns)
    same(from_table(frame), columns)
    same(from_table(frame.lazy()), columns)
    assert from_frame(frame).n_points == 2
    gap = frame.with_columns(
        polars.when(polars.col("g") > 0).then(None).otherwise(polars.col("g")).alias("g")
    )
    assert from_table(gap).objects.observed[:, 0].sum() == int((columns["g"] <= 0).sum())
    model = BADACClassifier(random_state=0, anomaly="tophat").fit(frame.drop("name"), ["a", "b"] * 6)
    assert model.n_features_in_ == 2
    assert len(model.predict(frame.drop("name"))) == 12


def test_arrow_and_what_speaks_arrow(columns: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("narwhals")

    class Foreign:
        """A data frame of a library that nobody knows, but that hands out Arrow."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pyarrow.table(columns).__arrow_c_stream__(requested_schema)

    same(from_table(pyarrow.table(columns)), columns)
    same(from_table(Foreign()), columns)


def test_structured_array(columns: dict[str, Any]) -> None:
    kinds = [("name", "U4"), ("g", ">f8"), ("e_g", ">f4"), ("r", ">f8"), ("e_r", "f8")]
    array = np.array(list(zip(*columns.values(), strict=True)), dtype=kinds)
    found = from_table(array)
    assert found.ids.tolist() == columns["name"]
    np.testing.assert_array_equal(found.objects.values[:, 0], columns["g"])


def test_astropy_times_and_masked_identifiers(columns: dict[str, Any]) -> None:
    table = pytest.importorskip("astropy.table")
    time = pytest.importorskip("astropy.time").Time
    given = table.Table(columns)
    given["observed"] = time(np.arange(12) + 58000.0, format="mjd")
    given["gaia"] = table.MaskedColumn(np.arange(12) + 4295806720123456789, mask=np.arange(12) == 3)
    found = from_table(given)
    same(found, columns)
    assert found.carried["observed"].dtype.kind == "M"
    assert str(found.carried["gaia"][4]) == "4295806720123456793", "as a float it would be another star"


def test_xarray_of_columns_of_spectra_and_of_bands(columns: dict[str, Any], rng: np.random.Generator) -> None:
    xarray = pytest.importorskip("xarray")
    wide = xarray.Dataset({name: ("star", column) for name, column in columns.items()})
    wide["g"].attrs["units"] = "Jy"
    found = from_table(wide)
    same(found, columns)
    assert dict(found.units) == {"g": "Jy"}
    flux = rng.normal(10, 1, (5, 4))
    spectra = xarray.Dataset(
        {
            "flux": (("star", "wavelength"), flux),
            "flux_err": (("wavelength", "star"), np.full((4, 5), 0.1)),
            "z": ("star", np.arange(5.0)),
        },
        coords={"wavelength": [4000.0, 5000.0, 6000.0, 7000.0], "star": list("abcde")},
    )
    found = from_table(spectra, columns={"object": "star"})
    assert found.kind == "spectrum" and found.ids.tolist() == list("abcde")
    np.testing.assert_array_equal(found.objects.values, flux)
    assert found.objects.at is not None and found.objects.at.tolist() == [4000.0, 5000.0, 6000.0, 7000.0]
    bands = xarray.Dataset(
        {"mag": (("star", "band"), flux), "mag_err": (("star", "band"), np.full((5, 4), 0.1))},
        coords={"band": list("ugri")},
    )
    assert from_table(bands).features == ("mag_u", "mag_g", "mag_r", "mag_i")
    with pytest.raises(ValueError, match="one dimension that counts the objects"):
        from_table(xarray.Dataset({"flux": ("wavelength", [1.0])}))


def test_what_is_no_table_is_left_alone() -> None:
    for thing in (None, 3, "stars.csv", [1, 2]):
        assert as_frame(thing) is thing
    array = np.ones((2, 2))
    assert as_frame(array) is array
    frame = pandas.DataFrame({"a": [1.0]})
    assert as_frame(frame) is frame


def test_a_table_in_many_places_stays_there() -> None:
    lazy = pytest.importorskip("dask.dataframe").from_pandas(
        pandas.DataFrame({"a": [1.0], "a_err": [0.1]}), npartitions=1
    )
    assert as_frame(lazy) is lazy


def test_the_index_reaches_the_objects(columns: dict[str, Any]) -> None:
    frame = pandas.DataFrame(columns).set_index("name")
    same(from_table(frame), columns)
    both = pandas.DataFrame(columns).set_index(pandas.Index(np.arange(12) + 100, name="row"))
    found = from_table(both)
    assert found.ids.tolist() == columns["name"]
    assert found.carried["row"].tolist() == list(range(100, 112))
    assert found[2:4].carried["row"].tolist() == [102, 103]


def test_a_column_without_its_error_is_not_said_to_be_missing(columns: dict[str, Any]) -> None:
    frame = pandas.DataFrame(columns).assign(i=1.0, e_i=0.1).drop(columns="e_g")
    found = matched(frame, ["g", "r", "i"])
    assert "here without an error column, and count as missing: g." in str(found.losses)
    assert "missing here" not in str(found.losses)
    assert "2 values with errors" in found.recognised
    exact = matched(frame, ["g", "r", "i"], pair=["g="])  # as the note advises
    assert exact.objects.observed.all() and "without an error column" not in str(exact.losses)
    with pytest.raises(ValueError) as refused:
        matched(frame, ["g", "q", "i"])
    assert "lacks 2 of the 3 columns that the model was fitted on with an error column" in str(refused.value)
    assert "absent: q. Here without an error column: g." in str(refused.value)


def test_most_columns_of_the_model_must_be_there(columns: dict[str, Any]) -> None:
    """926 of 1000 objects with other names were called strange."""
    frame = pandas.DataFrame(columns)
    features = ["u", "psfMag_g", "psfMag_r", "z"]
    with pytest.raises(ValueError, match="none of the training's columns is here.*absent: u, psfMag_g"):
        matched(frame, features)
    renamed = frame.rename(columns={"g": "G_mag", "e_g": "G_mag_err"})
    with pytest.raises(
        ValueError,
        match=r"lacks 2 of the 3 columns that the model was fitted on.*Near names: G_mag for g_mag\?",
    ):
        matched(renamed, ["g_mag", "r", "i_mag"])
    with pytest.raises(ValueError, match="Here without an error column: g"):
        matched(frame.drop(columns="e_g"), ["g", "r"])
    few = matched(frame.assign(i=1.0, e_i=0.1), ["i", "g", "z", "r"])
    assert few.objects.observed.sum(axis=0).tolist() == [12, 12, 0, 12]
    assert "columns of the training that are missing here: z" in str(few.losses)
    exact = matched(frame[["g", "r"]], ["r", "g"], errors="none")
    assert not exact.objects.has_errors and exact.features == ("r", "g")

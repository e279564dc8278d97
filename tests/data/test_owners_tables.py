"""What else people's tables have: names and dates as they are, columns that travel, labels apart, results written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from badac.data import (
    from_frame,
    from_long,
    from_table,
    from_wide,
    read,
    read_frame,
    refuse_without_errors,
    write_table,
)
from badac.data.catalogue import Catalogue
from badac.data.files import TableFileError, read_batches
from badac.data.measurements import Measurements

pandas = pytest.importorskip("pandas")
NAN = float("nan")


@pytest.fixture
def stars() -> Any:
    return pandas.DataFrame(
        {
            "name": ["a", "b", "c"],
            "ra": [1.0, 2.0, 3.0],
            "quality_flag": [0, 1, 0],
            "comment": ["x", "", "y"],
            "date": pandas.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"]),
            "redshift": [0.1, 0.2, 0.3],
            "g": [1.0, 2.0, 3.0],
            "g_err": 0.1,
        }
    )


def test_other_columns_travel(stars: Any) -> None:
    found = from_wide(stars)
    assert found.features == ("g",)
    assert list(found.carried) == ["ra", "quality_flag", "comment", "date", "redshift"]
    assert found.carried["date"].dtype.kind == "M"
    assert "carried along: ra, quality_flag, comment, date, redshift" in found.recognised
    assert str(found.losses) == "1 column left out: no error column beside it (redshift)"
    assert found[[2, 0]].carried["comment"].tolist() == ["y", "x"]
    assert from_frame(stars.drop(columns="redshift")).n_points == 1, (
        "the estimator takes no coordinate for a value"
    )


def test_columns_of_an_object_travel_from_long_tables() -> None:
    rows = pandas.DataFrame(
        {"id": [1, 1, 2], "mjd": [1.0, 2.0, 1.0], "flux": 1.0, "flux_err": 0.1, "ra": [5.0, 5.0, NAN], "host": ["x", "x", None],
         "airmass": [1.0, 1.1, 1.2]}
    )  # fmt: skip
    found = from_long(rows)
    np.testing.assert_array_equal(found.carried["ra"], [5.0, NAN])
    assert found.carried["host"].tolist() == ["x", ""]
    assert "airmass" not in found.carried


def test_a_feature_that_is_named_may_be_a_position(stars: Any) -> None:
    table = stars.assign(ra_error=0.01)
    assert from_wide(table).features == ("g",)
    assert from_wide(table, features=["g", "ra"]).features == ("g", "ra")
    assert from_wide(stars, pair=["redshift="]).objects.sigma[0].tolist() == [0.0, 0.1]


def test_values_without_errors(stars: Any) -> None:
    found = from_wide(stars, errors="none")
    assert found.features == ("redshift", "g")
    assert not found.objects.has_errors
    assert "not among the values to be used (g_err)" in str(found.losses)
    counts = pandas.DataFrame({"b1": [0, 3], "b2": [7, 2]})
    assert from_wide(counts, errors="none").kind == "counts"


def test_kinds_of_data(stars: Any) -> None:
    assert from_wide(stars).kind == "catalogue"
    curve = pandas.DataFrame({f"x{n:02d}{end}": [1.0, 2.0] for n in range(9) for end in ("", "_err")})
    assert from_wide(curve).kind == "grid curve"
    assert from_wide(stars, at=[3.0]).kind == "grid curve"
    told = from_wide(stars).description()
    assert told == {
        "kind": "catalogue",
        "axis": ["", ""],
        "quantity": ["", ""],
        "bands": [],
        "features": ["g"],
        "units": {},
    }


def test_a_name_that_comes_twice_is_said(stars: Any) -> None:
    stars["name"] = ["a", "b", "a"]
    found = from_wide(stars)
    assert len(found) == 3
    assert "1 name came more than once (a); every row counts as an object of its own" in str(found.losses)


def test_a_column_that_comes_twice_is_refused(tmp_path: Path) -> None:
    """pandas renamed the second one, and it became a feature of its own."""
    (tmp_path / "t.csv").write_text("id,g,g_err,g\n1,2,0.1,3\n")
    with pytest.raises(TableFileError, match=r"t.csv has more than one column 'g'"):
        read(tmp_path / "t.csv")
    with pytest.raises(TableFileError, match="more than one column 'g'"):
        list(read_batches(tmp_path / "t.csv", 10))
    (tmp_path / "u.csv").write_text("id,4000,4000.1,4000_err,4000.1_err\n1,2,3,0.1,0.2\n")
    assert read(tmp_path / "u.csv").features == ("4000", "4000.1")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"object": "nam"}, r"no column 'nam' for the object. Did you mean 'name'\?"),
        ({"value": "g"}, "names 'g' for the value, which only a long table has"),
        ({"objct": "name"}, "`columns` has roles object, time"),
    ],
)
def test_columns_that_match_nothing_are_refused(stars: Any, columns: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_table(stars, columns=columns)


def test_identifiers_are_read_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,g,g_err\n007,1,0.1\n012,2,0.1\n")
    assert read(tmp_path / "t.csv").ids.tolist() == ["007", "012"]
    (tmp_path / "u.csv").write_text("star,g,g_err\n007,1,0.1\n1e5,2,0.1\n")
    assert read(tmp_path / "u.csv", columns={"object": "star"}).ids.tolist() == ["007", "1e5"]
    (tmp_path / "v.csv").write_text(
        "source_id,g,g_err\n4295806720123456789,1,0.1\n99999999999999999999,2,0.1\n"
    )
    assert read(tmp_path / "v.csv").ids.tolist() == ["4295806720123456789", "99999999999999999999"]
    (tmp_path / "w.csv").write_text("id,g,g_err\n12,1,0.1\n7,2,0.1\n")
    assert read(tmp_path / "w.csv").ids.tolist() == [12, 7]
    assert [frame["id"].tolist() for frame in read_batches(tmp_path / "t.csv", 1)] == [["007"], ["012"]]


def test_a_header_behind_a_mark(tmp_path: Path) -> None:
    """The first row of numbers became the header."""
    (tmp_path / "t.dat").write_text("# a survey\n# id  g  g_err\n1 2.0 0.1\n2 3.0 0.1\n")
    found = read(tmp_path / "t.dat")
    assert found.features == ("g",) and found.ids.tolist() == [1, 2]
    (tmp_path / "u.dat").write_text("# three columns here\nid g g_err\n1 2.0 0.1\n")
    assert read(tmp_path / "u.dat").features == ("g",)


def test_labels_apart_match_names_of_any_type(stars: Any, tmp_path: Path) -> None:
    rows = pandas.DataFrame(
        {"object_id": [615, 615, 713, 9], "mjd": [1.0, 2.0, 1.0, 1.0], "passband": [0, 1, 0, 0]}
    )
    rows = rows.assign(flux=1.0, flux_err=0.1)
    meta = pandas.DataFrame(
        {"object_id": [713.0, 615.0, 44.0], "ra": [1.0, 2.0, 3.0], "target": [92, 88, 90]}
    )
    found = from_table(rows, labels=meta)
    assert found.ids.tolist() == [615, 713] and found.label is not None and found.label.tolist() == [88, 92]
    assert found.carried["ra"].tolist() == [2.0, 1.0]
    said = str(found.losses)
    assert "1 object left out: not in the table of labels (9)" in said
    assert "1 object left out: labelled, but without measurements (44.0)" in said
    kinds = pandas.DataFrame({"name": ["c", "a"], "spectral": ["K", "M"]})
    kinds.to_csv(tmp_path / "kinds.csv", index=False)
    stars.to_csv(tmp_path / "stars.csv", index=False)
    found = read(tmp_path / "stars.csv", labels=tmp_path / "kinds.csv", label="spectral")
    assert found.ids.tolist() == ["a", "c"] and found.label is not None and found.label.tolist() == ["M", "K"]
    again = pandas.concat([kinds, kinds])
    assert len(from_table(stars, labels=again, columns={"label": "spectral"})) == 2
    # Of two columns one is the name; of three it takes a word.
    alone = from_table(stars, labels=kinds)
    assert alone.label is not None and alone.label.tolist() == ["M", "K"]
    with pytest.raises(
        ValueError,
        match="none for the label. Say which it is.*--label NAME.* Columns: name, spectral, luminosity",
    ):
        from_table(stars, labels=kinds.assign(luminosity=["V", "III"]))
    with pytest.raises(ValueError, match="no object is in both tables"):
        from_table(stars, labels=kinds.assign(name=["x", "y"]), columns={"label": "spectral"})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".fits", ".vot", ".ecsv"])
def test_tables_are_written_by_their_suffix(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("astropy")
    columns = {
        "rank": np.arange(3),
        "object": np.array(["a", "bb", "ccc"]),
        "id": np.arange(3) + 4295806720123456789,
        "score": np.array([1.5, np.nan, 2.5], dtype=np.float32),
        "strange": np.array([True, False, True]),
        "date": np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[ns]"),
        "mixed": np.array(["x", None, 3], dtype=object)
        if suffix != ".parquet"
        else np.array(["x", "y", "z"]),
    }
    place = tmp_path / f"ranking{suffix}"
    write_table(columns, place, units={"score": "Jy"})
    found = read_frame(place)
    assert list(found.columns) == list(columns)
    assert found["object"].tolist() == ["a", "bb", "ccc"]
    assert found["id"].tolist() == columns["id"].tolist()
    np.testing.assert_array_equal(found["score"].to_numpy(dtype=float), [1.5, np.nan, 2.5])
    assert found["strange"].tolist() == [True, False, True]
    assert str(found["date"].iloc[0]).startswith("2026-01-01")
    if suffix in (".fits", ".vot", ".ecsv"):
        assert found.attrs["units"] == {"score": "Jy"}
    assert [file.name for file in tmp_path.iterdir()] == [place.name]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(TableFileError, match="tables are written as .csv"):
        write_table({"a": [1]}, tmp_path / "t.npz")
    with pytest.raises(ValueError, match="one length: got a 1, b 2"):
        write_table({"a": [1], "b": [1, 2]}, tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


def test_objects_without_any_error_bar_are_refused() -> None:
    with pytest.raises(ValueError, match="no value has a usable error bar"):
        refuse_without_errors(Measurements([[1.0, 2.0]], np.inf))
    refuse_without_errors(Measurements([[1.0, 2.0]], [[np.inf, 0.1]]))
    refuse_without_errors(Measurements([[1.0, 2.0]]))


def test_a_table_without_rows_has_columns(stars: Any) -> None:
    """Engines ask so what will come out."""
    assert from_wide(stars[:0]).features == ("g",)
    assert from_wide(stars[:0], errors="none").objects.shape == (0, 2)


def test_catalogues_one_after_the_other(stars: Any) -> None:
    found = from_wide(stars)
    both = Catalogue.together([found[:2], found[2:]])
    assert both.ids.tolist() == ["a", "b", "c"] and both.carried["ra"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="'ra' has 3 for 2"):
        replace(found[:2], carried=found.carried)


def test_reading_changes_nothing(stars: Any) -> None:
    before = stars.copy(deep=True)
    from_table(stars, missing=[1.0])
    from_frame(stars[["name", "g", "g_err"]])
    pandas.testing.assert_frame_equal(stars, before)

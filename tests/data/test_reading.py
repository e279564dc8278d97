"""Files and wide tables into catalogues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from badac.data import from_table, from_wide, read
from badac.data.files import TableFileError, needs, read_batches

pandas = pytest.importorskip("pandas")
NAN = float("nan")


@pytest.fixture
def wide() -> Any:
    return pandas.DataFrame(
        {
            "name": ["a", "b", "c"],
            "type": ["x", "y", "x"],
            "g": [1.0, 2.0, 3.0],
            "g_err": [0.1, 0.1, 0.1],
            "r": [4.0, NAN, 6.0],
            "r_err": [0.2, 0.2, 0.2],
        }
    )


@pytest.fixture
def long() -> Any:
    return pandas.DataFrame(
        {"id": [1, 1, 2], "mjd": [1.0, 2.0, 1.0], "flux": [1.0, 2.0, 3.0], "flux_err": [0.1, 0.1, 0.1]}
    )


def write(frame: Any, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif path.suffix == ".fits":
        pytest.importorskip("astropy.table").Table.from_pandas(frame).write(path)
    else:
        np.savez(path, **{name: np.array(frame[name].tolist()) for name in frame.columns})
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".fits", ".npz"])
def test_every_kind_of_file_holds_the_same(suffix: str, wide: Any, long: Any, tmp_path: Path) -> None:
    found = read(write(wide, tmp_path / f"wide{suffix}"))
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.label.tolist() == ["x", "y", "x"]
    assert found.features == ("g", "r")
    np.testing.assert_array_equal(found.objects.values, [[1, 4], [2, NAN], [3, 6]])
    np.testing.assert_array_equal(found.objects.sigma, [[0.1, 0.2], [0.1, np.inf], [0.1, 0.2]])
    curves = read(write(long, tmp_path / f"long{suffix}"))
    np.testing.assert_array_equal(curves.objects.at, [[1, 2], [1, NAN]])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".fits", ".npz"])
def test_a_corrupt_file_is_refused_by_name(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(b"\x00\x01 no table \xff")
    with pytest.raises(TableFileError, match=f"broken{suffix}"):
        read(path)


def test_no_file_no_suffix_no_rows(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read(tmp_path / "absent.csv")
    with pytest.raises(TableFileError, match="suffix that names no kind of table: use one of .csv"):
        read(tmp_path / "table.docx")
    (tmp_path / "empty.csv").write_text("a,a_err\n")
    with pytest.raises(TableFileError, match="holds no rows"):
        read(tmp_path / "empty.csv")


def test_the_extra_is_named() -> None:
    with pytest.raises(ImportError, match=r"pip install 'badac\[io\]'"):
        needs("no_such_package_for_badac.io", "Reading")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_batches_are_the_file(suffix: str, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"a": np.arange(7.0), "a_err": 0.1})
    batches = list(read_batches(write(frame, tmp_path / f"t{suffix}"), 3))
    assert [len(batch) for batch in batches] == [3, 3, 1]
    assert np.concatenate([batch["a"] for batch in batches]).tolist() == frame["a"].tolist()


def test_bad_cells_become_missing_and_are_said(wide: Any) -> None:
    wide.loc[0, "g_err"] = -1.0
    wide.loc[1, "g_err"] = NAN
    wide.loc[2, "r_err"] = 0.0
    found = from_wide(wide)
    assert found.objects.observed.tolist() == [[False, True], [False, False], [True, True]]
    said = str(found.losses)
    assert "1 cell left out: negative error: it is one standard deviation (row 0, column g)" in said
    assert "1 cell left out: no error (NaN) for a measured value (row 1, column g)" in said
    assert "1 cell has error 0, taken as exact" in said
    assert "1 object has no value at all" in said


def test_columns_without_errors_are_left_out_and_said(wide: Any) -> None:
    wide["ra"] = 1.0
    wide["redshift"] = 1.0
    found = from_wide(wide)
    assert found.objects.n_points == 2
    assert "no error column beside it (redshift)" in str(found.losses)
    assert list(found.carried) == ["ra", "redshift"]
    with pytest.raises(ValueError, match="'z_err' looks like an error column, but no value was found for it"):
        from_wide(wide.assign(z_err=1.0))
    with pytest.raises(ValueError, match="No column has an error column beside it"):
        from_wide(wide[["name", "g"]])


def test_new_objects_take_the_columns_of_the_training(wide: Any) -> None:
    wide = wide.assign(z=7.0, z_err=0.1)
    found = from_wide(wide[["name", "z_err", "r_err", "r", "z"]], features=("g", "r", "z"))
    assert found.objects.observed[:, :2].tolist() == [[False, True], [False, False], [False, True]]
    assert found.objects.values[:, 2].tolist() == [7.0, 7.0, 7.0]
    assert "missing here: g" in str(found.losses)
    with pytest.raises(ValueError, match="none of the training.s columns is here.*absent: u, q"):
        from_wide(wide, features=("u", "q"))


def test_objects_without_a_label_are_left_out_and_said(wide: Any) -> None:
    wide.loc[1, "type"] = None
    found = from_wide(wide)
    assert found.ids.tolist() == ["a", "c"]
    assert "1 object left out: no label (b)" in str(found.losses)
    with pytest.raises(ValueError, match="no column 'kind' for the label"):
        from_wide(wide, columns={"label": "kind"})


def test_labels_from_a_second_table(long: Any, tmp_path: Path) -> None:
    labels = pandas.DataFrame({"id": [1, 3], "label": ["x", "y"]})
    found = read(write(long, tmp_path / "curves.csv"), labels=write(labels, tmp_path / "objects.csv"))
    assert found.ids.tolist() == [1]
    assert found.label.tolist() == ["x"]
    with pytest.raises(ValueError, match="needs a column for the object and one for the label"):
        from_table(long, labels=labels[["id"]])


def test_in_a_table_of_two_columns_what_is_not_the_object_is_the_label(long: Any) -> None:
    labels = pandas.DataFrame({"id": [1, 3], "classBroker": ["x", "y"]})
    assert from_table(long, labels=labels).label.tolist() == ["x"]
    with pytest.raises(ValueError, match="there is none for the label.*Columns: id, classBroker, spare"):
        from_table(long, labels=labels.assign(spare=0))


def test_form_is_told_or_given(long: Any) -> None:
    one_each = long.drop_duplicates("id").assign(g=1.0, g_err=0.1)
    assert from_table(one_each).features == ("flux", "g")
    assert from_table(one_each, form="long").objects.n_points == 1
    with pytest.raises(ValueError, match="'auto', 'wide' or 'long'"):
        from_table(long, form="tall")


def test_a_long_table_without_errors_is_named() -> None:
    table = pandas.DataFrame({"object_id": [1, 1], "mjd": [1.0, 2.0], "flux": [3.0, 4.0]})
    with pytest.raises(ValueError, match=r"looks like a long table \(object = object_id, time = mjd\)"):
        from_table(table)


@pytest.mark.parametrize("other", [None, np.ones((3, 2)), "stars.csv"])
def test_what_is_no_table_is_refused(other: object) -> None:
    with pytest.raises(TypeError, match="a table with named columns is needed"):
        from_table(other)


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pandas.DataFrame([[1.0, 0.1, 2.0]], columns=["g", "g_err", "g"])
    with pytest.raises(ValueError, match="more than one column 'g'"):
        from_table(frame)


def test_whole_labels_stay_whole_beside_a_gap() -> None:
    frame = pandas.DataFrame({"g": [1.0, 2.0, 3.0], "g_err": 0.1, "label": [1, None, 2]})
    label = from_table(frame).label
    assert label is not None and label.dtype.kind == "i" and label.tolist() == [1, 2]
    with pytest.raises(ValueError, match="Column 'label' has no labels at all"):
        from_table(frame.assign(label=None))


def test_a_separator_that_is_not_kept_to_is_named(tmp_path: Path) -> None:
    place = tmp_path / "stars.csv"
    place.write_text("object;g;g_err\na;1;0.1\n")
    assert read(place).objects.values.tolist() == [[1.0]]
    place.write_text("object;g;g_err\na;1\nb;1;2;3\nc\n")
    with pytest.raises(TableFileError, match="is it separated by semicolons"):
        read(place)

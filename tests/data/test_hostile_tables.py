"""Cells and columns that no table should have, in every kind of file: the message names file, column and row."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from badac import BADACClassifier
from badac.data import from_table, read_frame
from badac.job import RankOptions, rank_file, read_training
from badac.job.results import write_results

KINDS = ("csv", "tsv", "csv.gz", "parquet", "feather", "fits", "vot", "ecsv", "npz", "json", "jsonl")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    label = np.arange(24) % 2
    columns: dict[str, Any] = {"object": [f"o{row}" for row in range(24)]}
    for point in range(2):
        columns[f"y{point}"] = 2.0 * label + 0.3 * rng.standard_normal(24)
        columns[f"y{point}_err"] = np.full(24, 0.3)
    return pd.DataFrame({**columns, "label": np.array(["low", "high"])[label]})


def plain(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Columns as astropy and NumPy have them: numbers, or text of one length."""
    return {
        str(name): frame[name].to_numpy() if frame[name].dtype.kind in "fi" else frame[name].to_numpy("U12")
        for name in frame
    }


def written(frame: pd.DataFrame, kind: str, folder: Path) -> Path:
    path = folder / f"t.{kind}"
    if kind in ("csv", "csv.gz", "tsv"):
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    elif kind == "feather":
        frame.to_feather(path)
    elif kind in ("json", "jsonl"):
        frame.to_json(path, orient="records", lines=kind == "jsonl")
    elif kind == "npz":
        np.savez(path, allow_pickle=False, **plain(frame))
    else:
        name = {"fits": "fits", "vot": "votable", "ecsv": "ascii.ecsv"}[kind]
        pytest.importorskip("astropy.table").Table(plain(frame)).write(path, format=name)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_text_among_numbers(kind: str, tmp_path: Path) -> None:
    bad = table()
    bad["y1_err"] = bad["y1_err"].map(str)
    bad.loc[17, "y1_err"] = "broken"
    path = written(bad, kind, tmp_path)
    with pytest.raises(
        ValueError, match=rf"{path.name}: Column 'y1_err' must hold numbers: got 'broken' in row 17"
    ):
        read_training(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_measurement_is_no_label(kind: str, tmp_path: Path) -> None:
    bad = table().assign(label=np.arange(24) % 2 * 1.0)
    good = written(bad, kind, tmp_path)
    assert sorted(read_training(good).counts) == [0, 1]  # whole numbers are classes, however they are stored
    bad.loc[5, "label"] = 0.25
    with pytest.raises(
        ValueError, match=rf"{good.name}: the column 'label' holds fractions, .* of object o5"
    ):
        read_training(_over(bad, kind, tmp_path))
    bad["label"] = np.linspace(0.1, 0.9, 24)
    with pytest.raises(ValueError, match=rf"{good.name}: the column 'label' has 24 different values"):
        read_training(_over(bad, kind, tmp_path))


def _over(frame: pd.DataFrame, kind: str, folder: Path) -> Path:
    (folder / f"t.{kind}").unlink()
    return written(frame, kind, folder)


def _twice_in_text(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text(table().to_csv(index=False).replace("y1_err", "y0", 1))
    return path


def _twice_in_parquet(folder: Path) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    frame = table().rename(columns={"y1_err": "y0"})
    names = [str(name) for name in frame.columns]
    columns = [arrow.array(frame.iloc[:, place]) for place in range(len(names))]
    parquet.write_table(arrow.Table.from_arrays(columns, names=names), folder / "t.parquet")
    return folder / "t.parquet"


def _twice_in_fits(folder: Path) -> Path:
    path = written(table().rename(columns={"y1_err": "zz"}), "fits", folder)
    path.write_bytes(path.read_bytes().replace(b"'zz ", b"'y0 "))
    return path


def _twice_in_votable(folder: Path) -> Path:
    path = written(table().rename(columns={"y1_err": "zz"}), "vot", folder)
    path.write_text(path.read_text().replace('name="zz"', 'name="y0"'))
    return path


def _twice_in_ecsv(folder: Path) -> Path:
    path = written(table().rename(columns={"y1_err": "zz"}), "ecsv", folder)
    path.write_text(path.read_text().replace("zz", "y0"))
    return path


def _twice_in_npz(folder: Path) -> Path:
    path = written(table(), "npz", folder)
    member = io.BytesIO()
    np.lib.format.write_array(member, np.ones(24))
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so itself
        archive.writestr("y0.npy", member.getvalue())
    return path


def _twice_in_json(folder: Path) -> Path:
    lines = [json.dumps(record)[:-1] + ', "y0": 1.0}' for record in table().to_dict("records")]
    (folder / "t.jsonl").write_text("\n".join(lines))
    return folder / "t.jsonl"


@pytest.mark.parametrize(
    "make",
    [
        _twice_in_text,
        _twice_in_parquet,
        _twice_in_fits,
        _twice_in_votable,
        _twice_in_ecsv,
        _twice_in_npz,
        _twice_in_json,
    ],
)
def test_two_columns_of_one_name(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(ValueError, match=rf"{path.name}.* more than one .*'y0'"):
        read_frame(path)


def test_nested_records(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = {"object": table()["object"].tolist(), "label": table()["label"].tolist()}
    path = tmp_path / "t.parquet"
    for cell in ({"g": 1.0, "r": 2.0}, [{"g": 1.0, "r": 2.0}]):
        parquet.write_table(arrow.table({**names, "flux": [cell] * 24}), path)
        with pytest.raises(
            ValueError, match=r"t.parquet.* Column 'flux' holds nested records \(g, r\) from row 0 on"
        ):
            read_training(path)
    parquet.write_table(
        arrow.table({**names, "y": [1.0] * 24, "y_err": [0.1] * 24, "label": [["low"]] * 24}), path
    )
    with pytest.raises(ValueError, match=r"t.parquet: the column 'label' holds several things .* in row 0"):
        read_training(path)
    for odd, words in (
        ({"g": 1.0}, "a nested record with g in row 7"),
        ([1.0, 2.0], "2 of them in one cell, row 7"),
    ):
        mixed = table().astype(object)
        mixed.at[7, "y1"] = odd
        with pytest.raises(ValueError, match=rf"t.jsonl: Column 'y1' must hold numbers: got {words}"):
            read_training(written(mixed, "jsonl", tmp_path))


def test_a_line_of_json_that_is_cut(tmp_path: Path) -> None:
    path = written(table(), "jsonl", tmp_path)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(ValueError, match="t.jsonl: line 24: "):
        read_frame(path)
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match="t.jsonl must hold records"):
        read_frame(path)


def test_names_that_come_twice_are_named(tmp_path: Path) -> None:
    again = table()
    again.loc[20, "object"] = "o3"
    training = read_training(written(again, "csv", tmp_path))
    assert any("1 name came more than once (o3)" in note for note in training.notes)


def test_new_objects_without_a_usable_error_are_refused(tmp_path: Path) -> None:
    from badac.job import Settings, learn

    model: BADACClassifier = learn(
        read_training(written(table(), "csv", tmp_path)), Settings("template", folds=0, diagnose=False)
    )
    new = table().drop(columns="label").assign(y0_err=np.nan, y1_err=np.nan)
    path = written(new, "parquet", tmp_path)
    with pytest.raises(
        ValueError, match=r"t.parquet: none of its 24 objects has a value with a usable error"
    ):
        rank_file(model, path, RankOptions(n_shown=2))
    new.loc[3, "y0_err"] = 0.3
    assert rank_file(model, _over(new, "parquet", tmp_path), RankOptions(n_shown=2)).n_objects == 24


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_text_alone(kind: str, tmp_path: Path) -> None:
    """Thousands apart: every cell is at fault, and the first is named."""
    bad = table()
    bad["y1"] = [f"{1000.0 * row:,.1f}" for row in range(1, 25)]
    path = written(bad, kind, tmp_path)
    with pytest.raises(
        ValueError,
        match=rf"{path.name}: Column 'y1' must hold numbers: got '1,000.0' in row 0 \(and 23 more\)\. Write numbers without "
        "marks between thousands",
    ):
        read_training(path)


@pytest.mark.parametrize("kind", KINDS)
def test_an_underscore_makes_no_number(kind: str, tmp_path: Path) -> None:
    """Python would take 1_7 for 17."""
    bad = table()
    bad["y1"] = bad["y1"].map(str)
    bad.loc[5, "y1"] = "1_7"
    path = written(bad, kind, tmp_path)
    with pytest.raises(ValueError, match=rf"{path.name}: Column 'y1' must hold numbers: got '1_7' in row 5"):
        read_training(path)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_text_that_ends_in_the_middle_of_a_row(kind: str, tmp_path: Path) -> None:
    path = written(table(), kind, tmp_path)
    whole = path.read_text()
    path.write_text(whole.rstrip("\n"))
    assert len(read_frame(path)) == 24  # many programs write no last end of the line
    last = whole.rstrip("\n").splitlines()[-1]
    path.write_text(whole.rstrip("\n")[: -len(last) + 8])
    with pytest.raises(
        ValueError, match=rf"{path.name} ends in the middle of its last row, 'o23.*: 2 of 6 columns"
    ):
        read_frame(path)
    path.write_text(whole.rstrip("\n")[: -len(last) + 8] + "\n")  # a short row is one with empty cells
    assert read_frame(path)["y1"].isna().sum() == 1


def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path: Path) -> None:
    path = written(pd.concat([table()] * 200, ignore_index=True), "csv", tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4000] = lines[4000].replace(b"o", b"\xff", 1)  # far behind what the encoding is told from
    path.write_bytes(b"".join(lines))
    with pytest.raises(ValueError, match=r"t.csv: line 4001 holds letters that are not utf-8"):
        read_frame(path)
    lines[7] = lines[7].replace(b"o", b"\x00", 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(
        ValueError, match=r"t.csv is no table of text: it holds zero bytes, the first in line 8"
    ):
        read_frame(path)


def test_objects_without_a_name_are_named_by_their_row(tmp_path: Path) -> None:
    bad = table()
    bad.loc[[3, 5], "object"] = None
    notes = " ".join(read_training(written(bad, "csv", tmp_path)).notes)
    assert "2 objects have no name (row 3, row 5)" in notes
    assert "more than once" not in notes


@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_a_mark_at_the_end_of_every_row_shifts_no_column(mark: str, tmp_path: Path) -> None:
    """The names were taken for those of all columns but the first: each value was the error of the one before."""
    frame = table()
    header, *rows = frame.to_csv(index=False, sep=mark).splitlines()
    path = tmp_path / "new.csv"
    path.write_text("\n".join([header, *(row + mark for row in rows)]) + "\n", encoding="utf-8")
    pd.testing.assert_frame_equal(read_frame(path), frame)
    named = [f"{number}{mark}{row}" for number, row in enumerate(rows)]  # as R writes it
    path.write_text("\n".join([header, *named]) + "\n", encoding="utf-8")
    pd.testing.assert_frame_equal(read_frame(path).drop(columns="index"), frame)


@pytest.mark.parametrize("which", ["all", "first", "one"])
def test_rows_with_more_fields_than_names_are_refused(which: str, tmp_path: Path) -> None:
    """What was beyond the names was dropped, where the first row had it."""
    header, *rows = table().to_csv(index=False).splitlines()
    longer = {"all": range(24), "first": [0], "one": [7]}[which]
    rows = [row + ",7,8" * (number in longer) for number, row in enumerate(rows)]
    (tmp_path / "new.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    with pytest.raises(
        ValueError, match=rf"row {longer[0] + 1} has 8 fields .*the header names 6 \(object, y0"
    ):
        read_frame(tmp_path / "new.csv")


def test_a_cell_that_goes_on_for_lines_is_one_cell(tmp_path: Path) -> None:
    frame = table().assign(object=[f"o{row},\nand\nmore,,,,,,,," for row in range(24)])
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert read_frame(tmp_path / "new.csv")["object"].tolist() == frame["object"].tolist()


@pytest.mark.parametrize("unit", ["ns", "s"])
def test_dates_as_names_are_text(unit: str, tmp_path: Path) -> None:
    """The summary could not be written, after everything had been computed; the labels of another file were not found."""
    frame = table().assign(object=pd.date_range("2026-03-01", periods=24).astype(f"datetime64[{unit}]"))
    found = from_table(
        frame.drop(columns="label"), labels=frame[["object", "label"]].astype({"object": "datetime64[us]"})
    )
    assert found.ids[1] == "2026-03-02T00:00:00.000000" and found.label is not None
    path = tmp_path / "new.parquet"
    frame.drop(columns="label").to_parquet(path)
    model = BADACClassifier("template", random_state=0).fit(found)
    write_results(rank_file(model, path, RankOptions(n_shown=2)), tmp_path, "csv")
    assert json.loads((tmp_path / "summary.json").read_text())["strangest"][0]["object"].startswith(
        "2026-03-"
    )


@pytest.mark.parametrize("shape", [(3, 4), (4,), (3,), (4, 3, 1)])
def test_errors_of_another_shape_than_the_values(shape: tuple[int, ...], tmp_path: Path) -> None:
    """They were left out with a note, and the values said to have no errors."""
    np.savez(tmp_path / "t.npz", values=np.ones((4, 3)), sigma=np.ones(shape))
    with pytest.raises(ValueError, match=r"`sigma` must have the shape of `values`, \(4, 3\).*got \(\d"):
        read_frame(tmp_path / "t.npz")
    for fits in ((), (4, 1), (1, 3)):
        np.savez(tmp_path / "t.npz", values=np.ones((4, 3)), sigma=np.full(fits, 0.2))
        assert (from_table(read_frame(tmp_path / "t.npz")).objects.sigma == 0.2).all()


def test_an_arrow_file_whose_text_leads_out_of_it(tmp_path: Path) -> None:
    """One offset of a column of text changed: the process would end where nobody looks at offsets."""
    path = tmp_path / "stars.feather"
    feather, arrow = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow")
    names = arrow.array(["abc", "def", "ghi"], arrow.string())
    feather.write_feather(arrow.table({"object": names}), path, compression="uncompressed")
    whole = path.read_bytes()
    starts = np.array([0, 3, 6, 9], "<i4"), np.array([0, 3, 2**31 - 1, 9], "<i4")
    damaged = whole.replace(starts[0].tobytes(), starts[1].tobytes())
    assert damaged != whole
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"stars\.feather cannot be read as feather: .*out of bounds"):
        read_frame(path)

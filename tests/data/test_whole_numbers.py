"""Identifiers of 19 digits beside empty cells, in every kind of file: no digit is lost, and what is lost already is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from badac.data import as_frame, from_wide, read, read_frame
from badac.data.files import read_batches

FIRST = 2**60 + 1  # two of them are one float
NAMES = [str(FIRST + row) if row != 3 else "" for row in range(6)]


def records(name: str) -> list[dict[str, Any]]:
    return [
        {name: int(said) if said else None, "y": 1.0 + row, "y_err": 0.1, "n": row if row % 2 else None}
        for row, said in enumerate(NAMES)
    ]


def written(kind: str, name: str, folder: Path) -> Path:
    path, rows = folder / f"t.{kind}", records(name)
    if kind == "json":
        path.write_text(json.dumps(rows))
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif kind in ("csv", "tsv"):
        mark = "," if kind == "csv" else "\t"
        lines = [mark.join("" if cell is None else str(cell) for cell in row.values()) for row in rows]
        path.write_text("\n".join([mark.join(rows[0]), *lines]) + "\n")
    else:
        arrow = pytest.importorskip("pyarrow")
        table = arrow.Table.from_pylist(rows)
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, path)
    return path


KINDS = ("csv", "tsv", "parquet", "feather", "json", "jsonl")


@pytest.mark.parametrize("kind", KINDS)
def test_names_keep_all_digits(kind: str, tmp_path: Path) -> None:
    found = read(written(kind, "object", tmp_path))
    assert found.ids.tolist() == NAMES
    assert "1 object has no name (row 3)" in str(found.losses)
    assert "more than once" not in str(found.losses)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_carried_along_keeps_all_digits(kind: str, tmp_path: Path) -> None:
    found = read(written(kind, "gaia_source", tmp_path))
    assert found.carried["gaia_source"].tolist() == NAMES


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_in_batches(kind: str, tmp_path: Path) -> None:
    path = written(kind, "gaia_source", tmp_path)
    for plain in (False, True):
        batches = list(read_batches(path, 2, plain=plain))
        cells = [
            cell for batch in batches for cell in np.asarray(batch["gaia_source"], dtype=object).tolist()
        ]
        assert ["" if pd.isna(cell) else str(cell) for cell in cells] == NAMES


def test_tables_in_memory() -> None:
    arrow = pytest.importorskip("pyarrow")
    assert from_wide(arrow.Table.from_pylist(records("object"))).ids.tolist() == NAMES
    polars = pytest.importorskip("polars")
    assert from_wide(polars.DataFrame(records("object"))).ids.tolist() == NAMES


def test_beyond_64_bits_and_beyond_the_sign(tmp_path: Path) -> None:
    for first in (2**63 + 1, 2**70 + 1):
        rows = [{"object": first, "y": 1.0, "y_err": 0.1}, {"object": None, "y": 2.0, "y_err": 0.1}]
        (tmp_path / "t.json").write_text(json.dumps(rows))
        assert read(tmp_path / "t.json").ids.tolist() == [str(first), ""]


def test_whole_numbers_with_gaps_are_still_measurements() -> None:
    """Counts with a gap, as pandas' own integers: the same numbers as before."""
    frame = as_frame(pytest.importorskip("pyarrow").table({"y": [1, None, 3], "y_err": [1, 1, 1]}))
    np.testing.assert_array_equal(from_wide(frame).objects.values, [[1.0], [np.nan], [3.0]])


def test_a_long_number_among_others_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("y;y_err;n\n12345678901234567;0,5;x\n1,5;0,5;12345678901234567\n")
    found = read_frame(tmp_path / "t.csv")
    assert found["y"].tolist() == [12345678901234567.0, 1.5]
    assert found["n"].tolist() == ["x", "12345678901234567"]
    (tmp_path / "t.csv").write_text("y,y_err\n12345678901234567,1\n12345678901234568,2\n")
    assert read_frame(tmp_path / "t.csv")["y"].dtype == np.int64


def test_names_that_are_floats_already(tmp_path: Path) -> None:
    frame = pd.DataFrame({"object": [float(FIRST), 5.0], "y": [1.0, 2.0], "y_err": 0.1})
    words = str(from_wide(frame).losses)
    assert "1 name is a float beyond 2^53, which may have lost digits (1152921504606846976)" in words
    assert "float" not in str(from_wide(frame.assign(object=[4.0, 5.0])).losses)


def test_spectra_of_one_name_are_named() -> None:
    rows = [np.linspace(1.0, 2.0, 12)] * 3
    frame = pd.DataFrame({"object": ["a", "b", "a"], "flux": rows, "flux_err": rows, "wavelength": rows})
    from badac.data import from_table

    assert "1 name came more than once (a)" in str(from_table(frame).losses)

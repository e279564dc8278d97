"""A file that is read in pieces says what a file that is read whole says: names of objects, and numbers of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from badac.data import Layout, from_table
from badac.job import batches

KINDS = ("csv", "parquet", "jsonl")


def stars(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"g": rng.normal(size=n), "g_err": 0.1, "r": rng.normal(size=n), "r_err": 0.1})


def curves(n: int) -> pd.DataFrame:
    """Four points an object."""
    rows = np.arange(4 * n)
    return pd.DataFrame(
        {
            "object": [f"o{row // 4}" for row in rows],
            "time": rows % 4 + 0.5,
            "flux": rows / 7.0,
            "flux_err": 0.1,
        }
    )


def written(frame: pd.DataFrame, kind: str, folder: Path) -> Path:
    path = folder / f"new.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


def names_in(path: Path, layout: Layout) -> list[str]:
    return [str(name) for batch in batches(path, layout, n_rows=10) for name in batch.ids.tolist()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "names",
    [
        pd.Series(range(30)),  # later ones had the number of the rows before them added
        pd.Series([*range(10), *range(100, 120)]),
        pd.Series([*map(str, range(28)), "x1", "007"]),
    ],
)
def test_names_that_begin_like_numbers_of_rows(names: pd.Series, kind: str, tmp_path: Path) -> None:
    frame = stars(30).assign(object=names)
    assert (
        names_in(written(frame, kind, tmp_path), Layout.of(from_table(frame))) == names.astype(str).tolist()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_objects_without_a_name_are_numbered_through(kind: str, tmp_path: Path) -> None:
    frame = stars(25)
    found = names_in(written(frame, kind, tmp_path), Layout.of(from_table(frame)))
    assert found == [str(row) for row in range(25)]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_file(kind: str, tmp_path: Path) -> None:
    """They were counted anew in every piece."""
    frame = stars(30).assign(object=[f"o{row}" for row in range(30)])
    layout = Layout.of(from_table(frame))
    frame.loc[17, "g_err"] = -1.0
    frame.loc[23, "object"] = None
    notes = " ".join(
        str(batch.losses) for batch in batches(written(frame, kind, tmp_path), layout, n_rows=10)
    )
    assert "(row 17, column g)" in notes and "no name (row 23)" in notes
    bad = stars(30).astype({"r": object}).assign(object="o")
    bad.loc[:, "r"] = bad["r"].astype(str)
    bad.loc[27, "r"] = "abc"
    with pytest.raises(ValueError, match="'abc' in row 27"):
        list(batches(written(bad, kind, tmp_path), layout, n_rows=10))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_curves_are_those_of_the_file(kind: str, tmp_path: Path) -> None:
    frame = curves(10)
    layout = Layout.of(from_table(frame))
    frame.loc[30, "flux_err"] = -1.0
    frame.loc[[34, 35], ["time", "flux"]] = 0.5, 1.0  # the second one again
    path = written(frame, kind, tmp_path)
    found = list(batches(path, layout, n_rows=11))
    assert [name for batch in found for name in batch.ids.tolist()] == [f"o{row}" for row in range(10)]
    notes = " ".join(str(batch.losses) for batch in found)
    assert "object o7, row 30" in notes and "object o8, row 35" in notes


def test_files_of_a_survey_that_each_number_their_objects(tmp_path: Path) -> None:
    """On a cluster the names of a piece that begins with 0, 1, 2 were replaced by numbers of rows."""
    pytest.importorskip("dask")
    from badac.dask.pieces import pieces

    frame = stars(10).assign(object=np.arange(10))
    for number in range(2):
        frame.to_parquet(tmp_path / f"{number}.parquet")
    layout = Layout.of(from_table(frame))
    found = [batch.ids.tolist() for piece in pieces(tmp_path, layout) for _, batch in piece.batches(layout)]
    assert found == [list(range(10))] * 2

"""Batches without pandas are those with it, and what pandas alone can read is left to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest

from badac.data import Catalogue, Layout, from_table
from badac.data.arrow_tables import ArrowColumns
from badac.data.files import read_batches
from badac.data.rows import all_distinct, more_than_once


def _table(n: int = 60) -> pandas.DataFrame:
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "object": [f"star {number}" for number in range(n)],
            "g": rng.normal(20, 1, n),
            "g_err": 0.1,
            "r": rng.normal(20, 1, n).astype(np.float32),
            "r_err": np.float32(0.2),
            "visits": np.arange(n),
            "quality_flag": rng.random(n) > 0.5,
            "field": ["north" if number % 2 else "süd" for number in range(n)],
        }
    )


def _read(frames: list[object], layout: Layout) -> Catalogue:
    return Catalogue.together([layout.read(frame) for frame in frames])


@pytest.mark.parametrize("spoilt", ["nothing", "empty cells", "sentinels", "exact", "twice", "no error"])
def test_batches_without_pandas_are_read_as_those_with_it(spoilt: str, tmp_path: Path) -> None:
    table = _table()
    layout = Layout.of(from_table(table))
    if spoilt == "empty cells":
        table.loc[[3, 40], "g"] = np.nan
        table.loc[7, ["g", "r"]] = np.nan
    elif spoilt == "sentinels":
        table.loc[:5, ["g", "g_err"]] = -999.0
    elif spoilt == "exact":
        table.loc[9, "g_err"] = 0.0
    elif spoilt == "twice":
        table.loc[9, "object"] = "star 10"
    elif spoilt == "no error":
        table.loc[[2, 30], "r_err"] = np.nan
    path = tmp_path / "new.parquet"
    table.to_parquet(path)
    plain = list(read_batches(path, 25, plain=True))
    assert all(isinstance(one, ArrowColumns) for one in plain)
    for ours, theirs in zip(plain, read_batches(path, 25), strict=True):
        found, expected = layout.read(ours), layout.read(theirs)
        np.testing.assert_array_equal(found.objects.values, expected.objects.values)
        np.testing.assert_array_equal(found.objects.sigma, expected.objects.sigma)
        np.testing.assert_array_equal(found.ids, expected.ids)
        assert found.recognised == expected.recognised
        assert str(found.losses) == str(expected.losses)
        assert list(found.carried) == list(expected.carried)
        for name, column in found.carried.items():
            np.testing.assert_array_equal(column, expected.carried[name])


@pytest.mark.parametrize("kind", ["index", "list", "category", "date", "empty text"])
def test_what_pandas_alone_can_read_is_left_to_it(kind: str, tmp_path: Path) -> None:
    table = _table(6)
    if kind == "index":
        table = table.set_index("object")
    elif kind == "list":
        table["spectrum"] = [[1.0, 2.0]] * 6
    elif kind == "category":
        table["field"] = table["field"].astype("category")
    elif kind == "date":
        table["seen"] = pandas.Timestamp("2026-01-01")
    elif kind == "empty text":
        table.loc[2, "field"] = None
    path = tmp_path / "new.parquet"
    table.to_parquet(path)
    assert all(isinstance(one, pandas.DataFrame) for one in read_batches(path, 4, plain=True)) == (
        kind != "empty text"
    )
    whole = _read(list(read_batches(path, 4, plain=True)), Layout.of(from_table(_table())))
    np.testing.assert_array_equal(whole.objects.values[:, 0], table["g"])


@pytest.mark.parametrize("dtype", ["<U4", "S4", np.int64, np.float64, object])
def test_names_that_come_twice_are_found(dtype: object) -> None:
    names = np.array([12, 7, 345, 8]).astype(dtype)
    assert all_distinct(names) and more_than_once(names) == ""
    again = np.concatenate([names, names[1:2]])
    assert not all_distinct(again)
    assert more_than_once(again).startswith("1 name came more than once")

"""Numbers that stand for nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from badac.data import Layout, TableWarning, from_frame, from_long, from_table, from_wide

pandas = pytest.importorskip("pandas")


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    n = 40
    return pandas.DataFrame(
        {
            "g": rng.normal(20, 1, n),
            "g_err": rng.uniform(0.01, 0.1, n),
            "r": rng.normal(19, 1, n),
            "r_err": 0.05,
        }
    )


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (99.0, 99.0),
        (-9999.0, -9999.0),
        (-999.0, -999.0),
        (0.0, 0.0),
        (99.99, 9.99e8 * 10 / 9.99),
        (-99.0, 0.0),
    ],
)
def test_a_known_sentinel_in_value_and_error_is_missing_and_said(
    table: Any, value: float, error: float
) -> None:
    table.loc[[3, 5], ["g", "g_err"]] = [value, error]
    found = from_wide(table)
    assert found.objects.observed[:, 0].sum() == 38
    assert (
        f"2 cells taken as missing, where value and error both stand for nothing: g = {value:g} in 2 rows"
        in str(found.losses)
    )
    with pytest.warns(TableWarning, match="2 cells taken as missing"):
        assert from_frame(table).observed[:, 0].sum() == 38


def test_a_sentinel_in_the_value_alone_is_said_only(table: Any) -> None:
    table.loc[7, "g"] = 99.0
    found = from_wide(table)
    assert found.objects.observed.all()
    assert "g is 99 in 1 row; if they mean missing, say missing=[99] (--missing)" in str(found.losses)
    said = from_wide(table, missing=[99])
    assert said.objects.observed[:, 0].sum() == 39
    assert "99 means missing: g in 1 cell" in str(said.losses)


def test_an_extreme_that_many_share_is_said(table: Any) -> None:
    table.loc[[1, 2, 9], "r"] = 57.3
    table.loc[[4], "r"] = 58.0
    said = str(from_wide(table).losses)
    assert "r is 57.3" not in said, "58 is one object's own, and 57.3 not the extreme"
    table.loc[[4], "r"] = 57.3
    assert "r is 57.3 in 4 rows" in str(from_wide(table).losses)


def test_single_precision_and_the_error_column_too(table: Any) -> None:
    table["g"] = table["g"].astype(np.float32)
    table.loc[0, "g"] = np.float32(99.99)
    table.loc[1, "g_err"] = -1.0
    found = from_wide(table, missing=[99.99, -1])
    assert found.objects.observed[:, 0].sum() == 38
    assert not found.losses.left_out


def test_exact_values_and_ordinary_numbers_are_left_alone(table: Any) -> None:
    exact = pandas.DataFrame({"k": [0.0, 1.0, 99.0, 2.0], "k_err": 0.0})
    assert from_wide(exact).objects.observed.all()
    percent = pandas.DataFrame({"p": np.linspace(0, 100, 101), "p_err": 1.0})
    assert str(from_wide(percent).losses) == "nothing left out"
    with_exact = from_wide(table.assign(z=0.0), pair=["z="])
    assert with_exact.objects.observed.all()


def test_rows_of_light_curves_too() -> None:
    rows = pandas.DataFrame({"id": 1, "mjd": np.arange(8.0), "mag": 18.0 + np.arange(8) % 3, "magerr": 0.1})
    rows.loc[2, ["mag", "magerr"]] = [99.0, 99.0]
    found = from_long(rows)
    assert found.objects.observed.sum() == 7
    assert "mag = 99 in 1 row" in str(found.losses)
    assert from_long(rows, missing=[18.0]).objects.observed.sum() < 7


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_error_bar_at_all_is_an_error(table: Any, bad: float) -> None:
    """A model was learned from nothing."""
    with pytest.raises(ValueError, match="no value has a usable error bar.*g, r"):
        from_wide(table.assign(g_err=bad, r_err=bad))
    some = from_wide(table.assign(g_err=bad))
    assert not some.objects.observed[:, 0].any() and some.objects.observed[:, 1].all()
    new = from_wide(table.assign(g_err=bad, r_err=bad), features=("g", "r"))
    assert not new.objects.observed.any(), "of new objects it may be so: they get the prior"


def test_what_missing_takes() -> None:
    frame = pandas.DataFrame({"g": [1.0, 99.0], "g_err": [0.1, 0.1]})
    assert from_wide(frame, missing=99).objects.observed.tolist() == [[True], [False]]
    with pytest.raises(TypeError, match="`missing` must be numbers"):
        from_wide(frame, missing=["99"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="unknown keyword 'mising'"):
        from_wide(frame, mising=[99])  # type: ignore[call-arg]


def test_a_number_that_the_training_table_said_already_is_said_once(table: Any) -> None:
    layout = Layout.of(from_table(table, missing=[-999.0]))
    assert layout.also(missing=(-999.0, 99.0)).missing == (-999.0, 99.0)

"""Tables with `name` and `name_err` columns."""

from __future__ import annotations

import numpy as np
import pytest

from badac.data import from_astropy, from_frame

pandas = pytest.importorskip("pandas")


def test_pairs_of_columns_in_any_order() -> None:
    frame = pandas.DataFrame({"b_err": [0.1], "a": [1.0], "b": [2.0], "a_err": [0.3]})
    found = from_frame(frame)
    assert found.values.tolist() == [[1.0, 2.0]]
    assert found.sigma.tolist() == [[0.3, 0.1]]


def test_no_error_columns_means_no_errors() -> None:
    assert not from_frame(pandas.DataFrame({"a": [1.0], "b": [2.0]})).has_errors


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "a_err", "b"], "'b' has no error column, while 'a' has one"),
        (["a", "a_err", "b_err"], "'b_err' looks like an error column, but no value was found"),
    ],
)
def test_unpaired_columns_are_named(columns: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_frame(pandas.DataFrame({name: [1.0] for name in columns}))


def test_a_column_of_text_is_named() -> None:
    with pytest.raises(ValueError, match="Column 'a' must hold numbers"):
        from_frame(pandas.DataFrame({"a": ["x"], "a_err": [1.0]}))


def test_nullable_columns_are_missing_where_null() -> None:
    frame = pandas.DataFrame({"a": pandas.array([1.0, None], dtype="Float64"), "a_err": [0.1, 0.1]})
    assert from_frame(frame).observed.tolist() == [[True], [False]]


def test_astropy_units_and_masks() -> None:
    table = pytest.importorskip("astropy.table")
    units = pytest.importorskip("astropy.units")
    flux = table.MaskedColumn([1.0, 2.0], mask=[False, True], unit=units.Jy)
    error = table.Column([100.0, 200.0], unit=units.mJy)
    found = from_astropy(table.Table({"flux": flux, "flux_err": error}))
    assert found.observed.tolist() == [[True], [False]]
    assert found.sigma[0, 0] == pytest.approx(0.1)
    quantity = from_astropy(table.QTable({"flux": [1.0] * units.Jy, "flux_err": [5.0] * units.mJy}))
    assert quantity.sigma[0, 0] == pytest.approx(0.005)
    with pytest.raises(ValueError, match="does not convert"):
        from_astropy(table.QTable({"flux": [1.0] * units.Jy, "flux_err": [5.0] * units.m}))
    with pytest.raises(ValueError, match="both have a unit"):
        from_astropy(table.QTable({"flux": [1.0] * units.Jy, "flux_err": [5.0]}))
    assert np.isfinite(quantity.values).all()

"""Columns kept as stretches are the columns."""

from __future__ import annotations

import numpy as np

from badac._kernels.stretches import Stretches


def columns() -> np.ndarray:
    """Some with a gap inside of their stretch, one that is empty, one that is whole, negative numbers."""
    rng = np.random.default_rng(5)
    out = np.where(rng.random((12, 9)) < 0.2, rng.standard_normal((12, 9)), 0.0)
    out[:, 3] = 0.0
    out[:, 4] = 1.0 + rng.random(12)
    return out


def test_there_and_back() -> None:
    table = columns()
    found = Stretches.of(table)
    assert found.shape == table.shape
    np.testing.assert_array_equal(found.dense(), table)
    np.testing.assert_array_equal(found.largest(), np.abs(table).max(axis=0))


def test_some_columns_in_any_order() -> None:
    table = columns()
    which = np.array([4, 0, 3, 4, 8])
    np.testing.assert_array_equal(Stretches.of(table).take(which).dense(), table[:, which])
    mask = np.arange(9) % 2 == 0
    np.testing.assert_array_equal(Stretches.of(table).take(mask).dense(), table[:, mask])


def test_each_point() -> None:
    np.testing.assert_array_equal(Stretches.each_point(4).dense(), np.eye(4))


def test_numbers_in_any_order() -> None:
    table = columns()
    row, column = np.nonzero(table)
    shuffled = np.random.default_rng(0).permutation(len(row))
    row, column = row[shuffled], column[shuffled]
    np.testing.assert_array_equal(
        Stretches.of_numbers(row, column, table[row, column], table.shape).dense(), table
    )

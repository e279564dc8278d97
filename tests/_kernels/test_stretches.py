"""Columns kept as stretches are the columns."""

from __future__ import annotations

import numpy as np
import pytest

from badac._kernels import stretches
from badac._kernels.stretches import Stretches


def columns() -> np.ndarray:
    """Some with a gap inside of their stretch, one that is empty, one that is whole, negative numbers."""
    rng = np.random.default_rng(5)
    out = np.where(rng.random((12, 9)) < 0.2, rng.standard_normal((12, 9)), 0.0)
    out[:, 3] = 0.0
    out[:, 4] = 1.0 + rng.random(12)
    return out


@pytest.mark.parametrize("at_a_time", [1, 40, 2_000_000])
def test_there_and_back(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_AT_A_TIME", at_a_time)
    table = columns()
    found = Stretches.at(lambda where: table[where.astype(int)], np.arange(12.0))
    assert found.shape == table.shape
    np.testing.assert_array_equal(found.dense(), table)
    np.testing.assert_array_equal(Stretches.of(table).dense(), table)
    np.testing.assert_array_equal(found.largest(), np.abs(table).max(axis=0))


def test_some_columns_in_any_order() -> None:
    table = columns()
    which = np.array([4, 0, 3, 4, 8])
    np.testing.assert_array_equal(Stretches.of(table).take(which).dense(), table[:, which])
    mask = np.arange(9) % 2 == 0
    np.testing.assert_array_equal(Stretches.of(table).take(mask).dense(), table[:, mask])


def test_each_point() -> None:
    np.testing.assert_array_equal(Stretches.each_point(4).dense(), np.eye(4))


def test_narrow_columns_take_little_room() -> None:
    m = 3000
    where, places = np.linspace(0.0, 1.0, m), np.linspace(0.0, 1.0, 2 * m)
    found = Stretches.at(lambda x: (np.abs(x[:, None] - places) < 2.0 / m).astype(float), where)
    # Four points each, of 3,000.
    assert len(found.height) <= 5 * 2 * m

"""The table: sorted, cut, printed, and as a list with a stated share of false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from badac.ranking import Ranking, strangest_first


@pytest.fixture
def table() -> Ranking:
    score = np.array([0.5, 9.0, -2.0, 7.0])
    order = strangest_first(score)
    return Ranking(order, score[order], None, np.array(["a", "b", "a", "b"])[order], np.full(4, 0.9))


def test_strangest_first_and_ties_keep_the_order_of_the_data() -> None:
    np.testing.assert_array_equal(strangest_first(np.array([1.0, 3.0, 1.0, 3.0])), [1, 3, 0, 2])


def test_a_list_holds_the_discoveries_in_the_order_of_the_score(table: Ranking) -> None:
    listed = table.discoveries(np.array([0.6, 0.02, 0.9, 0.01]), 0.1)
    np.testing.assert_array_equal(listed.objects, [1, 3])
    assert listed.pvalue is not None
    np.testing.assert_array_equal(listed.pvalue, [0.02, 0.01])
    assert listed.fdr == 0.1
    # Four objects, the largest p-value listed is 0.02.
    assert listed.expected_false_alarms == pytest.approx(0.08)
    assert "at most 0.1 false alarms expected" in repr(listed)


def test_a_list_may_be_empty(table: Ranking) -> None:
    listed = table.discoveries(np.full(4, 0.5), 0.1)
    assert len(listed) == 0
    assert listed.expected_false_alarms == 0.0
    assert "pvalue" in str(listed)


def test_rows_and_columns_belong_together(table: Ranking) -> None:
    rows = list(table.head(2))
    assert [row["object"] for row in rows] == [1, 3]
    assert [row["class"] for row in rows] == ["b", "b"]
    assert "pvalue" not in rows[0]
    assert len(table.head(10)) == 4

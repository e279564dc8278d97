"""The table: sorted, cut, printed, and as a list with a stated share of false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from badac.ranking import Ranking, strangest_first
from badac.verdicts import Verdicts


def verdicts(**more: np.ndarray) -> Verdicts:
    score = np.array([0.5, 9.0, -2.0, 7.0])
    proba = np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.1, 0.9]])
    return Verdicts(np.array(["a", "b"]), {"score": score, "proba": proba, **more})


@pytest.fixture
def table() -> Ranking:
    return Ranking.of(verdicts())


def test_strangest_first_and_ties_keep_the_order_of_the_data() -> None:
    np.testing.assert_array_equal(strangest_first(np.array([1.0, 3.0, 1.0, 3.0])), [1, 3, 0, 2])


@pytest.mark.parametrize("score", [-4.793323922012443, 1e300, 3e-300, 0.7])
def test_scores_that_were_summed_otherwise_are_ties(score: float) -> None:
    """The same object in another partition differs in the last digits: it keeps its place in the data."""
    other = np.nextafter(np.nextafter(score, np.inf), np.inf)
    np.testing.assert_array_equal(strangest_first(np.array([score, other])), [0, 1])
    np.testing.assert_array_equal(strangest_first(np.array([score, score + 1e-9 * abs(score)])), [1, 0])


def test_scores_without_end_and_without_value_have_their_places() -> None:
    np.testing.assert_array_equal(strangest_first(np.array([0.0, np.nan, -np.inf, np.inf])), [3, 0, 2, 1])


def test_a_list_holds_the_discoveries_in_the_order_of_the_score() -> None:
    listed = Ranking.of(verdicts(pvalue=np.array([0.6, 0.02, 0.9, 0.01]))).discoveries(0.1)
    np.testing.assert_array_equal(listed.objects, [1, 3])
    assert listed.pvalue is not None
    np.testing.assert_array_equal(listed.pvalue, [0.02, 0.01])
    assert listed.fdr == 0.1
    # Four objects, the largest p-value listed is 0.02.
    assert listed.expected_false_alarms == pytest.approx(0.08)
    assert "at most 0.1 false alarms expected" in repr(listed)


def test_a_list_may_be_empty() -> None:
    listed = Ranking.of(verdicts(pvalue=np.full(4, 0.5))).discoveries(0.1)
    assert len(listed) == 0
    assert listed.expected_false_alarms == 0.0
    assert "pvalue" in str(listed)


def test_rows_and_columns_belong_together(table: Ranking) -> None:
    rows = list(table.head(2))
    assert [row["object"] for row in rows] == [1, 3]
    assert [row["class"] for row in rows] == ["b", "b"]
    assert "pvalue" not in rows[0]
    assert len(table.head(10)) == 4


def test_a_list_needs_pvalues(table: Ranking) -> None:
    with pytest.raises(KeyError, match="'pvalue' was not asked for: the table has score, proba"):
        table.discoveries(0.1)


def test_verdicts_are_cut_and_put_together_with_all_their_columns() -> None:
    whole = verdicts(object=np.array(["w", "x", "y", "z"]))
    parts = [whole.take([0]), whole.take([1, 2]), whole.take([3])]
    again = Verdicts.together(parts)
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(again.columns()[name], column)
    assert list(whole.columns()) == ["object", "score", "class", "class_proba", "proba_a", "proba_b"]
    assert list(Ranking.of(whole).ids) == ["x", "z", "w", "y"]
    nothing = Verdicts.empty(whole.classes, ("score", "proba"))
    assert len(nothing) == 0 and list(nothing.columns()) == list(verdicts().columns())

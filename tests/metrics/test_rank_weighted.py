"""The rank-weighted score against its definition, by hand and by brute force over the orders of ties."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from badac.metrics import rank_weighted_score
from badac.metrics.rank_weighted import expected_flag


def definition(is_anomaly, order, n):
    """The paper's sum for one explicit order of the objects (strangest first)."""
    listed = list(order)[:n]
    weights = [n + 1 - rank for rank in range(1, len(listed) + 1)]
    return sum(w for w, i in zip(weights, listed, strict=True) if is_anomaly[i]) / sum(weights)


def mean_over_orders(is_anomaly, score, n):
    orders = [p for p in permutations(range(len(score))) if all(np.diff([score[i] for i in p]) <= 0)]
    return np.mean([definition(is_anomaly, order, n) for order in orders])


def test_hand_computed():
    # N = 3: weights 3, 2, 1 over S_0 = 6; anomalies at ranks 1 and 3.
    assert rank_weighted_score([0, 1, 0, 1], [2.0, 9.0, 3.0, 2.5], n=3) == pytest.approx(4 / 6)


def test_paper_normalisation_and_limits():
    n = 7
    score = np.arange(20.0)
    top = score >= 20 - n
    assert rank_weighted_score(top, score, n) == 1.0
    assert rank_weighted_score(~top, score, n) == 0.0
    # One anomaly at rank i scores (N + 1 - i) / (N (N + 1) / 2).
    for i in range(1, n + 1):
        assert rank_weighted_score(score == 20 - i, score, n) == pytest.approx(
            (n + 1 - i) / (n * (n + 1) / 2)
        )


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6),
    st.integers(1, 8),
)
def test_ties_are_the_mean_over_all_orders(objects, n):
    is_anomaly, score = [a for a, _ in objects], [float(s) for _, s in objects]
    assert rank_weighted_score(is_anomaly, score, n) == pytest.approx(mean_over_orders(is_anomaly, score, n))


def test_all_tied_scores_the_share_of_anomalies():
    assert rank_weighted_score([1, 0, 0, 1, 0], np.zeros(5), n=2) == pytest.approx(0.4)


@given(st.permutations(range(8)), st.integers(1, 12))
def test_order_of_objects_does_not_matter(order, n):
    score = np.array([3.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0, np.inf])
    is_anomaly = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    shuffled = rank_weighted_score(is_anomaly[list(order)], score[list(order)], n)
    assert shuffled == pytest.approx(rank_weighted_score(is_anomaly, score, n))


def test_longer_list_than_objects_still_reaches_one():
    assert rank_weighted_score([1, 1, 1], [3.0, 2.0, 1.0], n=10) == 1.0
    # Weights 10, 9, 8 for the three ranks that exist.
    assert rank_weighted_score([0, 1, 0], [3.0, 2.0, 1.0], n=10) == pytest.approx(9 / 27)


def test_infinite_scores_have_a_rank():
    assert rank_weighted_score([1, 0, 0], [np.inf, 0.0, -np.inf], n=1) == 1.0


def test_expected_flag_sums_to_the_number_flagged():
    score = np.array([1.0, 1.0, 1.0, 0.0, 2.0])
    np.testing.assert_allclose(expected_flag(score, 3), [2 / 3, 2 / 3, 2 / 3, 0.0, 1.0])


@pytest.mark.parametrize(
    ("is_anomaly", "score", "n", "message"),
    [
        ([0, 1], [1.0, np.nan], 1, "NaN at object 1"),
        ([0, 1, 1], [1.0, 2.0], 1, r"shapes \(3,\) and \(2,\)"),
        ([[0, 1]], [[1.0, 2.0]], 1, "one-dimensional"),
        ([], [], 1, "at least one object"),
        ([0, 2], [1.0, 2.0], 1, "got .*2.* at object 1"),
        (["a", "b"], [1.0, 2.0], 1, "Compare first"),
        ([0, 1], [1j, 2.0], 1, "real numbers"),
        ([0, 1], ["x", "y"], 1, "real numbers"),
        ([0, 1], [1.0, 2.0], 0, "at least 1: got 0"),
        ([0, 1], [1.0, 2.0], 1.5, "whole number"),
    ],
)
def test_bad_input_says_what_and_where(is_anomaly, score, n, message):
    with pytest.raises(ValueError, match=message):
        rank_weighted_score(is_anomaly, score, n)


def test_inputs_are_not_changed():
    is_anomaly, score = np.array([1, 0, 1]), np.array([1.0, 3.0, 2.0])
    rank_weighted_score(is_anomaly, score, 2)
    np.testing.assert_array_equal(is_anomaly, [1, 0, 1])
    np.testing.assert_array_equal(score, [1.0, 3.0, 2.0])

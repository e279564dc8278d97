"""Bayes' rule, priors and odds."""

from __future__ import annotations

import numpy as np
import pytest

from badac.posterior import anomaly_log_odds, class_log_prior, log_posterior, log_total, possible, probability


def test_posterior_by_hand() -> None:
    evidence, prior = np.log([[0.2, 0.6]]), np.log([0.75, 0.25])
    np.testing.assert_allclose(np.exp(log_posterior(evidence, prior)), [[0.5, 0.5]])
    assert np.exp(log_total(evidence, prior)) == pytest.approx(0.3)


def test_far_from_every_class_the_nearest_wins_without_underflow() -> None:
    found = log_posterior(np.array([[-1e6, -1e6 - 800.0]]), np.log([0.5, 0.5]))
    assert found[0, 0] == 0.0
    assert found[0, 1] == -800.0


def test_an_object_that_no_class_explains_gets_the_prior() -> None:
    found = np.exp(log_posterior(np.full((1, 2), -np.inf), np.log([0.75, 0.25])))
    np.testing.assert_allclose(found, [[0.75, 0.25]])


def test_anomaly_probability_by_hand() -> None:
    odds = anomaly_log_odds(np.log([0.09]), np.log([0.01]), anomaly_prior=0.1)
    assert probability(odds)[0] == pytest.approx(0.1 * 0.09 / (0.1 * 0.09 + 0.9 * 0.01))


def test_class_priors() -> None:
    classes, counts = np.array(["a", "b"]), np.array([3.0, 1.0])
    np.testing.assert_allclose(np.exp(class_log_prior(None, classes, counts)), [0.75, 0.25])
    np.testing.assert_allclose(np.exp(class_log_prior("uniform", classes, counts)), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(class_log_prior({"b": 0.9, "a": 0.1}, classes, counts)), [0.1, 0.9])
    np.testing.assert_allclose(np.exp(class_log_prior([1.0, 0.0], classes, counts)), [1.0, 0.0])


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ("flat", '"uniform"'),
        ({"a": 1.0}, r"missing \['b'\]"),
        ({"a": 0.5, "b": 0.3, "c": 0.2}, r"unknown \['c'\]"),
        ([0.5, 0.4], "sum to 1"),
        ([1.5, -0.5], "sum to 1"),
        ([1.0], "one probability per class, 2"),
        ([np.nan, 1.0], "sum to 1"),
    ],
)
def test_bad_priors(priors: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_log_prior(priors, np.array(["a", "b"]), np.array([1.0, 1.0]))


def test_classes_that_are_equally_impossible_share_the_probability() -> None:
    found = np.exp(log_posterior(np.array([[-1e121, -1e121]]), np.log([0.5, 0.5])))
    np.testing.assert_allclose(found, [[0.5, 0.5]], rtol=1e-15)


def test_priors_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="one per class in the order"):
        class_log_prior(["a", "b"], np.array([0, 1]), np.array([1.0, 1.0]))


def test_where_a_class_is_impossible_the_frequencies_stand_in() -> None:
    usual = np.log([0.3, 0.7])
    assert possible(usual, np.array([1, 1])) is usual
    np.testing.assert_allclose(possible(np.array([0.0, -np.inf]), np.array([1, 3])), np.log([0.25, 0.75]))

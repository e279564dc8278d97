"""What gaps say of the class: used when left-out objects say so, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.calibration.missingness import Missingness, learn_missingness, log_probability

EVEN = np.log([0.5, 0.5])


def gaps(label: np.ndarray, shares: tuple[float, float], rng: np.random.Generator, m: int = 6) -> np.ndarray:
    """Points observed with a probability that depends on the class."""
    return rng.random((len(label), m)) < np.array(shares)[label][:, None]


@pytest.fixture
def label(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, 600)


def test_log_probability_is_a_product_of_bernoullis() -> None:
    share = np.array([[0.2, 0.7]])
    found = log_probability(np.array([[True, False]]), share)
    assert found[0, 0] == pytest.approx(np.log(0.2 * 0.3))
    every = np.array([[a, b] for a in (True, False) for b in (True, False)])
    assert np.exp(log_probability(every, share)).sum() == pytest.approx(1.0)


def test_telling_gaps_get_their_weight(label: np.ndarray, rng: np.random.Generator) -> None:
    observed = gaps(label, (0.4, 0.8), rng)
    found = learn_missingness(observed, label, np.arange(600), np.zeros((600, 2)), EVEN)
    # Independent points follow the factor, so its weight is one, within its error and never above.
    assert found.weight > 1.0 - 4 * found.uncertainty
    right = np.asarray(found.log_factor(observed)).argmax(axis=1) == label
    assert right.mean() > 0.75


@pytest.mark.parametrize("seed", range(5))
def test_gaps_by_chance_are_not_used(seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 600)
    found = learn_missingness(gaps(label, (0.6, 0.6), rng), label, np.arange(600), np.zeros((600, 2)), EVEN)
    assert (
        found.weight * np.ptp(log_probability(gaps(label, (0.6, 0.6), rng), found.share), axis=1).mean() < 0.3
    )


def test_points_that_go_missing_together_count_once(label: np.ndarray, rng: np.random.Generator) -> None:
    together = np.repeat(gaps(label, (0.4, 0.8), rng, m=1), 6, axis=1)
    found = learn_missingness(together, label, np.arange(600), np.zeros((600, 2)), EVEN)
    assert found.weight == pytest.approx(1 / 6, abs=4 * found.uncertainty)


def test_complete_data_and_nothing_to_learn_from(label: np.ndarray) -> None:
    complete = learn_missingness(np.ones((600, 3), bool), label, np.arange(600), np.zeros((600, 2)), EVEN)
    assert complete.weight == 0.0 and complete.log_factor(np.ones((2, 3), bool)) == 0.0
    assert Missingness.ignored().log_factor(np.zeros((2, 3), bool)) == 0.0


def test_the_classifier_uses_gaps_and_can_be_told_not_to(label: np.ndarray, rng: np.random.Generator) -> None:
    values = np.where(gaps(label, (0.3, 0.9), rng), rng.standard_normal((600, 6)), np.nan)
    objects = Measurements(values, 0.5)
    used = BADACClassifier(class_model="population", random_state=0).fit(objects[:400], label[:400])
    ignored = BADACClassifier(class_model="population", missingness="ignore", random_state=0)
    ignored.fit(objects[:400], label[:400])
    assert used.score(objects[400:], label[400:]) > 0.85
    assert ignored.score(objects[400:], label[400:]) < 0.7
    assert ignored.missingness_.weight == 0.0
    with pytest.raises(ValueError, match="`missingness` must be"):
        BADACClassifier(missingness="sometimes").fit(objects, label)

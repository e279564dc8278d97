"""P-values: ranks among left-out objects, made comparable, continued by a tail; lists keep their false-discovery rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from badac import Measurements
from badac.calibration.discoveries import (
    discoveries,
    expected_false_alarms,
    false_share_bound,
    why_empty,
)
from badac.calibration.pool import Pool
from badac.calibration.pvalues import LeftOut, noise_level
from badac.calibration.score_map import noise_ranges, range_edges
from badac.calibration.tail import ParetoTail
from badac.classes import TrainingScales


def left_out(score: np.ndarray, level: np.ndarray | None = None, kind: np.ndarray | None = None) -> LeftOut:
    n = len(score)
    kind = np.zeros(n, dtype=np.int64) if kind is None else kind
    return LeftOut(
        np.arange(n), score, np.zeros(n) if level is None else level, kind, int(kind.max(initial=0)) + 1
    )


def test_a_pvalue_counts_the_known_objects_that_are_as_strange() -> None:
    pool = Pool.of(np.arange(99.0)[::-1])
    np.testing.assert_allclose(pool.pvalue(np.array([-5.0, 50.0, 80.0])), [1.0, 0.5, 0.2])
    assert not pool.extrapolated(np.array([80.0]))[0]


def test_beyond_the_pool_the_tail_goes_on_without_a_step_and_falls() -> None:
    rng = np.random.default_rng(0)
    pool = Pool.of(rng.exponential(size=2000))
    score = np.linspace(0.0, 40.0, 4001)
    pvalue = pool.pvalue(score)
    assert (np.diff(pvalue) <= 0).all() and (pvalue > 0).all()
    joint = np.argmax(pool.extrapolated(score))
    assert pvalue[joint] > 0.9 * pvalue[joint - 1]
    # Exponential scores: exp(-12) is known to a factor, not to a digit.
    assert 0.1 < pool.pvalue(np.array([12.0]))[0] / np.exp(-12.0) < 100.0


@pytest.mark.parametrize("shape", [0.0, 0.3])
def test_extrapolated_pvalues_are_right_on_average(shape: float, rng: np.random.Generator) -> None:
    """Over many pools of 500, a new object has p <= 1e-4 at most about once in ten thousand."""
    share = []
    for _ in range(300):
        uniform = rng.random(500)
        known = -np.log(uniform) if shape == 0 else (uniform**-shape - 1) / shape
        pool = Pool.of(known)
        cut = pool._score_at(1e-4)
        share.append(np.exp(-cut) if shape == 0 else (1 + shape * cut) ** (-1 / shape))
    # From 25 excesses four orders of magnitude are not told: the average tail is heavier than the best fit, and safe.
    assert 1e-6 < np.mean(share) < 2e-4


def test_few_or_equal_scores_have_a_tail_too() -> None:
    for known in (np.zeros(50), np.array([1.0]), np.array([1.0, 1.0, 2.0]), np.empty(0)):
        pool = Pool.of(known)
        found = pool.pvalue(np.array([-1.0, 1.0, 5.0, 1e9, np.inf]))
        assert (np.diff(found) <= 0).all() and (found > 0).all() and (found <= 1).all()
    tail = ParetoTail.of(np.empty(0), 0.0)
    assert tail.weight.sum() == pytest.approx(1.0)


def test_uniform_in_every_class_and_noise(rng: np.random.Generator) -> None:
    """Scores that depend wildly on class and noise: the map takes it out. Each round has its own left-out objects."""
    found, label = [], []
    for _ in range(100):
        n = 2400
        kind = rng.integers(2, size=n)
        level = np.where(kind == 0, 0.0, np.log(2.0)) + np.log(2.0) * rng.integers(2, size=n)
        score = rng.standard_normal(n) * np.exp(level) + 5.0 * kind - 3.0 * level
        known = left_out(score[20:], level[20:], kind[20:])
        found.append(known.compare(score[:20], level[:20], kind[:20])[0])
        label.append(kind[:20] * 2 + (level[:20] > 0.5 * np.log(8.0)))
    pvalue, group = np.concatenate(found), np.concatenate(label)
    assert kstest(pvalue, "uniform").pvalue > 1e-3
    for which in np.unique(group):
        own = pvalue[group == which]
        # A location and a scale are not the whole distribution: near uniform where it matters, at small p-values.
        for small in (0.02, 0.1):
            assert abs((own <= small).mean() - small) < 4 * np.sqrt(small * (1 / own.size + 1 / 600))


def test_confirmed_known_objects_join() -> None:
    known = left_out(np.arange(200.0))
    more = known.joined_by(np.full(100, 500.0), np.zeros(100), np.zeros(100, dtype=np.int64))
    assert len(more) == 300 and (more.rows[200:] == -1).all()
    asked = np.array([400.0]), np.zeros(1), np.zeros(1, dtype=np.int64)
    assert more.compare(*asked)[0][0] > 0.3 > known.compare(*asked)[0][0]


def test_objects_with_the_same_error_bars_stay_together() -> None:
    level = np.repeat(np.log([1.0, 1.1, 3.0, 3.3]), [92, 113, 93, 103])
    np.testing.assert_allclose(range_edges(level, 190.0), [0.5 * np.log(3.3)])
    np.testing.assert_allclose(range_edges(level, 90.0), [0.5 * np.log(3.3)])
    assert range_edges(level, 300.0).size == 0


def test_similar_noise_is_one_range() -> None:
    level = np.log(np.random.default_rng(0).uniform(0.9, 1.1, 5000))
    assert noise_ranges(level, 1).size == 0


def test_benjamini_hochberg_by_hand() -> None:
    pvalue = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216])
    np.testing.assert_array_equal(np.flatnonzero(discoveries(pvalue, 0.05)), [0, 1])
    assert expected_false_alarms(pvalue, discoveries(pvalue, 0.05)) == pytest.approx(0.08)
    assert not discoveries(np.full(5, 0.5), 0.1).any()
    assert expected_false_alarms(np.full(5, 0.5), np.zeros(5, dtype=bool)) == 0.0


def test_the_realised_false_discovery_rate_and_the_bound_keep_their_word(rng: np.random.Generator) -> None:
    """Anomalies at 4 sigma among 2 %: the mean share of false alarms, and how often the bound on it is exceeded."""
    shares, exceeded = [], []
    rounds = 120
    for _ in range(rounds):
        pool = Pool.of(rng.standard_normal(2000))
        new = np.concatenate([rng.standard_normal(980), rng.normal(4.0, 1.0, 20)])
        pvalue = pool.pvalue(new)
        found = discoveries(pvalue, 0.2)
        shares.append(found[:980].sum() / max(found.sum(), 1))
        bound = false_share_bound(pool, 1000, int(found.sum()), float(pvalue[found].max(initial=0.0)))
        exceeded.append(shares[-1] > bound)
    assert np.mean(shares) < 0.2 + 3 * np.std(shares) / np.sqrt(rounds)
    # The level is used: a procedure that never finds anything would pass the line above too.
    assert np.mean(shares) > 0.1
    assert np.mean(exceeded) < 0.1 + 3 * np.sqrt(0.09 / rounds)


def test_few_anomalies_among_many_have_a_list(rng: np.random.Generator) -> None:
    """30 plain anomalies among 100,000 and 2,000 known objects: counting alone can never list them."""
    pool = Pool.of(rng.standard_normal(2000))
    new = np.concatenate([rng.standard_normal(99_970), np.full(30, 30.0)])
    counted = (1.0 + pool.counted(new)) / 2001.0
    assert not discoveries(counted, 0.1).any()
    found = discoveries(pool.pvalue(new), 0.1)
    assert found[-30:].all() and found[:-30].sum() <= 10


def test_an_empty_list_says_why_and_what_would_fill_it() -> None:
    few = why_empty(1000, 1 / 101, 1, 100, 0.1)
    assert "100 objects as strange as the strangest" in few and "9,900 more labelled objects" in few
    assert "labelled" not in why_empty(1000, 0.2, 3, 100, 0.1)
    assert "no objects" in why_empty(0, 1.0, 0, 100, 0.1)


def test_a_share_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`fdr` must be a share.*got 10"):
        discoveries(np.ones(3), 10.0)


@pytest.mark.parametrize("share", ["0.1", None, True, np.nan, 0.0, 1.0])
def test_a_share_of_false_alarms_is_a_number(share: object) -> None:
    with pytest.raises(ValueError, match="`fdr` must be a share"):
        discoveries(np.array([0.1]), share)


def test_noise_level_follows_the_error_bars_and_counts_gaps_as_noise() -> None:
    scales = TrainingScales(np.zeros(4), np.full(4, 2.0), -1.0, 1.0)
    sigma = np.array([[0.5] * 4, [1.0] * 4])
    level = noise_level(Measurements(np.zeros((2, 4)), sigma), scales)
    np.testing.assert_allclose(level, np.log([0.25, 0.5]), rtol=1e-6)
    gaps = np.array([[0.0, np.nan, np.nan, np.nan]])
    assert noise_level(Measurements(gaps, 0.5), scales)[0] == pytest.approx(np.log(0.25 * 2.0))
    assert np.isfinite(noise_level(Measurements(np.zeros((1, 4))), scales)[0])


def test_scores_on_one_scale_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(12)
    kind = np.arange(400) % 2
    mapped = left_out(rng.exponential(size=400) * (1.0 + 4.0 * kind), kind=kind)
    plain = LeftOut(mapped.rows, mapped.score, mapped.level, mapped.predicted, 2, one_scale=True)
    new, level = np.linspace(-1.0, 30.0, 40), np.zeros(40)
    of_either = [plain.compare(new, level, np.full(40, number))[0] for number in (0, 1)]
    # The same score has the same p-value, whatever the class; a map tells the quiet class from the loud one.
    np.testing.assert_array_equal(*of_either)
    assert (np.diff(of_either[0]) <= 0).all()
    assert (
        mapped.compare(new[10:11], level[:1], np.array([0]))[0]
        < mapped.compare(new[10:11], level[:1], np.array([1]))[0]
    )

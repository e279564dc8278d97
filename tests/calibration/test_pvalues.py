"""P-values are ranks among kept-back objects of the same stratum; lists keep their false-discovery rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from badac import Measurements
from badac.calibration.pvalues import (
    CalibrationScores,
    Strata,
    discoveries,
    expected_false_alarms,
    keep_back,
    noise_level,
    range_edges,
)
from badac.classes import TrainingScales


def one_stratum(n_classes: int = 1) -> Strata:
    return Strata(np.empty(0), np.ones((n_classes, 1), dtype=bool))


def test_a_pvalue_counts_the_kept_back_objects_that_are_as_strange() -> None:
    known = np.array([1.0, 2.0, 3.0])
    calibration = CalibrationScores.of(known, np.zeros(3), np.zeros((3, 1)), one_stratum())
    new = np.array([0.0, 2.0, 9.0])
    found = calibration.pvalues(new, np.zeros(3), np.zeros((3, 1)))
    np.testing.assert_allclose(found, [4 / 4, 3 / 4, 1 / 4])


def test_objects_are_compared_within_their_predicted_class() -> None:
    posterior = np.log([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]])
    calibration = CalibrationScores.of(np.array([1.0, 2.0, 50.0]), np.zeros(3), posterior, one_stratum(2))
    found = calibration.pvalues(np.array([10.0, 10.0]), np.zeros(2), np.log([[0.7, 0.3], [0.3, 0.7]]))
    np.testing.assert_allclose(found, [1 / 3, 2 / 2])


def test_an_empty_stratum_falls_back_on_all_objects() -> None:
    calibration = CalibrationScores.of(np.arange(4.0), np.zeros(4), np.log([[0.9, 0.1]] * 4), one_stratum(2))
    assert calibration.pvalues(np.array([2.5]), np.zeros(1), np.log([[0.1, 0.9]]))[0] == pytest.approx(2 / 5)


def test_uniform_whatever_the_score_and_the_noise(rng: np.random.Generator) -> None:
    """Scores that depend wildly on class and noise: the strata take it out. Each round has its own kept-back objects."""
    found, label = [], []
    for _ in range(200):
        n = 1400
        kind = rng.integers(2, size=n)
        level = np.where(kind == 0, 0.0, np.log(2.0)) + np.log(2.0) * rng.integers(2, size=n)
        score = rng.standard_normal(n) * np.exp(level) + 5.0 * kind - 3.0 * level
        posterior = np.log(np.where(kind[:, None] == [0, 1], 0.9, 0.1))
        strata = Strata.of(level, kind, 4000, 2)
        assert strata.edges.size == 2
        calibration = CalibrationScores.of(score[10:], level[10:], posterior[10:], strata)
        found.append(calibration.pvalues(score[:10], level[:10], posterior[:10]))
        label.append(kind[:10] * 2 + (level[:10] > 0.5 * np.log(8.0)))
    pvalue, group = np.concatenate(found), np.concatenate(label)
    for which in np.unique(group):
        assert kstest(pvalue[group == which], "uniform").pvalue > 1e-3


def test_a_noise_that_the_predicted_class_never_shows_is_compared_with_one_that_does() -> None:
    level = np.repeat([0.0, 1.0], 2000)
    strata = Strata.of(level, (level > 0.5).astype(np.int64), 2000, 2)
    quiet = strata.number(np.array([0.0]), np.log([[0.1, 0.9]]))
    assert quiet == strata.number(np.array([0.0]), np.log([[0.9, 0.1]]))


def test_objects_with_the_same_error_bars_stay_together() -> None:
    level = np.repeat(np.log([1.0, 1.1, 3.0, 3.3]), [92, 113, 93, 103])
    np.testing.assert_allclose(range_edges(level, 190.0), [0.5 * np.log(3.3)])
    np.testing.assert_allclose(range_edges(level, 90.0), [0.5 * np.log(3.3)])
    assert range_edges(level, 300.0).size == 0


def test_similar_noise_is_one_range() -> None:
    level = np.log(np.random.default_rng(0).uniform(0.9, 1.1, 5000))
    assert Strata.of(level, np.zeros(5000, dtype=np.int64), 5000, 1).edges.size == 0


def test_benjamini_hochberg_by_hand() -> None:
    pvalue = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216])
    np.testing.assert_array_equal(np.flatnonzero(discoveries(pvalue, 0.05)), [0, 1])
    assert expected_false_alarms(pvalue, discoveries(pvalue, 0.05)) == pytest.approx(0.08)
    assert not discoveries(np.full(5, 0.5), 0.1).any()
    assert expected_false_alarms(np.full(5, 0.5), np.zeros(5, dtype=bool)) == 0.0


def test_a_share_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`fdr` must be a share.*got 10"):
        discoveries(np.ones(3), 10.0)


def test_the_realised_false_discovery_rate_keeps_its_bound(rng: np.random.Generator) -> None:
    """Anomalies at 3 sigma among 2 %: the mean share of false alarms is below the bound plus three standard errors."""
    shares = []
    for _ in range(200):
        known = rng.standard_normal(2000)
        new = np.concatenate([rng.standard_normal(980), rng.normal(4.0, 1.0, 20)])
        calibration = CalibrationScores.of(known, np.zeros(2000), np.zeros((2000, 1)), one_stratum())
        found = discoveries(calibration.pvalues(new, np.zeros(1000), np.zeros((1000, 1))), 0.2)
        shares.append(found[:980].sum() / max(found.sum(), 1))
    assert np.mean(shares) < 0.2 + 3 * np.std(shares) / np.sqrt(200)
    # The bound is used: a procedure that never finds anything would pass the line above too.
    assert np.mean(shares) > 0.05


def test_every_class_keeps_some_members_and_gives_some(rng: np.random.Generator) -> None:
    label = np.repeat([0, 1, 2], [2, 30, 4000])
    kept = keep_back(label, rng)
    np.testing.assert_array_equal(np.bincount(label[kept], minlength=3), [0, 10, 2000])


def test_noise_level_follows_the_error_bars_and_counts_gaps_as_noise() -> None:
    scales = TrainingScales(np.zeros(4), np.full(4, 2.0), -1.0, 1.0)
    sigma = np.array([[0.5] * 4, [1.0] * 4])
    level = noise_level(Measurements(np.zeros((2, 4)), sigma), scales)
    np.testing.assert_allclose(level, np.log([0.25, 0.5]), rtol=1e-6)
    gaps = np.array([[0.0, np.nan, np.nan, np.nan]])
    assert noise_level(Measurements(gaps, 0.5), scales)[0] == pytest.approx(np.log(0.25 * 2.0))
    assert np.isfinite(noise_level(Measurements(np.zeros((1, 4))), scales)[0])


@pytest.mark.parametrize("share", ["0.1", None, True, np.nan, 0.0, 1.0])
def test_a_share_of_false_alarms_is_a_number(share: object) -> None:
    with pytest.raises(ValueError, match="`fdr` must be a share"):
        discoveries(np.array([0.1]), share)

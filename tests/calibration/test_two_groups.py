"""The probability of an anomaly by p-value, learned from new objects: a falling density, and a share that adds up."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import badac
from badac import BADACClassifier, Measurements
from badac.calibration.pool import Pool
from badac.calibration.two_groups import TwoGroups, falling_density


def test_the_falling_density_is_the_isotonic_regression_of_the_raw_one(rng: np.random.Generator) -> None:
    pvalue = rng.random(400) ** 1.5
    ends, height = falling_density(pvalue)
    assert (np.diff(height) < 0).all() and (np.diff(ends) > 0).all()
    assert height @ np.diff(ends, prepend=0.0) == pytest.approx(1.0)
    x = np.sort(pvalue)
    width = np.diff(x, prepend=0.0)
    raw = IsotonicRegression(increasing=False).fit_transform(x, 1.0 / 400 / width, sample_weight=width)
    np.testing.assert_allclose(height[np.searchsorted(ends, x)], raw, rtol=1e-8)


def test_probabilities_are_right_on_average(rng: np.random.Generator) -> None:
    """Beta-distributed anomalies, whose posterior is known: stated and true share agree by tenths, over twenty tables."""
    stated, true, count = np.zeros((3, 10))
    for _ in range(20):
        strange = rng.random(20_000) < 0.02
        pvalue = np.where(strange, rng.beta(0.15, 1.0, 20_000), rng.random(20_000))
        proba = TwoGroups.learn(pvalue, 0.02).anomaly_proba(pvalue)
        assert proba.mean() <= 0.02 * (1.0 + 1e-9)
        tenth = np.minimum((10 * proba).astype(int), 9)
        stated += np.bincount(tenth, proba, 10)
        true += np.bincount(tenth, strange, 10)
        count += np.bincount(tenth, minlength=10)
    # A density of few objects is too high at 0 (Grenander's is): .05, and what chance leaves of so many objects.
    for s, t, n in zip(stated[1:], true[1:], count[1:], strict=True):
        assert abs(s - t) / n < 0.05 + 3.0 * np.sqrt(0.25 / n)


def test_the_average_over_samples_is_right_on_average_and_falls(rng: np.random.Generator) -> None:
    """The same with 1,000 known objects that say what the p-values are: their number is uncertain where they are few."""
    stated, true, count = np.zeros((3, 10))
    for _ in range(5):
        strange = rng.random(4000) < 0.02
        score = np.where(strange, rng.exponential(12.0, 4000), rng.exponential(1.0, 4000))
        known = rng.exponential(1.0, 1000)
        pvalue = Pool.of(known).pvalue(score)
        found = TwoGroups.averaged(pvalue, score, known, 0.02, rng)
        assert (np.diff(found.pvalue) > 0).all() and (np.diff(found.proba) <= 0).all()
        proba = found.anomaly_proba(pvalue)
        assert abs(proba.sum() - strange.sum()) < 30
        tenth = np.minimum((10 * proba).astype(int), 9)
        stated += np.bincount(tenth, proba, 10)
        true += np.bincount(tenth, strange, 10)
        count += np.bincount(tenth, minlength=10)
    for s, t, n in zip(stated[1:], true[1:], count[1:], strict=True):
        assert abs(s - t) / n < 0.05 + 3.0 * np.sqrt(0.25 / n)


def test_ties_no_anomalies_and_all_anomalies() -> None:
    tied = TwoGroups.learn(np.repeat([0.001, 0.5, 1.0], [50, 475, 475]), 0.05)
    assert tied.anomaly_proba(np.array([0.0, 0.001]))[0] > 0.9 > 0.1 > tied.anomaly_proba(np.array([0.9]))[0]
    uniform = (np.arange(2000) + 0.5) / 2000
    assert TwoGroups.learn(uniform, 0.01).anomaly_proba(uniform).max() < 0.51
    # Many more than expected: what is clear stays clear.
    assert TwoGroups.learn(np.full(2000, 1e-9), 0.01).anomaly_proba(np.array([1e-9]))[0] > 0.99


def test_adapt_learns_it_from_new_objects_and_files_keep_it(tmp_path) -> None:
    rng = np.random.default_rng(8)
    label = np.arange(400) % 2

    def objects(kind: np.ndarray) -> Measurements:
        return Measurements(kind[:, None] + 0.3 * rng.standard_normal((len(kind), 6)), 0.3)

    model = BADACClassifier("template", anomaly_prior=0.02, random_state=0).fit(objects(label), label)
    kind = (np.arange(1500) % 2).astype(float)
    values = objects(kind).values.copy()
    values[:30] += 2.0 * (-1.0) ** np.arange(6)
    new = Measurements(values, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapted = model.adapt(new, anomalies=True)
    proba = adapted.anomaly_proba(new)
    assert proba[:30].min() > 0.8 and proba[30:].mean() < 0.02
    # One object alone is judged as among others: nothing depends on the table once it is learned.
    np.testing.assert_array_equal(adapted.anomaly_proba(new[:5]), proba[:5])
    assert model.two_groups_ is None and model.adapt(new).two_groups_ is None
    badac.save(adapted, tmp_path / "adapted.badac")
    np.testing.assert_array_equal(badac.load(tmp_path / "adapted.badac").anomaly_proba(new), proba)
    with pytest.raises(ValueError, match="1,000 new objects or more: got 999"):
        model.adapt(new[:999], anomalies=True)

"""The stack of counts: rates alone beside the class models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import nbinom

from badac import BADACClassifier, Measurements, load, save
from badac.calibration.coarsening import Coarsening
from badac.calibration.stacking.of_counts import (
    Rates,
    can_be_stacked,
    counts_and_exposure,
    learn_of_counts,
    log_negative_binomial,
)
from badac.calibration.stacking.of_counts import _learn_rates as learn_rates
from badac.noise import Gaussian, Poisson
from badac.training import TrainingScales, TrainingSet


def _counts(
    n: int = 120, m: int = 60, *, depth: float = 1.0, seed: int = 0
) -> tuple[Measurements, np.ndarray]:
    """Sparse counts of three classes whose rates differ at some points, in exposures that differ by ten."""
    rng = np.random.default_rng(seed)
    common = np.random.default_rng(99)
    label = np.arange(n) % 3
    rate = 0.3 * np.exp(common.standard_normal(m)) * np.exp(0.7 * common.standard_normal((3, m)))
    exposure = depth * 10.0 ** rng.uniform(-0.5, 0.5, (n, 1)) * np.ones(m)
    return Measurements(rng.poisson(rate[label] * exposure).astype(float), exposure=exposure), label


def _training(objects: Measurements, label: np.ndarray, noise=None) -> TrainingSet:
    noise = Poisson().for_training(objects, label) if noise is None else noise
    scales, rng = TrainingScales.of(objects), np.random.default_rng(0)
    return TrainingSet(objects, label, np.unique(label), noise, scales, rng)


def test_negative_binomial_is_that_of_scipy_and_sums_to_one() -> None:
    rng = np.random.default_rng(0)
    counts, exposure = rng.integers(0, 9, (5, 4)).astype(float), rng.uniform(0.1, 3.0, (5, 4))
    shape, known = rng.uniform(0.1, 5.0, 4), rng.uniform(0.5, 5.0, 4)
    expected = nbinom.logpmf(counts, shape, known / (known + exposure)).sum(axis=1)
    np.testing.assert_allclose(log_negative_binomial(counts, exposure, shape, known), expected, rtol=1e-10)
    every = np.arange(3000.0)[:, None]
    one = log_negative_binomial(every, np.ones_like(every), np.array([2.5]), np.array([0.5]))
    assert np.exp(one).sum() == pytest.approx(1.0, abs=1e-9)


def test_each_object_is_left_out_of_its_own_class_exactly() -> None:
    objects, label = _counts(30)
    training = _training(objects, label)
    rates, told = learn_rates(training)
    for row in (0, 7, 29):
        rest = np.arange(30) != row
        own = rates[label[row]]
        again = Rates(own.shape - objects.values[row], own.exposure - objects.exposure[row], training.noise)
        assert told[row, label[row]] == pytest.approx(again.log_evidence(objects[[row]])[0], rel=1e-9)
        other = rates[(label[row] + 1) % 3]
        assert told[row, (label[row] + 1) % 3] == pytest.approx(
            other.log_evidence(objects[[row]])[0], rel=1e-9
        )
        assert rest.sum() == 29


def test_missing_counts_say_nothing() -> None:
    objects, label = _counts(60)
    rates = learn_rates(_training(objects, label))[0][0]
    gone = objects.values.copy()
    gone[:, 5:] = np.nan
    some = Measurements(gone, exposure=objects.exposure)
    part = Rates(rates.shape[:5], rates.exposure[:5], rates.noise)
    kept = Measurements(objects.values[:, :5], exposure=objects.exposure[:, :5])
    np.testing.assert_allclose(rates.log_evidence(some), part.log_evidence(kept), rtol=1e-12)


def test_rates_are_stacked_where_the_class_models_know_less() -> None:
    objects, label = _counts()
    training = _training(objects, label)
    rows = np.arange(len(label))
    nothing = np.zeros((len(label), 3))
    found = learn_of_counts(training, nothing, rows, Coarsening(1.0, 1.0, np.inf))
    assert found is not None and found.in_posterior and not found.ranks
    assert found.names == ("class models", "rates")
    # The same evidence twice is no gain but for its exponent.
    told = learn_rates(training)[1]
    twice = learn_of_counts(training, told, rows, Coarsening(1.0, 1.0, np.inf))
    assert found.gain > 1.0 and (twice is None or twice.gain < 0.01)


def test_only_counts_of_a_rate_are_stacked_with_rates() -> None:
    objects, label = _counts()
    assert can_be_stacked(_training(objects, label))
    assert not can_be_stacked(_training(objects, label, Poisson(exposure="1/sigma", background=1.0)))
    assert not can_be_stacked(_training(Measurements(objects.values, 1.0), label, Gaussian()))
    assert not can_be_stacked(_training(objects[:20], label[:20]))


def test_the_stack_of_counts_is_stored_with_the_model(tmp_path) -> None:
    objects, label = _counts(150, depth=0.3)
    model = BADACClassifier(noise="poisson", random_state=0).fit(objects, label)
    save(model, tmp_path / "model.badac")
    again = load(tmp_path / "model.badac")
    new = _counts(40, depth=0.3, seed=5)[0]
    np.testing.assert_array_equal(model.predict_proba(new), again.predict_proba(new))
    assert (model.ensemble_ is None) == (again.ensemble_ is None)


def test_probabilities_follow_a_stack_of_counts_that_ties() -> None:
    objects, label = _counts()
    training = _training(objects, label)
    _, told = learn_rates(training)
    found = learn_of_counts(training, told, np.arange(len(label)), Coarsening(1.0, 1.0, 0.1))
    assert found is not None and not found.ranks
    tied = replace(found, gain=0.0, standard_error=0.01)
    assert tied.in_posterior
    # A stack that has a say in what is strange may stay out of the probabilities.
    assert not replace(tied, ranks=True).in_posterior


def test_rates_by_a_table_are_the_negative_binomial() -> None:
    objects, label = _counts()
    rates = learn_rates(_training(objects, label))[0]
    few, many = objects, Measurements(objects.values + 2000.0, exposure=1.0 / objects.sigma)
    for some in (few, many):
        given = counts_and_exposure(some, rates[0].noise)
        for one in rates:
            expected = log_negative_binomial(*given, one.shape, one.exposure)
            np.testing.assert_allclose(one.log_evidence(some), expected, rtol=1e-10, atol=1e-8)

"""The spread that classes have in common, and how much of it a class of few members borrows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.classes.population.pooled_spread import with_pooled_spread
from badac.latent import Spectrum
from badac.noise import Gaussian, Poisson
from badac.training import PooledSpread, TrainingScales, TrainingSet


def classes_of(
    n: int, m: int = 8, k: int = 3, *, differ: float = 0.0, seed: int = 0, noise: float = 0.3
) -> TrainingSet:
    """Return k Gaussian classes of n members each; the logarithms of their standard deviations scatter by `differ`."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(k), n)
    spread = np.exp(differ * rng.standard_normal((k, m)))
    truth = 3.0 * rng.standard_normal((k, m))[label] + spread[label] * rng.standard_normal((n * k, m))
    objects = Measurements(truth + noise * rng.standard_normal(truth.shape), noise)
    return TrainingSet(objects, label, np.arange(k), Gaussian(), TrainingScales.of(objects), rng)


def pooled_of(training: TrainingSet) -> PooledSpread:
    pooled = with_pooled_spread(training).pooled
    assert pooled is not None
    return pooled


def test_the_pooled_variance_is_that_within_classes_without_noise() -> None:
    found = np.mean([pooled_of(classes_of(20, seed=seed)).variance for seed in range(20)], axis=0)
    np.testing.assert_allclose(found, 1.0, atol=0.12)


def test_alike_classes_share_more_than_those_that_differ() -> None:
    members = [
        np.mean([pooled_of(classes_of(12, differ=differ, seed=seed)).members for seed in range(10)])
        for differ in (0.0, 0.4, 1.0)
    ]
    assert members[0] > 12 > members[1] > 2.5 > members[2]


def test_noise_that_hides_the_spread_does_not_make_classes_alike() -> None:
    quiet, loud = (
        np.mean([pooled_of(classes_of(40, differ=0.7, seed=seed, noise=noise)).members for seed in range(10)])
        for noise in (0.1, 1.0)
    )
    assert loud < quiet + 3.0


def test_order_names_and_units_do_not_matter() -> None:
    training = classes_of(7, differ=0.3)
    base = pooled_of(training)
    order = np.random.default_rng(1).permutation(len(training))
    renamed = replace(training.take(order), label=(training.label[order] + 1) % 3)
    again = pooled_of(renamed)
    np.testing.assert_allclose(again.variance, base.variance, rtol=1e-9)
    assert again.members == pytest.approx(base.members, rel=1e-9)
    objects = Measurements(40.0 * training.objects.values - 7.0, 40.0 * training.objects.sigma)
    scaled = pooled_of(replace(training, objects=objects, scales=TrainingScales.of(objects)))
    np.testing.assert_allclose(scaled.variance, 1600.0 * base.variance, rtol=1e-6)
    assert scaled.members == pytest.approx(base.members, rel=1e-6)


def test_gaps_and_gross_outliers_say_nothing() -> None:
    training = classes_of(30)
    values = training.objects.values.copy()
    values[::4, 2] = np.nan
    values[3, 5] = 1e9
    objects = Measurements(values, training.objects.sigma)
    found = pooled_of(replace(training, objects=objects, scales=TrainingScales.of(objects)))
    base = pooled_of(training)
    np.testing.assert_allclose(found.variance[[0, 1]], base.variance[[0, 1]], rtol=0.05)
    np.testing.assert_allclose(found.variance[[2, 5]], base.variance[[2, 5]], rtol=0.6)


def test_large_classes_one_class_and_other_noise_have_none() -> None:
    assert with_pooled_spread(classes_of(100)).pooled is None
    one = classes_of(10)
    assert with_pooled_spread(replace(one, label=np.zeros(30, int), classes=np.arange(1))).pooled is None
    assert with_pooled_spread(replace(one, noise=Poisson())).pooled is None


def test_a_single_member_borrows_the_spread_of_the_others() -> None:
    training = classes_of(12, k=2)
    few = training.take(np.r_[0, 12:24])
    scales = with_pooled_spread(few)
    alone = Spectrum.of(few.members(0), few.scales, 1).factor(0).psi
    borrowed = Spectrum.of(few.members(0), scales, 1).factor(0).psi
    assert np.abs(np.log(borrowed)).mean() < 0.7 * np.abs(np.log(alone)).mean()
    # Factors take up a part of the spread, of which the classes' common one says nothing.
    with_factors = (Spectrum.of(few.members(1), each, 2).factor(2).psi for each in (few.scales, scales))
    np.testing.assert_array_equal(*with_factors)


def test_few_members_are_told_apart_better() -> None:
    def loss(n: int, seed: int, pooled: bool) -> float:
        everything = classes_of(400, m=4, k=2, seed=seed)
        near = Measurements(everything.objects.values / 3.0, everything.objects.sigma / 3.0)
        known = np.r_[0:n, 400 : 400 + n]
        new = np.setdiff1d(np.arange(800), known)
        with pytest.MonkeyPatch.context() as patch:
            if not pooled:
                patch.setattr("badac.estimators.fitting.with_pooled_spread", lambda training: training.scales)
            model = BADACClassifier(random_state=0).fit(near[known], everything.label[known])
        p = model.predict_proba(near[new])[np.arange(len(new)), everything.label[new]]
        return float(-np.log(np.maximum(p, 1e-12)).mean())

    gain = [loss(4, seed, False) - loss(4, seed, True) for seed in range(12)]
    assert np.mean(gain) > 0.03

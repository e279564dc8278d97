"""Batches of counts: factors on exposures are found as far as counting lets one, are not made up, and help the classes."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.classes import separate_exposures
from badac.classes.shared_exposures import _concentration


def plates(
    n: int, n_plates: int, scatter: float, seed: int, *, overdispersed: bool = False
) -> tuple[Measurements, np.ndarray, np.ndarray, np.ndarray]:
    """Two classes of 30 columns on plates that catch each column differently."""
    rng = np.random.default_rng(seed)
    label, plate = rng.integers(2, size=n), rng.integers(n_plates, size=n)
    rate = np.exp(np.random.default_rng(1).normal(1.0, 0.5, (2, 30)))
    factor = np.exp(scatter * rng.standard_normal((n_plates, 30)))
    depth = rng.uniform(0.5, 2.0, (n, 1))
    mean = depth * rate[label] * factor[plate]
    if overdispersed:
        mean = mean * rng.gamma(1.0, 1.0, mean.shape)
    return Measurements(rng.poisson(mean), exposure=np.broadcast_to(depth, mean.shape)), label, plate, factor


def test_factors_are_found_to_the_error_of_counting() -> None:
    objects, label, plate, factor = plates(2000, 10, 0.4, seed=3)
    found = separate_exposures(objects, label, plate)
    truth = np.log(factor) - np.log(factor).mean(axis=0)
    counted = np.zeros_like(factor)
    np.add.at(counted, plate, objects.values)
    pull = (np.log(found.factor) - truth) * np.sqrt(counted)
    # 300 pulls of unit variance (nearly: the mean over plates is taken out): their mean square to 4 standard errors.
    assert np.mean(pull**2) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 300))
    # A standard deviation of 300 numbers; log-normal factors of scatter 0.4 have a standard deviation of 0.42.
    assert found.scatter == pytest.approx(0.42, rel=0.25)
    share = 1 - 1 / np.sqrt(10)
    exposure = objects.exposure
    assert exposure is not None and found.objects.exposure is not None
    np.testing.assert_allclose(found.objects.exposure, exposure * found.factor[plate] ** share)
    np.testing.assert_array_equal(found.objects.values, objects.values)


@pytest.mark.parametrize("overdispersed", [False, True])
def test_scatter_of_objects_is_no_batch(overdispersed: bool) -> None:
    objects, label, plate, _ = plates(1000, 20, 0.0, seed=4, overdispersed=overdispersed)
    found = separate_exposures(objects, label, plate)
    # 50 objects a plate, each of variance 1 / mean (+ 1): without shrinkage the factors would scatter by 0.1 or more.
    assert found.scatter < 0.07
    assert np.abs(np.log(found.factor)).max() < 0.1


def test_concentration_is_that_of_the_factors() -> None:
    rng = np.random.default_rng(5)
    expected = np.full(4000, 50.0)
    counted = rng.poisson(expected * rng.gamma(8.0, 1 / 8.0, 4000)).astype(float)
    # The log of a variance from 4000 numbers has an error of sqrt(2 / 4000); the grid steps by 0.23.
    assert np.log(_concentration(counted, expected)) == pytest.approx(np.log(8.0), abs=0.23)


def test_gaps_and_columns_nobody_counted() -> None:
    objects, label, plate, _ = plates(200, 4, 0.4, seed=6)
    values = objects.values.copy()
    values[:, 0], values[::3, 1] = 0.0, np.nan
    exposure = objects.exposure
    found = separate_exposures(Measurements(values, exposure=exposure), label, plate)
    assert np.isfinite(found.factor).all() and (found.factor > 0).all()
    np.testing.assert_array_equal(found.objects.observed, ~np.isnan(values))
    # Order and names of objects and batches do not matter.
    order = np.random.default_rng(0).permutation(200)
    again = separate_exposures(
        Measurements(values[order], exposure=None if exposure is None else exposure[order]),
        label[order],
        plate[order].astype(str),
    )
    np.testing.assert_allclose(again.factor, found.factor, rtol=1e-9)


@pytest.mark.slow
def test_classes_gain_on_new_objects_that_are_caught_as_usual() -> None:
    """Training plates catch columns differently and hold mostly one class: that must not be taken for the class."""
    rng = np.random.default_rng(7)
    loss = {}
    rate = np.exp(np.random.default_rng(1).normal(0.5, 0.15, (2, 30)))
    factor = np.exp(0.7 * rng.standard_normal((8, 30)))
    plate = rng.integers(8, size=400)
    # Plates 0 to 3 hold mostly class 0, plates 4 to 7 mostly class 1.
    label = np.where(rng.random(400) < 0.85, plate >= 4, plate < 4).astype(int)
    new_label = rng.integers(2, size=1000)
    train = rng.poisson(3.0 * rate[label] * factor[plate])
    new = rng.poisson(3.0 * rate[new_label])
    for name, batch in (("ignored", None), ("separated", plate)):
        model = BADACClassifier("template", noise="poisson", priors="uniform", anomaly="evidence")
        p = model.fit(train, label, exposure=3.0, batch=batch).predict_proba(new, exposure=3.0)
        loss[name] = -np.log(p[np.arange(1000), new_label]).mean()
    assert loss["separated"] < loss["ignored"] - 0.05


def test_refusals_name_the_remedy() -> None:
    objects, label, plate, _ = plates(60, 3, 0.0, seed=8)
    with pytest.raises(ValueError, match="exposure=X.sum"):
        BADACClassifier(noise="poisson").fit(objects.values, label, batch=plate)
    with pytest.raises(ValueError, match="separate_conditions"):
        separate_exposures(Measurements(objects.values, 1.0), label, plate)
    with pytest.raises(ValueError, match="one per object"):
        separate_exposures(objects, label, plate[:-1])

"""Error bars that are too small in the new objects alone: `adapt` widens them, says so, and lets all others be."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

from badac import BADACClassifier, Measurements, load, save
from badac.comparison.common_cause import _error_factor, _UnderFactors
from badac.estimators.classifier import TrainingSupportWarning


def moons(n: int, seed: int, stated: float = 1.0) -> tuple[Measurements, np.ndarray]:
    """Two columns, in which a median of the evidence tells nothing of error bars."""
    rng = np.random.default_rng(seed)
    values, label = make_moons(n, noise=0.05, random_state=seed)
    sigma = rng.uniform(0.05, 0.5, (n, 1)) * values.std(axis=0)
    return Measurements(values + sigma * rng.standard_normal(values.shape), stated * sigma), label


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    return BADACClassifier(random_state=0).fit(*moons(600, 700)).prepare_pvalues()


def loss(model: BADACClassifier, objects: Measurements, label: np.ndarray) -> float:
    return float(-np.log(model.predict_proba(objects)[np.arange(len(label)), label]).mean())


def test_error_bars_too_small_in_new_objects_alone_are_widened_and_said(
    model: BADACClassifier, tmp_path: Path
) -> None:
    halved, label = moons(800, 701, stated=0.5)
    right = moons(800, 701)[0]
    assert model.compare(halved).widening == pytest.approx(2.0, rel=0.2)
    with pytest.warns(TrainingSupportWarning, match=r"error bars .* too small .* times as large"):
        adapted = model.adapt(halved)
    assert adapted.error_scale_ == pytest.approx(2.0, rel=0.2)
    # As well as with the right error bars, but for the factor's own error.
    assert loss(adapted, halved, label) < loss(model, right, label) + 0.01
    assert loss(model, halved, label) > loss(adapted, halved, label) + 0.02
    said = str(adapted)
    assert f"count as {adapted.error_scale_:.2f} times as large" in said
    assert "times as large" not in str(model) and model.error_scale_ == 1.0
    # The same in a file, and one object is judged as among all.
    save(adapted, tmp_path / "adapted.badac")
    again = load(tmp_path / "adapted.badac")
    np.testing.assert_array_equal(again.predict_proba(halved), adapted.predict_proba(halved))
    np.testing.assert_allclose(
        adapted.predict_proba(halved[:3]), adapted.predict_proba(halved)[:3], rtol=1e-9
    )
    # Nothing is left to widen, p-values included: the training objects keep their own error bars.
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingSupportWarning)
        assert adapted.adapt(halved).error_scale_ == adapted.error_scale_
    assert adapted.compare(halved).promise_holds and not model.compare(halved).promise_holds


def test_right_or_too_large_error_bars_and_strange_objects_stay_as_they_are(model: BADACClassifier) -> None:
    right, _ = moons(800, 702)
    strange = right.values.copy()
    strange[:60] += np.random.default_rng(0).normal(0.0, 3.0, (60, 2))
    large = Measurements(right.values, 2.0 * right.sigma)
    for objects in (right, Measurements(strange, right.sigma), large, right[:15]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert model.adapt(objects).error_scale_ == 1.0


def test_training_objects_with_the_same_fault_are_no_reason_to_widen() -> None:
    halved = BADACClassifier(random_state=0).fit(*moons(600, 703, stated=0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingSupportWarning)
        assert halved.adapt(moons(800, 704, stated=0.5)[0]).error_scale_ == 1.0


def test_shifted_objects_are_not_taken_for_wrong_error_bars(model: BADACClassifier) -> None:
    """A wrong zero point makes larger error bars more probable too, and is not mended by them."""
    objects, _ = moons(800, 705)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.adapt(Measurements(objects.values + 0.5, objects.sigma)).error_scale_ == 1.0


@pytest.mark.parametrize("m", [1, 2, 20])
@pytest.mark.parametrize("true", [0.5, 1.0, 2.0])
def test_the_factor_is_right_for_known_densities(m: int, true: float) -> None:
    """Points of variance 1 + c^2 about zero, seen with errors of 1 that are stated as 1 / true; a tenth is strange."""
    rng = np.random.default_rng(1)

    def curve(stated: float, strange: int = 0) -> _UnderFactors:
        values = rng.normal(0.0, np.sqrt(0.25 + 1.0), (2000, m))
        values[:strange] += rng.normal(0.0, 10.0, (strange, m))
        squares = (values**2).sum(axis=1)

        def log_density(factor: float) -> np.ndarray:
            variance = 0.25 + (stated * factor) ** 2
            return -0.5 * (squares / variance + m * np.log(variance))

        return _UnderFactors(log_density)

    known = curve(1.0)
    clean, odd = _error_factor(known, curve(1.0 / true)), _error_factor(known, curve(1.0 / true, strange=100))
    # The log of the factor has an error of some 1 / sqrt(m n) on either side.
    assert abs(np.log(clean.size / true)) < 4.0 * np.sqrt(2.0 / (2000 * m)) + 0.02
    assert abs(np.log(odd.size / true)) < 0.15
    assert (clean.sure > 4.0) == (true != 1.0)

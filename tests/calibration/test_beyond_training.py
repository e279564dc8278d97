"""New objects whose columns lie beyond the training's: when that is seen, and what `adapt` makes of it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.calibration.stacking.beyond_training import likeness, most_like, shifted_columns
from badac.data import concatenate
from badac.estimators.classifier import TrainingSupportWarning
from badac.store import load, save

_POINTS = 8


def curves(label: np.ndarray, brightness: np.ndarray, rng: np.random.Generator) -> Measurements:
    """Steep (class 1) or flat curves, up or down, with straying points, and a brightness beside them."""
    n = len(label)
    at = np.sort(rng.random((n, _POINTS)), axis=1)
    slope = np.where(label == 1, 1.5, 0.4) * rng.choice([-1.0, 1.0], n)
    values = slope[:, None] * at + 0.2 * rng.standard_t(2, at.shape)
    made = Measurements(values + 0.05 * rng.standard_normal(at.shape), 0.05, at=at)
    return made.with_columns({"brightness": (brightness, 0.05)})


def chosen_by_brightness(rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Training objects of which class 1 was found bright, and class 0 fainter: down to where a survey stopped looking."""
    label = np.arange(300) % 2
    brightness = np.where(label == 1, 1.5, 0.0) + 0.6 * rng.standard_normal(300)
    return curves(label, brightness, rng), label


def joined(curve: Measurements) -> Measurements:
    """Objects of one band with their column as a point in a second one."""
    column = curve.columns["brightness"]
    at = np.hstack([curve.at, np.full((len(curve), 1), 0.5)])
    band = np.hstack([np.zeros(curve.shape, dtype=int), np.ones((len(curve), 1), dtype=int)])
    values = np.column_stack([curve.values, column.values])
    return Measurements(values, np.column_stack([curve.sigma, column.sigma]), at=at, band=band)


def test_other_class_frequencies_are_no_other_columns() -> None:
    rng = np.random.default_rng(3)
    label, other = np.arange(400) % 2, (rng.random(600) < 0.1).astype(int)
    known = joined(curves(label, 2.0 * label + 0.5 * rng.standard_normal(400), rng))
    same = joined(curves(other, 2.0 * other + 0.5 * rng.standard_normal(600), rng))
    moved = joined(curves(other, 2.0 * other - 1.0 + 0.5 * rng.standard_normal(600), rng))
    share = np.array([0.9, 0.1])
    assert not len(shifted_columns(known, label, same, share))
    assert shifted_columns(known, label, moved, share).tolist() == [1]
    # A handful of objects is no proof.
    assert not len(shifted_columns(known, label, moved[:5], share))


def test_those_held_out_are_of_every_class_the_most_like_the_new_objects() -> None:
    rng = np.random.default_rng(4)
    label = np.arange(200) % 2
    brightness = rng.standard_normal(200)
    known = joined(curves(label, brightness, rng))
    fainter = joined(curves(label, brightness - 3.0, rng))
    held = most_like(label, likeness(known, fainter, np.array([1])))
    for number in (0, 1):
        own = label == number
        assert brightness[own & held].max() <= brightness[own & ~held].min()
        assert held[own].sum() == 35
    few = most_like(np.array([0, 0, 0, 1, 1, 2]), np.arange(6.0))
    assert few.tolist() == [False, False, True, False, False, False]


def test_a_missing_column_is_like_everybodys() -> None:
    rng = np.random.default_rng(5)
    brightness = rng.standard_normal(50)
    brightness[7] = np.nan
    known = joined(curves(np.ones(50, dtype=int), brightness, rng))
    found = likeness(
        known, joined(curves(np.ones(50, dtype=int), rng.standard_normal(50) - 2.0, rng)), np.array([1])
    )
    assert np.isfinite(found).all() and found[7] == 0.0


def test_adapt_weighs_the_stack_beyond_its_training(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    training, label = chosen_by_brightness(rng)
    model = BADACClassifier(random_state=0).fit(training, label)
    assert model.ensemble_ is not None and model.ensemble_.in_posterior
    # On the sky both classes are faint: by brightness alone all would be of class 0.
    truth = (rng.random(500) < 0.6).astype(int)
    new = curves(truth, -0.5 + 0.8 * rng.standard_normal(500), rng)

    def loss(asked: BADACClassifier) -> float:
        return float(-np.log(asked.predict_proba(new)[np.arange(len(truth)), truth]).mean())

    with pytest.warns(TrainingSupportWarning, match="brightness: distributed otherwise"):
        adapted = model.adapt(new)
    assert adapted.ensemble_ is not None and adapted.ensemble_.beyond is not None
    assert model.ensemble_.beyond is None
    assert loss(adapted) < 0.5 * loss(model)
    save(adapted, tmp_path / "adapted.badac")
    again = load(tmp_path / "adapted.badac")
    np.testing.assert_allclose(again.predict_proba(new), adapted.predict_proba(new))
    # Strangeness is by the same classes and left-out objects as before.
    np.testing.assert_allclose(adapted.log_evidence(new[:5]), model.log_evidence(new[:5]))
    nothing = concatenate([new[:1], new[1:2]])
    nothing = nothing.replaced(np.full(nothing.shape, np.nan), np.full(nothing.shape, np.inf))
    assert np.isfinite(adapted.predict_proba(nothing)).all()


def test_probabilities_at_own_points_follow_a_stack_that_does_not_lose() -> None:
    training, label = chosen_by_brightness(np.random.default_rng(6))
    found = BADACClassifier(random_state=0).fit(training, label).ensemble_
    assert found is not None and found.columns is not None
    ranked = replace(found, ranks=True, standard_error=0.01)
    for gain, on_a_grid, at_points in ((0.02, True, True), (-0.005, False, True), (-0.02, False, False)):
        told = replace(ranked, gain=gain)
        assert told.in_posterior == at_points
        # On a grid left-out objects have to gain.
        assert replace(told, columns=None).in_posterior == on_a_grid


def test_adapt_keeps_the_weights_where_columns_are_as_in_training() -> None:
    rng = np.random.default_rng(7)
    training, label = chosen_by_brightness(rng)
    model = BADACClassifier(random_state=0).fit(training, label)
    new, _ = chosen_by_brightness(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapted = model.adapt(new)
    assert adapted.ensemble_ is not None and adapted.ensemble_.beyond is None

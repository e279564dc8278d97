"""Phases of transients: the maximum that noise and gaps hide, times far from it, the dilation of time."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements, load, save
from badac.data import align_at_peak
from badac.nuisance import Phases, learn_phases


def transients(n: int, seed: int, *, dilated: bool = False) -> tuple[Measurements, np.ndarray, np.ndarray]:
    """Curves that rise and fall around a hidden maximum, with noise; their rates of decline and 1 + z."""
    rng = np.random.default_rng(seed)
    at, maximum = rng.uniform(-60.0, 120.0, (n, 40)), rng.uniform(-10.0, 10.0, (n, 1))
    stretch = 1.0 + (rng.uniform(0.0, 2.0, (n, 1)) if dilated else np.zeros((n, 1)))
    decline = np.where(np.arange(n) % 2 == 0, 15.0, 30.0)[:, None]
    away = (at - maximum) / stretch
    truth = np.where(away < 0, np.exp(-0.5 * (away / 6.0) ** 2), np.exp(-np.abs(away) / decline))
    return (
        Measurements(truth + 0.15 * rng.standard_normal(at.shape), 0.15, at=at),
        maximum[:, 0],
        stretch[:, 0],
    )


def test_the_maximum_is_found_where_the_brightest_point_is_noise() -> None:
    objects, maximum, _ = transients(300, 0)
    aligned = align_at_peak(objects, scale=False)
    peak = aligned.columns["peak_time"].values
    phases = Phases(unit=36.0).learned_from(aligned, np.random.default_rng(0), 2)
    found = peak + phases.shifts(aligned)[0]
    # A common shift of all is no shift of any.
    before, after = (np.std(one - maximum) for one in (peak, found))
    assert after < 0.8 * before


def test_phases_lead_back_to_times() -> None:
    objects, _, _ = transients(60, 1)
    aligned = align_at_peak(objects, scale=False)
    phases = Phases(unit=30.0).learned_from(aligned, np.random.default_rng(0), 1)
    phased = phases.apply(aligned)
    np.testing.assert_allclose(phases.times(aligned, phased, phased.at), aligned.at, atol=1e-8)
    # Near the maximum a phase is a time, far away it is compressed.
    assert np.ptp(phased.at) < np.ptp(aligned.at)


def test_nothing_is_moved_where_nobody_aligned_the_curves() -> None:
    objects, _, _ = transients(60, 2)
    assert learn_phases(objects, np.random.default_rng(0)) is None
    few = align_at_peak(objects[:20], scale=False)
    assert learn_phases(few, np.random.default_rng(0)) is None


def test_a_redshift_undoes_the_dilation_of_time() -> None:
    objects, _, stretch = transients(300, 3, dilated=True)
    named = objects.with_columns({"host_photoz": (stretch - 1.0, 0.02)})
    phases = learn_phases(align_at_peak(named, scale=False), np.random.default_rng(0))
    assert phases is not None and phases.redshift == "host_photoz"
    # The same numbers, not of these objects, tell nothing.
    other = objects.with_columns({"host_photoz": (stretch[::-1] - 1.0, 0.02)})
    phases = learn_phases(align_at_peak(other, scale=False), np.random.default_rng(0))
    assert phases is None or phases.redshift == ""


def test_an_object_without_a_redshift_is_moved_as_it_is_alone() -> None:
    objects, _, stretch = transients(40, 5, dilated=True)
    redshift = stretch - 1.0
    redshift[::3] = np.nan
    named = align_at_peak(objects.with_columns({"z": (redshift, 0.02)}), scale=False)
    phases = Phases(unit=20.0, redshift="z", middle=0.7)
    np.testing.assert_array_equal(phases.apply(named).at[:3], phases.apply(named[:3]).at)


def test_a_model_keeps_its_phases_and_explains_in_times(tmp_path) -> None:
    objects, _, _ = transients(120, 4)
    label = np.arange(120) % 2
    aligned = align_at_peak(objects, scale=False)
    model = BADACClassifier(random_state=0).fit(aligned, label)
    assert model.phases_ is not None
    save(model, tmp_path / "model.badac")
    again = load(tmp_path / "model.badac")
    new = aligned[:10]
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    found = model.explain(new)
    np.testing.assert_array_equal(found.objects.at, new.at)
    low, high = found.window.T
    assert (low < high).all() and (high > new.at.min(axis=1)).all() and (low < new.at.max(axis=1)).all()
    with pytest.raises(ValueError, match="lack|column"):
        model.predict(objects.with_columns({"other": (np.zeros(120), 1.0)}))

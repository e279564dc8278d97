"""Which points have an order, and the shapes on it."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.anomalies.sequence import (
    bump_grid,
    bump_stretches,
    bumps,
    coordinates,
    cosines,
    neighbours_resemble,
    spectrum,
)


@pytest.mark.parametrize("length", [0.05, 0.1, 0.2])
def test_cosines_with_their_spectrum_are_a_squared_exponential_process(length: float) -> None:
    where = np.linspace(0.0, 1.0, 201)
    power = spectrum(length)
    waves = cosines(where, power.size)
    covariance = (waves * power) @ waves.T
    correlation = covariance[100] / covariance[100, 100]
    near = np.abs(where - 0.5) < min(2.0 * length, 0.25)
    exact = np.exp(-0.5 * ((where - 0.5) / length) ** 2)
    # Cut off at one percent of the first term, and reflected at the ends: a few percent.
    np.testing.assert_allclose(correlation[near], exact[near], atol=0.05)
    assert np.mean(np.diag(covariance)) == pytest.approx(1.0, abs=0.1)


def test_coordinates_make_an_order() -> None:
    objects = Measurements(np.zeros((2, 3)), 1.0, at=[5.0, 6.0, 9.0])
    found = coordinates(objects, np.random.default_rng(0))
    assert found is not None
    np.testing.assert_allclose(found, [0.0, 0.25, 1.0])


@pytest.mark.parametrize("m", [40, 900])  # of many columns some of the neighbours are asked
def test_curves_without_coordinates_are_recognised_and_catalogues_are_not(
    m: int, rng: np.random.Generator
) -> None:
    curves = np.sin(rng.normal(5, 2, (300, 1)) * np.linspace(0, 1, m)) + 0.3 * rng.standard_normal((300, m))
    assert neighbours_resemble(Measurements(curves, 0.3), rng)
    shuffled = curves[:, rng.permutation(m)]
    assert not neighbours_resemble(Measurements(shuffled, 0.3), rng)
    gaps = np.where(rng.uniform(size=curves.shape) < 0.3, np.nan, curves)
    assert neighbours_resemble(Measurements(gaps, 0.3), rng)


def test_random_features_are_taken_for_a_curve_once_in_a_thousand_times() -> None:
    found = [
        neighbours_resemble(
            Measurements(np.random.default_rng(seed).standard_normal((30, 10)), 1.0),
            np.random.default_rng(seed),
        )
        for seed in range(60)
    ]
    assert sum(found) <= 1


@pytest.mark.parametrize("m", [9, 60, 700])
def test_bumps_asked_for_at_their_own_points_are_the_bumps(m: int) -> None:
    rng = np.random.default_rng(m)
    for where in (
        np.linspace(0.0, 1.0, m),
        np.sort(rng.random(m)),
        rng.random(m),
        np.round(rng.random(m), 2),
    ):
        places, widths = bump_grid(where, 1.0, 0.1)
        found = bump_stretches(where, places, widths)
        np.testing.assert_allclose(found.dense(), bumps(where, places, widths), rtol=1e-14)


def test_bumps_of_thousands_of_points_take_little_room() -> None:
    where = np.linspace(0.0, 1.0, 3000)
    places, widths = bump_grid(where, 1.0, 0.1)
    # Of each width there is one bump a width, or one a point, and each reaches 2.1 widths to either side.
    reach = np.sqrt(np.log(100.0))
    assert len(bump_stretches(where, places, widths).height) < 3000 * len(np.unique(widths)) * (2 * reach + 1)


def test_the_bumps_cover_the_range_from_one_point_to_the_widest() -> None:
    where = np.linspace(0.0, 1.0, 100)
    places, widths = bump_grid(where, 1.0, 0.1)
    assert widths.min() == pytest.approx(1.2 / 99)
    assert 0.04 < widths.max() <= 0.1
    shapes = bumps(where, places, widths)
    # Wherever a bump of any width sits, one of the grid resembles it.
    for width in (0.015, 0.03, 0.06):
        for place in np.linspace(0.1, 0.9, 37):
            true = np.exp(-(((where - place) / width) ** 2))
            overlap = (true @ shapes) / np.sqrt((true @ true) * (shapes**2).sum(axis=0))
            assert overlap.max() > 0.85

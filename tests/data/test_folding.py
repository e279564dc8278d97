"""Folding, binning, peaks and magnitudes."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.data import align_at_peak, as_fluxes, binned, find_peaks, fold, to_flux, to_magnitude

NAN = float("nan")


def curves() -> Measurements:
    return Measurements(
        [[1.0, 3.0, 2.0], [5.0, 4.0, NAN]],
        [[0.1, 0.1, 0.1], [0.5, 0.5, 1.0]],
        at=[[0.0, 2.5, 4.0], [1.0, 9.0, NAN]],
        band=[[0, 1, 0], [1, 0, -1]],
    )


def test_phase_and_epoch() -> None:
    folded = fold(curves(), period=[2.0, 4.0], epoch=[0.0, 1.0])
    np.testing.assert_allclose(folded.at, [[0.0, 0.25, 0.0], [0.0, 0.0, NAN]])
    assert folded.band is not None and folded.values is not None
    np.testing.assert_allclose(fold(curves(), 2.0, epoch=1e3).at, fold(curves(), 2.0).at, atol=1e-12)
    below = fold(Measurements([[1.0]], 0.1, at=[[-1e-20]]), 1.0)
    assert 0 <= below.at[0, 0] < 1


@pytest.mark.parametrize("period", [0.0, -1.0, NAN, [1.0, 0.0], [1.0, 2.0, 3.0]])
def test_a_period_is_positive(period: float | list[float]) -> None:
    with pytest.raises(ValueError, match="`period` must be"):
        fold(curves(), period)


def test_bins_hold_the_weighted_mean() -> None:
    objects = Measurements([[1.0, 4.0, 7.0, 9.0]], [[1.0, 2.0, 1.0, 1.0]], at=[0.1, 0.2, 0.6, 5.0])
    found = binned(objects, [0.0, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(found.values, [[(1.0 + 4.0 / 4) / 1.25, 7.0, NAN]])
    np.testing.assert_allclose(found.sigma, [[1.25**-0.5, 1.0, np.inf]])
    with pytest.raises(ValueError, match="must rise"):
        binned(objects, [0.0, 0.0, 1.0])


def test_peak_becomes_time_zero_and_value_one() -> None:
    aligned = align_at_peak(curves())
    np.testing.assert_allclose(aligned.at, [[-2.5, 0.0, 1.5], [0.0, 8.0, NAN]])
    np.testing.assert_allclose(aligned.values[0], [1 / 3, 1.0, 2 / 3])
    np.testing.assert_allclose(aligned.values / aligned.sigma, curves().values / curves().sigma)
    assert find_peaks(curves(), band=0).time.tolist() == [4.0, 9.0]


def test_a_noisy_spike_is_no_peak() -> None:
    spike = Measurements([[1.0, 50.0]], [[0.1, 40.0]], at=[0.0, 1.0])
    assert find_peaks(spike).time.tolist() == [0.0]


def test_no_peak_in_the_band() -> None:
    with pytest.raises(ValueError, match="every object needs a peak .* in band 2: got time nan"):
        align_at_peak(curves(), band=2)


def test_magnitudes_there_and_back(rng: np.random.Generator) -> None:
    magnitude, sigma = rng.uniform(10, 25, 50), rng.uniform(0.01, 0.3, 50)
    back = to_magnitude(*to_flux(magnitude, sigma, 23.9), 23.9)
    np.testing.assert_allclose(back[0], magnitude, rtol=1e-12)
    np.testing.assert_allclose(back[1], sigma, rtol=1e-12)
    assert np.isnan(to_magnitude(np.array([-1.0]), np.array([1.0]))[0])


def test_flux_error_is_the_slope() -> None:
    step = 1e-6
    low, high = (to_flux(np.array(20.0 + s), np.array(0.0))[0] for s in (-step, step))
    assert to_flux(np.array(20.0), np.array(1.0))[1] == pytest.approx((low - high) / (2 * step), rel=1e-6)


def test_objects_in_fluxes_keep_gaps_and_bands() -> None:
    found = as_fluxes(curves(), zero_point=0.0)
    assert found.observed.tolist() == curves().observed.tolist()
    assert found.band is not None and found.own_points

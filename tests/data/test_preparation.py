"""Periods, folding, alignment, fluxes, and the hint where nobody said any of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from badac import Measurements
from badac.data import Preparation, find_period, from_long, from_wide, hint
from badac.data.catalogue import Catalogue

pandas = pytest.importorskip("pandas")
pytest.importorskip("astropy")
PERIODS = np.array([0.57, 0.33, 2.4, 0.81])


def stars(rng: np.random.Generator, n_points: int = 40, magnitudes: bool = False) -> Any:
    """A long table of four stars in two bands, at a survey's times."""
    parts = []
    for number, period in enumerate(PERIODS):
        at = np.sort(rng.uniform(0, 200, n_points))
        band = rng.integers(0, 2, n_points)
        signal = 0.4 * np.sin(2 * np.pi * at / period + number) * np.where(band == 0, 1.0, 0.7) + band
        value = (18 if magnitudes else 10) + signal + 0.05 * rng.standard_normal(n_points)
        parts.append(
            pandas.DataFrame(
                {"id": number, "mjd": at + 58000, "band": np.where(band == 0, "g", "r"), "mag" if magnitudes else "flux": value,
                 "magerr" if magnitudes else "flux_err": 0.05, "period": period, "ra": 10.0 * number}
            )
        )  # fmt: skip
    return pandas.concat(parts, ignore_index=True)


def supernovae(rng: np.random.Generator) -> Any:
    parts = []
    for number in range(6):
        at = np.sort(rng.uniform(0, 300, 40))
        value = 50 * np.exp(-0.5 * ((at - 120 - 5 * number) / 15) ** 2) + rng.standard_normal(40)
        parts.append(pandas.DataFrame({"id": number, "mjd": at, "flux": value, "flux_err": 1.0}))
    return pandas.concat(parts, ignore_index=True)


def test_periods_in_several_bands_together(rng: np.random.Generator) -> None:
    objects = from_long(stars(rng)).objects
    found = find_period(objects, shortest=0.1)
    np.testing.assert_allclose(found.period, PERIODS, rtol=1e-3)
    assert (found.explained > 0.9).all() and (found.false_alarm < 1e-6).all()
    noise = Measurements(rng.standard_normal(objects.shape), 1.0, at=objects.at, band=objects.band)
    assert (find_period(noise, shortest=0.1).false_alarm > 1e-3).all()


def test_bands_help_one_another(rng: np.random.Generator) -> None:
    """Eleven points in each of five bands: no band alone has the period for sure."""
    at = np.sort(rng.uniform(0, 100, (6, 55)), axis=1)
    band = np.tile(np.arange(5), (6, 11))
    value = np.sin(2 * np.pi * at / 0.7) + 3.0 * band + 0.1 * rng.standard_normal(at.shape)
    objects = Measurements(value, 0.1, at=at, band=band)
    found = find_period(objects, shortest=0.2)
    np.testing.assert_allclose(found.period, 0.7, rtol=1e-3)
    alone = find_period(objects.points(slice(0, None, 5)), shortest=0.2)
    assert (found.false_alarm < 1e-3).all() and (alone.false_alarm > 1e-3).any()


def test_two_terms_find_the_whole_period_of_an_eclipsing_binary(rng: np.random.Generator) -> None:
    at = np.sort(rng.uniform(0, 60, (1, 150)), axis=1)
    value = (
        np.cos(4 * np.pi * at / 1.3)
        + 0.25 * np.cos(2 * np.pi * at / 1.3)
        + 0.05 * rng.standard_normal(at.shape)
    )
    objects = Measurements(value, 0.05, at=at)
    assert find_period(objects, shortest=0.2).period[0] == pytest.approx(0.65, rel=1e-2)
    assert find_period(objects, shortest=0.2, terms=2).period[0] == pytest.approx(1.3, rel=1e-2)


def test_too_few_points_have_no_period() -> None:
    objects = Measurements([[1.0, 2.0, np.nan], [1.0, 1.0, 1.0]], 0.1, at=[[0.0, 1.0, 2.0]] * 2)
    assert np.isnan(find_period(objects).period).all()
    with pytest.raises(ValueError, match="times of the points"):
        find_period(Measurements([[1.0]], 0.1))
    many = Measurements(np.arange(40.0)[None] % 7, 0.1, at=np.arange(40.0)[None] * 1e4)
    with pytest.raises(ValueError, match="raise `shortest`"):
        find_period(many, shortest=1e-3)


def test_folding_by_column_by_file_and_found(rng: np.random.Generator, tmp_path: Path) -> None:
    curves = from_long(stars(rng))
    by_name = Preparation(fold=True).apply(curves)
    by_column = Preparation(period="period", fold=True).apply(curves)
    pandas.DataFrame({"id": ["3", "2", "1", "0"], "Period": PERIODS[::-1]}).to_csv(
        tmp_path / "periods.csv", index=False
    )
    by_file = Preparation(period=str(tmp_path / "periods.csv"), fold=True).apply(curves)
    assert by_name.axis.name == "phase" and by_name.carried["period"].tolist() == PERIODS.tolist()
    for other in (by_column, by_file):
        np.testing.assert_array_equal(by_name.objects.at, other.objects.at)
    found = Preparation(period="find", fold=True).apply(curves)
    np.testing.assert_allclose(found.carried["period"], PERIODS, rtol=1e-3)
    assert "periods found, 0.69 in the middle, folded" in found.recognised
    assert curves.axis.name == "mjd", "the input is not changed"


def test_phase_zero_where_brightest(rng: np.random.Generator) -> None:
    for magnitudes in (False, True):
        curves = from_long(stars(rng, 120, magnitudes))
        found = Preparation(fold=True, align="peak").apply(curves).objects
        assert found.at is not None and found.band is not None
        for row in range(4):
            near = (np.minimum(found.at[row], 1 - found.at[row]) < 0.1) & (found.band[row] == 0)
            mean = np.nanmean(found.values[row, found.band[row] == 0])
            peak = np.nanmean(found.values[row, near])
            assert (peak < mean - 0.25) if magnitudes else (peak > mean + 0.25)


def test_alignment_at_the_peak(rng: np.random.Generator) -> None:
    rows = supernovae(rng)
    rows = pandas.concat(
        [rows, pandas.DataFrame({"id": 99, "mjd": [1.0, 2.0], "flux": [-1.0, -2.0], "flux_err": 0.1})]
    )
    found = Preparation(align="peak").apply(from_long(rows))
    assert found.axis.name == "time from peak" and found.quantity.name == "flux / peak"
    assert np.nanmax(found.objects.values) == 1.0
    assert "1 object left out: no peak with a positive value (99)" in str(found.losses)
    assert np.ptp(found.carried["peak_time"]) > 20


def test_fluxes_and_magnitudes(rng: np.random.Generator) -> None:
    curves = from_long(stars(rng, magnitudes=True))
    fluxes = Preparation(quantity="flux").apply(curves)
    assert fluxes.quantity.name == "flux"
    assert Preparation(quantity="magnitude").apply(curves).objects is curves.objects
    back = Preparation(quantity="magnitude").apply(fluxes)
    np.testing.assert_allclose(back.objects.values, curves.objects.values)
    np.testing.assert_allclose(back.objects.sigma, curves.objects.sigma)
    negative = from_long(pandas.DataFrame({"id": 1, "mjd": [1.0, 2.0], "flux": [-1.0, 2.0], "flux_err": 0.1}))
    assert "1 point left out: a flux that is not positive" in str(
        Preparation(quantity="magnitude").apply(negative).losses
    )
    with pytest.raises(ValueError, match="turn them into fluxes first, quantity='flux'"):
        Preparation(align="peak").apply(curves)
    assert Preparation(align="peak", quantity="flux").apply(curves).axis.name == "time from peak"


def test_what_cannot_be_prepared_is_said(rng: np.random.Generator) -> None:
    curves = from_long(stars(rng).drop(columns="period"))
    with pytest.raises(ValueError, match="no column is called period.*period='find'"):
        Preparation(fold=True).apply(curves)
    with pytest.raises(ValueError, match="'perod' is neither a column.*nor a file"):
        Preparation(period="perod", fold=True).apply(curves)
    with pytest.raises(ValueError, match="only curves with times"):
        Preparation(fold=True).apply(from_wide(pandas.DataFrame({"g": [1.0], "g_err": [0.1]})))
    with pytest.raises(ValueError, match="`align` must be one of"):
        Preparation(align="top")
    without = from_long(stars(rng).assign(period=lambda rows: rows["period"].where(rows["id"] > 0)))
    folded = Preparation(fold=True).apply(without)
    assert "1 object left out: no period (from period) (0)" in str(folded.losses)
    value = from_long(pandas.DataFrame({"id": 1, "mjd": [1.0, 2.0], "value": [1.0, 2.0], "error": 0.1}))
    with pytest.raises(ValueError, match="values are called 'value'"):
        Preparation(quantity="flux").apply(value)


def test_a_preparation_is_kept_as_plain_values() -> None:
    one = Preparation(period="find", fold=True, align="peak", shortest=0.2)
    assert Preparation.from_dict(one.as_dict()) == one
    assert not Preparation() and one


def test_a_hint_where_curves_repeat_or_fade(rng: np.random.Generator) -> None:
    repeating = from_long(stars(rng))
    assert "4 of 4 objects looked at repeat" in hint(repeating) and "(--period period --fold)" in hint(
        repeating
    )
    assert "--find-period --fold" in hint(from_long(stars(rng).drop(columns="period")))
    assert "6 of 6 objects looked at rise and fade once" in hint(from_long(supernovae(rng)))
    bright = (
        supernovae(rng)
        .assign(mag=lambda rows: 25 - rows["flux"] / 20, magerr=0.05)
        .drop(columns=["flux", "flux_err"])
    )
    assert "quantity='flux'" in hint(from_long(bright))
    assert hint(Preparation(fold=True).apply(repeating)) == ""


def quiet(rng: np.random.Generator, walk: bool) -> Catalogue:
    steps = rng.standard_normal((8, 60)) * 0.3
    value = 10 + (np.cumsum(steps, axis=1) if walk else steps)
    rows = [
        pandas.DataFrame(
            {"id": n, "mjd": np.sort(rng.uniform(0, 300, 60)), "flux": value[n], "flux_err": 0.3}
        )
        for n in range(8)
    ]
    return from_long(pandas.concat(rows))


def test_no_hint_for_noise_and_random_walks(rng: np.random.Generator) -> None:
    assert hint(quiet(rng, walk=False)) == ""
    assert hint(quiet(rng, walk=True)) == ""
    assert hint(from_wide(pandas.DataFrame({"g": [1.0], "g_err": [0.1]}))) == ""

"""Units: kept, converted, and refused where they do not convert; scales that tell of other units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from badac import Measurements
from badac.data import ScaleSummary, compare_scales, converted, from_table, matched, read, units_in

table = pytest.importorskip("astropy.table")
units = pytest.importorskip("astropy.units")
pytest.importorskip("pandas")


@pytest.fixture
def in_jansky() -> Any:
    return table.QTable(
        {
            "flux": [1.0, 2.0] * units.Jy,
            "flux_err": [100.0, 200.0] * units.mJy,
            "n": [1, 2],
            "n_err": [1.0, 1.0],
        }
    )


def test_units_are_kept_with_the_features(in_jansky: Any, tmp_path: Path) -> None:
    found = from_table(in_jansky)
    assert dict(found.units) == {"flux": "Jy"}
    assert found.objects.sigma[:, 0].tolist() == pytest.approx([0.1, 0.2])
    for kind, name in {
        "fits": "t.fits",
        "ascii.ecsv": "t.ecsv",
        "votable": "t.vot",
        "parquet": "t.parquet",
    }.items():
        in_jansky.write(tmp_path / name, format=kind)
        again = read(tmp_path / name)
        assert dict(again.units) == {"flux": "Jy"}, name
        np.testing.assert_allclose(again.objects.sigma, found.objects.sigma)


def test_a_new_table_in_other_units_is_converted(in_jansky: Any) -> None:
    """It was scored as it stood: the same stars, a thousand times as bright."""
    new = table.QTable({"flux": [1000.0] * units.mJy, "flux_err": [0.1] * units.Jy, "n": [1], "n_err": [1.0]})
    training = from_table(in_jansky)
    found = matched(new, training.features, units=training.units)
    assert found.objects.values.tolist() == [[1.0, 1.0]]
    assert found.objects.sigma[0].tolist() == pytest.approx([0.1, 1.0])
    frame = converted(new, to=units_in(in_jansky))
    assert frame["flux"].tolist() == [1.0] and frame["flux_err"].tolist() == [0.1]
    assert units_in(frame) == {"flux": "Jy", "flux_err": "Jy"}
    assert new["flux"].unit == units.mJy, "the input is not changed"


def test_units_that_do_not_convert_are_named(in_jansky: Any) -> None:
    wrong = table.QTable({"flux": [1.0] * units.m, "flux_err": [0.1] * units.m, "n": [1], "n_err": [1.0]})
    for call in (
        lambda: converted(wrong, to=units_in(in_jansky)),
        lambda: matched(wrong, ("flux", "n"), units={"flux": "Jy"}),
    ):
        with pytest.raises(ValueError, match="unit of column 'flux', m, does not convert to Jy"):
            call()


def test_inverse_variances_and_magnitudes() -> None:
    spectra = table.QTable({"f": [2.0] * units.mJy, "f_ivar": [4.0] / units.mJy**2})
    assert from_table(spectra).objects.sigma.tolist() == [[0.5]]
    assert matched(spectra, ["f"], units={"f": "Jy"}).objects.sigma[0, 0] == pytest.approx(0.0005)
    assert converted(spectra, to={"f": "Jy"})["f_ivar"].tolist() == pytest.approx([4e6])
    stars = table.Table({"g": [20.0], "g_err": [0.1]})
    stars["g"].unit, stars["g_err"].unit = units.ABmag, units.mag
    assert from_table(stars).objects.sigma.tolist() == [[0.1]]
    with pytest.raises(ValueError, match="unit of column 'g'"):
        matched(stars, ["g"], units={"g": "Jy"})


def test_a_table_without_units_is_taken_as_it_is(in_jansky: Any) -> None:
    plain = table.Table({"flux": [1.0], "flux_err": [0.1], "n": [1.0], "n_err": [1.0]})
    assert matched(plain, ("flux", "n"), units={"flux": "Jy"}).objects.values[0, 0] == 1.0
    assert converted(plain, to=units_in(in_jansky))["flux"].tolist() == [1.0]


def test_a_table_scaled_by_a_thousand_is_said(rng: np.random.Generator) -> None:
    values = rng.normal([20.0, 1e-3, -5.0, 300.0], [1.0, 1e-3, 2.0, 50.0], (200, 4))
    training = ScaleSummary.of(Measurements(values, 0.1), ["u", "g", "r", "i"])
    training = ScaleSummary.from_dict(training.as_dict())
    other = rng.normal([21.0, 1e-3, -4.0, 200.0], [2.0, 2e-3, 4.0, 100.0], (60, 4))
    assert compare_scales(Measurements(other, 0.1), training) == ()
    (said,) = compare_scales(Measurements(1000 * other, 0.1), training)
    assert "times the training's in 4 of 4 columns (u, g, r, i)" in said
    (said,) = compare_scales(Measurements(1e-3 * other, 0.1), training)
    assert "values are about 0.00" in said
    one = other * [1, 1000, 1, 1]
    (said,) = compare_scales(Measurements(one, 0.1), training)
    assert "in 1 of 4 columns (g)" in said
    shifted = other + np.array([100.0, 0.0, 0.0, 0.0])
    assert compare_scales(Measurements(shifted, 0.1), training) == (), "a shifted class is no other unit"


def test_bands_of_light_curves_are_compared(rng: np.random.Generator) -> None:
    at, band = np.tile(np.arange(6.0), (20, 1)), np.tile([0, 1], (20, 3))
    curves = Measurements(rng.normal(10, 1, at.shape), 0.1, at=at, band=band)
    training = ScaleSummary.of(curves, ["g", "r"])
    assert compare_scales(curves, training) == ()
    bright = Measurements(1e4 * curves.values, 0.1, at=at, band=band)
    assert "in 2 of 2 columns (g, r)" in compare_scales(bright, training)[0]

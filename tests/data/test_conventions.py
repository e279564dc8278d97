"""Every cell of the tables in docs/tables.md: a name style, a shape and a kind of file, written here and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conventions import (
    FILES,
    IMAGES,
    LONGS,
    STYLES,
    VECTORS,
    WAVES,
    Long,
    N,
    Style,
    Vector,
    filled,
    long_columns,
    spectra,
    wide_columns,
    write,
)

from badac import BADACClassifier
from badac.data import from_frame, read
from badac.data.files import read_frame

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("astropy")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"


def named(style: Style) -> str:
    return style.error.format("g")


@pytest.mark.parametrize("suffix", FILES.values())
@pytest.mark.parametrize("style", STYLES, ids=named)
def test_wide_names_in_every_file(style: Style, suffix: str, tmp_path: Path) -> None:
    columns, values, sigma, features = wide_columns(style)
    found = read(write(columns, tmp_path / f"table{suffix}"))
    assert found.features == tuple(features)
    np.testing.assert_allclose(found.objects.values, values)
    np.testing.assert_allclose(found.objects.sigma, sigma)
    assert found.ids.tolist() == columns["objid"].tolist()
    assert found.label is not None and found.label.tolist() == columns["class"].tolist()
    np.testing.assert_allclose(found.carried["ra"], columns["ra"])
    assert not found.losses


@pytest.mark.parametrize("style", STYLES, ids=named)
def test_the_estimator_sees_the_same_columns(style: Style, tmp_path: Path) -> None:
    columns, values, sigma, _ = wide_columns(style)
    frame = read_frame(write(columns, tmp_path / "table.parquet"))
    found = from_frame(frame)
    np.testing.assert_allclose(found.values, values)
    np.testing.assert_allclose(found.sigma, sigma)


@pytest.mark.parametrize("error", ["e_{}", "{}_error", "{}err", "err_{}", "sigma_{}", "{}_sigma"])
def test_fit_takes_errors_for_errors(error: str, tmp_path: Path) -> None:
    """They became features without a word: 12 instead of 6."""
    columns, values, _, features = wide_columns(Style("", "{}", error))
    frame = read_frame(write(columns, tmp_path / "table.parquet"))
    table = frame[[name for name in frame if name not in ("objid", "ra", "dec", "class")]]
    model = BADACClassifier(random_state=0, anomaly="tophat").fit(table, frame["class"])
    assert model.n_features_in_ == values.shape[1]
    assert model.feature_names_in_.tolist() == features
    assert model.fitted_with_errors_


@pytest.mark.parametrize("suffix", FILES.values())
@pytest.mark.parametrize("long", LONGS, ids=lambda long: long.whose)
def test_long_names_in_every_file(long: Long, suffix: str, tmp_path: Path) -> None:
    columns, at, values, sigma = long_columns(long)
    found = read(write(columns, tmp_path / f"table{suffix}"))
    assert found.kind == "light curve"
    assert found.ids.tolist() == [11, 7, 9]
    assert found.bands == ("g", "r")
    assert found.objects.at is not None
    np.testing.assert_allclose(found.objects.at, at)
    np.testing.assert_allclose(found.objects.values, values)
    np.testing.assert_allclose(found.objects.sigma, sigma)


@pytest.mark.parametrize(("vector", "kind"), [(one, kind) for one in VECTORS for kind in one.files])
def test_vectors_in_every_file(vector: Vector, kind: str, tmp_path: Path) -> None:
    flux, sigma = spectra()
    made = vector.make(flux, sigma)
    columns = {
        "specobjid": np.arange(N),
        **made,
        "class": np.array(["a", "b"] * (N // 2)),
        "z": np.arange(N) * 0.1,
    }
    found = read(write(columns, tmp_path / f"spectra{FILES[kind]}", vector.header))
    check_spectra(found, flux, sigma, own=vector.own)
    np.testing.assert_allclose(found.carried["z"], columns["z"])


def check_spectra(found: Any, flux: np.ndarray, sigma: np.ndarray, *, own: bool = False) -> None:
    assert found.kind == "spectrum"
    assert found.axis.name.startswith("wave")
    np.testing.assert_allclose(found.objects.values, flux)
    np.testing.assert_allclose(found.objects.sigma, sigma)
    shift = 1.0 + 0.01 * np.arange(len(flux))[:, None] if own else 1.0
    assert found.objects.own_points == own
    np.testing.assert_allclose(found.objects.at, WAVES * shift)
    assert found.ids.tolist() == list(range(N))
    assert found.label.tolist() == ["a", "b"] * (N // 2)


@pytest.fixture
def plate() -> Any:
    """A table of the objects, as an extension."""
    fits = pytest.importorskip("astropy.io.fits")
    table = pytest.importorskip("astropy.table").Table(
        {"TARGETID": np.arange(N), "CLASS": ["a", "b"] * (N // 2)}
    )
    return fits.table_to_hdu(table)


@pytest.mark.parametrize("number", range(len(IMAGES)), ids=lambda number: IMAGES[number])
def test_images_of_spectra(number: int, plate: Any, tmp_path: Path) -> None:
    from astropy.io import fits
    from astropy.table import Table

    flux, sigma = spectra()
    ivar = sigma**-2.0
    path = tmp_path / "plate.fits"
    step = float(np.diff(np.log10(WAVES))[0])
    if number == 0:
        hdus = [
            fits.ImageHDU(array, name=name)
            for name, array in (("FLUX", flux), ("IVAR", ivar), ("WAVELENGTH", WAVES))
        ]
        fits.HDUList([fits.PrimaryHDU(), *hdus, plate]).writeto(path)
    elif number == 1:
        first = fits.PrimaryHDU(flux)
        first.header.update({"COEFF0": float(np.log10(WAVES[0])), "COEFF1": step})
        mask = fits.ImageHDU(np.zeros(flux.shape, dtype=np.int32), name="ANDMASK")
        fits.HDUList([first, fits.ImageHDU(ivar, name="IVAR"), mask, plate]).writeto(path)
    elif number == 2:
        arms = {"R": slice(18, None), "B": slice(0, 18)}
        hdus = []
        for arm, cut in arms.items():
            for name, array in (("WAVELENGTH", WAVES[cut]), ("FLUX", flux[:, cut]), ("IVAR", ivar[:, cut])):
                hdus.append(fits.ImageHDU(array, name=f"{arm}_{name}"))
        fits.HDUList([fits.PrimaryHDU(), plate, *hdus]).writeto(path)
    else:
        Table({"flux": flux[0], "loglam": np.log10(WAVES), "ivar": ivar[0]}).write(path)
        found = read(path)
        assert found.ids.tolist() == ["plate"]
        assert found.kind == "spectrum"
        np.testing.assert_allclose(found.objects.values, flux[:1])
        np.testing.assert_allclose(found.objects.at, WAVES)
        return
    found = read(path)
    check_spectra(found, flux, sigma)
    if number == 1:
        assert "extensions that were not used: ANDMASK" in str(found.losses)
    if number == 2:
        assert found.bands == ("b", "r")
        assert found.objects.band is not None and found.objects.band.tolist() == [0] * 18 + [1] * 12


def test_the_page_has_these_tables() -> None:
    text = PAGE.read_text()
    assert text == filled(text), "write them anew: python tests/data/conventions.py docs/tables.md"

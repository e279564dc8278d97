"""Tables as their owners have them: name styles, shapes and kinds of files, each a cell of docs/tables.md and a test.

``python tests/data/conventions.py docs/tables.md`` writes the tables of that page anew.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FILES = {"CSV": ".csv", "Parquet": ".parquet", "FITS": ".fits", "VOTable": ".vot", "ECSV": ".ecsv"}
N = 12


@dataclass(frozen=True)
class Style:
    """How a wide table names its values and their errors, the lower one too where there are two; `{}` is the band."""

    whose: str
    value: str
    error: str
    kind: str = "sigma"
    bands: str = "ugriz"
    lower: str | None = None


STYLES = (
    Style("most tables", "{}", "{}_err"),
    Style("VizieR", "{}mag", "e_{}mag"),
    Style("Gaia", "{}", "{}_error", bands="parallax pmra pmdec"),
    Style("Gaia fluxes", "phot_{}_mean_flux", "phot_{}_mean_flux_over_error", "over_error", "g bp rp"),
    Style("SDSS", "psfMag_{}", "psfMagErr_{}"),
    Style("DES, SExtractor", "MAG_AUTO_{}", "MAGERR_AUTO_{}", bands="GRIZY"),
    Style("Pan-STARRS", "{}MeanPSFMag", "{}MeanPSFMagErr", bands="grizy"),
    Style("2MASS", "{}_m", "{}_msigcom", bands="jhk"),
    Style("2MASS, without total errors", "{}_m", "{}_cmsig", bands="jhk"),
    Style("WISE", "w{}mpro", "w{}sigmpro", bands="1234"),
    Style("UKIDSS", "{}AperMag3", "{}AperMag3Err", bands="yjhk"),
    Style("Legacy Surveys", "flux_{}", "flux_ivar_{}", "ivar", "grz"),
    Style("Rubin", "{}_psfFlux", "{}_psfFluxErr"),
    Style("HSC", "{}_cmodel_mag", "{}_cmodel_magsigma", bands="grizy"),
    Style("", "{}", "{}err"),
    Style("", "{}", "err_{}"),
    Style("", "mag_{}", "err_{}"),
    Style("", "{}", "sigma_{}"),
    Style("", "{}", "{}_sigma"),
    Style("", "{}", "{}_std"),
    Style("", "{}", "{}_unc"),
    Style("", "{}", "{}_ivar", "ivar"),
    Style("", "{}", "{}_var", "variance"),
    Style("", "{}", "{}_rel_err", "relative"),
    Style("the laboratory", "{}", "d{}"),
    Style("the laboratory", "{}", "d_{}"),
    Style("", "x_{}", "e_{}"),
    Style("", "{} (mJy)", "{} error (mJy)"),
    Style("", "{} (mJy)", "{}_err"),
    Style("", "{}", "{}_err (%)", "percent"),
    Style("the laboratory", "{} (mg/L)", "{} RSD (%)", "percent", "Na K Ca"),
    Style("geochronology", "{} age (Ma)", "{} age 2s", "two_sigma", "Pb206 Pb207"),
    Style("geochronology", "{}", "{}_2s%", "two_sigma_percent", "Pb206_U238 Pb207_U235"),
    Style("", "{}", "{}_3sigma", "three_sigma"),
    Style("NASA Exoplanet Archive", "pl_{}", "pl_{}err1", "sides", "rade bmasse orbper", "pl_{}err2"),
    Style("Kepler objects of interest", "koi_{}", "koi_{}_err1", "sides", "prad teq", "koi_{}_err2"),
    Style("VizieR, two sides", "{}", "E_{}", "sides", "Mass Rad", "e_{}"),
    Style("", "{}", "{}_err_plus", "sides", lower="{}_err_minus"),
    Style("", "{}", "{}_errp", "sides", lower="{}_errm"),
    Style("", "{}", "err_up_{}", "sides", lower="err_low_{}"),
    Style(
        "Gaia's stellar parameters",
        "{}_gspphot",
        "{}_gspphot_upper",
        "bounds",
        "teff logg mh",
        "{}_gspphot_lower",
    ),
    Style("Chandra sources", "flux_aper_{}", "flux_aper_hilim_{}", "bounds", "h m s", "flux_aper_lolim_{}"),
    Style("percentiles", "{}50", "{}84", "bounds", "mass dist av", "{}16"),
)


def wide_columns(style: Style) -> tuple[dict[str, Any], np.ndarray, np.ndarray, list[str]]:
    """Columns of a wide table in a style, and what must be read from it: values and sigma (n, m), and the features."""
    rng = np.random.default_rng(1)
    bands = style.bands.split() if " " in style.bands else list(style.bands)
    columns: dict[str, Any] = {
        "objid": np.arange(N) + 1237648720693755000,
        "ra": rng.uniform(0, 360, N),
        "dec": rng.uniform(-90, 90, N),
        "class": np.array(["star", "galaxy"] * (N // 2)),
    }
    values, sigmas = [], []
    for band in bands:
        value, sigma = rng.uniform(15, 22, N), rng.uniform(0.01, 0.2, N)
        held = {
            "sigma": sigma,
            "variance": sigma**2,
            "ivar": sigma**-2.0,
            "relative": sigma / value,
            "over_error": value / sigma,
            "percent": 100.0 * sigma / value,
            "two_sigma": 2.0 * sigma,
            "three_sigma": 3.0 * sigma,
            "two_sigma_percent": 200.0 * sigma / value,
            "sides": 1.2 * sigma,
            "bounds": value + 1.2 * sigma,
        }[style.kind]
        columns[style.value.format(band)] = value
        columns[style.error.format(band)] = held
        if style.lower is not None:
            columns[style.lower.format(band)] = -0.8 * sigma if style.kind == "sides" else value - 0.8 * sigma
        values.append(value)
        sigmas.append(sigma)
    return (
        columns,
        np.column_stack(values),
        np.column_stack(sigmas),
        [style.value.format(band) for band in bands],
    )


@dataclass(frozen=True)
class Long:
    """How a long table names object, time, band, value and error."""

    whose: str
    names: tuple[str, str, str, str, str]


LONGS = (
    Long("any", ("object_id", "time", "band", "flux", "flux_err")),
    Long("PLAsTiCC", ("object_id", "mjd", "passband", "flux", "flux_err")),
    Long("ZTF", ("oid", "hmjd", "filtercode", "mag", "magerr")),
    Long("ZTF alerts", ("objectId", "jd", "fid", "magpsf", "sigmapsf")),
    Long("Rubin", ("diaObjectId", "midpointMjdTai", "band", "psfFlux", "psfFluxErr")),
    Long("SNANA", ("CID", "MJD", "FLT", "FLUXCAL", "FLUXCALERR")),
    Long("Open Supernova Catalog", ("event", "time", "band", "magnitude", "e_magnitude")),
    Long("Kepler, TESS", ("id", "time", "filter", "sap_flux", "sap_flux_err")),
    Long("inverse variances", ("id", "mjd", "band", "flux", "flux_ivar")),
)


def long_columns(long: Long) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Columns of a long table of three objects, and its times, values and sigma, (3, 4) each."""
    rng = np.random.default_rng(2)
    at = np.sort(rng.uniform(58000, 59000, (3, 4)), axis=1)
    values, sigma = rng.uniform(15, 20, at.shape), rng.uniform(0.01, 0.2, at.shape)
    held = sigma**-2.0 if long.names[4].endswith("ivar") else sigma
    cells = (
        np.repeat([11, 7, 9], 4),
        at.ravel(),
        np.tile(np.array(["g", "r"]), 6),
        values.ravel(),
        held.ravel(),
    )
    return dict(zip(long.names, cells, strict=True)), at, values, sigma


M = 30
WAVES = 10.0 ** np.linspace(3.6, 3.9, M)


@dataclass(frozen=True)
class Vector:
    """How spectra or light curves lie in the cells of a table or in images."""

    what: str
    make: Callable[[np.ndarray, np.ndarray], dict[str, Any]]
    files: tuple[str, ...] = ("Parquet", "FITS", "VOTable", "ECSV")
    own: bool = False
    header: dict[str, float] = field(default_factory=dict)


def _common(flux: np.ndarray, sigma: np.ndarray) -> dict[str, Any]:
    return {"flux": flux, "flux_err": sigma, "wavelength": np.tile(WAVES, (len(flux), 1))}


def _sdss(flux: np.ndarray, sigma: np.ndarray) -> dict[str, Any]:
    return {"flux": flux, "ivar": sigma**-2.0, "loglam": np.tile(np.log10(WAVES), (len(flux), 1))}


def _own(flux: np.ndarray, sigma: np.ndarray) -> dict[str, Any]:
    shift = 1.0 + 0.01 * np.arange(len(flux))[:, None]
    return {"flux": flux, "flux_ivar": sigma**-2.0, "wave": WAVES * shift}


def _bare(flux: np.ndarray, sigma: np.ndarray) -> dict[str, Any]:
    return {"flux": flux, "ivar": sigma**-2.0}


VECTORS = (
    Vector("`flux`, `flux_err`, `wavelength`", _common),
    Vector("`flux`, `ivar`, `loglam` (SDSS)", _sdss),
    Vector("`flux`, `flux_ivar`, `wave` of each object", _own, own=True),
    Vector(
        "`flux`, `ivar`, keywords `COEFF0`, `COEFF1`",
        _bare,
        files=("FITS",),
        header={"COEFF0": 3.6, "COEFF1": 0.3 / (M - 1)},
    ),
)
IMAGES = (
    "images `FLUX`, `IVAR`, `WAVELENGTH` and a table",
    "images `FLUX`, `IVAR` with `COEFF0`, `COEFF1` (SDSS plates)",
    "images `B_FLUX`, `B_IVAR`, `B_WAVELENGTH`, `R_FLUX` ... (DESI)",
    "one spectrum a file, a row per wavelength (SDSS spec)",
)


def spectra() -> tuple[np.ndarray, np.ndarray]:
    """Values and sigma (n, M)."""
    rng = np.random.default_rng(3)
    return rng.normal(10, 1, (N, M)), rng.uniform(0.1, 0.5, (N, M))


def write(columns: dict[str, Any], path: Path, header: dict[str, float] | None = None) -> Path:
    """Write columns, (n,) or (n, m), by pandas or astropy, not by the code under test."""
    import astropy.io.fits
    import pandas
    from astropy.table import Table

    if path.suffix in (".csv", ".parquet"):
        frame = pandas.DataFrame({name: list(column) for name, column in columns.items()})
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
        return path
    formats = {".fits": "fits", ".vot": "votable", ".ecsv": "ascii.ecsv"}
    with warnings.catch_warnings():
        # A VOTable's name with a blank is warned of; people have such tables.
        warnings.simplefilter("ignore")
        Table(columns).write(path, format=formats[path.suffix])
    if header:
        with astropy.io.fits.open(path, mode="update") as file:
            file[1].header.update(header)
    return path


def _names(style: Style) -> str:
    """The columns of a band, in words of the page."""
    band = "g" if " " not in style.bands else style.bands.split()[0]
    band = band if style.lower is not None else "g"
    named = [style.value, style.error] + ([style.lower] if style.lower is not None else [])
    return ", ".join(f"`{name.format(band)}`" for name in named)


def tables() -> dict[str, str]:
    """The tables of the page, by name."""
    head = (
        "| names | used by | error column holds | "
        + " | ".join(FILES)
        + " |\n|---|---|---"
        + "|---" * len(FILES)
        + "|"
    )
    wide = [
        f"| {_names(style)} | {style.whose} | {style.kind.replace('_', ' ')} " + "| yes " * len(FILES) + "|"
        for style in STYLES
    ]
    head_long = "| names | used by | " + " | ".join(FILES) + " |\n|---|---" + "|---" * len(FILES) + "|"
    long = [
        f"| {', '.join(f'`{name}`' for name in one.names)} | {one.whose} " + "| yes " * len(FILES) + "|"
        for one in LONGS
    ]
    head_vectors = "| what | " + " | ".join(FILES) + " |\n|---" + "|---" * len(FILES) + "|"
    vectors = [
        f"| {one.what} " + "".join(f"| {'yes' if kind in one.files else '-'} " for kind in FILES) + "|"
        for one in VECTORS
    ]
    vectors += [
        f"| {what} " + "".join(f"| {'yes' if kind == 'FITS' else '-'} " for kind in FILES) + "|"
        for what in IMAGES
    ]
    return {
        "wide": "\n".join([head, *wide]),
        "long": "\n".join([head_long, *long]),
        "vectors": "\n".join([head_vectors, *vectors]),
    }


def filled(page: str) -> str:
    """The page with its tables as they must be."""
    for name, table in tables().items():
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(\n<!-- end {name} -->)",
            lambda found, table=table: f"{found[1]}\n{table}\n{found[2]}",
            page,
            flags=re.DOTALL,
        )
    return page


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(filled(place.read_text()))

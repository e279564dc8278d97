"""FITS files as surveys write them: tables with a row per object, cells with a whole spectrum, and images of spectra.

A table's cells may hold vectors (``flux`` of 400 values). Images of one row per object, ``FLUX`` with ``IVAR`` (SDSS plates) or
``B_FLUX``, ``B_IVAR``, ``B_WAVELENGTH`` ... (DESI), become such columns beside the table that has as many rows. The wavelengths
are a column, an extension of their own, or keywords: ``10^(COEFF0 + COEFF1 i)``, or ``CRVAL1 + CDELT1 (i + 1 - CRPIX1)``. A
table of one spectrum (SDSS ``spec`` files: a row per wavelength) is one object.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from badac.data.axes import AXES, WAVELENGTHS, is_axis, undo_logarithm
from badac.data.columns import find
from badac.data.error_marks import key_of, words
from badac.data.frames import as_frame, from_columns, repeated
from badac.data.optional import needs
from badac.data.pairing import pair_columns
from badac.data.validation import FloatArray


def read_fits(path: str | os.PathLike[str]) -> Any:
    """Read a FITS file into a DataFrame; vectors become columns of arrays."""
    table_of = needs("astropy.table", f"Reading {path}").Table
    fits = needs("astropy.io.fits", f"Reading {path}")
    with fits.open(path) as file:
        images = _images(file)
        if any(image.data.ndim == 2 for image in images.values()) and pair_columns(_flat(images)).pairs:
            return _from_images(file, images, table_of)
        tables = [hdu for hdu in file if getattr(hdu, "columns", None) is not None]
        if not tables:
            raise ValueError("it holds neither a table nor images FLUX and IVAR of one row per object")
        names = tables[0].columns.names
        twice = [name for place, name in enumerate(names) if name in names[:place]]
        if twice:
            raise ValueError(f"it has more than one column {twice[0]!r}: rename or drop one")
        frame = as_frame(table_of.read(tables[0]))
        axis = [name for name in frame.columns if is_axis(str(name))]
        if _is_one_spectrum(frame, axis):
            return _one_object(frame, Path(path).name.partition(".")[0])
        if len(tables) > 1:
            others = ", ".join(hdu.name or "one without a name" for hdu in tables[1:])
            frame.attrs["notes"] = (
                *frame.attrs["notes"],
                f"only the first table of the file was read; others: {others}",
            )
        length = _vector_length(frame)
        if length and not axis:
            coordinates = _other_axis(images, tables[1:], length)
            if coordinates is None:
                coordinates = _header_axis([tables[0].header, file[0].header], length)
            if coordinates is not None:
                frame["wavelength"] = repeated(coordinates, len(frame))
        return frame


def _images(file: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, hdu in enumerate(file):
        if getattr(hdu, "is_image", False) and hdu.data is not None and hdu.data.ndim in (1, 2):
            name = (
                hdu.name
                if hdu.name and hdu.name != "PRIMARY"
                else ("FLUX" if number == 0 else f"HDU{number}")
            )
            found.setdefault(name, hdu)
    return found


def _flat(images: dict[str, Any]) -> list[str]:
    return [name for name, image in images.items() if image.data.ndim == 2]


def _from_images(file: Any, images: dict[str, Any], table_of: Any) -> Any:
    pairs = pair_columns(_flat(images)).pairs
    n = images[pairs[0].value].data.shape[0]
    tables = [hdu for hdu in file if getattr(hdu, "columns", None) is not None and len(hdu.data) == n]
    frame = as_frame(table_of.read(tables[0])) if tables else from_columns({})
    units, notes = dict(frame.attrs["units"]), list(frame.attrs["notes"])
    vectors: dict[str, Any] = {}
    for pair in pairs:
        shape = images[pair.value].data.shape
        for name in pair.error_columns:
            if images[name].data.shape != shape:
                raise ValueError(
                    f"the images {pair.value} and {name} have shapes {shape} and {images[name].data.shape}, which must be one"
                )
        for name in pair.columns:
            vectors[name] = images[name].data
            units[name] = str(images[name].header.get("BUNIT", ""))
        arm = words(pair.value)[0][0] if len(words(pair.value)) > 1 else ""
        axis = next((name for name in images if _is_axis_of(name, arm) and images[name].data.ndim == 1), None)
        length = images[pair.value].data.shape[1]
        coordinates = (
            np.asarray(images[axis].data, dtype=np.float64)
            if axis is not None
            else _header_axis([images[pair.value].header, file[0].header], length)
        )
        if coordinates is not None:
            if len(coordinates) != length:
                raise ValueError(f"{axis} has {len(coordinates)} points, but {pair.value} has {length}")
            name = axis or (f"{arm}_wavelength" if arm else "wavelength")
            vectors[name] = np.broadcast_to(coordinates, images[pair.value].data.shape)
            units[name] = "Angstrom"
    unused = [name for name in images if name not in vectors]
    if unused:
        notes.append(f"extensions that were not used: {', '.join(unused)}")
    columns = {str(name): frame[name] for name in frame.columns}
    out = from_columns(
        {**{name: np.asarray(column) for name, column in columns.items()}, **vectors}, units, notes
    )
    for name, column in columns.items():
        out[name] = column
    return out


def _is_axis_of(name: str, arm: str) -> bool:
    by_word = words(name)
    return key_of(name) in AXES if not arm else is_axis(name) and by_word[0][0] == arm


def _is_one_spectrum(frame: Any, axis: Sequence[Any]) -> bool:
    """Whether the rows are wavelengths of one object."""
    names = [str(name) for name in frame.columns]
    return (
        bool(axis)
        and key_of(str(axis[0])) in WAVELENGTHS
        and frame[axis[0]].dtype.kind == "f"
        and find(names, "object") is None
        and bool(pair_columns(names).pairs)
    )


def _one_object(frame: Any, name: str) -> Any:
    columns: dict[str, Any] = {"object_id": np.array([name])}
    columns |= {
        str(one): np.asarray(frame[one], dtype=np.float64)[None, :]
        for one in frame
        if frame[one].dtype.kind in "fiu"
    }
    return from_columns(columns, frame.attrs["units"], frame.attrs["notes"])


def _vector_length(frame: Any) -> int:
    for name in frame.columns:
        if frame[name].dtype == object and len(frame) and isinstance(frame[name].iloc[0], np.ndarray):
            return len(frame[name].iloc[0])
    return 0


def _other_axis(images: dict[str, Any], tables: Sequence[Any], length: int) -> FloatArray | None:
    """Return coordinates (m,) from another extension, logarithms undone, or None."""
    for name, image in images.items():
        if is_axis(name) and image.data.shape == (length,):
            return undo_logarithm(name, np.asarray(image.data, dtype=np.float64))
    for table in tables:
        for name in table.columns.names:
            numbers = np.asarray(table.data[name]).ravel() if is_axis(name) else np.empty(0)
            if len(numbers) == length:
                return undo_logarithm(name, numbers.astype(np.float64))
    return None


def _header_axis(headers: Sequence[Any], length: int) -> FloatArray | None:
    """Return coordinates (m,) from keywords of the first header that has them, or None."""
    pixel = np.arange(length, dtype=np.float64)
    for header in headers:
        if "COEFF0" in header and "COEFF1" in header:
            return np.asarray(10.0 ** (header["COEFF0"] + header["COEFF1"] * pixel))
        step = header.get("CDELT1", header.get("CD1_1"))
        if "CRVAL1" in header and step is not None:
            linear = header["CRVAL1"] + step * (pixel + 1.0 - header.get("CRPIX1", 1.0))
            return np.asarray(10.0**linear if header.get("DC-FLAG") == 1 else linear)
    return None

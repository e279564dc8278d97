"""Tables of results into files: CSV, Parquet, FITS, VOTable or ECSV, by the suffix, whole or absent."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.files import TableFileError, kind_of
from badac.data.optional import needs
from badac.data.spreadsheets import as_text, is_formula
from badac.writing import write_whole

WRITTEN = ("csv", "parquet", "fits", "votable", "ecsv")
"""Kinds of files that `write_table` writes."""
_SUFFIXES = ".csv, .tsv, .parquet, .fits, .vot, .ecsv"


def write_table(
    columns: Mapping[str, Any],
    path: str | os.PathLike[str],
    units: Mapping[str, str] | None = None,
    *,
    formulas: bool = False,
) -> None:
    """Write columns (n,) of one length to a file whose kind is told by the suffix.

    Parameters
    ----------
    columns : mapping from name to (n,) array-like
        Numbers, text, truth values or dates; in FITS and VOTable dates are written as text.
    path : path
        Never seen half-written.
    units : mapping from name to unit, optional
        Kept by FITS, VOTable and ECSV.
    formulas : bool
        Whether text that a spreadsheet would run stays as it is in CSV (see `badac.data.spreadsheets`).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from badac.data import read_frame, write_table
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "ranking.vot"
    >>> write_table({"object": ["a", "b"], "score": [2.0, 1.0]}, place)
    >>> read_frame(place)["score"].tolist()
    [2.0, 1.0]
    """
    kind = kind_of(path)
    if kind not in WRITTEN:
        raise TableFileError(f"{path}: tables are written as {_SUFFIXES}.")
    plain = {str(name): np.asarray(column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in plain.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"all columns must have one length: got {', '.join(f'{n} {c}' for n, c in lengths.items())}."
        )
    if kind == "csv" and not formulas:
        plain = {as_text(name): _without_formulas(column) for name, column in plain.items()}
    write_whole(Path(path), content(plain, kind, units or {}, tab=Path(path).suffix == ".tsv"))


def content(
    columns: Mapping[str, npt.NDArray[Any]], kind: str, units: Mapping[str, str], *, tab: bool = False
) -> bytes:
    """Return what a file of a kind of `WRITTEN` holds."""
    buffer = io.BytesIO()
    if kind in ("csv", "parquet"):
        frame = needs("pandas", "Writing a table").DataFrame(dict(columns))
        if kind == "csv":
            frame.to_csv(buffer, index=False, sep="\t" if tab else ",")
        else:
            needs("pyarrow", "Writing Parquet")
            frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    table = needs("astropy.table", "Writing a table").Table(
        {name: _cells(column) for name, column in columns.items()}
    )
    for name, unit in units.items():
        if name in table.colnames:
            table[name].unit = needs("astropy.units", "Units").Unit(unit, parse_strict="silent")
    if kind == "ecsv":
        text = io.StringIO()
        table.write(text, format="ascii.ecsv")
        return text.getvalue().encode()
    if kind == "votable":
        table.write(buffer, format="votable", tabledata_format="tabledata")
    else:
        table.write(buffer, format="fits")
    return buffer.getvalue()


def _without_formulas(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.dtype.kind not in "UO" or not any(map(is_formula, column.tolist())):
        return column
    return np.asarray([as_text(cell) for cell in column.tolist()], dtype=object)


def _cells(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dates and Python objects as text, which all these files hold."""
    if column.dtype.kind == "M":
        return np.datetime_as_string(column)
    return column.astype(str) if column.dtype.kind == "O" else column

"""Files into tables of columns: CSV, Parquet, FITS, VOTable, ECSV and NPZ, whole or in batches.

The kind is told by the suffix. pandas, pyarrow and astropy are imported when a file needs them, and the message says which
extra brings them. A file that cannot be read is refused with its name and what is wrong with it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from badac.data.columns import find
from badac.data.fits_files import read_fits
from badac.data.frames import as_frame, from_columns
from badac.data.optional import needs

__all__ = ["SUFFIXES", "TableFileError", "kind_of", "needs", "read_batches", "read_frame"]

SUFFIXES = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".fits": "fits",
    ".fits.gz": "fits",
    ".fit": "fits",
    ".vot": "votable",
    ".votable": "votable",
    ".xml": "votable",
    ".ecsv": "ecsv",
    ".npz": "npz",
}

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas", " ": "blanks"}
# A whole number that is the same again when it is written: identifiers such as 007 or 1e5 are not.
_WHOLE = r"-?[1-9]\d{0,17}|-?[1-8]\d{18}|0"


class TableFileError(ValueError):
    """A file that holds no table that can be read."""


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return "csv", "parquet", "fits", "votable", "ecsv" or "npz", by the file's suffix."""
    name = Path(path).name.lower()
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    raise TableFileError(
        f"{path} has a suffix that names no kind of table: use one of {', '.join(SUFFIXES)}, or read the table yourself "
        "and pass the DataFrame."
    )


def read_frame(path: str | os.PathLike[str], text: Sequence[str] = ()) -> Any:
    """Read a whole file into a pandas DataFrame.

    Parameters
    ----------
    path : path
        CSV (also tab or blank separated), Parquet, FITS (`badac.data.fits_files`), VOTable, ECSV, or NPZ (one-dimensional
        arrays are columns; `values` and `sigma` of shape (n, m) are as many columns as there are points, or vectors where `at`
        says where the points are).
    text : sequence of str
        Columns of a CSV file that are names rather than numbers, whatever they look like; the usual names of an identifier are
        known.
    """
    kind = kind_of(path)
    pandas = needs("pandas", f"Reading {path}")
    _check_there(path)
    try:
        if kind == "csv":
            frame = _as_written(_csv(pandas, path, text))
        elif kind == "parquet":
            needs("pyarrow", f"Reading {path}")
            frame = pandas.read_parquet(path)
            frame.attrs["units"] = _parquet_units(
                needs("pyarrow.parquet", f"Reading {path}").read_schema(path)
            )
        elif kind == "fits":
            frame = read_fits(path)
        elif kind == "npz":
            frame = _read_npz(path)
        else:
            frame = _read_astropy(path, kind)
    except (ImportError, TableFileError):
        raise
    except Exception as error:
        raise TableFileError(
            f"{path} cannot be read as {kind}: {error}. Is it whole, and is the suffix right?"
        ) from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise TableFileError(f"{path} holds no rows: got {len(frame)} rows and {frame.shape[1]} columns.")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise TableFileError(f"{path} has more than one column {str(twice[0])!r}. Rename or drop one.")
    return frame


def read_batches(path: str | os.PathLike[str], n_rows: int, text: Sequence[str] = ()) -> Iterator[Any]:
    """Yield DataFrames of at most `n_rows` rows, without holding more than one of a CSV or Parquet file in memory.

    FITS, VOTable, ECSV and NPZ are read whole and then cut.
    """
    kind = kind_of(path)
    _check_there(path)
    try:
        if kind == "parquet":
            parquet = needs("pyarrow.parquet", f"Reading {path}")
            # By default pyarrow keeps what it has read ahead, and a row group whole: a file larger than memory would not fit.
            file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16)
            units = _parquet_units(file.schema_arrow)
            for batch in file.iter_batches(batch_size=n_rows, use_threads=False):
                frame = batch.to_pandas()
                frame.attrs["units"] = units
                yield frame
        elif kind == "csv":
            pandas = needs("pandas", f"Reading {path}")
            with _csv(pandas, path, text, chunksize=n_rows) as chunks:
                yield from map(_as_written, chunks)
        else:
            frame = read_frame(path)
            for start in range(0, len(frame), n_rows):
                yield frame.iloc[start : start + n_rows]
    except (ImportError, TableFileError):
        raise
    except Exception as error:
        raise TableFileError(
            f"{path} cannot be read as {kind}: {error}. Is it whole, and is the suffix right?"
        ) from error


def _check_there(path: str | os.PathLike[str]) -> None:
    found = Path(path)
    if found.is_dir():
        raise TableFileError(f"{path} is a directory, not a table.")
    if not found.exists():
        raise FileNotFoundError(f"{path} does not exist (looked in {Path.cwd()}).")


def _csv(pandas: Any, path: str | os.PathLike[str], text: Sequence[str], **options: Any) -> Any:
    """Read CSV with identifiers as they are written."""
    name = Path(path).name.lower()
    separator = "\t" if name.endswith(".tsv") else (r"\s+" if name.endswith((".txt", ".dat")) else ",")
    options |= {"sep": separator, "comment": "#", "skipinitialspace": True}
    # As they are in the file: pandas would rename a name that comes twice.
    head = pandas.read_csv(path, **(options | {"chunksize": None, "nrows": 1, "header": None, "dtype": str}))
    names = head.iloc[0].dropna().tolist() if len(head) else []
    behind = _header_behind_a_mark(path, names) if separator == r"\s+" else None
    if behind is not None:
        names = behind
        options |= {"names": names, "header": None}
    _check_names(names, path)
    named = {name for name in (find(names, "object"), *text) if name in names}
    return pandas.read_csv(path, dtype=dict.fromkeys(named, str), **options)


def _header_behind_a_mark(path: str | os.PathLike[str], first: list[str]) -> list[str] | None:
    """Return the names of a file whose header is a comment, as many programs write it (# id g g_err), or None."""
    header: list[str] = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.strip() and not line.lstrip().startswith("#"):
                break
            header = line.strip().lstrip("# ").split() or header
    if len(header) != len(first) or any(map(_is_number, header)) or not any(map(_is_number, first)):
        return None
    return header


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_names(names: list[str], path: str | os.PathLike[str]) -> None:
    """Refuse a file that was read as one column, and one with a name that comes twice."""
    other = next((name for mark, name in _SEPARATORS.items() if mark in "".join(names[:1])), None)
    if len(names) == 1 and other is not None:
        raise TableFileError(
            f"{path} is read as one column, {names[0][:60]!r}: is it separated by {other}? Separate the columns by commas, "
            "or by tabs (.tsv) or blanks (.txt)."
        )
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise TableFileError(f"{path} has more than one column {twice!r}. Rename or drop one.")


def _as_written(frame: Any) -> Any:
    """Return the frame with an identifier that is a whole number as such, where nothing is lost of it."""
    name = find([str(name) for name in frame.columns], "object")
    if name is None or name not in frame.columns or not len(frame) or frame[name].isna().any():
        return frame
    if frame[name].dtype.kind == "O" and frame[name].str.fullmatch(_WHOLE).all():
        frame[name] = frame[name].astype(np.int64)
    return frame


def _parquet_units(schema: Any) -> dict[str, str]:
    """Return the units that astropy wrote beside a Parquet table."""
    written = (schema.metadata or {}).get(b"table_meta_yaml")
    if written is None:
        return {}
    header = needs("astropy.table.meta", "Units of a Parquet file").get_header_from_yaml(
        written.decode().split("\n")
    )
    return {column["name"]: str(column["unit"]) for column in header["datatype"] if column.get("unit")}


def _read_astropy(path: str | os.PathLike[str], kind: str) -> Any:
    table = needs("astropy.table", f"Reading {path}").Table
    with warnings.catch_warnings():
        # Half of all VOTables break a rule of the standard; what can be read is read.
        warnings.simplefilter("ignore")
        if kind == "votable":
            # The names that people see, not the ones made of them for XML.
            return as_frame(table.read(path, format="votable", use_names_over_ids=True))
        return as_frame(table.read(path, format="ascii.ecsv"))


def _read_npz(path: str | os.PathLike[str]) -> Any:
    # allow_pickle stays off: a table needs no code.
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    values = arrays.get("values")
    if values is not None and values.ndim == 2:
        # The natural file of a NumPy user: values and sigma, both (n, m).
        n, m = values.shape
        at = arrays.get("at")
        flat = {
            name: array
            for name, array in arrays.items()
            if array.ndim == 1 and len(array) == n and name != "at"
        }
        shaped = {
            name: arrays[name]
            for name in ("values", "sigma")
            if name in arrays and arrays[name].shape == (n, m)
        }
        if at is not None and at.shape in ((m,), (n, m)) and "sigma" in shaped:
            return from_columns(
                {**flat, **shaped, "at": np.broadcast_to(at, (n, m))},
                notes=_unused(arrays, {*flat, *shaped, "at"}),
            )
        width = len(str(m - 1))
        for ending, name in (("", "values"), ("_err", "sigma")):
            flat |= (
                {f"x{number:0{width}d}{ending}": column for number, column in enumerate(shaped[name].T)}
                if name in shaped
                else {}
            )
        return from_columns(flat, notes=_unused(arrays, {*flat, *shaped}))
    flat = {name: array for name, array in arrays.items() if array.ndim == 1}
    lengths = {array.shape[0] for array in flat.values()}
    if not flat or len(lengths) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise TableFileError(
            f"{path} must hold one-dimensional arrays of one length, its columns, or `values` and `sigma` (n, m): got {shapes}."
        )
    return from_columns(flat, notes=_unused(arrays, set(flat)))


def _unused(arrays: dict[str, Any], used: set[str]) -> list[str]:
    """A sentence about arrays of a file that are neither columns nor points."""
    left = [f"{name} {array.shape}" for name, array in arrays.items() if name not in used]
    return [f"arrays of the file that were not used: {', '.join(left)}"] if left else []

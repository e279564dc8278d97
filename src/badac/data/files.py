"""Files into tables of columns: CSV, Parquet, FITS and NPZ, whole or in batches.

The kind is told by the suffix. pandas, pyarrow and astropy are imported when a file needs them, and the message says which
extra brings them. A file that cannot be read is refused with its name and what is wrong with it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

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
    ".npz": "npz",
}


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas", " ": "blanks"}


class TableFileError(ValueError):
    """A file that holds no table that can be read."""


def needs(module: str, what: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{what} needs {package}, which is not installed: pip install 'badac[io]' brings it."
        ) from error


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return "csv", "parquet", "fits" or "npz", by the file's suffix."""
    name = Path(path).name.lower()
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    raise TableFileError(
        f"{path} has a suffix that names no kind of table: use one of {', '.join(SUFFIXES)}, or read the table yourself "
        "and pass the DataFrame."
    )


def read_frame(path: str | os.PathLike[str]) -> Any:
    """Read a whole file into a pandas DataFrame.

    Parameters
    ----------
    path : path
        CSV (also tab or blank separated), Parquet, FITS (first table in it) or NPZ (one-dimensional arrays are
        columns; `values` and `sigma` of shape (n, m) are as many columns as there are points).
    """
    kind = kind_of(path)
    pandas = needs("pandas", f"Reading {path}")
    _check_there(path)
    readers = {"csv": _read_csv, "parquet": _read_parquet, "fits": _read_fits, "npz": _read_npz}
    try:
        frame = readers[kind](pandas, path)
    except (ImportError, TableFileError):
        raise
    except Exception as error:
        raise TableFileError(
            f"{path} cannot be read as {kind}: {error}. Is it whole, and is the suffix right?"
        ) from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise TableFileError(f"{path} holds no rows: got {len(frame)} rows and {frame.shape[1]} columns.")
    if kind == "csv" and frame.shape[1] == 1:
        only = str(frame.columns[0])
        other = next((name for mark, name in _SEPARATORS.items() if mark in only), None)
        if other is not None:
            raise TableFileError(
                f"{path} is read as one column, {only[:60]!r}: is it separated by {other}? Separate the columns by commas, "
                "or by tabs (.tsv) or blanks (.txt)."
            )
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise TableFileError(f"{path} has more than one column {str(twice[0])!r}. Rename or drop one.")
    return frame


def read_batches(path: str | os.PathLike[str], n_rows: int) -> Iterator[Any]:
    """Yield DataFrames of at most `n_rows` rows, without holding more than one of a CSV or Parquet file in memory.

    FITS and NPZ are read whole and then cut.
    """
    kind = kind_of(path)
    _check_there(path)
    try:
        if kind == "parquet":
            parquet = needs("pyarrow.parquet", f"Reading {path}")
            # By default pyarrow keeps what it has read ahead, and a row group whole: a file larger than memory would not fit.
            file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16)
            for batch in file.iter_batches(batch_size=n_rows, use_threads=False):
                yield batch.to_pandas()
        elif kind == "csv":
            pandas = needs("pandas", f"Reading {path}")
            with _csv(pandas, path, chunksize=n_rows) as chunks:
                yield from chunks
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


def _csv(pandas: Any, path: str | os.PathLike[str], **options: Any) -> Any:
    name = Path(path).name.lower()
    separator = "\t" if name.endswith(".tsv") else (r"\s+" if name.endswith((".txt", ".dat")) else ",")
    # Identifiers such as 007 or 1e5 lose their spelling as numbers; that is the file's own ambiguity, not ours to guess.
    return pandas.read_csv(path, sep=separator, comment="#", skipinitialspace=True, **options)


def _read_csv(pandas: Any, path: str | os.PathLike[str]) -> Any:
    return _csv(pandas, path)


def _read_parquet(pandas: Any, path: str | os.PathLike[str]) -> Any:
    needs("pyarrow", f"Reading {path}")
    return pandas.read_parquet(path)


def _read_fits(pandas: Any, path: str | os.PathLike[str]) -> Any:
    table = needs("astropy.table", f"Reading {path}").Table.read(path, format="fits")
    flat = [name for name in table.colnames if table[name].ndim == 1]
    columns: dict[str, Any] = {}
    for name in flat:
        column = table[name]
        plain = np.ma.getdata(column)
        if plain.dtype.kind == "S":
            plain = np.char.decode(plain, "utf-8", "replace")
        # FITS is big-endian; pandas wants the machine's order.
        plain = plain.astype(plain.dtype.newbyteorder("=")) if plain.dtype.kind in "fiu" else plain
        if hasattr(column, "mask") and np.any(column.mask):
            plain = plain.astype(object if plain.dtype.kind in "UO" else np.float64)
            plain[np.asarray(column.mask)] = None if plain.dtype == object else np.nan
        columns[name] = plain
    return pandas.DataFrame(columns)


def _read_npz(pandas: Any, path: str | os.PathLike[str]) -> Any:
    # allow_pickle stays off: a table needs no code.
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    flat = {name: array for name, array in arrays.items() if array.ndim == 1}
    if "values" in arrays and arrays["values"].ndim == 2:
        # The natural file of a NumPy user: values and sigma, both (n, m); a coordinate per point is no column.
        n = len(arrays["values"])
        flat = {name: array for name, array in flat.items() if len(array) == n}
        for ending, name in (("", "values"), ("_err", "sigma")):
            if name in arrays and arrays[name].shape == arrays["values"].shape:
                columns = arrays[name].T
                width = len(str(len(columns) - 1))
                flat |= {f"x{number:0{width}d}{ending}": column for number, column in enumerate(columns)}
    lengths = {array.shape[0] for array in flat.values()}
    if not flat or len(lengths) != 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise TableFileError(
            f"{path} must hold one-dimensional arrays of one length, its columns, or `values` and `sigma` (n, m): got {shapes}."
        )
    return pandas.DataFrame(flat)

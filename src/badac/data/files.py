"""Files into tables of columns: text, Parquet, FITS, VOTable, ECSV, NPZ, JSON and Feather, whole or in batches.

The kind is told by the suffix. pandas, pyarrow and astropy are imported when a file needs them, and the message says which
extra brings them. A file that cannot be read is refused with its name and what is wrong with it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from badac.data.arrow_tables import ArrowColumns, is_plain
from badac.data.cell_errors import split_errors
from badac.data.fits_files import read_fits
from badac.data.frames import as_frame, from_columns
from badac.data.npz_files import read_arrays
from badac.data.optional import needs
from badac.data.text_files import OPENERS, TableFileError, read_text
from badac.data.whole_numbers import arrow_frame, record_frame, with_gaps
from badac.writing import clause

__all__ = ["SUFFIXES", "TableFileError", "kind_of", "needs", "read_batches", "read_frame"]

SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".tsv": "csv",
    ".tab": "csv",
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
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".feather": "feather",
    ".arrow": "feather",
}
"""Kinds of files; text may be compressed too (.gz, .bz2, .xz)."""

_OTHERS = {
    (
        ".xlsx",
        ".xls",
        ".ods",
    ): "is a spreadsheet: save the sheet as CSV there, or read it with pandas.read_excel and pass the "
    "DataFrame",
    (
        ".h5",
        ".hdf5",
        ".hdf",
    ): "is HDF5, which may hold anything: read the table with pandas.read_hdf or h5py and pass the "
    "DataFrame, or write it as Parquet",
    (".pkl", ".pickle"): "is a pickle, which runs code when it is opened: write the table as Parquet",
    (".zip", ".tar", ".tgz", ".tar.gz"): "is an archive: unpack it first",
}


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return "csv", "parquet", "fits", "votable", "ecsv", "npz", "json" or "feather", by the file's suffix."""
    name = Path(path).name.lower()
    plain = name.removesuffix(Path(name).suffix) if Path(name).suffix in OPENERS else name
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix) or (plain.endswith(suffix) and kind in ("csv", "json")):
            return kind
    for suffixes, words in _OTHERS.items():
        if name.endswith(suffixes):
            raise TableFileError(f"{path} {words}.")
    raise TableFileError(
        f"{path} has a suffix that names no kind of table: use one of {', '.join(SUFFIXES)}, or read the table yourself "
        "and pass the DataFrame."
    )


def read_frame(path: str | os.PathLike[str], text: Sequence[str] = ()) -> Any:
    """Read a whole file into a pandas DataFrame.

    Parameters
    ----------
    path : path
        CSV and other text (`badac.data.text_files`), Parquet, Feather, JSON records, FITS (`badac.data.fits_files`), VOTable,
        ECSV, or NPZ (one-dimensional arrays are columns; `values` and `sigma` of shape (n, m) are as many columns as there are
        points, or vectors where `at` says where the points are).
    text : sequence of str
        Columns of a text file that are names rather than numbers, whatever they look like; the usual names of an identifier are
        known.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.data import read_frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"g": [17.1], "g_err": [0.1]}).to_csv(Path(folder) / "stars.csv", sep=";", decimal=",", index=False)
    ...     read_frame(Path(folder) / "stars.csv")["g"].tolist()  # semicolons and decimal commas are recognised
    [17.1]
    """
    kind = kind_of(path)
    pandas = needs("pandas", f"Reading {path}")
    _check_there(path)
    try:
        if kind == "csv":
            frame = next(read_text(path, text))
        elif kind == "parquet":
            parquet = needs("pyarrow.parquet", f"Reading {path}")
            schema = parquet.read_schema(path)
            _refuse_twice(schema.names, path)
            frame = with_gaps(
                pandas.read_parquet(path),
                dict(zip(schema.names, schema.types, strict=True)),
                lambda name: parquet.ParquetFile(path).read(columns=[name]).column(0),
            )
            frame.attrs["units"] = _parquet_units(schema)
        elif kind == "fits":
            frame = read_fits(path)
        elif kind == "npz":
            frame = _read_npz(path)
        elif kind == "json":
            frame = _read_json(path)
        elif kind == "feather":
            table = needs("pyarrow.feather", f"Reading {path}").read_table(path)
            # Offsets that lead out of a damaged file's buffers would end the process.
            table.validate(full=True)
            frame = arrow_frame(table)
        else:
            frame = _read_astropy(path, kind)
    except (ImportError, TableFileError):
        raise
    except Exception as error:
        raise TableFileError(
            f"{path} cannot be read as {kind}: {clause(error)}. Is it whole, and is the suffix right?"
        ) from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise TableFileError(f"{path} holds no rows: got {len(frame)} rows and {frame.shape[1]} columns.")
    _refuse_twice(frame.columns, path)
    return frame


def _refuse_twice(names: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Two columns of one name cannot be told apart."""
    seen: set[str] = set()
    for name in map(str, names):
        if name in seen:
            raise TableFileError(f"{path} has more than one column {name!r}. Rename or drop one.")
        seen.add(name)


def read_batches(
    path: str | os.PathLike[str],
    n_rows: int,
    text: Sequence[str] = (),
    *,
    plain: bool = False,
    row_groups: Sequence[int] | None = None,
) -> Iterator[Any]:
    """Yield DataFrames of at most `n_rows` rows, without holding more than one of a CSV or Parquet file in memory.

    Other kinds are read whole and then cut.

    Parameters
    ----------
    path : path
    n_rows : int
    text : sequence of str
        As in `read_frame`.
    plain : bool
        Whether columns of numbers and text may come without pandas (`badac.data.arrow_tables.ArrowColumns`), where a Parquet
        file has no others.
    row_groups : sequence of int, optional
        Only these, of a Parquet file.
    """
    kind = kind_of(path)
    _check_there(path)
    try:
        if kind == "parquet":
            parquet = needs("pyarrow.parquet", f"Reading {path}")
            # By default pyarrow keeps what it has read ahead, and a row group whole: a file larger than memory would not fit.
            file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16)
            _refuse_twice(file.schema_arrow.names, path)
            units = _parquet_units(file.schema_arrow)
            direct = plain and is_plain(file.schema_arrow)
            before = range(row_groups[0]) if row_groups else ()
            first = sum(file.metadata.row_group(number).num_rows for number in before)
            for batch in file.iter_batches(batch_size=n_rows, row_groups=row_groups, use_threads=False):
                # Where `plain`, columns; else, or where cells are empty, a DataFrame.
                frame = ArrowColumns.of(batch) if direct else arrow_frame(batch)
                frame.attrs.update(units=units, first_row=first)
                if type(getattr(frame, "index", None)).__name__ == "RangeIndex" and frame.index.name is None:
                    frame.index += first
                first += len(frame)
                yield frame
        elif kind == "csv":
            yield from read_text(path, text, n_rows)
        else:
            frame = read_frame(path)
            for start in range(0, len(frame), n_rows):
                yield frame.iloc[start : start + n_rows]
    except (ImportError, TableFileError):
        raise
    except Exception as error:
        raise TableFileError(
            f"{path} cannot be read as {kind}: {clause(error)}. Is it whole, and is the suffix right?"
        ) from error


def _check_there(path: str | os.PathLike[str]) -> None:
    found = Path(path)
    if found.is_dir():
        raise TableFileError(f"{path} is a directory, not a table.")
    if not found.exists():
        raise FileNotFoundError(f"{path} does not exist (looked in {Path.cwd()}).")


def _read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file of records, one a line or in a list; identifiers and dates stay as they are written."""
    opener = OPENERS.get(Path(path).suffix.lower(), open)
    with opener(path, "rt", encoding="utf-8") as file:
        text = file.read()
    records: Any
    if text.lstrip().startswith("{"):
        records = []
        for number, line in enumerate(text.splitlines()):
            if line.strip():
                try:
                    records.append(json.loads(line, object_pairs_hook=_record))
                except ValueError as error:
                    raise TableFileError(f"{path}: line {number + 1}: {clause(error)}.") from error
    else:
        records = json.loads(text, object_pairs_hook=_record)
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise TableFileError(
            f"{path} must hold records with one name for each column, one a line or in a list: "
            '{"object": "a", "flux": 1.0, "flux_err": 0.1}.'
        )
    return split_errors(record_frame(records))


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """One record; JSON allows a name twice, a table does not."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"there is more than one {twice!r} in a record")
    return found


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
            whole = needs("astropy.io.votable", f"Reading {path}").parse(os.fspath(path))
            for one in whole.iter_tables():
                _refuse_twice([field.name for field in one.fields], path)
            # The names that people see, not the ones made of them for XML.
            return as_frame(table.read(whole, format="votable", use_names_over_ids=True))
        with open(path, encoding="utf-8") as file:
            lines = [line[1:].strip("\n") for line in file if line.startswith("#")]
        header = needs("astropy.table.meta", f"Reading {path}").get_header_from_yaml(
            [line.removeprefix(" ") for line in lines]
        )
        _refuse_twice([column["name"] for column in header["datatype"]], path)
        return as_frame(table.read(path, format="ascii.ecsv"))


def _read_npz(path: str | os.PathLike[str]) -> Any:
    arrays = read_arrays(path)
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
        shaped: dict[str, Any] = {"values": values}
        if "sigma" in arrays:
            sigma = arrays["sigma"]
            if sigma.shape not in ((n, m), (n, 1), (1, m), ()):
                raise TableFileError(
                    f"{path}: `sigma` must have the shape of `values`, {(n, m)}, or be one number, {(n, 1)} or {(1, m)}: "
                    f"got {sigma.shape}."
                )
            shaped["sigma"] = np.broadcast_to(sigma, (n, m))
            flat.pop("sigma", None)
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

"""The pieces of a survey on disk: Parquet files, cut at their row groups.

A wide table is cut anywhere between row groups. Of a long one (one row a measurement) every file must hold its objects whole;
it is cut where the footer says that the names of the objects rise from row group to row group, and an object on both sides of a
cut is read with the piece that it begins in. Names and types are checked in the files' footers, before any row is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from badac.data import Catalogue, Layout
from badac.data.arrow_tables import ArrowColumns, is_plain
from badac.data.files import TableFileError, kind_of, needs
from badac.data.reading import error_columns
from badac.data.whole_numbers import arrow_frame
from badac.job.batches import about_file, name_column, objects_in, read_rows
from badac.partition import BadRows, Columns, is_numeric, why_bad
from badac.writing import clause

ROWS_PER_PIECE, LONG_ROWS_PER_PIECE = 50_000, 1_000_000
_ROWS_PER_BATCH = 20_480  # as in one process (`badac.job.batches`)
_NAMED = 5


@dataclass(frozen=True)
class Piece:
    """A part of a file.

    Attributes
    ----------
    number : int
        Among all pieces, from 0.
    path : str
    groups : tuple of int
        Row groups; empty for the whole file.
    first : int
        Rows in the pieces before.
    n_rows : int
    not_here, to_its_end : str or int, optional
        Of a long table: the object that the piece before has read to its end, and the one that goes on in the next row group.
    """

    number: int
    path: str
    groups: tuple[int, ...]
    first: int
    n_rows: int
    not_here: str | int | None = None
    to_its_end: str | int | None = None

    def __str__(self) -> str:
        cut = f", row groups {self.groups[0]} to {self.groups[-1]}" if self.groups else ""
        return f"partition {self.number} ({Path(self.path).name}{cut})"

    def batches(self, layout: Layout, n_rows: int | None = None) -> Iterator[tuple[Any, Catalogue]]:
        """Yield the rows as a frame (None for a long table, or where all cells were usable) and the objects in them."""
        if layout.form == "long":
            for found in objects_in(self._long_rows(layout, n_rows), self.path, layout):
                yield None, found
            return
        parquet = needs("pyarrow.parquet", f"Reading {self.path}")
        start = self.first
        with parquet.ParquetFile(self.path) as file:
            groups = list(self.groups) or None
            direct = is_plain(file.schema_arrow)
            for batch in file.iter_batches(batch_size=n_rows or _ROWS_PER_BATCH, row_groups=groups):
                if direct and batch.num_rows:
                    found = layout.read(ArrowColumns.of(batch))
                    if not found.losses.of_cells:
                        yield None, _numbered(found, range(start, start + batch.num_rows))
                        start += batch.num_rows
                        continue
                frame = arrow_frame(batch)
                # A range is a numbering; any other index would be a column to carry along.
                frame.index = range(start, start + len(frame))
                start += len(frame)
                if len(frame):
                    yield frame, _numbered(layout.read(frame), frame.index)

    def _long_rows(self, layout: Layout, n_rows: int | None) -> Iterator[Any]:
        """The rows of the objects that begin in this piece."""
        for frame in read_rows(self.path, layout, n_rows, self.groups or None):
            yield frame if self.not_here is None else frame[_names(frame, layout) != self.not_here]
        if self.to_its_end is not None:
            for frame in read_rows(self.path, layout, n_rows, [self.groups[-1] + 1]):
                yield frame[_names(frame, layout) == self.to_its_end]


def _names(frame: Any, layout: Layout) -> Any:
    return frame[name_column([str(name) for name in frame.columns], layout)]


def pieces(path: str | os.PathLike[str], layout: Layout, n_rows: int | None = None) -> list[Piece]:
    """List the pieces of a Parquet file, or of all in a folder, and check their columns.

    Parameters
    ----------
    path : path
    layout : Layout
        Of the training.
    n_rows : int, optional
        Rows of a piece, as far as the row groups allow.
    """
    n_rows = n_rows or (LONG_ROWS_PER_PIECE if layout.form == "long" else ROWS_PER_PIECE)
    parquet = needs("pyarrow.parquet", f"Reading {path}")
    out: list[Piece] = []
    first = 0
    for name in files_of(path):
        try:
            footer = parquet.read_metadata(name)
            head = parquet.read_schema(name).empty_table().to_pandas()
        except (OSError, ValueError) as error:
            raise TableFileError(
                f"{name} cannot be read as parquet: {clause(error)}. Is it whole?"
            ) from error
        _check_columns(head, layout, Path(name).name)
        with about_file(Path(name).name):
            ends = _ends(footer, head, layout) if layout.form == "long" else {}
        for groups, rows in _cut(footer, layout, n_rows, ends):
            before, after = ends.get(groups[0] - 1), ends.get(groups[-1])
            out.append(Piece(len(out), str(name), groups, first, rows, before, after))
            first += rows
    if not first:
        raise TableFileError(f"{path} holds no rows.")
    return out


def files_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder, in order, or the file itself."""
    found = Path(path)
    if found.is_dir():
        inside = sorted(
            name
            for name in found.rglob("*")
            if name.suffix in (".parquet", ".pq") and name.name[0] not in "._"
        )
        if not inside:
            raise TableFileError(f"the folder {path} holds no Parquet files (.parquet).")
        return inside
    if not found.exists():
        raise FileNotFoundError(f"{path} does not exist (looked in {Path.cwd()}).")
    if kind_of(found) != "parquet":
        raise TableFileError(
            f"{path} is no Parquet file, which several processes could read at once. Convert it, for example with "
            "pandas.read_csv(...).to_parquet(...), or rank it without --workers."
        )
    return [found]


def bad_rows(frame: Any, layout: Layout) -> dict[int, str]:
    """Return the rows of a frame that hold no usable measurement, by position, with the reason."""
    if frame is None:
        # Long tables lose measurements, not objects; the reader counts them. Of a wide one nothing was lost.
        return {}
    values, sigma = columns_of(frame, layout).arrays(frame)
    return why_bad(values, sigma)


def refuse(bad: dict[int, str], frame: Any, piece: Piece) -> None:
    """Raise `BadRows` for the rows that were found bad."""
    shown = "; ".join(f"row {frame.index[row]}: {reason}" for row, reason in list(bad.items())[:_NAMED])
    more = f" (and {len(bad) - _NAMED} more rows)" if len(bad) > _NAMED else ""
    raise BadRows(
        f"{piece}: {shown}{more}. Mend these rows, or run with --on-error report: the rest is then finished and the bad rows "
        "are listed in a file."
    )


def columns_of(frame: Any, layout: Layout) -> Columns:
    """Return the training's columns, as far as the frame has them."""
    names = [str(name) for name in frame.columns]
    errors = error_columns(names, layout.pairs_in(names))
    if layout.errors == "none":
        return Columns(tuple(name for name in layout.features if name in names))
    values = tuple(name for name in (layout.features or errors) if name in errors)
    return Columns(values, tuple(errors[name] for name in values))


def _check_columns(head: Any, layout: Layout, source: str) -> None:
    if layout.form == "long":
        return
    try:
        layout.read(head)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    found = columns_of(head, layout)
    for name in (*found.values, *found.errors):
        if not is_numeric(head[name].dtype):
            raise ValueError(
                f"{source}: the column {name!r} must hold numbers, but its type is {head[name].dtype}. Convert it first."
            )


def _ends(footer: Any, head: Any, layout: Layout) -> dict[int, str | int | None]:
    """Return after which row groups a long table may be cut, with the object that stands on both sides (None: there is none).

    Only where each group's names are beyond those of all before it, as the footer has their least and largest; and never within
    an object that fills a whole group.
    """
    names = [str(name) for name in head.columns]
    place = names.index(name_column(names, layout))
    columns = [footer.row_group(number).column(place) for number in range(footer.num_row_groups)]
    if footer.schema.column(place).path != names[place] or not all(
        column.is_stats_set and column.statistics.has_min_max for column in columns
    ):
        return {}
    ranges = [(column.statistics.min, column.statistics.max) for column in columns]
    if not all(isinstance(name, str | int) for name in ranges[0]):
        return {}
    if any(here[1] > after[0] for here, after in pairwise(ranges)):
        return {}
    out: dict[int, str | int | None] = {}
    for number, (here, after) in enumerate(pairwise(ranges)):
        shared = here[1] == after[0]
        if not shared or after[0] < after[1]:
            out[number] = here[1] if shared else None
    return out


def _cut(
    footer: Any, layout: Layout, n_rows: int, ends: Mapping[int, object]
) -> list[tuple[tuple[int, ...], int]]:
    """Row groups in portions of about `n_rows` rows, with the number of rows; a long table only after the groups in `ends`."""
    out: list[tuple[tuple[int, ...], int]] = []
    waiting: list[int] = []
    rows = 0
    for number in range(footer.num_row_groups):
        waiting.append(number)
        rows += int(footer.row_group(number).num_rows)
        if rows >= n_rows and (layout.form != "long" or number in ends):
            out.append((tuple(waiting), rows))
            waiting, rows = [], 0
    if rows:
        out.append((tuple(waiting), rows))
    return out


def _numbered(found: Catalogue, rows: Any) -> Catalogue:
    """Objects without a name are called by their row among all pieces, of those that were read (n,)."""
    return found if found.named or len(found) != len(rows) else replace(found, ids=np.asarray(rows))

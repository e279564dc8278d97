"""The table of the objects beside the table of their points: one row per object, joined by its name.

    from_table(points, objects=table, columns=["host_photoz"])

puts the columns that are asked for beside the curves (`badac.data.Measurements.with_columns`), with their errors where the
table has a column for them. Their cells are read as all cells are (`badac.data.cells`): numbers that mean missing, errors that
are none, units. The other columns travel along with the objects: a period to fold at, a position. Objects that the
table does not name have none of the values.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.catalogue import Catalogue, as_names, name_key
from badac.data.cells import Cells, read_cells
from badac.data.columns import find
from badac.data.conventions import Conventions
from badac.data.files import read_frame
from badac.data.frames import as_frame
from badac.data.pairing import pair_columns
from badac.data.rows import names_of
from badac.data.said_pairs import Pair
from badac.data.validation import BoolArray, FloatArray, IntArray
from badac.data.vectors import vector_columns
from badac.data.wide import checked_names


@dataclass(frozen=True, eq=False)
class ObjectsTable:
    """A table with a row per object.

    Attributes
    ----------
    table : DataFrame
    names : list of str
        Of its columns.
    key : str
        The column with the names of the objects.
    place : dict from str to int
        Row of each object, by its name.
    """

    table: Any
    names: list[str]
    key: str
    place: dict[str, int]

    @classmethod
    def of(cls, objects: Any, of_object: str | None = None) -> ObjectsTable:
        """Read a table or a file; `of_object` is its column of names, found if not given."""
        table: Any = objects if isinstance(objects, str | os.PathLike) else as_frame(objects)
        if not hasattr(table, "columns"):
            table = read_frame(table, text=[of_object] if of_object else [])
        names = checked_names(table)
        key = of_object if of_object in names else find(names, "object")
        if key is None:
            raise ValueError(
                f"the table of the objects needs a column with their names: there is none among {', '.join(names)}. "
                "Name it: columns of roles, or rename it to object_id."
            )
        given = [name_key(name) for name in as_names(names_of(table[key])).tolist()]
        place = {name: row for row, name in enumerate(given)}
        if len(place) < len(given):
            twice = next(name for row, name in enumerate(given) if place[name] != row)
            raise ValueError(f"the table of the objects must have one row per object: {twice} has several.")
        return cls(table, names, key, place)

    def rows(self, ids: npt.NDArray[Any]) -> IntArray:
        """Return (n,): the row of each object, -1 where the table does not name it."""
        return np.array([self.place.get(name_key(name), -1) for name in ids.tolist()], dtype=np.int64)


def carrying_objects(catalogue: Catalogue, objects: Any, of_object: str | None = None) -> Catalogue:
    """Return the catalogue with the columns of the objects' table travelling along, if the table names any of its objects.

    What the table of the points says of an object stands.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_table
    >>> from badac.data.objects_table import carrying_objects
    >>> points = from_table(pd.DataFrame({"id": ["a", "b"], "g": [17.0, 18.0], "g_err": 0.1}))
    >>> carrying_objects(points, pd.DataFrame({"id": ["b"], "period": [0.5]})).carried["period"]
    array([nan, 0.5])
    """
    known = ObjectsTable.of(objects, of_object)
    row = known.rows(catalogue.ids)
    if (row < 0).all():
        return catalogue
    taken = {known.key, *catalogue.carried, *catalogue.features, *vector_columns(known.table)}
    carried = {name: _of_rows(names_of(known.table[name]), row) for name in known.names if name not in taken}
    return replace(catalogue, carried={**catalogue.carried, **carried})


def _of_rows(column: npt.NDArray[Any], row: IntArray) -> npt.NDArray[Any]:
    """Return the cells of some rows, NaN or nothing where the row is -1."""
    if (row >= 0).all():
        return column[row]
    if column.dtype.kind in "iuf":
        return np.where(row >= 0, column[row].astype(np.float64), np.nan)
    cells = column.astype(object)[row]
    cells[row < 0] = ""
    return cells


def with_objects(
    catalogue: Catalogue,
    objects: Any,
    columns: Sequence[str],
    of_object: str | None = None,
    *,
    part: bool = False,
) -> Catalogue:
    """Return the catalogue with columns of a second table beside its objects.

    Parameters
    ----------
    catalogue : Catalogue
    objects : table or path
        One row per object.
    columns : sequence of str
        Names in that table; at least one.
    of_object : str, optional
        The table's column of names; found if not given.
    part : bool
        Whether these are some of the objects only, so that the table may name none of them.
    """
    known = ObjectsTable.of(objects, of_object)
    table, names = known.table, known.names
    wanted = [columns] if isinstance(columns, str) else [str(name) for name in columns]
    absent = [name for name in wanted if name not in names]
    if absent or not wanted:
        raise ValueError(
            f"the table of the objects has no column {', '.join(absent)}: it has {', '.join(names)}."
            if absent
            else f"name the columns of the objects' table that count, columns=[...]: it has {', '.join(names)}."
        )
    row = known.rows(catalogue.ids)
    if (row < 0).all() and not part:
        raise ValueError(
            f"no object of the curves is in the table of the objects by its name ({known.key!r}): got "
            f"{list(known.place)[:1]} there and {[str(name) for name in catalogue.ids[:1].tolist()]} here."
        )
    pairs = {one.value: one for one in pair_columns(names).pairs if one.error is not None}
    asked = [pairs.get(name, Pair(name, None)) for name in wanted]
    named = row >= 0
    cells = _usable(table.iloc[row[named]], asked, catalogue.read_as.get("missing", ()))
    beside = {
        name: (_at(named, cells.values[:, place]), _at(named, cells.sigma[:, place]))
        for place, name in enumerate(wanted)
    }
    losses = catalogue.losses.merged(cells.losses)
    if (row < 0).any():
        losses = losses.and_note(
            f"{int((row < 0).sum())} objects are not in the table of the objects: they have no {', '.join(wanted)}"
        )
    said = ", ".join(
        f"{name} +- {', '.join(pairs[name].error_columns)}" if name in pairs else name for name in wanted
    )
    recognised = f"{catalogue.recognised}; beside the points: {said}"
    joined = catalogue.objects.with_columns(beside)
    read_as = {**catalogue.read_as, "beside": tuple(wanted)}
    return replace(catalogue, objects=joined, losses=losses, recognised=recognised, read_as=read_as)


def _usable(rows: Any, pairs: Sequence[Pair], missing: Sequence[float]) -> Cells:
    """Return the cells of some rows of the table; a column without errors is exact, and that needs no word."""
    cells = read_cells(rows, pairs, Conventions(missing=tuple(missing)))
    exact = np.array([pair.error is None for pair in pairs], dtype=bool)
    found = replace(cells, sigma=np.where(exact, 1.0, cells.sigma)).usable()
    return replace(found, sigma=np.where(exact & ~np.isnan(found.values), 0.0, found.sigma))


def _at(named: BoolArray, column: FloatArray) -> FloatArray:
    """Return (n,): the numbers of the objects that the table names, in their order, and NaN of the others."""
    out = np.full(len(named), np.nan)
    out[named] = np.where(np.isfinite(column), column, np.nan)
    return out

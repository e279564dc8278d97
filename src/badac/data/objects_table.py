"""The table of the objects beside the table of their points: one row per object, joined by its name.

    from_table(points, objects=table, columns=["host_photoz"])

puts the columns that are asked for beside the curves (`badac.data.Measurements.with_columns`), with their errors where the
table has a column for them. Objects that the table does not name have none of the values.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from badac.data.catalogue import Catalogue, name_key
from badac.data.cells import numbers
from badac.data.columns import find
from badac.data.files import read_frame
from badac.data.frames import as_frame
from badac.data.pairing import pair_columns
from badac.data.rows import names_of
from badac.data.wide import checked_names


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
    table: Any = objects if isinstance(objects, str | os.PathLike) else as_frame(objects)
    if not hasattr(table, "columns"):
        table = read_frame(table, text=[of_object] if of_object else [])
    names = checked_names(table)
    wanted = [columns] if isinstance(columns, str) else [str(name) for name in columns]
    absent = [name for name in wanted if name not in names]
    if absent or not wanted:
        raise ValueError(
            f"the table of the objects has no column {', '.join(absent)}: it has {', '.join(names)}."
            if absent
            else f"name the columns of the objects' table that count, columns=[...]: it has {', '.join(names)}."
        )
    key = of_object if of_object in names else find(names, "object")
    if key is None:
        raise ValueError(
            f"the table of the objects needs a column with their names: there is none among {', '.join(names)}. "
            "Name it: columns of roles, or rename it to object_id."
        )
    given = [name_key(name) for name in names_of(table[key]).tolist()]
    place = {name: row for row, name in enumerate(given)}
    if len(place) < len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise ValueError(f"the table of the objects must have one row per object: {twice} has several.")
    row = np.array([place.get(name_key(name), -1) for name in catalogue.ids.tolist()], dtype=np.int64)
    if (row < 0).all() and not part:
        raise ValueError(
            f"no object of the curves is in the table of the objects by its name ({key!r}): got {given[:1]} there and "
            f"{[str(name) for name in catalogue.ids[:1].tolist()]} here."
        )
    pairs = {
        one.value: one for one in pair_columns(names).pairs if one.error is not None and one.kind == "sigma"
    }
    beside = {}
    for name in wanted:
        values = numbers(table[name], name)
        error = pairs[name].error if name in pairs else None
        sigma = np.zeros(len(values)) if error is None else numbers(table[error], error)
        # An error that is none (-9, say) belongs to a value that is none.
        values = np.where(np.isfinite(sigma) & (sigma >= 0), values, np.nan)
        sigma = np.where(np.isnan(values), np.nan, sigma)
        beside[name] = (np.where(row >= 0, values[row], np.nan), np.where(row >= 0, sigma[row], np.nan))
    losses = catalogue.losses
    if (row < 0).any():
        losses = losses.and_note(
            f"{int((row < 0).sum())} objects are not in the table of the objects: they have no {', '.join(wanted)}"
        )
    said = ", ".join(f"{name} +- {pairs[name].error}" if name in pairs else name for name in wanted)
    recognised = f"{catalogue.recognised}; beside the points: {said}"
    joined = catalogue.objects.with_columns(beside)
    read_as = {**catalogue.read_as, "beside": tuple(wanted)}
    return replace(catalogue, objects=joined, losses=losses, recognised=recognised, read_as=read_as)

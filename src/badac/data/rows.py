"""What a row of a table says beside its measurements: the object's name, its label, and what is carried along."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.catalogue import Catalogue, whole_labels


def names_of(column: Any) -> npt.NDArray[Any]:
    """Return a column (n,) as it is, Python objects as text or numbers where they are of one sort."""
    own_type = getattr(column.dtype, "na_value", None) is not None
    # As an array a column of pandas' own type may become another: 19 digits beside a gap are no float.
    found = column.to_numpy(dtype=object) if own_type and column.isna().any() else np.asarray(column)
    if found.dtype != object:
        return found
    cells = found.tolist()
    if all(isinstance(cell, str) for cell in cells):
        return found.astype(str)
    if all(isinstance(cell, int) for cell in cells):
        return np.array(cells)
    empty = np.asarray(column.isna()) if hasattr(column, "isna") else np.zeros(len(found), dtype=bool)
    return np.array(["" if missing else str(cell) for cell, missing in zip(cells, empty, strict=True)])


def row_names(frame: Any, name: str | None) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Return names of the objects (n,), from their column or the frame's index, and an index that is no name, to be carried."""
    index = getattr(frame, "index", None)
    levels: dict[str, npt.NDArray[Any]] = {}
    if index is not None and not (type(index).__name__ == "RangeIndex" and index.name is None):
        for number, level in enumerate(index.names):
            levels[str(level or "index")] = names_of(index.get_level_values(number))
    if name is not None:
        return names_of(frame[name]), levels
    if len(levels) == 1 and index is not None and index.is_unique:
        return next(iter(levels.values())), {}
    return np.arange(len(frame)), levels


def is_numbered(ids: npt.NDArray[Any]) -> bool:
    """Whether names (n,) are only the numbers of the rows."""
    return ids.dtype.kind == "i" and np.array_equal(ids, np.arange(len(ids)))


def labelled(catalogue: Catalogue, column: Any) -> Catalogue:
    """Return the catalogue with labels from a column of its table; objects without one are left out, and counted."""
    missing = np.asarray(column.isna())
    if missing.all() and len(missing):
        raise ValueError(
            f"Column {str(column.name)!r} has no labels at all. Leave it out: columns={{'label': None}}."
        )
    label = np.asarray(column)[~missing]
    if label.dtype == object:
        label = np.array(label.tolist())
    losses = catalogue.losses.and_also(
        "objects", int(missing.sum()), "no label", catalogue.ids[missing].tolist()
    )
    return replace(catalogue[~missing], label=whole_labels(label), losses=losses)

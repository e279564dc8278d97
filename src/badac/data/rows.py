"""What a row of a table says beside its measurements: the object's name, its label, and what is carried along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.catalogue import Catalogue, whole_labels
from badac.data.losses import Losses, counted, some
from badac.data.whole_numbers import rounded_names

_ROWS_HASHED = 1 << 16  # block size


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


def row_numbers(frame: Any) -> Sequence[int]:
    """Return the numbers of a frame's rows in the table that it is a part of, from 0.

    >>> import pandas as pd
    >>> list(row_numbers(pd.DataFrame({"g": [1.0, 2.0, 3.0]})[1:]))
    [1, 2]
    """
    index = getattr(frame, "index", None)
    if index is not None and index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return index  # type: ignore[no-any-return]
    first = int(getattr(frame, "attrs", {}).get("first_row", 0))
    return range(first, first + len(frame))


def row_names(frame: Any, name: str | None) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Return names of the objects (n,), from their column or the frame's index, and an index that is no name, to be carried."""
    levels = _levels(frame)
    if name is not None:
        return names_of(frame[name]), levels
    if is_named(frame, name):
        return next(iter(levels.values())), {}
    return np.arange(len(frame)), levels


def is_named(frame: Any, name: str | None) -> bool:
    """Whether a column, or else the frame's index, names the objects; if not they are called by the numbers of their rows."""
    return name is not None or (len(_levels(frame)) == 1 and frame.index.is_unique)


def _levels(frame: Any) -> dict[str, npt.NDArray[Any]]:
    index = getattr(frame, "index", None)
    if index is None or (type(index).__name__ == "RangeIndex" and index.name is None):
        return {}
    return {
        str(level or "index"): names_of(index.get_level_values(number))
        for number, level in enumerate(index.names)
    }


def is_numbered(ids: npt.NDArray[Any]) -> bool:
    """Whether names (n,) are only the numbers of the rows."""
    return ids.dtype.kind == "i" and np.array_equal(ids, np.arange(len(ids)))


def name_notes(losses: Losses, ids: npt.NDArray[Any], rows: Sequence[int]) -> Losses:
    """Return the losses with what is to be said of names (n,): those that are empty, rounded, or come more than once."""
    for note in (without_name(ids, rows), rounded_names(ids), more_than_once(ids)):
        losses = losses.and_note(note) if note else losses
    return losses


def without_name(ids: npt.NDArray[Any], rows: Sequence[int]) -> str:
    """Return a sentence about objects of these rows (n,) whose name (n,) is empty; empty where none is.

    >>> without_name(np.array(["a", "", ""]), range(3))
    '2 objects have no name (row 1, row 2)'
    """
    which = [f"row {rows[place]}" for place in np.flatnonzero(_is_empty(ids)).tolist()]
    if not which:
        return ""
    return f"{counted(len(which), 'objects have')} no name ({some(which, 5)})"


def packed(names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return names (n,) at one byte a letter, where they are texts of plain letters; as they are where not.

    >>> packed(np.array(["ab", "c"])).dtype.itemsize, packed(np.array(["\u00e4"])).dtype.kind
    (2, 'U')
    """
    if names.dtype.kind != "U":
        return names
    try:
        return names.astype(np.bytes_)
    except UnicodeEncodeError:
        return names


def unpacked(names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the names (n,) that were `packed` as texts."""
    return names.astype(np.str_) if names.dtype.kind == "S" else names


def more_than_once(ids: npt.NDArray[Any]) -> str:
    """Return a sentence about names (n,) that come more than once; empty where none does."""
    if all_distinct(ids):
        return ""
    names, counts = np.unique(ids, return_counts=True)
    names, counts = unpacked(names[counts > 1]), counts[counts > 1]
    twice = names[~_is_empty(names)]
    if not len(twice):
        return ""
    return (
        f"{counted(len(twice), 'names')} came more than once ({some(twice.tolist(), 5)}); every row counts as an object of its "
        "own"
    )


def all_distinct(ids: npt.NDArray[Any]) -> bool:
    """Whether no name (n,) comes twice: of texts their hashes are sorted first, which is many times quicker than the texts.

    >>> all_distinct(np.array(["a", "b", "c"])), all_distinct(np.array(["a", "b", "a"]))
    (True, False)
    """
    if ids.dtype.kind in "SU" and len(ids) > 1 and _increasing(np.sort(hashed(ids))):
        return True
    return _increasing(np.sort(ids)) if ids.dtype.kind != "O" else len(np.unique(ids)) == len(ids)


def hashed(ids: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return (n,): a number for each name, the same for equal names and hardly ever for others, however they are packed.

    >>> bool((hashed(np.array(["a", "bc"])) == hashed(packed(np.array(["a", "bc"])))).all())
    True
    """
    if ids.dtype.kind not in "SU":
        # The bits of a number; of narrow ones after they were made wide.
        return np.ascontiguousarray(ids.astype(np.float64 if ids.dtype.kind == "f" else np.int64)).view(
            np.uint64
        )
    if not ids.dtype.itemsize:
        return np.zeros(len(ids), dtype=np.uint64)
    letters: npt.NDArray[Any] = np.ascontiguousarray(ids).view(
        np.uint32 if ids.dtype.kind == "U" else np.uint8
    )
    letters = letters.reshape(len(ids), -1)
    rng = np.random.default_rng(0)
    odd = rng.integers(0, 2**63, letters.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    # Sums modulo 2^64. A letter takes 8 bytes here: in blocks.
    keys = np.empty(len(ids), dtype=np.uint64)
    for start in range(0, len(ids), _ROWS_HASHED):
        rows = slice(start, start + _ROWS_HASHED)
        keys[rows] = (letters[rows] * odd).sum(axis=1, dtype=np.uint64)
    return keys


def _is_empty(ids: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if ids.dtype.kind == "f":
        return np.asarray(np.isnan(ids))
    return np.asarray(ids == "") if ids.dtype.kind == "U" else np.zeros(len(ids), dtype=bool)


def _increasing(ordered: npt.NDArray[Any]) -> bool:
    return bool((ordered[1:] != ordered[:-1]).all())


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

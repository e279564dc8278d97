"""Records inside cells: what Parquet and JSON may hold, and no column of numbers or names is.

A column of them that nobody needs travels with the objects. Where a table cannot be read, they are the likely reason, and are
named: the column, the first row, the fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def records_in(cell: Any) -> tuple[str, ...]:
    """Return the fields of a record, or of the first of a list of records; none for anything else.

    >>> records_in({"g": 1.0, "r": 2.0}), records_in([{"t": 0.5}]), records_in([1.0, 2.0]), records_in("g")
    (('g', 'r'), ('t',), (), ())
    """
    if isinstance(cell, np.ndarray | list | tuple) and len(cell):
        cell = cell[0]
    return tuple(str(name) for name in cell) if isinstance(cell, dict) else ()


def said_of_records(frame: Any) -> str:
    """Return a sentence for each column whose cells hold records; nothing if there is none."""
    found = []
    for name in frame.columns:
        column = frame[name]
        if getattr(column.dtype, "kind", "O") != "O":
            continue
        for row, cell in enumerate(column.tolist()):
            if isinstance(cell, str):
                break
            if fields := records_in(cell):
                found.append(
                    f"Column {str(name)!r} holds nested records ({', '.join(fields)}) from row {row} on: make their fields "
                    "columns of their own."
                )
                break
    return " ".join(found)


@contextmanager
def naming_records(frame: Any) -> Iterator[None]:
    """Say which columns hold records in the error of a table that cannot be read."""
    try:
        yield
    except ValueError as error:
        words = said_of_records(frame)
        if not words or "nested record" in str(error):
            raise
        raise ValueError(f"{error} {words}") from error

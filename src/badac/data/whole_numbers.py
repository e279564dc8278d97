"""Whole numbers stay whole: an identifier of 19 digits beside an empty cell is no float.

NumPy's integers know no empty cell, so pandas makes floats of such a column, and a float has 53 bits: names of a survey lose
their last digits, and two objects get one name. Columns that are integers in the file (Arrow, JSON, text) come as pandas' own
integers instead, whose cells may be empty; without a gap they are NumPy's, as ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.optional import needs

EXACT = 2**53
"""Whole numbers below it are the same as floats."""
# So many digits that a float may not hold the number.
_LONG = re.compile(r"-?[1-9]\d{15,18}")


def whole_array(cells: Sequence[int | None]) -> Any:
    """Return whole numbers, None where a cell is empty, as pandas has them; as they are where 64 bits do not hold them.

    >>> whole_array([2**60 + 1, None]).tolist()
    [1152921504606846977, <NA>]
    """
    pandas = needs("pandas", "A table")
    present = [cell for cell in cells if cell is not None]
    low, high = min(present, default=0), max(present, default=0)
    if low >= -(2**63) and high < 2**63:
        return pandas.array(cells, dtype="Int64")
    if low >= 0 and high < 2**64:
        return pandas.array(cells, dtype="UInt64")
    return np.array(cells, dtype=object)


def with_gaps(frame: Any, types: Mapping[str, Any], column: Callable[[str], Any]) -> Any:
    """Return a frame of an Arrow table with the integers whole that pandas made floats of for their empty cells.

    Parameters
    ----------
    frame : DataFrame
        As ``to_pandas`` made it.
    types : mapping from name to pyarrow.DataType
        As the table has them.
    column : callable
        Gives the Arrow column of a name.
    """
    arrow = needs("pyarrow", "An Arrow table").types
    found = [
        name
        for name, kind in types.items()
        if name in frame.columns and arrow.is_integer(kind) and frame[name].dtype.kind == "f"
    ]
    if not found:
        return frame
    units = frame.attrs
    frame = frame.assign(**{name: whole_array(column(name).to_pylist()) for name in found})
    frame.attrs = units
    return frame


def arrow_frame(table: Any) -> Any:
    """Return an Arrow table, or a batch of one, as a DataFrame."""
    schema = table.schema
    types = dict(zip(schema.names, schema.types, strict=True))
    return with_gaps(table.to_pandas(), types, lambda name: table.column(schema.get_field_index(name)))


def record_frame(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return a DataFrame of records.

    >>> record_frame([{"id": 2**60 + 1}, {"id": None}])["id"].tolist()
    [1152921504606846977, <NA>]
    """
    frame = needs("pandas", "A table").DataFrame(records)
    for name in [name for name in frame.columns if frame[name].dtype.kind == "f"]:
        cells = [record.get(name) for record in records]
        if all(cell is None or (isinstance(cell, int) and not isinstance(cell, bool)) for cell in cells):
            frame[name] = whole_array(cells)
    return frame


def long_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> set[str]:
    """Names of the columns of a text table of whose first rows one has a number with more digits than a float holds.

    >>> long_columns(["id", "g"], [["1", "2.5"], ["1152921504606846977", "3.5"]])
    {'id'}
    """
    return {name for row in rows for name, cell in zip(names, row, strict=False) if _LONG.fullmatch(cell)}


def whole_again(column: Any, decimal: str) -> Any:
    """Return a column that was read as text as whole numbers, or as whatever numbers there are, or as it is."""
    pandas = needs("pandas", "A table")
    cells = [None if empty else cell for cell, empty in zip(column.tolist(), column.isna(), strict=True)]
    if all(cell is None or cell.strip().removeprefix("-").isdecimal() for cell in cells):
        found = whole_array([None if cell is None else int(cell) for cell in cells])
        return found if None in cells or found.dtype == object else np.asarray(found.to_numpy())
    try:
        return pandas.to_numeric(column.str.replace(decimal, ".", regex=False))
    except ValueError:
        return column


def rounded_names(ids: npt.NDArray[Any]) -> str:
    """Return a sentence about names (n,) that are floats too large to be exact; empty where none is.

    >>> rounded_names(np.array([1e18, 2.0]))
    '1 name is a float beyond 2^53, which may have lost digits (1000000000000000000): write names as text or integers'
    """
    if ids.dtype.kind != "f":
        return ""
    large = ids[np.abs(ids) >= EXACT]
    if not len(large):
        return ""
    first = ", ".join(f"{name:.0f}" for name in large[:3])
    said = "1 name is a float" if len(large) == 1 else f"{len(large)} names are floats"
    return f"{said} beyond 2^53, which may have lost digits ({first}): write names as text or integers"

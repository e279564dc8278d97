"""Tables into `Measurements`: a column ``name`` is a value, a column ``name_err`` its standard deviation.

Works on anything with the shape of a pandas DataFrame (``columns`` and ``__getitem__``) and, through
`from_astropy`, on astropy tables, whose units are honoured: an error in mJy beside a flux in Jy is converted.
For files, and for tables with names, labels and other columns beside the measurements, see `badac.data.reading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import FloatArray, as_real


def as_frame(table: Any) -> Any:
    """Return an Arrow table as a DataFrame, and anything else as it is."""
    return table.to_pandas() if hasattr(table, "to_pandas") and hasattr(table, "column_names") else table


def has_error_columns(frame: Any, suffix: str = "_err") -> bool:
    """Whether a table has at least one pair of columns ``name`` and ``name_err``."""
    names = [str(name) for name in frame.columns]
    present = set(names)
    return any(name + suffix in present for name in names)


def value_columns(names: Sequence[str], suffix: str = "_err") -> list[str]:
    """Return the columns that hold values, checking that each has its error column and each error its value."""
    present = set(names)
    if len(present) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"The table has more than one column {twice!r}. Rename or drop one.")
    values = [name for name in names if not (name.endswith(suffix) and name[: -len(suffix)] in present)]
    orphans = [name for name in values if name.endswith(suffix)]
    if orphans:
        raise ValueError(
            f"Column {orphans[0]!r} looks like an error column, but there is no column {orphans[0][: -len(suffix)]!r}. "
            f"Rename one of them, or drop it. Columns: {', '.join(names)}."
        )
    lonely = [name for name in values if name + suffix not in present]
    if lonely and len(lonely) < len(values):
        raise ValueError(
            f"Column {lonely[0]!r} has no error column {lonely[0] + suffix!r}, while {values_with(values, present, suffix)!r} "
            f"has one. Add it (0 means exact), or drop the column from the table (labels and identifiers are not values)."
        )
    return values


def values_with(values: Sequence[str], present: set[str], suffix: str) -> str:
    """Return the first value column that has an error column."""
    return next(name for name in values if name + suffix in present)


def from_frame(frame: Any, *, suffix: str = "_err", at: Any = None) -> Measurements:
    """Read a DataFrame with columns ``name`` and ``name_err`` into `Measurements`.

    Parameters
    ----------
    frame : DataFrame
        One row an object. Without any ``*_err`` column all columns are values without errors.
    suffix : str
        What marks an error column.
    at : (m,) array-like, optional
        Coordinates of the points, in the order of the value columns.
    """
    names = [str(name) for name in frame.columns]
    by_name = dict(zip(names, frame.columns, strict=True))
    wanted = value_columns(names, suffix)
    values = _columns(frame, [by_name[name] for name in wanted])
    if wanted and wanted[0] + suffix in by_name:
        return Measurements(values, _columns(frame, [by_name[name + suffix] for name in wanted]), at=at)
    return Measurements(values, at=at)


def _columns(frame: Any, names: Sequence[Any]) -> FloatArray:
    columns = []
    for name in names:
        try:
            columns.append(as_real(frame[name], f"column {name!r}"))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {str(name)!r} must hold numbers: {str(error).split(': ', 1)[-1]}"
            ) from error
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def from_astropy(table: Any, *, suffix: str = "_err", at: Any = None) -> Measurements:
    """Read an astropy ``Table`` or ``QTable``: as `from_frame`, with masked cells missing and units honoured.

    An error column is converted to the unit of its value column; one that has a unit where the other has none is an
    error.
    """
    wanted = value_columns(list(table.colnames), suffix)
    values, sigmas = [], []
    for name in wanted:
        value, unit = _plain(table[name])
        values.append(value)
        if name + suffix in table.colnames:
            error, error_unit = _plain(table[name + suffix])
            if (unit is None) != (error_unit is None):
                raise ValueError(
                    f"Columns {name!r} and {name + suffix!r} must both have a unit, or neither: got "
                    f"{unit or 'none'} and {error_unit or 'none'}."
                )
            if unit is not None and unit != error_unit:
                try:
                    error = error * error_unit.to(unit)
                except Exception as problem:
                    raise ValueError(
                        f"The unit of {name + suffix!r}, {error_unit}, does not convert to that of {name!r}, {unit}."
                    ) from problem
            sigmas.append(error)
    stacked = np.column_stack(values) if values else np.empty((len(table), 0))
    return Measurements(stacked, np.column_stack(sigmas) if sigmas else None, at=at)


def _plain(column: Any) -> tuple[FloatArray, Any]:
    """Return a column's numbers (masked cells NaN) and its unit."""
    unit = getattr(column, "unit", None)
    bare = column.value if hasattr(column, "value") and unit is not None else column
    mask = getattr(bare, "mask", getattr(column, "mask", None))
    numbers = as_real(np.ma.getdata(np.ma.asarray(bare)), f"column {column.info.name!r}").copy()
    if mask is not None:
        numbers[np.broadcast_to(mask, numbers.shape)] = np.nan
    return numbers, unit

"""Cells of a table into values and standard deviations, (n, m) each, whatever the error columns hold.

    sigma = error,  sqrt(variance),  1 / sqrt(ivar),  |value| relative,  |value| percent / 100,  |value / over_error|,
            two_sigma / 2,  (|upper| + |lower|) / 2,  (upper - lower) / 2  of two columns (`badac.data.error_sides`)

An inverse variance of 0 is a missing value. Units of value and error are brought together (`badac.data.quantities`); sentinels
(`badac.data.sentinels`) and cells that hold no usable measurement become missing, and every such cell is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from badac.data.conventions import Conventions
from badac.data.error_marks import KINDS
from badac.data.losses import Losses, counted, some
from badac.data.quantities import POWERS, unit_factor, units_in
from badac.data.rows import row_numbers
from badac.data.said_pairs import Pair
from badac.data.sentinels import find_sentinels, said_missing
from badac.data.validation import BoolArray, FloatArray, as_real

_CONVERTED = frozenset(KINDS) - {"sigma"}
_OF_THE_VALUE = {"relative": 1.0, "percent": 0.01, "two_sigma_percent": 0.005}
_SO_MANY = {"two_sigma": 2.0, "three_sigma": 3.0}
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:[,.' _\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?")
"""1,234.5 and its like: thousands apart."""

_FEWEST_TO_REFUSE = 3
"""Values outside of their bounds that show what the columns are not, where no other is within."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Values and standard deviations (n, m) of some columns, and what was left out.

    Attributes
    ----------
    values, sigma : (n, m)
        NaN and infinite where missing.
    names : tuple of str
        Value columns.
    losses : Losses
    rows : (n,) sequence of int, optional
        Numbers of the rows in their table; by default from 0.
    """

    values: FloatArray
    sigma: FloatArray
    names: tuple[str, ...]
    losses: Losses = field(default_factory=Losses)
    rows: Sequence[int] | None = None

    def usable(self) -> Cells:
        """Return the cells with those that hold no usable measurement missing, and counted."""
        values, sigma, losses = self.values, self.sigma, self.losses
        if _all_usable(values, sigma):
            return self
        rows = range(len(values)) if self.rows is None else self.rows
        for reason, hit in bad_cells(values, sigma):
            losses = losses.and_also(
                "cells",
                int(hit.sum()),
                reason,
                (f"row {rows[r]}, column {self.names[c]}" for r, c in np.argwhere(hit)),
            )
            values, sigma = np.where(hit, np.nan, values), np.where(hit, np.inf, sigma)
        measured = ~np.isnan(values)
        exact = int(((sigma == 0) & measured).sum())
        if exact:
            losses = losses.and_note(
                f"{counted(exact, 'cells have')} error 0, taken as exact; empty them if 0 means unknown"
            )
        return Cells(values, np.where(measured, sigma, np.inf), self.names, losses)

    def refuse_without_errors(self) -> Cells:
        """Return the cells, or raise a ValueError if no value at all has a usable error bar."""
        if self.values.size and not np.isfinite(self.sigma[~np.isnan(self.values)]).any():
            raise ValueError(
                f"no value has a usable error bar, so nothing could be learned: in {some(self.names, 5)} all values or all "
                f"errors are missing. {self.losses}. Give one standard deviation for each value (0: exact), or say "
                "errors='none' (--errors none) to take all values as exact."
            )
        return self


def read_cells(
    frame: Any, pairs: Sequence[Pair], said: Conventions, units: Mapping[str, str] | None = None
) -> Cells:
    """Return values and standard deviations of the pairs' columns; those of kind "absent" are missing.

    Parameters
    ----------
    frame : DataFrame
    pairs : (m,) sequence of Pair
    said : Conventions
    units : mapping from value column to unit, optional
        Units to convert to; by default those of the values.
    """
    here = {str(name): name for name in frame.columns}
    rows = row_numbers(frame)
    values = np.full((len(frame), len(pairs)), np.nan)
    errors = np.full_like(values, np.nan)
    uneven = 0
    for column, pair in enumerate(pairs):
        if pair.kind != "absent":
            values[:, column] = numbers(frame[here[pair.value]], pair.value, rows)
            sides = [numbers(frame[here[name]], name, rows) for name in pair.error_columns]
            errors[:, column] = as_one_error(pair, values[:, column], sides, said)
            uneven += _uneven(pair, values[:, column], sides)
    cells = replace(as_meant(values, errors, pairs, said), rows=rows)
    if uneven:
        what = "one side of the error is more than twice the other: half of the interval is taken"
        cells = replace(cells, losses=cells.losses.and_note(f"in {counted(uneven, 'cells')} {what}"))
    factors = np.array([unit_factors(frame, pair, said, units) for pair in pairs]).reshape(-1, 2)
    if (factors == 1.0).all():
        return cells
    return replace(cells, values=cells.values * factors[:, 0], sigma=cells.sigma * factors[:, 1])


def as_one_error(
    pair: Pair, values: FloatArray, sides: Sequence[FloatArray], said: Conventions
) -> FloatArray | float:
    """Return what one error column would hold, from those of a pair: none (0: exact), one, or two sides.

    A negative upper error stays negative, to be a sentinel or to be refused; the lower one may have either sign. A value
    outside of its bounds has no error.

    >>> import numpy as np
    >>> pair, conventions = Pair("g", "g_up", "sides", "g_low"), Conventions()
    >>> as_one_error(pair, np.ones(2), [np.array([0.3, -99.0]), np.array([-0.1, -99.0])], conventions)
    array([  0.2, -99. ])
    """
    if len(sides) < 2:
        return sides[0] if sides else 0.0
    upper, lower = (np.where(np.isin(side, said.missing), np.nan, side) for side in sides)
    if pair.kind == "bounds":
        within = (lower <= values) & (values <= upper)
        if not within.any():
            _refuse_bounds(pair, values, lower, upper)
        return np.where(within, 0.5 * (upper - lower), np.nan)
    return np.where(sides[0] < 0, sides[0], 0.5 * (upper + np.abs(lower)))


def _uneven(pair: Pair, values: FloatArray, sides: Sequence[FloatArray]) -> int:
    """Count the cells whose interval is more than twice as long on one side as on the other."""
    if len(sides) < 2:
        return 0
    upper, lower = (
        (sides[0] - values, values - sides[1]) if pair.kind == "bounds" else (sides[0], np.abs(sides[1]))
    )
    known = (upper >= 0) & (lower >= 0) & np.isfinite(upper) & np.isfinite(lower)
    return int((known & (np.maximum(upper, lower) > 2.0 * np.minimum(upper, lower))).sum())


def _refuse_bounds(pair: Pair, values: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
    """Raise a ValueError if bounds of several values have none between them: of one it may be an object's own fault."""
    known = np.argwhere(np.isfinite(values) & np.isfinite(lower) & np.isfinite(upper))
    if len(known) >= _FEWEST_TO_REFUSE:
        first = tuple(known[0])
        raise ValueError(
            f"Columns {pair.lower!r} and {pair.error!r} are no bounds of {pair.value!r}, which lies between them in no row: "
            f"got {lower[first]:g}, {values[first]:g}, {upper[first]:g}. If they are its two errors, say "
            f"pair=['{pair.value}={pair.error},{pair.lower}'] (--pair); if neither, pair=['={pair.error}', '={pair.lower}']."
        )


def as_meant(values: FloatArray, errors: FloatArray, pairs: Sequence[Pair], said: Conventions) -> Cells:
    """Return values and standard deviations from what the cells (n, m) hold, one pair a column; sentinels are missing."""
    names = tuple(pair.value for pair in pairs)
    losses = Losses()
    told = said_missing(values, errors, said.missing) if said.missing else np.zeros(1, dtype=bool)
    if told.any():
        found = [
            f"{names[c]} in {counted(int(told[:, c].sum()), 'cells')}"
            for c in np.flatnonzero(told.any(axis=0))
        ]
        listed = ", ".join(f"{number:g}" for number in said.missing)
        losses = losses.and_note(f"{listed} means missing: {some(found, 5)}")
        values = np.where(told, np.nan, values)
    exact = np.array([pair.error is None for pair in pairs], dtype=bool)
    sentinels = find_sentinels(values, np.where(exact, 1.0, errors) if exact.any() else errors, names)
    for note in sentinels.notes:
        losses = losses.and_note(note)
    if sentinels.missing.any():
        values = np.where(sentinels.missing, np.nan, values)
    kinds = [said.kind(pair.kind) for pair in pairs]
    if not set(kinds) & _CONVERTED:
        return Cells(values, errors, names, losses)
    sigma = np.empty_like(errors)
    for column, kind in enumerate(kinds):
        sigma[:, column] = to_sigma(kind, values[:, column], errors[:, column])
    return Cells(values, sigma, names, losses)


def unit_factors(
    frame: Any, pair: Pair, said: Conventions, units: Mapping[str, str] | None = None
) -> tuple[float, float]:
    """Return what values and standard deviations of a pair are multiplied by to be in one unit, the value's or another."""
    given = units_in(frame)
    own, of_error = given.get(pair.value, ""), given.get(pair.error or "", "")
    if pair.lower is not None and given.get(pair.lower, "") != of_error:
        raise ValueError(
            f"Columns {pair.error!r} and {pair.lower!r} must have one unit, as two sides of an error: got "
            f"{of_error or 'none'} and {given.get(pair.lower) or 'none'}. Convert one."
        )
    target = (units or {}).get(pair.value) or own
    factor = unit_factor(own, target, pair.value)
    kind = said.kind(pair.kind)
    # Relative errors have no unit; an error without one has that of its value.
    apart = kind in POWERS and of_error not in ("", own)
    return factor, unit_factor(of_error, target, str(pair.error), kind) if apart else factor


def to_sigma(kind: str, values: FloatArray, errors: FloatArray) -> FloatArray:
    """Return standard deviations from what an error column holds; a negative one stays negative, to be refused.

    >>> import numpy as np
    >>> to_sigma("ivar", np.array([1.0, 2.0]), np.array([4.0, 0.0]))
    array([0.5, inf])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if kind == "variance":
            return np.copysign(np.sqrt(np.abs(errors)), errors)
        if kind == "ivar":
            return np.where(errors == 0, np.inf, np.copysign(np.abs(errors) ** -0.5, errors))
        if kind in _OF_THE_VALUE:
            return np.abs(values) * errors * _OF_THE_VALUE[kind]
        if kind in _SO_MANY:
            return errors / _SO_MANY[kind]
        if kind == "over_error":
            return np.abs(values / errors)
    return errors


def _all_usable(values: FloatArray, sigma: FloatArray) -> bool:
    """Whether it shows at a glance that all cells are measured, with finite errors above 0."""
    # Minimum and maximum are NaN where a cell is.
    return bool(
        values.size
        and np.min(values) > -np.inf
        and np.max(values) < np.inf
        and np.min(sigma) > 0
        and np.max(sigma) < np.inf
    )


def bad_cells(values: FloatArray, sigma: FloatArray) -> tuple[tuple[str, BoolArray], ...]:
    """Say which cells (n, m) hold a measurement that cannot be used, a cell for one reason at most."""
    finite = np.isfinite(values)
    return (
        ("infinite value", np.isinf(values)),
        ("no error (NaN) for a measured value", finite & np.isnan(sigma)),
        ("negative error: it is one standard deviation", finite & (sigma < 0)),
    )


def numbers(column: Any, name: str, rows: Sequence[int] | None = None) -> FloatArray:
    """Return a column as float64, empty cells NaN, or raise a ValueError that names it, the row and what is there.

    Parameters
    ----------
    column : (n,) Series or array
    name : str
    rows : (n,) sequence of int, optional
        Numbers of the rows in their table; by default the column's own.
    """
    try:
        plain = column
        if getattr(column.dtype, "na_value", None) is not None and hasattr(column, "to_numpy"):
            # pandas' own types have an empty cell that NumPy does not know.
            kind = np.float64 if column.dtype.kind in "iufb" else object
            plain = column.to_numpy(dtype=kind, na_value=np.nan)
        return as_real(plain, f"column {name!r}")
    except (TypeError, ValueError) as error:
        where = _first_text(column, _said_rows(column, rows))
        if where is None:
            raise ValueError(f"Column {name!r} must hold numbers: {str(error).split(': ', 1)[-1]}") from error
        row, cell, others = where
        if isinstance(cell, dict):
            fields = ", ".join(sorted(map(str, cell)))
            raise ValueError(
                f"Column {name!r} must hold numbers: got a nested record with {fields} in row {row}. Make its fields columns "
                "of their own, or drop it."
            ) from error
        if isinstance(cell, list | tuple | np.ndarray):
            raise ValueError(
                f"Column {name!r} must hold numbers: got {len(cell)} of them in one cell, row {row}. All cells of a column "
                "hold one number, or all a vector."
            ) from error
        raise ValueError(
            f"Column {name!r} must hold numbers: got {cell!r} in row {row}"
            + (f" (and {others} more)" if others else "")
            + f". {_remedy(cell)}"
        ) from error


def _said_rows(column: Any, rows: Sequence[int] | None) -> Sequence[Any]:
    """Return what rows are called in words: by their text where the table has such an index, else by their numbers."""
    index: Any = getattr(column, "index", None)
    if index is not None and index.nlevels == 1 and index.dtype.kind in "OU":
        return list(index)
    return row_numbers(column) if rows is None else rows


def _first_text(column: Any, rows: Sequence[Any]) -> tuple[Any, Any, int] | None:
    """Row, content and number of further cells that are no numbers, or None if it is not single cells that are at fault."""
    cells = column.tolist() if hasattr(column, "tolist") else list(column)
    nested = [row for row, cell in enumerate(cells) if isinstance(cell, dict | list | tuple | np.ndarray)]
    if nested:
        return rows[nested[0]], cells[nested[0]], len(nested) - 1
    bad = [row for row, cell in enumerate(cells) if isinstance(cell, str) and not _is_number(cell)]
    if not bad:
        return None
    return rows[bad[0]], cells[bad[0]], len(bad) - 1


def _remedy(cell: Any) -> str:
    """What to do about a cell that is no number."""
    if isinstance(cell, str) and cell.lstrip()[:1] in "<>≤≥":
        return "A limit is no measurement: empty such cells."
    if isinstance(cell, str) and _GROUPED.fullmatch(cell.strip()):
        return "Write numbers without marks between thousands."
    return "Mend or empty such cells, or drop the column."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python would read 1_000

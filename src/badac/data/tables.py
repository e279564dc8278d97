"""Tables into `Measurements`, as the estimator takes them: columns of values, and columns of their errors.

The columns are told apart by `badac.data.pairing`, so that ``fit(table)`` and the command line see the same values and the same
errors. Units of astropy tables are honoured: an error in mJy beside a flux in Jy is converted. For files, and for tables with
names, labels and other columns that are to travel along, see `badac.data.reading`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from badac.data.cells import read_cells
from badac.data.column_sorts import plain_numbers
from badac.data.conventions import Conventions, Said
from badac.data.frames import as_frame
from badac.data.measurements import Measurements
from badac.data.pairing import Pairing, pair_columns
from badac.data.quantities import units_in
from badac.data.said_pairs import Pair
from badac.data.vectors import are_objects, from_vectors, vector_columns
from badac.data.wide import checked_names

__all__ = [
    "TableWarning",
    "from_astropy",
    "from_frame",
    "has_error_columns",
    "refuse_lonely",
    "refuse_strays",
]


class TableWarning(UserWarning):
    """Something in a table that its owner should know.

    Examples
    --------
    >>> import warnings
    >>> from badac.data import TableWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", TableWarning)  # once you have read them
    >>> issubclass(TableWarning, UserWarning)
    True
    """


def has_error_columns(frame: Any, suffix: str = "_err") -> bool:
    """Whether a table has at least one pair of columns of values and their errors."""
    return bool(_pairing([str(name) for name in frame.columns], suffix, ()).pairs)


def from_frame(frame: Any, *, suffix: str = "_err", at: Any = None, **said: Unpack[Said]) -> Measurements:
    """Read a table with columns of values and of their errors into `Measurements`.

    Parameters
    ----------
    frame : DataFrame, or any table that `badac.data.frames.as_frame` takes
        One row an object. Identifiers, coordinates, flags and text are no values; any other column without an error column is
        refused, unless none has one: then all columns are values without errors.
    suffix : str
        What marks an error column, beside the marks that are known.
    at : (m,) array-like, optional
        Coordinates of the points, in the order of the value columns.
    **said
        `pair`, `missing` and `errors`, see `badac.data.conventions.Conventions`.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_frame
    >>> from_frame(pd.DataFrame({"name": ["a"], "psfMag_u": [19.0], "psfMagErr_u": [0.1]}))
    Measurements(1 objects x 1 points, with sigma)
    """
    frame, meant = as_frame(frame), Conventions.of(**said)
    names = checked_names(frame)
    vectors = vector_columns(frame)
    if vectors and are_objects(frame, vectors, meant):
        return from_vectors(frame, columns={"label": None}, **said).objects
    pairing = _pairing(names, suffix, meant.pair).typed(frame)
    if meant.errors == "none" or not pairing.checked().pairs:
        exact = read_cells(frame, [Pair(name, None) for name in names], meant)
        return Measurements(exact.values, at=at)
    _refuse_lonely(frame, pairing)
    _check_units(units_in(frame), pairing.pairs)
    cells = read_cells(frame, pairing.pairs, meant)
    for note in cells.losses.notes:
        warnings.warn(note, TableWarning, stacklevel=2)
    return Measurements(cells.values, cells.sigma, at=at)


def refuse_lonely(frame: Any) -> None:
    """Raise a ValueError if a column of numbers has no errors while others have them, naming it and what to do."""
    if not vector_columns(frame):
        _refuse_lonely(frame, pair_columns(checked_names(frame)).typed(frame).checked())


def refuse_strays(frame: Any) -> None:
    """Raise a ValueError if columns look like errors of no column, naming them and what to say about them."""
    pair_columns(checked_names(frame)).typed(frame).checked()


def _refuse_lonely(frame: Any, pairing: Pairing) -> None:
    known = {name for pair in (*pairing.pairs, *pairing.positions) for name in pair.columns}
    left = [name for name in pairing.names if name not in known and name not in pairing.also]
    lonely = plain_numbers(left, frame)
    if lonely:
        first = pairing.pairs[0]
        raise ValueError(
            f"Column {lonely[0]!r} has no error column, while {first.value!r} has one ({first.error}). Add it, say that the "
            f"values are exact with badac.data.from_table(table, pair=['{lonely[0]}=']), or drop the column from the table "
            "(labels and identifiers are not values); table.to_numpy() takes every column as an exact value."
        )


def from_astropy(table: Any, *, suffix: str = "_err", at: Any = None, **said: Unpack[Said]) -> Measurements:
    """Read an astropy ``Table`` or ``QTable``: as `from_frame`, with masked cells missing and units honoured.

    An error column is converted to the unit of its value column; one that has a unit where the other has none is an
    error.

    Examples
    --------
    >>> from astropy.table import Table
    >>> from badac.data import from_astropy
    >>> from_astropy(Table({"g": [17.1, 18.0], "g_err": [0.1, 0.2]}))
    Measurements(2 objects x 1 points, with sigma)
    """
    return from_frame(as_frame(table), suffix=suffix, at=at, **said)


def _check_units(units: Mapping[str, str], pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        if pair.error is not None and pair.kind == "sigma" and (pair.value in units) != (pair.error in units):
            raise ValueError(
                f"Columns {pair.value!r} and {pair.error!r} must both have a unit, or neither: got "
                f"{units.get(pair.value, 'none')} and {units.get(pair.error, 'none')}."
            )


def _pairing(names: Sequence[str], suffix: str, pair: Sequence[str]) -> Pairing:
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"The table has more than one column {twice!r}. Rename or drop one.")
    marked = [name for name in names if name.endswith(suffix) and name.removesuffix(suffix) in names]
    said = [f"{name.removesuffix(suffix)}={name}" for name in marked if suffix != "_err" and suffix]
    return pair_columns(names, (*pair, *said))


def refuse_without_errors(objects: Measurements) -> None:
    """Raise a ValueError if all error bars of training objects (n, m) are missing: a model would be learned from nothing.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import refuse_without_errors
    >>> refuse_without_errors(Measurements([[1.0, 2.0]], 0.1))  # has error bars: nothing happens
    """
    if objects.has_errors and objects.values.size and not objects.observed.any():
        raise ValueError(
            "no value has a usable error bar, so nothing could be learned: all values or all errors are missing (NaN or "
            "infinite). Give one standard deviation for each value (0: exact), or no errors at all to take values as exact."
        )

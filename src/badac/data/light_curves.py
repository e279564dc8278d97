"""Light curves from long tables: one row per measurement, every object at its own times.

The result is padded: row i holds the points of object i in order of time, NaN after the last, with its times in `at` and the
numbers of its bands in `band`. Rows that cannot be used (no time, no value, an error that is none) are left out and counted;
nothing is lost without a line in the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from badac.data.catalogue import Catalogue, whole_labels
from badac.data.cells import numbers, read_cells
from badac.data.columns import Roles, recognise
from badac.data.conventions import Conventions, Said
from badac.data.description import Axis
from badac.data.frames import as_frame
from badac.data.losses import Losses, counted
from badac.data.magnitudes import to_flux
from badac.data.measurements import Measurements
from badac.data.optional import needs
from badac.data.quantities import units_in
from badac.data.rows import names_of, row_numbers
from badac.data.validation import BoolArray, FloatArray, IntArray
from badac.writing import clause

# Modified Julian day 0.
_MJD_ZERO = "1858-11-17"


class LongSaid(Said, total=False):
    """Further keywords of `from_long`."""

    fluxes: bool
    zero_point: float
    units: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a long table: the number of each one's object and band, its time, value, sigma and own number, (r,) each."""

    names: npt.NDArray[Any]
    object: IntArray
    time: FloatArray
    value: FloatArray
    sigma: FloatArray
    band: IntArray
    number: IntArray

    def __getitem__(self, rows: IntArray) -> _Rows:
        return replace(
            self,
            object=self.object[rows],
            time=self.time[rows],
            value=self.value[rows],
            sigma=self.sigma[rows],
            band=self.band[rows],
            number=self.number[rows],
        )

    def called(self, row: int) -> str:
        """Return what a row is called in a message."""
        return f"object {self.names[self.object[row]]}, row {self.number[row]}"


def from_long(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    bands: Sequence[str] | None = None,
    unknown_band: str = "raise",
    **said: Unpack[LongSaid],
) -> Catalogue:
    """Read a long table into padded light curves.

    Parameters
    ----------
    frame : DataFrame, or any table that `badac.data.frames.as_frame` takes
        One row per measurement.
    columns : mapping from role to column, optional
        Overrides what `badac.data.columns` recognises; roles are object, time, band, value, error, label.
    bands : sequence of str, optional
        Bands and their order: those of the training table, when new objects are read. By default those found, sorted.
    unknown_band : {"raise", "drop"}
        What to do with a band that is not among `bands`.
    **said
        ``fluxes=True`` turns magnitudes into fluxes of ``zero_point`` (25); ``units={column: unit}`` converts to those units;
        `pair`, `missing` and `errors` as in `badac.data.conventions.Conventions`.

    Returns
    -------
    Catalogue
        Objects in the order in which the table first names them. Columns that are the same in all rows of an object, such as
        ra and dec, are carried along.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_long
    >>> rows = pd.DataFrame({"oid": [7, 7, 8], "mjd": [2.0, 1.0, 5.0], "filtercode": ["zg", "zr", "zg"],
    ...                      "mag": [17.0, 17.5, 18.0], "magerr": [0.1, 0.1, 0.2]})
    >>> curves = from_long(rows)
    >>> print(curves.recognised)
    long table (ZTF names), one row per measurement: object = oid, time = mjd, band = filtercode, value = mag, error = magerr
    >>> curves.objects.at
    array([[ 1.,  2.],
           [ 5., nan]])
    """
    if unknown_band not in ("raise", "drop"):
        raise ValueError(f"`unknown_band` must be 'raise' or 'drop': got {unknown_band!r}.")
    frame = as_frame(frame)
    fluxes, zero_point, units = (
        said.pop("fluxes", False),
        said.pop("zero_point", 25.0),
        said.pop("units", None),
    )
    meant = Conventions.of(**said)
    roles = recognise([str(name) for name in frame.columns], columns, meant.pair)
    names, row_object = _factorise(frame[roles.object], "object", roles.object)
    time, dated = _times(frame, roles.time)
    cells = read_cells(frame, [roles.pair], meant, units)
    value, error = cells.values[:, 0], cells.sigma[:, 0]
    band_names, row_band, foreign = _bands(frame, roles, bands)
    if foreign.any() and unknown_band == "raise":
        which = sorted({str(name) for name in frame[roles.band][foreign].tolist()})
        raise ValueError(
            f"bands that were never seen in training: {', '.join(which)} in {int(foreign.sum())} rows of "
            f"{len(np.unique(row_object[foreign]))} objects; known are {', '.join(band_names)}. "
            "Leave those rows out (unknown_band='drop'), or train with that band."
        )
    if fluxes and roles.quantity == "magnitude":
        value, error = to_flux(value, error, zero_point)
    rows = _Rows(names, row_object, time, value, error, row_band, np.asarray(row_numbers(frame)))
    nameless = _is_empty(frame[roles.band]) if roles.band else np.zeros(len(time), dtype=bool)
    use, losses = _usable(rows, (("no band", nameless), ("band never seen in training", foreign)))
    losses = Losses(notes=(*frame.attrs.get("notes", ()), *cells.losses.notes)).merged(losses)
    if dated:
        losses = losses.and_note(f"the dates in {roles.time!r} were taken as modified Julian days (UTC)")
    keep = use[np.lexsort((row_band[use], time[use], row_object[use]))]
    losses = losses.merged(_notes(rows[use], rows[keep]))
    objects, present = _padded(rows[keep], has_bands=roles.band is not None)
    losses = losses.and_also("objects", int((~present).sum()), "no usable point", names[~present].tolist())
    if not present.any():
        raise ValueError(f"no object has a usable point. {losses}")
    quantity = "flux" if fluxes and roles.quantity == "magnitude" else roles.quantity
    unit = "" if quantity != roles.quantity else (units or units_in(frame)).get(roles.value, "")
    used = {roles.object, roles.time, roles.band, *roles.pair.columns, roles.label}
    carried = _carried(frame, used, row_object)
    catalogue = Catalogue(
        objects[present],
        names[present],
        None,
        str(roles),
        losses,
        tuple(band_names) if roles.band else (),
        kind="light curve",
        axis=Axis(roles.time, "d" if dated else units_in(frame).get(roles.time, "")),
        quantity=Axis(quantity if quantity != "value" else roles.value, unit),
        units={roles.value: unit} if unit else {},
        carried={name: column[present] for name, column in carried.items()},
        read_as=meant.read_as("long", columns),
    )
    if roles.label is None:
        return catalogue
    of_object, label = _labels(names, row_object, frame[roles.label], roles.label)
    return catalogue.with_labels(of_object, label)


def _carried(frame: Any, used: set[str | None], row_object: IntArray) -> dict[str, npt.NDArray[Any]]:
    """Columns that are the same in all rows of an object, by object."""
    first = np.unique(row_object, return_index=True)[1]
    found = {}
    for name in frame.columns:
        if str(name) in used:
            continue
        column = frame[name]
        empty = _is_empty(column)
        cells = np.asarray(column)
        with np.errstate(invalid="ignore"):
            same = (cells == cells[first][row_object]) | (empty & empty[first][row_object])
        if np.all(same):
            found[str(name)] = names_of(column.iloc[first])
    return found


def _times(frame: Any, name: str) -> tuple[FloatArray, bool]:
    """Return the times as numbers, and whether they were dates: those become modified Julian days."""
    column = frame[name]
    kind = getattr(column.dtype, "kind", "O")
    if kind == "m":
        return np.asarray(column.dt.total_seconds()) / 86400.0, False
    if kind not in "MOUT":
        return numbers(column, name), False
    try:
        return numbers(column, name), False
    except ValueError:
        pandas = needs("pandas", "Reading dates")
        try:
            dates = pandas.to_datetime(column, utc=True, format="ISO8601" if kind != "M" else None)
        except (TypeError, ValueError) as problem:
            raise ValueError(
                f"Column {name!r} must hold times, as numbers or as dates like 2026-01-31T23:59:59: {clause(problem)}."
            ) from problem
        days = (dates - pandas.Timestamp(_MJD_ZERO, tz="UTC")) / pandas.Timedelta(days=1)
        return np.asarray(days, dtype=np.float64), True


def _is_empty(column: Any) -> BoolArray:
    return np.asarray(column.isna()) if hasattr(column, "isna") else np.zeros(len(column), dtype=bool)


def _factorise(column: Any, role: str, name: str) -> tuple[npt.NDArray[Any], IntArray]:
    """Names in order of first appearance, and the number of each row's name."""
    plain = np.asarray(column)
    empty = _is_empty(column)
    if empty.any():
        raise ValueError(
            f"Column {name!r} must name the {role} of every row: row {row_numbers(column)[int(np.argmax(empty))]} has none "
            f"({int(empty.sum())} in all)."
        )
    if plain.dtype == object:
        plain = plain.astype(str)
    names, first, code = np.unique(plain, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return names[order], rank[code].astype(np.int64)


def _bands(frame: Any, roles: Roles, bands: Sequence[str] | None) -> tuple[list[str], IntArray, BoolArray]:
    """Names of the bands, the number of each row's band, and which rows have a band that is not among them."""
    if roles.band is None:
        if bands:
            raise ValueError(
                f"`bands` are given ({', '.join(bands)}), but the table has no column for the band. "
                "Name it: columns={'band': ...}."
            )
        return [""], np.zeros(len(frame), dtype=np.int64), np.zeros(len(frame), dtype=bool)
    found, named = np.asarray(frame[roles.band]).astype(str), ~_is_empty(frame[roles.band])
    known = sorted(set(found[named].tolist())) if bands is None else [str(name) for name in bands]
    number = {name: position for position, name in enumerate(known)}
    code = np.array([number.get(name, -1) for name in found.tolist()], dtype=np.int64)
    return known, code, (code < 0) & named


def _usable(rows: _Rows, without: Sequence[tuple[str, BoolArray]]) -> tuple[IntArray, Losses]:
    """Rows that can be used, and a line for every reason why others cannot; `without`: rows without a known band."""
    losses = Losses()
    left = np.ones(len(rows.time), dtype=bool)
    reasons: tuple[tuple[str, BoolArray], ...] = (
        *without,
        ("no time (not a finite number)", ~np.isfinite(rows.time)),
        ("no value (not a finite number)", ~np.isfinite(rows.value)),
        ("no error (NaN) for a measured value", np.isnan(rows.sigma)),
        ("infinite error", np.isinf(rows.sigma)),
        ("negative error: it is one standard deviation", rows.sigma < 0),
    )
    for reason, bad in reasons:
        hit = left & bad
        losses = losses.and_also(
            "rows", int(hit.sum()), reason, map(rows.called, np.flatnonzero(hit).tolist())
        )
        left &= ~bad
    good = np.flatnonzero(left)
    kept = rows[good]
    cells = np.column_stack([kept.object, kept.band, kept.time, kept.value, kept.sigma])
    _, first = np.unique(cells, axis=0, return_index=True)
    if len(first) < len(good):
        again = good[np.setdiff1d(np.arange(len(good)), first)]
        losses = losses.and_also(
            "rows", len(again), "the same measurement twice", map(rows.called, again.tolist())
        )
        good = good[np.sort(first)]
    return good, losses


def _notes(used: _Rows, kept: _Rows) -> Losses:
    """Words on rows that were kept as they are, though a reader should know of them; `kept` are the used ones in order."""
    losses = Losses()
    exact = int((kept.sigma == 0).sum())
    if exact:
        losses = losses.and_note(
            f"{counted(exact, 'rows have')} error 0, taken as exact; drop such rows if 0 means unknown"
        )
    step = np.diff(used.object)
    if ((step == 0) & (np.diff(used.time) < 0)).any() or (step < 0).any():
        losses = losses.and_note("rows were not in order of object and time; they were sorted")
    same = (np.diff(kept.object) == 0) & (np.diff(kept.time) == 0) & (np.diff(kept.band) == 0)
    if same.any():
        losses = losses.and_note(
            f"{counted(int(same.sum()), 'rows have')} the object, band and time of another row and another value; all were kept"
        )
    count = np.bincount(kept.object, minlength=len(kept.names))
    if (count == 1).any():
        few = kept.names[count == 1]
        shown = ", ".join(str(name) for name in few[:5].tolist())
        losses = losses.and_note(f"{counted(len(few), 'objects have')} a single point ({shown})")
    return losses


def _padded(rows: _Rows, *, has_bands: bool) -> tuple[Measurements, BoolArray]:
    """Rows sorted by object and time into padded arrays; and which objects have a point at all."""
    n = len(rows.names)
    count = np.bincount(rows.object, minlength=n)
    width = int(max(count.max(initial=0), 1))
    column = np.arange(len(rows.object)) - np.repeat(np.cumsum(count) - count, count)
    values, at = np.full((n, width), np.nan), np.full((n, width), np.nan)
    sigma, band = np.full((n, width), np.inf), np.full((n, width), -1, dtype=np.int64)
    cell = (rows.object, column)
    values[cell], at[cell], sigma[cell], band[cell] = rows.value, rows.time, rows.sigma, rows.band
    return Measurements(values, sigma, at=at, band=band if has_bands else None), count > 0


def _labels(
    names: npt.NDArray[Any], row_object: IntArray, column: Any, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Label of each object from a column of the long table, which must not contradict itself; none: not named."""
    given = np.asarray(column)
    empty = _is_empty(column)
    labels: dict[int, Any] = {}
    for number, label, missing in zip(row_object.tolist(), given.tolist(), empty.tolist(), strict=True):
        if missing:
            continue
        if labels.setdefault(number, label) != label:
            raise ValueError(
                f"Column {name!r} must have one label per object: object {names[number]!s} has {labels[number]!r} and "
                f"{label!r}."
            )
    if not labels:
        raise ValueError(f"Column {name!r} has no labels at all. Leave it out: columns={{'label': None}}.")
    return names[list(labels)], whole_labels(np.array(list(labels.values())))

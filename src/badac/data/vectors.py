"""Tables whose cells hold whole spectra or light curves: one row an object, ``flux`` of 400 values, beside it ``ivar``.

The coordinates are a column too (``loglam``, ``wavelength``, ``time`` ...): common to all objects, or each object's own, and
then points are padded. Several arms (``B_FLUX``, ``R_FLUX`` ...) follow one another as bands. Cells with times and bands are
light curves (`badac.data.light_curves`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from badac.data.axes import TIMES, WAVELENGTHS, axis_name, undo_logarithm
from badac.data.catalogue import Catalogue
from badac.data.cells import Cells, as_meant, as_one_error, numbers, unit_factors
from badac.data.columns import SYNONYMS, check_overrides, find
from badac.data.conventions import Conventions, Said
from badac.data.description import Axis
from badac.data.error_marks import VALUE_MARKS, words
from badac.data.light_curves import from_long
from badac.data.losses import Losses, some
from badac.data.measurements import Measurements
from badac.data.pairing import pair_columns
from badac.data.quantities import units_in
from badac.data.rows import is_named, labelled, name_notes, names_of, row_names, row_numbers
from badac.data.said_pairs import Pair
from badac.data.validation import FloatArray
from badac.writing import clause

FEWEST_OF_A_CURVE = 8
"""So many numbers of one name are points of a curve; fewer are values of their own: WISE and Spitzer have four bands."""


@dataclass(frozen=True, eq=False)
class _Arm:
    """One pair of vector columns: values, standard deviations and coordinates, (n, m) or, common to all, (m,)."""

    pair: Pair
    cells: Cells
    at: FloatArray | None

    @property
    def name(self) -> str:
        pieces = [piece for word in words(self.pair.value) for piece in word if piece not in VALUE_MARKS]
        return "_".join(pieces) or self.pair.value


def vector_columns(frame: Any) -> list[str]:
    """Return the columns whose cells hold several numbers, or several names."""
    found = []
    for name in frame.columns:
        column = frame[name]
        if getattr(column.dtype, "kind", "") == "O" and len(column):
            filled = column[column.notna()] if not isinstance(column.iloc[0], np.ndarray) else column
            if len(filled) and isinstance(filled.iloc[0], np.ndarray | list | tuple):
                found.append(str(name))
    return found


def are_objects(frame: Any, vectors: Sequence[str], said: Conventions) -> bool:
    """Whether the vectors of a table are its objects' measurements, rather than something beside single values with errors."""
    names = [str(name) for name in frame.columns]
    found = pair_columns(names, said.pair).pairs
    return any(pair.value in vectors for pair in found) or not any(
        pair.value not in vectors for pair in found
    )


def from_vectors(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    bands: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    **said: Unpack[Said],
) -> Catalogue:
    """Read a table with vector columns.

    Parameters
    ----------
    frame : DataFrame
    columns : mapping from role to column, optional
        Overrides for object, label, time (the coordinates), band, value and error.
    bands : sequence of str, optional
        Bands of light curves and their order: those of the training table, when new objects are read.
    units : mapping from value column to unit, optional
        Units to convert to: those of the training table (``Catalogue.units``).
    **said
        `pair`, `missing` and `errors`, see `badac.data.conventions.Conventions`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from badac.data import from_wide
    >>> spectra = pd.DataFrame({"id": [7, 8], "flux": [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
    ...                         "ivar": [np.array([4.0, 0.0]), np.array([1.0, 1.0])], "loglam": [np.array([3.0, 4.0])] * 2})
    >>> found = from_wide(spectra)
    >>> found.objects.at, found.objects.sigma[0], found.kind
    (array([ 1000., 10000.]), array([0.5, inf]), 'spectrum')
    """
    meant, given = Conventions.of(**said), dict(columns or {})
    names = [str(name) for name in frame.columns]
    check_overrides(names, given, ("object", "label", "time", "band", "value", "error"))
    vectors = vector_columns(frame)
    axes = [given["time"]] if given.get("time") else [name for name in vectors if axis_name(name)]
    pairs = _pairs(names, vectors, axes, given, meant)
    band = given.get("band") or find(vectors, "band")
    times = [name for name in axes if name and axis_name(name) in TIMES]
    if meant.errors != "none" and times and (band or not _are_common(frame[times[0]])):
        known: dict[str, Any] = {
            **said,
            **({"bands": bands} if bands else {}),
            **({"units": units} if units else {}),
        }
        curves = _light_curves(frame, pairs[0], times[0], band, given, known)
        return replace(curves, read_as=meant.read_as("wide", given))
    arms = sorted((_arm(frame, pair, axes, meant, units or {}) for pair in pairs), key=_first_point)
    axis = next((name for name in axes if name), "")
    catalogue = replace(_catalogue(frame, arms, str(axis), meant), read_as=meant.read_as("wide", given))
    catalogue = replace(catalogue, units={**catalogue.units, **(units or {})})
    unused = [name for name in vectors if name not in {*axes, *(n for p in pairs for n in p.columns)}]
    losses = catalogue.losses.and_also(
        "columns", len(unused), "vectors that are neither values nor errors", unused
    )
    return _with_rows(replace(catalogue, losses=losses), frame, {*vectors}, given)


def _pairs(
    names: Sequence[str],
    vectors: Sequence[str],
    axes: Sequence[Any],
    given: Mapping[str, Any],
    said: Conventions,
) -> list[Pair]:
    value, error = given.get("value"), given.get("error")
    if value and error:
        held = [(one.kind, one.lower) for one in pair_columns(names).pairs if one.error == error]
        return [Pair(value, error, *(held[0] if held else ()))]
    candidates = [name for name in names if name not in axes]
    pairing = pair_columns(candidates, said.pair)
    found = [pair for pair in pairing.pairs if pair.value in vectors and value in (None, pair.value)]
    if said.errors == "none":
        errors = {name for pair in found for name in pair.error_columns}
        return [Pair(name, None) for name in vectors if name not in {*axes, *errors}]
    if not found:
        replace(pairing, stray=tuple(name for name in pairing.stray if name in vectors)).checked()
        raise ValueError(
            f"the cells of {some(vectors, 5)} hold vectors, but none has a column of errors beside it. Name the error of "
            "`flux` `flux_err` or `flux_ivar`, or say pair=['VALUE=ERROR'] (--pair). "
            f"Columns: {some(names)}."
        )
    return found


def _arm(frame: Any, pair: Pair, axes: Sequence[Any], said: Conventions, units: Mapping[str, str]) -> _Arm:
    values = _stacked(frame[pair.value], pair.value)
    n, m = values.shape
    vectors, sides = vector_columns(frame), []
    for name in pair.error_columns:
        is_vector = name in vectors
        side = (
            _stacked(frame[name], name)
            if is_vector
            else np.repeat(numbers(frame[name], name)[:, None], m, axis=1)
        )
        if side.shape != values.shape:
            raise ValueError(
                f"Columns {pair.value!r} and {name!r} must hold vectors of one length: the longest have {m} and "
                f"{side.shape[1]} values."
            )
        sides.append(side)
    errors = np.broadcast_to(as_one_error(pair, values, sides, said), values.shape)
    flat = as_meant(values.reshape(-1, 1), errors.reshape(-1, 1), [pair], said)
    factor, of_sigma = unit_factors(frame, pair, said, units)
    cells = Cells(
        flat.values.reshape(n, m) * factor,
        flat.sigma.reshape(n, m) * of_sigma,
        tuple(f"{pair.value}[{number}]" for number in range(m)),
        flat.losses,
    )
    cells = cells if said.errors == "none" else cells.usable()
    return _Arm(pair, cells, _coordinates(frame, pair, axes, values))


def _coordinates(frame: Any, pair: Pair, axes: Sequence[Any], values: FloatArray) -> FloatArray | None:
    """Coordinates of an arm, (m,) where all objects have the same, else (n, m)."""
    arm = words(pair.value)[0][0]
    own = [name for name in axes if len(axes) == 1 or words(str(name))[0][0] == arm]
    lengths = {len(np.atleast_1d(cell)) for cell in frame[pair.value]} if len(frame) else set()
    if not own:
        if len(lengths) > 1:
            raise ValueError(
                f"the vectors of {pair.value!r} have different lengths ({min(lengths)} to {max(lengths)}), so each needs its "
                "coordinates: no column such as wavelength, loglam or time was found. Name it: columns={'time': ...}."
            )
        return None
    column = frame[own[0]]
    common = _are_common(column)
    at = undo_logarithm(str(own[0]), _stacked(column.iloc[:1] if common else column, str(own[0])))
    if at.shape[1] != values.shape[1]:
        raise ValueError(
            f"Columns {pair.value!r} and {own[0]!r} must hold vectors of one length: the longest have {values.shape[1]} and "
            f"{at.shape[1]} values."
        )
    return at[0] if common and len(lengths) == 1 else np.broadcast_to(at, values.shape)


def _are_common(column: Any) -> bool:
    """Whether all cells hold the same vector."""
    first = np.asarray(column.iloc[0])
    return all(cell is column.iloc[0] or np.array_equal(cell, first) for cell in column)


def _stacked(column: Any, name: str) -> FloatArray:
    """Vectors of a column as (n, m), NaN after the last of the short ones and where a cell is empty."""
    try:
        cells = [
            np.atleast_1d(np.ma.filled(np.ma.asarray(cell, dtype=np.float64), np.nan)) for cell in column
        ]
    except (TypeError, ValueError) as problem:
        raise ValueError(f"Column {name!r} must hold vectors of numbers: {clause(problem)}.") from problem
    width = max((len(cell) for cell in cells), default=0)
    out = np.full((len(cells), width), np.nan)
    for row, cell in enumerate(cells):
        out[row, : len(cell)] = cell
    return out


def _first_point(arm: _Arm) -> float:
    return float(np.nanmin(arm.at)) if arm.at is not None and arm.at.size else 0.0


def _catalogue(frame: Any, arms: Sequence[_Arm], axis: str, said: Conventions) -> Catalogue:
    """Arms one after the other as the points of each object."""
    values = np.concatenate([arm.cells.values for arm in arms], axis=1)
    sigma = np.concatenate([arm.cells.sigma for arm in arms], axis=1)
    ats = [arm.at for arm in arms if arm.at is not None]
    at = None
    if len(ats) == len(arms):
        whole = [np.broadcast_to(one, arm.cells.values.shape) for one, arm in zip(ats, arms, strict=True)]
        at = np.concatenate(ats if all(one.ndim == 1 for one in ats) else whole, axis=-1)
        if at.ndim == 2:
            values = np.where(np.isnan(at), np.nan, values)
    widths = [arm.cells.values.shape[1] for arm in arms]
    single = not axis and max(widths) < FEWEST_OF_A_CURVE
    several = len(arms) > 1 and not single
    band = np.repeat(np.arange(len(arms)), widths) if several else None
    losses = Losses(notes=tuple(frame.attrs.get("notes", ())))
    for arm in arms:
        losses = losses.merged(arm.cells.losses)
    along = axis_name(axis)
    kind = "spectrum" if along in WAVELENGTHS else ("light curve" if along in TIMES else "grid curve")
    units = units_in(frame)
    logarithm = along.startswith("log")
    unit = units.get(axis, "")
    said_pairs = ", ".join(str(arm.pair) for arm in arms)
    where = f", {axis} along the points" if axis else ""
    if said.errors != "none" and len(frame):
        Cells(values, sigma, tuple(arm.pair.value for arm in arms), losses).refuse_without_errors()
    own = at is not None and at.ndim == 2
    return Catalogue(
        Measurements(
            values,
            None if said.errors == "none" else sigma,
            at=at,
            band=None if band is None else (np.broadcast_to(band, values.shape) if own else band),
        ),
        np.arange(len(frame)),
        None,
        f"table of vectors, one row per object: {said_pairs}{where}{' (logarithm undone)' if logarithm else ''}",
        losses,
        bands=tuple(arm.name for arm in arms) if several else (),
        features=() if not single else tuple(name for arm in arms for name in arm.cells.names),
        kind="catalogue" if single else kind,
        axis=Axis(
            "wavelength" if logarithm else (along if along != "at" else ""), "Angstrom" if logarithm else unit
        ),
        quantity=Axis(arms[0].pair.value, units.get(arms[0].pair.value, "")),
        units={arm.pair.value: units[arm.pair.value] for arm in arms if arm.pair.value in units},
    )


def _with_rows(
    catalogue: Catalogue, frame: Any, vectors: set[str], given: Mapping[str, str | None]
) -> Catalogue:
    """Names, labels and what is carried, from the columns of one cell per object."""
    scalars = [str(name) for name in frame.columns if str(name) not in vectors]
    roles = {role: given[role] if role in given else find(scalars, role) for role in ("object", "label")}
    ids, carried = row_names(frame, roles["object"])
    special = {name for name in roles.values() if name}
    carried |= {name: names_of(frame[name]) for name in scalars if name not in special}
    losses = name_notes(catalogue.losses, ids, row_numbers(frame))
    named = is_named(frame, roles["object"])
    found = replace(catalogue, ids=ids, carried=carried, losses=losses, named=named)
    return found if roles["label"] is None else labelled(found, frame[roles["label"]])


def _light_curves(
    frame: Any,
    pair: Pair,
    time: str,
    band: str | None,
    given: Mapping[str, str | None],
    said: Mapping[str, Any],
) -> Catalogue:
    """Vectors of times, values and errors as the rows of a long table."""
    names = [str(name) for name in frame.columns]
    used = [name for name in (time, *pair.columns, band) if name is not None]
    others = [name for name in names if name not in vector_columns(frame)]
    of_object = given.get("object") or find(others, "object")
    rows = frame[[*others, *used]]
    if of_object is None:
        of_object = SYNONYMS["object"][0]
        rows = rows.assign(**{of_object: np.arange(len(frame))})
    try:
        long = rows.explode(used, ignore_index=True)
    except ValueError as problem:
        raise ValueError(
            f"Columns {', '.join(used)} must hold vectors of one length in each row: {clause(problem)}."
        ) from problem
    for name in (time, *pair.columns):
        long[name] = numbers(long[name], name)
    long.attrs = dict(frame.attrs)
    roles: dict[str, str | None] = {
        "object": of_object, "time": time, "band": band, "value": pair.value, "error": pair.error,
        "label": given["label"] if "label" in given else find(others, "label"),
    }  # fmt: skip
    found = from_long(long, columns=roles, **said)
    return replace(
        found,
        recognised=found.recognised.replace("long table", "table of vectors").replace(
            "one row per measurement", "one row per object"
        ),
    )

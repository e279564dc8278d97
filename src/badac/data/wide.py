"""Wide tables: one row an object, one column a value, beside it one with its error.

Which columns are values and which their errors is told by `badac.data.pairing`; all others travel with the objects
(``Catalogue.carried``). A new table must have most of the columns that a model was fitted on (`matched`): scored on the few
that it has, every object would look strange.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from badac.data.catalogue import Catalogue
from badac.data.cells import read_cells
from badac.data.column_sorts import plain_numbers
from badac.data.columns import EXPOSURE, check_overrides, find
from badac.data.conventions import Conventions, Said
from badac.data.frames import as_frame
from badac.data.losses import Losses, counted, some
from badac.data.measurements import Measurements
from badac.data.pairing import Pairing, pair_columns
from badac.data.quantities import units_in
from badac.data.rows import is_named, labelled, name_notes, names_of, row_names, row_numbers
from badac.data.said_pairs import Pair
from badac.data.validation import any_nan, as_real
from badac.data.vectors import FEWEST_OF_A_CURVE, are_objects, from_vectors, vector_columns

MOST_ABSENT = 1 / 3
"""Share of a model's columns that a new table may lack: with more missing, p-values compare unlike with unlike."""


class WideSaid(Said, total=False):
    """The other keywords of `from_wide`."""

    bands: Sequence[str]


def from_wide(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    at: Any = None,
    features: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    **said: Unpack[WideSaid],
) -> Catalogue:
    """Read a wide table.

    Parameters
    ----------
    frame : DataFrame, or any table that `badac.data.frames.as_frame` takes
        Cells may hold whole spectra or light curves (`badac.data.vectors`).
    columns : mapping, optional
        Overrides for the roles "object" and "label"; None: there is none. "exposure": the column of the exposures of
        counts, which need no errors.
    at : (m,) array-like, optional
        Coordinates of the points.
    features : sequence of str, optional
        Value columns and their order: those of the training table, when new objects are read. A few that are missing
        altogether are missing points, and are said; by default all columns that have an error column.
    units : mapping from value column to unit, optional
        Units to convert to: those of the training table (``Catalogue.units``).
    **said
        ``bands=[...]`` of the training, where cells hold whole light curves; `pair`, `missing` and `errors` as in
        `badac.data.conventions.Conventions`.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_wide
    >>> table = pd.DataFrame({"name": ["a", "b"], "g": [1.0, 2.0], "e_g": [0.1, 0.1], "ra": [3.0, 4.0], "z": [0.1, 0.2]})
    >>> found = from_wide(table)
    >>> print(found.recognised)
    wide table, one row per object: object = name, 1 values with errors (g with e_g), carried along: ra, z
    >>> print(found.losses)
    1 column left out: no error column beside it (z)
    """
    bands = said.pop("bands", None)
    frame, meant = as_frame(frame), Conventions.of(**said)
    names = checked_names(frame)
    given = dict(columns or {})
    vectors = vector_columns(frame)
    if vectors and are_objects(frame, vectors, meant):
        whole = from_vectors(
            frame,
            columns=columns,
            bands=bands,
            units=units,
            pair=meant.pair,
            missing=meant.missing,
            errors=meant.errors,
        )
        if features is None or tuple(features) == whole.features:
            return whole
    names = [name for name in names if name not in vectors]
    frame = frame[names] if vectors else frame
    check_overrides(names, given, ("object", "label", EXPOSURE))
    roles = {role: given[role] if role in given else find(names, role) for role in ("object", "label")}
    roles[EXPOSURE] = given.get(EXPOSURE)
    if roles[EXPOSURE] is not None:
        # Counts bring their own width.
        meant = replace(meant, errors="none")
    special = {name for name in roles.values() if name is not None}
    pairing = pair_columns([name for name in names if name not in special], meant.pair).typed(frame)
    if meant.errors != "none":
        pairing.checked()
    losses = Losses(notes=tuple(frame.attrs.get("notes", ())))
    losses = losses.and_also("columns", len(vectors), "vectors in a table of single values", vectors)
    wanted, losses = _wanted(frame, pairing, features, meant, losses)
    cells = read_cells(frame, wanted, meant, units)
    if meant.errors != "none":
        cells = cells.usable()
        if features is None and len(frame):
            cells.refuse_without_errors()
    values = (
        cells.values if meant.errors != "none" else np.where(np.isinf(cells.values), np.nan, cells.values)
    )
    losses = losses.merged(_left_out(frame, pairing, wanted, meant)).merged(cells.losses)
    ids, index = row_names(frame, roles["object"])
    carried = {**index, **_carried(frame, pairing, wanted, special)}
    losses = name_notes(_notes(losses, ids, values), ids, row_numbers(frame))
    named = [f"{role} = {name}" for role, name in roles.items() if name is not None]
    travel = [f"carried along: {some(list(carried), 6)}"] if carried else []
    sigma = cells.sigma if meant.errors != "none" else None
    objects = Measurements(values, sigma, at=at, exposure=_exposure(frame, roles[EXPOSURE]))
    catalogue = Catalogue(
        objects,
        ids,
        None,
        f"wide table, one row per object: {', '.join([*named, _said(wanted, meant), *travel])}",
        losses,
        features=tuple(pair.value for pair in wanted),
        kind=kind_of_columns(objects, [pair.value for pair in wanted]),
        units={
            pair.value: unit
            for pair in wanted
            if (unit := (units or {}).get(pair.value) or units_in(frame).get(pair.value))
        },
        carried=carried,
        read_as=meant.read_as("wide", given),
        named=is_named(frame, roles["object"]),
    )
    return catalogue if roles["label"] is None else labelled(catalogue, frame[roles["label"]])


def matched(
    table: Any, features: Sequence[str], *, units: Mapping[str, str] | None = None, **said: Unpack[Said]
) -> Catalogue:
    """Return the objects of a new table with the features of a model, in their order.

    Parameters
    ----------
    table : any table that `badac.data.frames.as_frame` takes
    features : sequence of str
        Value columns that the model was fitted on.
    units : mapping from value column to unit, optional
        Of the training; other units are converted.
    **said
        As in `from_wide`.

    Raises
    ------
    ValueError
        If the table lacks more than a third of the features, naming them and near names.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import matched
    >>> matched(pd.DataFrame({"r": [1.0], "r_err": [0.1], "g": [2.0], "g_err": [0.2]}), ["g", "r"]).objects.values
    array([[2., 1.]])
    """
    return from_wide(table, columns={"label": None}, features=features, units=units, **said)


def checked_names(frame: Any) -> list[str]:
    """Return the names of a table's columns, each of which must come once."""
    names = [str(name) for name in frame.columns]
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"The table has more than one column {name!r}. Rename or drop one.")
        seen.add(name)
    return names


def _exposure(frame: Any, name: str | None) -> npt.NDArray[np.float64] | None:
    """Return (n, 1): the exposures of the objects, of the column that has them."""
    if name is None:
        return None
    return as_real(np.asarray(frame[name]), f"the exposures (column {name!r})")[:, None]


def _wanted(
    frame: Any, pairing: Pairing, features: Sequence[str] | None, said: Conventions, losses: Losses
) -> tuple[list[Pair], Losses]:
    """Pairs to read, in order; of the training's columns those that are missing here too."""
    if said.errors == "none":
        # Bounds look like errors only beside a value that has some.
        errors = {name for pair in pairing.pairs if pair.kind != "bounds" for name in pair.error_columns}
        errors |= set(pairing.also) | set(pairing.stray)
        numeric = plain_numbers([name for name in pairing.names if name not in errors], frame)
        here = {name: Pair(name, None) for name in (pairing.names if features is not None else numeric)}
    else:
        here = {
            pair.value: pair
            for pair in (pairing.pairs if features is None else (*pairing.pairs, *pairing.positions))
        }
    if features is None:
        if not here:
            raise ValueError(_nothing_found([str(name) for name in frame.columns], said))
        return list(here.values()), losses
    absent = [name for name in features if name not in here]
    if len(absent) > MOST_ABSENT * len(features):
        raise ValueError(_most_absent(features, absent, pairing.names))
    lonely = [name for name in absent if name in pairing.names]
    gone = [name for name in absent if name not in lonely]
    if gone:
        losses = losses.and_note(f"columns of the training that are missing here: {some(gone)}")
    if lonely:
        first = lonely[0]
        losses = losses.and_note(
            f"columns of the training that are here without an error column, and count as missing: {some(lonely)}. Say which "
            f"column holds the errors with pair=['{first}=ERROR'] (--pair), or that the values are exact with "
            f"pair=['{first}=']"
        )
    return [here.get(name, Pair(name, None, "absent")) for name in features], losses


def _nothing_found(names: Sequence[str], said: Conventions) -> str:
    if said.errors == "none":
        return f"the table lacks any column of numbers. Columns: {', '.join(names)}."
    name, time = find(names, "object"), find(names, "time")
    if name is not None and time is not None:
        return (
            f"This looks like a long table (object = {name}, time = {time}), but no value with a column of errors was "
            "recognised. Name them: "
            "columns={'value': ..., 'error': ...}; the error is one standard deviation (0: exact). "
            f"Columns: {', '.join(names)}."
        )
    return (
        "No column has an error column beside it. Name the error of `flux` `flux_err` (one standard deviation; 0: exact), say "
        "which belong together with pair=['VALUE=ERROR'] (--pair), or that values are exact with errors='none' (--errors "
        "none). "
        f"Columns: {', '.join(names)}."
    )


def _most_absent(features: Sequence[str], absent: Sequence[str], names: Sequence[str]) -> str:
    lonely = [name for name in absent if name in names]
    gone = [name for name in absent if name not in lonely]
    near = {
        name: difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
        for name in gone
    }
    by_lower = {name.lower(): name for name in names}
    hints = [f"{by_lower[found[0]]} for {name}?" for name, found in near.items() if found]
    with_errors = " with an error column" if lonely else ""
    what = f"the table lacks {len(absent)} of the {len(features)} columns that the model was fitted on{with_errors}"
    if len(absent) == len(features):
        what = "none of the training's columns is here with an error column"
    return (
        f"{what}, so its objects cannot be judged{'; absent: ' + some(gone, 6) if gone else ''}."
        + (
            f" Here without an error column: {some(lonely, 6)}. Say which columns hold the errors with "
            f"pair=['{lonely[0]}=ERROR'] (--pair)."
            if lonely
            else ""
        )
        + (f" Near names: {some(hints, 6)} Rename them." if hints else "")
        + f" Columns: {some(names)}."
    )


def _said(wanted: Sequence[Pair], said: Conventions) -> str:
    wanted = [pair for pair in wanted if pair.kind != "absent"]
    more = ", ..." if len(wanted) > 1 else ""
    if said.errors == "none":
        return f"{len(wanted)} values without errors ({wanted[0].value}{more})"
    held = "" if said.errors == "sigma" else f"; errors are {said.errors.replace('_', ' ')}"
    return f"{len(wanted)} values with errors ({wanted[0]}{more}{held})"


def _left_out(frame: Any, pairing: Pairing, wanted: Sequence[Pair], said: Conventions) -> Losses:
    """Columns of numbers that are no features and of which nobody would know."""
    used = {name for pair in wanted for name in pair.columns}
    unused = plain_numbers([name for name in pairing.names if name not in used], frame)
    losses = Losses()
    if said.errors == "none":
        return losses.and_also("columns", len(unused), "not among the values to be used", unused)
    second = [name for name in unused if name in pairing.also and pairing.also[name] in used]
    known = {name for pair in (*pairing.pairs, *pairing.positions) for name in pair.columns}
    lonely = [name for name in unused if name not in second and name not in known]
    others = [pair.value for pair in pairing.pairs if pair.value in unused]
    losses = losses.and_also("columns", len(lonely), "no error column beside it", lonely)
    losses = losses.and_also("columns", len(others), "not a column of the training", others)
    return losses.and_also("columns", len(second), "a further error of a value that has one", second)


def _carried(
    frame: Any, pairing: Pairing, wanted: Sequence[Pair], special: set[str]
) -> dict[str, npt.NDArray[Any]]:
    used = {name for pair in (*wanted, *pairing.pairs) for name in pair.columns} | special
    return {str(name): names_of(frame[name]) for name in frame.columns if str(name) not in used}


def _notes(losses: Losses, ids: npt.NDArray[Any], values: npt.NDArray[np.float64]) -> Losses:
    empty = np.isnan(values).all(axis=1) if any_nan(values) else np.zeros(1, dtype=bool)
    if empty.any():
        losses = losses.and_note(
            f"{counted(int(empty.sum()), 'objects have')} no value at all and will get the prior "
            f"({some(ids[empty].tolist(), 5)})"
        )
    return losses


def kind_of_columns(objects: Measurements, features: Sequence[str]) -> str:
    """Return the kind of a wide table (`badac.data.description.KINDS`): counts, a curve of numbered points, or a catalogue."""
    if not objects.has_errors:
        seen = objects.values[objects.observed]
        if seen.size and (seen >= 0).all() and (seen == np.round(seen)).all() and seen.max() > 1:
            return "counts"
    stems = {re.sub(r"\d+(\.\d+)?", "#", name, count=1) for name in features}
    numbered = len(features) >= FEWEST_OF_A_CURVE and len(stems) == 1 and "#" in next(iter(stems))
    return "grid curve" if numbered or objects.at is not None else "catalogue"

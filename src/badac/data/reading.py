"""From a file to a catalogue: wide tables, one row an object, and long ones, one row a measurement.

    wide:  object_id  label  flux_g  flux_g_err  flux_r  flux_r_err  ...
    long:  object_id  label  time  band  flux  flux_err

Which of the two it is shows in the columns: object, time, value and error make a long table, unless every object has one
row. What was recognised is said in ``Catalogue.recognised``, what was left out in ``Catalogue.losses``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from badac.data.catalogue import Catalogue, whole_labels
from badac.data.columns import find, is_long
from badac.data.files import read_frame
from badac.data.light_curves import from_long
from badac.data.losses import Losses, counted
from badac.data.measurements import Measurements
from badac.data.tables import as_frame
from badac.data.validation import BoolArray, FloatArray, as_real

# How error columns are named: by an ending of the value's name, or by a beginning in its place.
ENDINGS = ("_err", "_error", "_sigma", "_unc", "_e", "err")
BEGINNINGS = (("e_", "x_"), ("e_", ""), ("err_", ""), ("sigma_", ""))


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    labels: Any = None,
    form: str = "auto",
    **options: Any,
) -> Catalogue:
    """Read objects with error bars from a CSV, Parquet, FITS or NPZ file.

    Parameters
    ----------
    path : path
    label : str, optional
        Column of the labels; by default the one with a usual name, if any.
    columns : mapping from role to column, optional
        As in `badac.data.light_curves.from_long`; for wide tables the roles are object and label.
    labels : path or DataFrame, optional
        A second table with a row per object: its name and its label.
    form : {"auto", "wide", "long"}
    **options
        Passed on to `from_wide` or `from_long`.
    """
    given = dict(columns or {})
    if label is not None:
        given["label"] = label
    if labels is not None:
        given.setdefault("label", None)
    return from_table(read_frame(path), columns=given, labels=labels, form=form, **options)


def from_table(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    labels: Any = None,
    form: str = "auto",
    **options: Any,
) -> Catalogue:
    """Read a DataFrame, wide or long; parameters as in `read`."""
    if form not in ("auto", "wide", "long"):
        raise ValueError(f"`form` must be 'auto', 'wide' or 'long': got {form!r}.")
    frame = as_frame(frame)
    if not hasattr(frame, "columns"):
        raise TypeError(
            f"a table with named columns is needed, such as a DataFrame: got {type(frame).__name__}. An array of values "
            "and one of errors make a badac.Measurements(values, sigma); a file is read with badac.data.read(path)."
        )
    names = [str(name) for name in frame.columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"The table has more than one column {twice!r}. Rename or drop one.")
    long = form == "long" or (form == "auto" and looks_long(frame, columns))
    catalogue = (from_long if long else from_wide)(frame, columns=columns, **options)
    if labels is None:
        return catalogue
    other = labels if hasattr(labels, "columns") else read_frame(labels)
    names = [str(name) for name in other.columns]
    of_object, of_label = find(names, "object"), find(names, "label")
    if of_object is None or of_label is None:
        raise ValueError(
            f"the table of labels needs a column for the object and one for the label. Columns: {', '.join(names)}."
        )
    known = np.asarray(other[of_label].notna())
    return catalogue.with_labels(np.asarray(other[of_object])[known], np.asarray(other[of_label])[known])


def looks_long(frame: Any, columns: Mapping[str, str | None] | None = None) -> bool:
    """Whether a table has one row per measurement: a long table's columns, and objects with several rows."""
    given = dict(columns or {})
    if given.get("time") is not None:
        return True
    names = [str(name) for name in frame.columns]
    if not is_long(names):
        return False
    name = given.get("object") or find(names, "object")
    return len(names) <= 5 or bool(frame[name].duplicated().any())


def error_columns(names: Sequence[str]) -> dict[str, str]:
    """Return the error column of each value column, in the order of the values.

    >>> error_columns(["id", "g", "g_err", "x_r", "e_r"])
    {'g': 'g_err', 'x_r': 'e_r'}
    """
    present = set(names)
    found: dict[str, str] = {}
    for name in names:
        for ending in ENDINGS:
            value = name.removesuffix(ending)
            if name.endswith(ending) and value in present and value not in found:
                found[value] = name
        for beginning, instead in BEGINNINGS:
            value = instead + name.removeprefix(beginning)
            if name.startswith(beginning) and value in present and value not in found:
                found[value] = name
    return {name: found[name] for name in names if name in found}


def from_wide(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    at: Any = None,
    features: Sequence[str] | None = None,
) -> Catalogue:
    """Read a wide table: one row an object, one column a value, beside it one with its error.

    Parameters
    ----------
    frame : DataFrame
    columns : mapping, optional
        Overrides for the roles "object" and "label"; None: there is none.
    at : (m,) array-like, optional
        Coordinates of the points.
    features : sequence of str, optional
        Value columns and their order: those of the training table, when new objects are read. A value that is missing
        altogether is a missing point, and is said; by default all columns that have an error column.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_wide
    >>> table = pd.DataFrame({"name": ["a", "b"], "g": [1.0, 2.0], "g_err": [0.1, 0.1], "ra": [3.0, 4.0]})
    >>> found = from_wide(table)
    >>> print(found.recognised)
    wide table, one row per object: object = name, 1 values with errors (g with g_err)
    >>> print(found.losses)
    1 column left out: no error column beside it (ra)
    """
    names = [str(name) for name in frame.columns]
    given = dict(columns or {})
    roles = {role: given[role] if role in given else find(names, role) for role in ("object", "label")}
    for role, name in roles.items():
        if name is not None and name not in names:
            raise ValueError(f"There is no column {name!r} for the {role}. Columns: {', '.join(names)}.")
    special = {name for name in roles.values() if name is not None}
    errors = {name: error for name, error in error_columns(names).items() if name not in special}
    losses = Losses()
    if features is not None:
        absent = [name for name in features if name not in errors]
        if len(absent) == len(features):
            raise ValueError(
                f"none of the training's columns is here with an error column: {', '.join(features)}. "
                f"Columns: {', '.join(names)}."
            )
        if absent:
            losses = losses.and_note(f"columns of the training that are missing here: {', '.join(absent)}")
        wanted = list(features)
    else:
        wanted = list(errors)
    if not wanted:
        if find(names, "object") is not None and find(names, "time") is not None:
            raise ValueError(
                f"This looks like a long table (object = {find(names, 'object')}, time = {find(names, 'time')}), but no value "
                "with a column of errors was recognised. Name them: columns={'value': ..., 'error': ...}; the error is one "
                f"standard deviation (0: exact). Columns: {', '.join(names)}."
            )
        raise ValueError(
            "No column has an error column beside it. Name the error of `flux` `flux_err` (one standard deviation; 0: "
            f"exact), or pass an array with X_err. Columns: {', '.join(names)}."
        )
    values, sigma = _cells(frame, wanted, errors)
    losses = _left_out(losses, names, wanted, errors, special)
    values, sigma, losses = _without_bad_cells(values, sigma, wanted, losses)
    ids = np.asarray(frame[roles["object"]]) if roles["object"] else np.arange(len(frame))
    if ids.dtype == object:
        ids = ids.astype(str)
    empty = np.isnan(values).all(axis=1)
    if empty.any():
        shown = ", ".join(str(name) for name in ids[empty][:5].tolist())
        losses = losses.and_note(
            f"{counted(int(empty.sum()), 'objects have')} no value at all and will get the prior ({shown})"
        )
    said = f"{wanted[0]} with {errors.get(wanted[0], '-')}" + (", ..." if len(wanted) > 1 else "")
    named = [f"{role} = {name}" for role, name in roles.items() if name is not None]
    catalogue = Catalogue(
        Measurements(values, sigma, at=at),
        ids,
        None,
        f"wide table, one row per object: {', '.join([*named, f'{len(wanted)} values with errors ({said})'])}",
        losses,
        features=tuple(wanted),
    )
    return catalogue if roles["label"] is None else _labelled(catalogue, frame[roles["label"]])


def _cells(frame: Any, wanted: Sequence[str], errors: Mapping[str, str]) -> tuple[FloatArray, FloatArray]:
    by_name = {str(name): name for name in frame.columns}
    values = np.full((len(frame), len(wanted)), np.nan)
    sigma = np.full_like(values, np.inf)
    for column, name in enumerate(wanted):
        if name in errors:
            for array, source in ((values, name), (sigma, errors[name])):
                try:
                    array[:, column] = as_real(frame[by_name[source]], f"column {source!r}")
                except (TypeError, ValueError) as error:
                    raise ValueError(
                        f"Column {source!r} must hold numbers: {str(error).split(': ', 1)[-1]}"
                    ) from error
    return values, sigma


def _left_out(
    losses: Losses, names: Sequence[str], wanted: Sequence[str], errors: Mapping[str, str], special: set[str]
) -> Losses:
    used = set(wanted) | {errors[name] for name in wanted if name in errors} | special
    unused = [name for name in names if name not in used]
    orphans = [name for name in unused if name.endswith(("_err", "_error"))]
    lonely = [name for name in unused if name not in orphans]
    losses = losses.and_also("columns", len(lonely), "no error column beside it", lonely)
    return losses.and_also("columns", len(orphans), "an error without its value", orphans)


def _without_bad_cells(
    values: FloatArray, sigma: FloatArray, wanted: Sequence[str], losses: Losses
) -> tuple[FloatArray, FloatArray, Losses]:
    """Make cells without a usable value or error missing, and say so."""
    for reason, hit in bad_cells(values, sigma):
        losses = losses.and_also(
            "cells", int(hit.sum()), reason, (f"row {r}, column {wanted[c]}" for r, c in np.argwhere(hit))
        )
        values, sigma = np.where(hit, np.nan, values), np.where(hit, np.inf, sigma)
    measured = ~np.isnan(values)
    exact = int(((sigma == 0) & measured).sum())
    if exact:
        losses = losses.and_note(
            f"{exact} cells have error 0 and count as exact; empty them if 0 means unknown"
        )
    return values, np.where(measured, sigma, np.inf), losses


def bad_cells(values: FloatArray, sigma: FloatArray) -> tuple[tuple[str, BoolArray], ...]:
    """Say which cells (n, m) hold a measurement that cannot be used, a cell for one reason at most."""
    finite = np.isfinite(values)
    return (
        ("infinite value", np.isinf(values)),
        ("no error (NaN) for a measured value", finite & np.isnan(sigma)),
        ("negative error: it is one standard deviation", finite & (sigma < 0)),
    )


def _labelled(catalogue: Catalogue, column: Any) -> Catalogue:
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

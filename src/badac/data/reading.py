"""From a file to a catalogue: wide tables, one row an object, and long ones, one row a measurement.

    wide:     object_id  label  flux_g  flux_g_err  flux_r  flux_r_err  ...
    vectors:  object_id  label  flux (400 values)  ivar (400 values)  loglam (400 values)
    long:     object_id  label  time  band  flux  flux_err

Which of them it is shows in the columns: object, time, value and error make a long table, unless every object has one
row. What was recognised is said in ``Catalogue.recognised``, what was left out in ``Catalogue.losses``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from badac.data.catalogue import Catalogue
from badac.data.cells import bad_cells
from badac.data.columns import find, is_long
from badac.data.files import read_frame
from badac.data.frames import as_frame
from badac.data.light_curves import from_long
from badac.data.losses import some
from badac.data.nested import naming_records
from badac.data.objects_table import with_objects
from badac.data.pairing import pair_columns
from badac.data.rows import names_of
from badac.data.vectors import vector_columns
from badac.data.wide import checked_names, from_wide

__all__ = ["bad_cells", "error_columns", "from_table", "from_wide", "looks_long", "read"]

_LONG_COLUMNS = 5
"""A table of so few columns with object, time, value and error is long even if each object has one row."""


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    labels: Any = None,
    form: str = "auto",
    **options: Any,
) -> Catalogue:
    """Read objects with error bars from a CSV, Parquet, FITS, VOTable, ECSV or NPZ file.

    Parameters
    ----------
    path : path
    label : str, optional
        Column of the labels, in this table or in that of the labels; by default the one with a usual name, if any.
    columns : mapping from role to column, optional
        As in `badac.data.light_curves.from_long`; for wide tables the roles are object and label.
    labels : path or table, optional
        A second table with a row per object: its name and its label; its other columns travel with the objects.
    form : {"auto", "wide", "long"}
    **options
        Passed on to `from_wide` or `from_long`; both take `pair`, `missing` and `errors`
        (`badac.data.conventions.Conventions`).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.data import read
    >>> stars = pd.DataFrame({"g": [17.1, 18.0], "g_err": [0.1, 0.2], "kind": ["a", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stars.to_csv(Path(folder) / "stars.csv", index=False)
    ...     found = read(Path(folder) / "stars.csv", label="kind")
    >>> found.objects
    Measurements(2 objects x 1 points, with sigma)
    >>> found.label.tolist()
    ['a', 'b']
    """
    given = dict(columns or {})
    if label is not None:
        given["label"] = label
    named = [name for name in (given.get("object"),) if name is not None]
    return from_table(read_frame(path, text=named), columns=given, labels=labels, form=form, **options)


def from_table(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | Sequence[str] | None = None,
    labels: Any = None,
    objects: Any = None,
    form: str = "auto",
    **options: Any,
) -> Catalogue:
    """Read a table in memory, wide or long; parameters as in `read`.

    It may be a DataFrame of pandas, polars or any library with a dataframe interface, an Arrow or astropy table, an xarray
    Dataset or a structured array. With `objects`, a table or file of one row per object, `columns` may be the list of those of
    its columns that count beside the points: ``from_table(points, objects=table, columns=["host_photoz"])``.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_table
    >>> rows = pd.DataFrame({"oid": [1, 1, 2], "mjd": [0.0, 1.0, 0.5], "mag": [17.0, 17.1, 18.0], "magerr": [0.1, 0.1, 0.2]})
    >>> from_table(rows).objects
    Measurements(2 objects x 2 points, 1 missing, with sigma)
    """
    if objects is not None:
        if columns is None or isinstance(columns, Mapping):
            raise ValueError(
                "`objects` needs the names of its columns that count, as a list: columns=['host_photoz']. Roles of the "
                "table of points are then those recognised; rename its columns where they are not."
            )
        points = from_table(frame, labels=labels, form=form, **options)
        return with_objects(points, objects, columns)
    if columns is not None and not isinstance(columns, Mapping):
        raise ValueError(
            f"`columns` is a list, {list(columns)!r}: columns beside the points come from a table of the objects, "
            "objects=table. For roles give a mapping: columns={'time': 'mjd'}."
        )
    if form not in ("auto", "wide", "long"):
        raise ValueError(f"`form` must be 'auto', 'wide' or 'long': got {form!r}.")
    frame = as_frame(frame)
    if not hasattr(frame, "columns"):
        raise TypeError(
            f"a table with named columns is needed, such as a DataFrame: got {type(frame).__name__}. An array of values "
            "and one of errors make a badac.Measurements(values, sigma); a file is read with badac.data.read(path)."
        )
    checked_names(frame)
    given = dict(columns or {})
    of_label = given.get("label")
    if labels is not None:
        given["label"] = None
    long = form == "long" or (form == "auto" and looks_long(frame, given))
    with naming_records(frame):
        catalogue = (from_long if long else from_wide)(frame, columns=given, **options)
    return catalogue if labels is None else _with_table(catalogue, labels, of_label, given.get("object"))


def _with_table(catalogue: Catalogue, labels: Any, of_label: str | None, of_object: str | None) -> Catalogue:
    """Take labels, and what else is known of the objects, from a second table."""
    other: Any = labels if isinstance(labels, str | os.PathLike) else as_frame(labels)
    if not hasattr(other, "columns"):
        other = read_frame(other, text=[of_object] if of_object else [])
    names = checked_names(other)
    of_object, of_label = columns_of_labels(names, of_label, of_object)
    known = np.asarray(other[of_label].notna())
    carried = {
        name: names_of(other[name])[known]
        for name in names
        if name not in (of_object, of_label) and name not in vector_columns(other)
    }
    return catalogue.with_labels(
        names_of(other[of_object])[known], np.asarray(other[of_label])[known], carried
    )


def columns_of_labels(
    names: Sequence[str], of_label: str | None = None, of_object: str | None = None
) -> tuple[str, str]:
    """Return which columns of a table of labels hold the object and the label, as they are named by hand or usually.

    >>> columns_of_labels(["oid", "classALeRCE"])  # in a table of two, what is not the object is the label
    ('oid', 'classALeRCE')
    """
    wanted = {
        "object": of_object if of_object in names else find(names, "object"),
        "label": of_label or find(names, "label"),
    }
    if wanted["label"] is None and len(names) == 2 and wanted["object"] in names:
        (wanted["label"],) = (name for name in names if name != wanted["object"])
    absent = [role for role, name in wanted.items() if name not in names]
    if absent:
        raise ValueError(
            "the table of labels needs a column for the object and one for the label: there is none for the "
            f"{' and the '.join(absent)}. Say which it is: columns={{{', '.join(f'{role!r}: ...' for role in absent)}}} "
            f"({', '.join('--label NAME' if role == 'label' else '--column object=NAME' for role in absent)}). "
            f"Columns: {some(names)}."
        )
    return str(wanted["object"]), str(wanted["label"])


def looks_long(frame: Any, columns: Mapping[str, str | None] | None = None) -> bool:
    """Whether a table has one row per measurement: a long table's columns, and objects with several rows."""
    if vector_columns(frame):
        return False
    given = dict(columns or {})
    if given.get("time") is not None:
        return True
    names = [str(name) for name in frame.columns]
    name, time = given.get("object") or find(names, "object"), find(names, "time")
    if name is None or time is None or name not in names:
        return False
    several = bool(frame[name].duplicated().any())
    if is_long(names):
        return len(names) <= _LONG_COLUMNS or several
    # A value of any name with its error, many times for each object.
    return several and (given.get("value") is not None or len(pair_columns(names).pairs) == 1)


def error_columns(names: Sequence[str], pair: Sequence[str] = ()) -> dict[str, str]:
    """Return the column of standard deviations of each value column, in the order of the values.

    Pairs whose error column holds anything else (an inverse variance, value over error) are not among them: what reads them
    must know their kind (`badac.data.pairing.pair_columns`).

    >>> error_columns(["id", "g", "g_err", "x_r", "e_r", "psfMag_u", "psfMagErr_u"])
    {'g': 'g_err', 'x_r': 'e_r', 'psfMag_u': 'psfMagErr_u'}
    """
    return {
        one.value: one.error
        for one in pair_columns(names, pair).pairs
        if one.error is not None and one.kind == "sigma"
    }

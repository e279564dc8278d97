"""Any table as a pandas DataFrame: pandas, Arrow, astropy, polars and other data frames, xarray, structured arrays.

Units go along in ``frame.attrs["units"]``, what should be said in ``frame.attrs["notes"]``. A column with a row of numbers in
each cell (a spectrum, a light curve) becomes a column of arrays (`badac.data.vectors`). What is no table is returned as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.axes import is_axis
from badac.data.optional import needs
from badac.data.whole_numbers import arrow_frame, whole_array


def as_frame(table: Any) -> Any:
    """Return a table as a DataFrame, and anything that is no table as it is; a DataFrame is not copied.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or of any library that narwhals or the Arrow interface knows; Arrow table; astropy
        ``Table`` or ``QTable``; xarray ``Dataset``; structured NumPy array

    Examples
    --------
    >>> import numpy as np
    >>> from badac.data import as_frame
    >>> as_frame(np.array([(1.0, 0.1)], dtype=[("g", float), ("g_err", float)])).columns.tolist()
    ['g', 'g_err']
    """
    pandas = sys.modules.get("pandas")
    if isinstance(table, np.ndarray):
        return (
            table
            if table.dtype.names is None
            else from_columns({name: table[name] for name in table.dtype.names})
        )
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return table
    if hasattr(table, "colnames") and hasattr(table, "columns"):
        return _from_astropy(table)
    if hasattr(table, "data_vars") and hasattr(table, "coords"):
        return _from_xarray(table)
    if hasattr(table, "to_pandas") and hasattr(table, "column_names"):
        return arrow_frame(table)
    if hasattr(table, "__dask_graph__"):
        # A table in many places is not brought into one without being asked.
        return table
    if any(hasattr(table, name) for name in ("__dataframe__", "__arrow_c_stream__", "collect_schema")):
        return _from_narwhals(table)
    return table


def from_columns(
    columns: Mapping[str, Any], units: Mapping[str, str] | None = None, notes: Sequence[str] = ()
) -> Any:
    """Return a DataFrame of columns (n,) or (n, m), in the machine's byte order, text decoded, masked cells empty."""
    pandas = needs("pandas", "A table")
    plain: dict[str, Any] = {}
    said = list(notes)
    for name, column in columns.items():
        if np.ndim(column) > 2:
            said.append(
                f"column {name!r} holds an array of shape {np.shape(column)[1:]} for each object and was left out"
            )
        else:
            plain[str(name)] = _plain_column(column, pandas)
    frame = pandas.DataFrame(plain)
    frame.attrs["units"] = {name: unit for name, unit in (units or {}).items() if unit and name in plain}
    frame.attrs["notes"] = tuple(said)
    return frame


def rows_of(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array (n, m) as an array (n,) of its rows, without copying them."""
    out = np.empty(len(array), dtype=object)
    for number, row in enumerate(array):
        out[number] = row
    return out


def repeated(row: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Return an array (n,) that holds one row n times, without copying it."""
    out = np.empty(n, dtype=object)
    for number in range(n):
        out[number] = row
    return out


def _plain_column(column: Any, pandas: Any) -> Any:
    mask = getattr(column, "mask", None)
    mask = None if mask is None or not np.any(mask) else np.asarray(mask)
    plain = np.ma.getdata(column)
    plain = np.asarray(plain)
    if plain.dtype.kind == "S":
        plain = np.char.decode(plain, "utf-8", "replace")
    if not plain.dtype.isnative:
        plain = plain.astype(plain.dtype.newbyteorder("="))
    if mask is None:
        return plain if plain.ndim == 1 else rows_of(plain)
    if plain.ndim == 1 and plain.dtype.kind in "iu":
        # As a float a 19-digit identifier would be another.
        return whole_array(_emptied(plain, mask).tolist())
    if plain.dtype.kind in "fiu":
        plain = np.where(mask, np.nan, plain.astype(np.float64))
    else:
        plain = _emptied(plain, mask)
    return plain if plain.ndim == 1 else rows_of(plain)


def _emptied(plain: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    out = plain.astype(object)
    out[mask] = None
    return out


def _from_astropy(table: Any) -> Any:
    columns: dict[str, Any] = {}
    units: dict[str, str] = {}
    notes = []
    for name in table.colnames:
        column = table[name]
        unit = getattr(column, "unit", None)
        if hasattr(column, "datetime64") and hasattr(column, "mjd"):
            columns[name] = column.datetime64
        elif hasattr(column, "ra") and hasattr(column, "dec"):
            columns |= {"ra": np.asarray(column.ra.deg), "dec": np.asarray(column.dec.deg)}
        elif not hasattr(column, "dtype"):
            notes.append(f"column {name!r} ({type(column).__name__}) holds no plain cells and was left out")
        else:
            columns[name] = column.value if unit is not None and hasattr(column, "value") else column
            units[name] = unit.to_string() if unit is not None else ""
    return from_columns(columns, units, notes)


def _from_narwhals(table: Any) -> Any:
    narwhals = needs("narwhals", f"A table of {type(table).__module__.partition('.')[0]}")
    needs("pandas", "A table")
    found = narwhals.from_native(table, pass_through=True)
    if hasattr(found, "collect") and not hasattr(found, "to_pandas"):
        found = found.collect()
    if hasattr(found, "to_pandas"):
        frame = found.to_pandas()
        gaps = [
            name for name, kind in found.schema.items() if kind.is_integer() and frame[name].dtype.kind == "f"
        ]
        return frame.assign(**{name: whole_array(found[name].to_list()) for name in gaps}) if gaps else frame
    if hasattr(table, "__arrow_c_stream__"):
        return arrow_frame(needs("pyarrow", "An Arrow table").table(table))
    return table


def _from_xarray(dataset: Any) -> Any:
    """Objects are the dimension that all variables share; a second one is the points', or, of text, the features'."""
    variables = {str(name): dataset[name] for name in dataset.data_vars if dataset[name].ndim in (1, 2)}
    shared = [
        dim
        for dim in dataset.sizes
        if variables
        and all(dim in one.dims for one in variables.values() if one.ndim == 2 or dim in one.dims)
    ]
    candidates = [dim for dim in shared if not is_axis(str(dim))]
    if not candidates:
        raise ValueError(
            "an xarray Dataset needs one dimension that counts the objects in all its variables: got "
            + ", ".join(f"{name} {one.dims}" for name, one in dataset.data_vars.items())
            + "."
        )
    # The objects come first where both dimensions are shared by all.
    objects = next(
        (dim for dim in candidates if any(one.dims[0] == dim for one in variables.values())), candidates[0]
    )
    columns: dict[str, Any] = {}
    units: dict[str, str] = {}
    notes = [
        f"variable {name!r} has no dimension {objects!r} and was left out"
        for name in dataset.data_vars
        if objects not in dataset[name].dims
    ]
    for name, coordinate in dataset.coords.items():
        if coordinate.dims == (objects,):
            columns[str(name)] = coordinate.values
        elif coordinate.ndim == 1 and coordinate.dtype.kind in "fiu" and is_axis(str(name)):
            columns[str(name)] = repeated(coordinate.values, dataset.sizes[objects])
        units[str(name)] = str(coordinate.attrs.get("units", ""))
    for name, one in variables.items():
        if objects not in one.dims:
            continue
        one = one.transpose(objects, ...)
        unit = str(one.attrs.get("units", ""))
        points = dataset.coords.get(one.dims[1]) if one.ndim == 2 else None
        if points is not None and points.dtype.kind in "OUS":
            for number, feature in enumerate(points.values.tolist()):
                columns[f"{name}_{feature}"] = one.values[:, number]
                units[f"{name}_{feature}"] = unit
        else:
            columns[name] = one.values
            units[name] = unit
    return from_columns(columns, units, notes)

"""Light curves nested in a catalogue's rows, as LSDB, HATS and nested-pandas have them: a function for `map_partitions`.

    catalog.map_partitions(judge_light_curves, model=model, bands=("g", "r"))

A row is an object; its column ``lc`` holds a table of its own with time, flux, flux_err and band. Every object is judged at its
own times, in its own bands, as the light curves of the training were (`badac.data.from_long`). LSDB calls the function first
with an empty partition, to learn what comes out, and gets an empty frame of the right types. Wide catalogues go through
`badac.partition.judge`. This module needs neither package: it reads what they pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from badac.data.files import needs
from badac.data.light_curves import from_long
from badac.estimators import BADACClassifier
from badac.partition import empty, judged

__all__ = ["NestedColumns", "judge_light_curves"]


@dataclass(frozen=True)
class NestedColumns:
    """Where the light curves are: the column of a catalogue, and the fields in it.

    Attributes
    ----------
    nested : str
        Column of nested tables.
    time, flux, error : str
        Its fields.
    band : str or None
        None if the light curves have none.

    Examples
    --------
    >>> from badac.lsdb import NestedColumns
    >>> NestedColumns(nested="curve", flux="psf_flux").fields
    {'time': 'time', 'value': 'psf_flux', 'error': 'flux_err', 'band': 'band'}
    """

    nested: str = "lc"
    time: str = "time"
    flux: str = "flux"
    error: str = "flux_err"
    band: str | None = "band"

    @property
    def fields(self) -> dict[str, str]:
        """The fields by what they are in `badac.data.from_long`."""
        found = {"time": self.time, "value": self.flux, "error": self.error}
        return found | ({} if self.band is None else {"band": self.band})


def judge_light_curves(
    frame: Any,
    model: BADACClassifier,
    *,
    bands: Sequence[str] | None = None,
    columns: NestedColumns = NestedColumns(),
    unknown_band: str = "raise",
    pvalues: bool = False,
) -> Any:
    """Judge the objects of one partition by their nested light curves.

    Parameters
    ----------
    frame : NestedFrame or DataFrame
        One row an object; a column of nested-pandas' type, or of DataFrames. May be empty.
    model : BADACClassifier
        Fitted on light curves at their own times.
    bands : sequence of str, optional
        Bands of the training, in its order (``Catalogue.bands``). Must be given if the light curves have a band.
    columns : NestedColumns
        Names of the column and of the fields in it.
    unknown_band : {"raise", "drop"}
        What to do with a band that is not among `bands`.
    pvalues : bool
        Whether to compare with known objects too.

    Returns
    -------
    DataFrame
        Same index and order, columns as in `badac.partition.judge`. An object without a usable point gets NaN and no class.

    Examples
    --------
    >>> from badac.lsdb import judge_light_curves
    >>> catalog.map_partitions(judge_light_curves, model=model, bands=("g", "r"))  # doctest: +SKIP
    """
    pandas = needs("pandas", "Nested light curves")
    check_is_fitted(model)
    if not model.training_.own_points:
        raise ValueError(
            "the model was fitted on a common grid: for light curves fit it on those of badac.data.from_long, or use "
            "badac.partition.judge for wide tables."
        )
    if columns.nested not in frame.columns:
        raise ValueError(
            f"the table has no column {columns.nested!r} of light curves. Name it with NestedColumns(nested=...). Columns: "
            f"{', '.join(str(name) for name in frame.columns)}."
        )
    if columns.band is not None and bands is None:
        raise ValueError(
            "`bands` must be given, in the order of the training: the numbers of the bands depend on it. If the light curves "
            "have none, pass columns=NestedColumns(band=None)."
        )
    flat = _flattened(frame[columns.nested], list(columns.fields.values()), columns.nested)
    nothing = empty(model, frame.index, pvalues=pvalues)
    if not len(flat):
        return nothing.reindex(frame.index) if len(frame) else nothing
    flat["object_row"] = flat.pop(_ROW)
    roles: dict[str, str | None] = {"band": None, **columns.fields, "object": "object_row", "label": None}
    found = from_long(flat, columns=roles, bands=bands, unknown_band=unknown_band)
    out = judged(found.objects, model, pandas.Index(found.ids), pvalues=pvalues)
    out = out.reindex(np.arange(len(frame)))
    out.index = frame.index
    return out


_ROW = "badac_row"


def _flattened(column: Any, fields: Sequence[str], nested: str) -> Any:
    """Return one row per measurement, with the number of its object."""
    pandas = needs("pandas", "Nested light curves")
    numbered = column.reset_index(drop=True)
    if hasattr(numbered, "nest"):
        whole = numbered.nest.to_flat()
    else:
        tables = {row: table for row, table in enumerate(numbered) if table is not None and len(table)}
        whole = pandas.concat(tables).droplevel(1) if tables else pandas.DataFrame(columns=list(fields))
    absent = [name for name in fields if name not in whole.columns]
    if absent:
        raise ValueError(
            f"the light curves in {nested!r} have no field {absent[0]!r}. Name time, flux, error and band with "
            f"NestedColumns as they are called there: {', '.join(str(name) for name in whole.columns)}."
        )
    out = whole[list(fields)].copy()
    out[_ROW] = np.asarray(whole.index, dtype=np.int64)
    return out.reset_index(drop=True)

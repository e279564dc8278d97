"""Units of a table's columns: kept with the features, and converted where a new table has others.

A number without its unit is half a measurement: a model fitted on Jy that is asked about mJy answers about other objects. Units
come with astropy tables, FITS, VOTable and ECSV files and xarray (``frame.attrs["units"]`` once read); what has none is taken
to be in the units of the training (`badac.data.scales` says where that cannot be).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from badac.data.optional import needs
from badac.data.pairing import pair_columns

POWERS = {"sigma": 1, "two_sigma": 1, "three_sigma": 1, "variance": 2, "ivar": -2, "sides": 1, "bounds": 1}
"""The power of the value's unit that an error column has."""


def units_in(table: Any) -> dict[str, str]:
    """Return the units of a table's columns, as far as they have one.

    Parameters
    ----------
    table : DataFrame as `badac.data.frames.as_frame` makes it, or astropy table

    Examples
    --------
    >>> from astropy.table import Table
    >>> from badac.data import units_in
    >>> units_in(Table({"flux": [1.0], "id": [7]}, units={"flux": "Jy"}))
    {'flux': 'Jy'}
    """
    if hasattr(table, "colnames"):
        units = {name: getattr(table[name], "unit", None) for name in table.colnames}
        return {
            str(name): unit.to_string()
            for name, unit in units.items()
            if unit is not None and unit.to_string()
        }
    return dict(getattr(table, "attrs", {}).get("units", {}))


@lru_cache(maxsize=1024)
def unit_factor(unit: str, to: str, column: str, kind: str = "value") -> float:
    """Return what numbers of a column are multiplied by to be in another unit; 1 where either has none.

    Parameters
    ----------
    unit, to : str
    column : str
        For the message.
    kind : {"value", "sigma", "variance", "ivar"}
        What the column holds. Of variances and inverse variances, whose unit is a power of the value's, the factor of the
        standard deviations is returned. A unit of errors that nobody can read counts as that of the value.

    Examples
    --------
    >>> unit_factor("mJy", "Jy", "flux"), unit_factor("1 / mJy2", "Jy", "ivar", "ivar")
    (0.001, 0.001)
    """
    if not unit or not to or unit == to:
        return 1.0
    units = needs("astropy.units", f"Converting {column} from {unit} to {to}")
    own, target = (units.Unit(text, parse_strict="silent") for text in (unit, to))
    unread = isinstance(own, units.UnrecognizedUnit) or isinstance(target, units.UnrecognizedUnit)
    if unread and kind != "value":
        return 1.0
    try:
        if kind != "value":
            # The error of a magnitude is a plain number of magnitudes, whatever the zero point.
            own, target = (getattr(one, "function_unit", one) for one in (own, target))
            own = own ** (1.0 / POWERS[kind])
        elif hasattr(own, "function_unit") or hasattr(target, "function_unit"):
            raise ValueError("logarithmic units differ by more than a factor")
        return float(own.to(target))
    except (ValueError, TypeError, AttributeError, units.UnitsError) as problem:
        raise ValueError(
            f"The unit of column {column!r}, {unit}, does not convert to {to}, which is asked for here. Convert the column "
            "first."
        ) from problem


def converted(table: Any, to: Mapping[str, str]) -> Any:
    """Return a table with its value columns, and their errors, in other units.

    Parameters
    ----------
    table : any table that `badac.data.frames.as_frame` takes
    to : mapping from value column to unit
        Such as ``Catalogue.units`` of the training, or `units_in` of the table that a model was fitted on.

    Returns
    -------
    DataFrame
        A copy, where a column had to change; the table itself, where none had to.

    Raises
    ------
    ValueError
        If a unit does not convert, naming the column and both units.

    Examples
    --------
    >>> from astropy.table import Table
    >>> from badac.data import converted
    >>> table = Table({"flux": [1.0], "flux_err": [0.1]}, units={"flux": "Jy", "flux_err": "Jy"})
    >>> float(converted(table, {"flux": "mJy"})["flux"][0])
    1000.0
    """
    from badac.data.frames import as_frame

    frame = as_frame(table)
    units = units_in(frame)
    changed: dict[str, Any] = {}
    said = dict(units)
    for pair in pair_columns([str(name) for name in frame.columns]).pairs:
        own, target = units.get(pair.value, ""), to.get(pair.value, "")
        if not own or not target:
            continue
        factors = {pair.value: unit_factor(own, target, pair.value)}
        if pair.error is not None and pair.kind in POWERS:
            of_error = units.get(pair.error, "")
            apart = of_error not in ("", own)
            of_sigma = unit_factor(of_error, target, pair.error, pair.kind) if apart else factors[pair.value]
            factors |= dict.fromkeys(pair.error_columns, of_sigma ** POWERS[pair.kind])
        for name, factor in factors.items():
            said[name] = target if name == pair.value or POWERS[pair.kind] == 1 else ""
            if factor != 1.0:
                changed[name] = frame[name] * factor
    if not changed:
        return frame
    out = frame.assign(**changed)
    out.attrs = {**frame.attrs, "units": {name: unit for name, unit in said.items() if unit}}
    return out

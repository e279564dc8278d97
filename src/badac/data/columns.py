"""Which column is what: the names that surveys use, in one table.

A long table has one row per measurement: object, time, band, value, error. ZTF (light-curve service, alerts, forced
photometry), Rubin (DIA sources), SNANA (photometry tables) and the Open Supernova Catalog each name them in their own way.
The first name of `SYNONYMS` that a table has wins, capitals or not; what was recognised is said in one line, and every choice
can be overridden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SYNONYMS: dict[str, tuple[str, ...]] = {
    "object": (
        "object_id", "objectid", "object", "diaobjectid", "oid", "snid", "cid", "event", "star_id", "source_id",
        "sourceid", "id", "name",
    ),
    "time": (
        "time", "mjd", "midpointmjdtai", "midpointtai", "expmidptmjd", "hmjd", "obsmjd", "jd", "hjd", "bjd", "phase", "t",
    ),
    "band": ("band", "filter", "filtercode", "filtername", "passband", "flt", "fid", "bandpass"),
    "label": ("label", "class", "type", "claimedtype", "sim_type_name", "true_class", "target"),
}  # fmt: skip

# A value with the names that its error may have. Fluxes come first: their errors are closer to Gaussian.
VALUES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("flux", "flux", ("flux_err", "fluxerr", "e_flux", "flux_error", "dflux", "flux_unc")),
    ("flux", "psfflux", ("psffluxerr",)),
    ("flux", "psflux", ("psfluxerr",)),
    ("flux", "fluxcal", ("fluxcalerr", "fluxcal_err")),
    ("flux", "forcediffimflux", ("forcediffimfluxunc",)),
    ("magnitude", "mag", ("mag_err", "magerr", "e_mag", "mag_error", "dmag", "sigma_mag")),
    ("magnitude", "magpsf", ("sigmapsf",)),
    ("magnitude", "magnitude", ("e_magnitude", "magnitude_err", "magnitudeerr")),
    ("value", "value", ("value_err", "error", "err", "sigma", "e_value")),
)
SOURCES = {
    "magpsf": "ZTF alerts", "filtercode": "ZTF", "forcediffimflux": "ZTF forced photometry", "psfflux": "Rubin",
    "psflux": "Rubin", "diaobjectid": "Rubin", "fluxcal": "SNANA", "e_magnitude": "OSC",
}  # fmt: skip
ROLES = ("object", "time", "band", "value", "error", "label")


@dataclass(frozen=True)
class Roles:
    """Which column plays which role; None: the table has no such column.

    Attributes
    ----------
    quantity : str
        "flux", "magnitude" or "value".
    """

    object: str
    time: str
    band: str | None
    value: str
    error: str
    label: str | None
    quantity: str

    def __str__(self) -> str:
        named = [f"{role} = {getattr(self, role)}" for role in ROLES if getattr(self, role) is not None]
        source = next(
            (SOURCES[name.lower()] for name in vars(self).values() if name and name.lower() in SOURCES), None
        )
        return (
            f"long table{f' ({source} names)' if source else ''}, one row per measurement: {', '.join(named)}"
        )


def find(names: Sequence[str], role: str) -> str | None:
    """Return the table's column for a role of `SYNONYMS`, or None."""
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[known] for known in SYNONYMS[role] if known in by_lower), None)


def is_long(names: Sequence[str]) -> bool:
    """Whether the columns are those of a long table: object, time, a value and its error."""
    return find(names, "object") is not None and find(names, "time") is not None and bool(_pairs(names))


def recognise(names: Sequence[str], columns: Mapping[str, str | None] | None = None) -> Roles:
    """Tell the roles of a long table's columns.

    Parameters
    ----------
    names : the table's columns
    columns : mapping from role to column, optional
        Overrides: ``{"time": "hjd", "value": "mag_auto", "error": "mag_auto_rms"}``. None for a role: the table has none.
    """
    given = dict(columns or {})
    _check_overrides(names, given)
    found = {role: given[role] if role in given else find(names, role) for role in SYNONYMS}
    value, error, quantity = _value(names, given)
    for role in ("object", "time"):
        if found[role] is None:
            raise ValueError(
                f"No column for the {role} was recognised: looked for {', '.join(SYNONYMS[role])}. "
                f"Name it: columns={{{role!r}: ...}}. Columns: {', '.join(names)}."
            )
    return Roles(
        object=str(found["object"]),
        time=str(found["time"]),
        band=found["band"],
        value=value,
        error=error,
        label=found["label"],
        quantity=quantity,
    )


def _pairs(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Values with their errors that the table has, in the order of `VALUES`."""
    by_lower = {name.lower(): name for name in reversed(names)}
    return [
        (quantity, by_lower[value], by_lower[error])
        for quantity, value, errors in VALUES
        for error in errors
        if value in by_lower and error in by_lower
    ]


def _value(names: Sequence[str], given: Mapping[str, str | None]) -> tuple[str, str, str]:
    value, error = given.get("value"), given.get("error")
    lower = (value or "").lower()
    quantity = "magnitude" if "mag" in lower else ("flux" if "flux" in lower else "value")
    if value is not None and error is not None:
        return value, error, quantity
    pairs = [pair for pair in _pairs(names) if value in (None, pair[1]) and error in (None, pair[2])]
    if pairs:
        return pairs[0][1], pairs[0][2], pairs[0][0]
    known = ", ".join(f"{value} with {errors[0]}" for _, value, errors in VALUES)
    raise ValueError(
        f"No column with values and its column of errors was recognised{f' for {value!r}' if value else ''}: looked for "
        f"{known}. Name them: columns={{'value': ..., 'error': ...}}; the error is one standard deviation (0: exact). "
        f"Columns: {', '.join(names)}."
    )


def _check_overrides(names: Sequence[str], given: Mapping[str, str | None]) -> None:
    for role, column in given.items():
        if role not in ROLES:
            raise ValueError(f"`columns` has roles {', '.join(ROLES)}: got {role!r}.")
        if column is not None and column not in names:
            raise ValueError(
                f"`columns` names {column!r} for the {role}, which the table does not have. "
                f"Columns: {', '.join(names)}."
            )

"""Which column is what: the names that surveys use, in one table.

A long table has one row per measurement: object, time, band, value, error. ZTF (light-curve service, alerts, forced
photometry), Rubin (DIA sources), SNANA (photometry tables) and the Open Supernova Catalog each name them in their own way.
The first name of `SYNONYMS` that a table has wins, capitals or not; a value with another name is found by its error
(`badac.data.pairing`). What was recognised is said in one line, and every choice can be overridden.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from badac.data.error_marks import words
from badac.data.losses import some
from badac.data.pairing import pair_columns
from badac.data.said_pairs import Pair

SYNONYMS: dict[str, tuple[str, ...]] = {
    "object": (
        "object_id", "objectid", "object", "objid", "obj_id", "diaobjectid", "oid", "snid", "cid", "event", "star_id",
        "source_id", "sourceid", "coadd_object_id", "targetid", "target_id", "specobjid", "thing_id", "sobject_id", "main_id",
        "iauname", "detuid", "ticid", "tic_id", "tic", "kic", "epic", "starid", "sample", "sample_id", "specimen", "id", "name",
        "designation",
    ),
    "time": (
        "time", "mjd", "midpointmjdtai", "midpointtai", "expmidptmjd", "hmjd", "obsmjd", "jd", "hjd", "bjd", "phase", "t",
    ),
    "band": ("band", "filter", "filtercode", "filtername", "passband", "flt", "fid", "bandpass"),
    "label": (
        "label", "class", "type", "claimedtype", "sim_type_name", "true_class", "true_target", "target", "spectype", "var_type",
    ),
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
# Of tables of counts with a row per object.
EXPOSURE = "exposure"


@dataclass(frozen=True)
class Roles:
    """Which column plays which role; None: the table has no such column.

    Attributes
    ----------
    quantity : str
        "flux", "magnitude" or "value".
    kind : str
        What the error holds (`badac.data.error_marks.KINDS`).
    lower : str or None
        The lower side of an error of two sides (`badac.data.error_sides`), whose upper one is `error`.
    """

    object: str
    time: str
    band: str | None
    value: str
    error: str
    label: str | None
    quantity: str
    kind: str = "sigma"
    lower: str | None = None

    @property
    def pair(self) -> Pair:
        """The column of the values with that or those of their errors."""
        return Pair(self.value, self.error, self.kind, self.lower)

    def __str__(self) -> str:
        named = [f"{role} = {getattr(self, role)}" for role in ROLES if getattr(self, role) is not None]
        if self.lower is not None:
            named[-1 if self.label is None else -2] += f" and {self.lower} (two sides)"
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
    """Whether the columns are those of a long table: object, time, a value with a usual name and its error."""
    return find(names, "object") is not None and find(names, "time") is not None and bool(_known(names))


def recognise(
    names: Sequence[str], columns: Mapping[str, str | None] | None = None, pair: Iterable[str] = ()
) -> Roles:
    """Tell the roles of a long table's columns.

    Parameters
    ----------
    names : the table's columns
    columns : mapping from role to column, optional
        Overrides: ``{"time": "hjd", "value": "mag_auto", "error": "mag_auto_rms"}``. None for a role: the table has none.
    pair : "VALUE=ERROR"
        The same for value and error.
    """
    given = dict(columns or {})
    check_overrides(names, given, ROLES)
    found = {role: given[role] if role in given else find(names, role) for role in SYNONYMS}
    value, quantity = _value(names, given, tuple(pair))
    for role in ("object", "time"):
        if found[role] is None:
            raise ValueError(
                f"No column for the {role} was recognised: looked for {', '.join(SYNONYMS[role])}. "
                f"Name it: columns={{{role!r}: ...}} (--column {role}=NAME). Columns: {', '.join(names)}."
            )
    return Roles(
        object=str(found["object"]),
        time=str(found["time"]),
        band=found["band"],
        value=value.value,
        error=str(value.error),
        label=found["label"],
        quantity=quantity,
        kind=value.kind,
        lower=value.lower,
    )


def quantity_of(name: str) -> str:
    """Return "flux", "magnitude" or "value", by the name of a column."""
    pieces = [piece for word in words(name) for piece in word]
    if any(piece.startswith("mag") or piece.endswith("mag") for piece in pieces):
        return "magnitude"
    return "flux" if any("flux" in piece for piece in pieces) else "value"


def _known(names: Sequence[str]) -> list[tuple[Pair, str]]:
    """Values of usual names with their errors and quantities, in the order of `VALUES`."""
    by_lower = {name.lower(): name for name in reversed(names)}
    found = []
    for quantity, value, errors in VALUES:
        if value in by_lower:
            named = [by_lower[error] for error in errors if error in by_lower]
            pairs = [Pair(by_lower[value], error) for error in named]
            also = None if pairs else pair_columns(names).of(by_lower[value])
            found += [(one, quantity) for one in (*pairs, also) if one is not None]
    return found


def _value(names: Sequence[str], given: Mapping[str, str | None], pair: tuple[str, ...]) -> tuple[Pair, str]:
    value, error = given.get("value"), given.get("error")
    if value is not None and error is not None:
        held = [(one.kind, one.lower) for one in pair_columns(names).pairs if one.error == error]
        return Pair(value, error, *(held[0] if held else ())), quantity_of(value)
    others = [
        (one, quantity_of(one.value)) for one in pair_columns(names, pair).pairs if one.error is not None
    ]
    known = [] if pair else _known(names)
    fits = [
        one for one in (*known, *others) if value in (None, one[0].value) and error in (None, one[0].error)
    ]
    # Of several values with unusual names none is the one that is meant.
    if fits and (value or error or pair or known or len(others) == 1):
        return fits[0]
    if fits:
        raise ValueError(
            f"Several columns have errors beside them: {some([str(one) for one, _ in others], 5)}. Say which is meant: "
            f"columns={{'value': {others[0][0].value!r}, 'error': {others[0][0].error!r}}} (--column value=NAME)."
        )
    usual = ", ".join(f"{value} with {errors[0]}" for _, value, errors in VALUES)
    raise ValueError(
        f"No column with values and its column of errors was recognised{f' for {value!r}' if value else ''}: looked for "
        f"{usual}. Name them: columns={{'value': ..., 'error': ...}} (--column value=NAME -c error=NAME); the "
        "error is one standard deviation (0: exact). "
        f"Columns: {', '.join(names)}."
    )


def check_overrides(names: Sequence[str], given: Mapping[str, str | None], roles: Sequence[str]) -> None:
    """Refuse a role that a table does not have, and a column that is not there, naming near ones."""
    for role, column in given.items():
        if role not in (*ROLES, EXPOSURE):
            raise ValueError(f"`columns` has roles {', '.join((*ROLES, EXPOSURE))}: got {role!r}.")
        if column is None:
            continue
        if role == EXPOSURE and role not in roles:
            raise ValueError(
                f"`columns` names {column!r} for the exposure, which belongs to a table of counts with one row an object; this "
                "one is read as long, one row a measurement. Give the curves as Measurements(counts, exposure=...)."
            )
        if role not in roles:
            raise ValueError(
                f"`columns` names {column!r} for the {role}, which only a long table has (one row a measurement); this one is "
                f"read as wide, one row an object, with roles {', '.join(roles)}. Say form='long', or leave it out."
            )
        if column not in names:
            near = difflib.get_close_matches(column, names, n=1, cutoff=0.6)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"There is no column {column!r} for the {role}.{hint} Columns: {', '.join(names)}."
            )

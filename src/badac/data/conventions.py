"""What the owner of a table says about it, where names and numbers do not tell: pairs, missing values, kind of errors.

It is kept with a model, so that new tables are read as the training was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from badac.data.error_marks import KINDS
from badac.data.said_pairs import Pattern, as_patterns
from badac.data.validation import is_number

ERRORS = (*KINDS, "none")
"""What error columns hold; "none": all values count as exact."""


class Said(TypedDict, total=False):
    """Keywords of every reader of tables; see `Conventions`."""

    pair: Iterable[Pattern] | Mapping[str, str]
    missing: Iterable[float] | float
    errors: str


@dataclass(frozen=True)
class Conventions:
    """How the cells of a table are meant.

    Attributes
    ----------
    pair : tuple of str
        "VALUE=ERROR" for pairs that names do not tell, stars for what both names share (`badac.data.pairing`).
    missing : tuple of float
        Numbers that stand for a missing value or error, such as 99 or -9999.
    errors : str
        What error columns hold whose names do not say it: "sigma" (one standard deviation), "variance", "ivar" (0: missing),
        "relative" (sigma over the absolute value), "percent", "over_error" (value / sigma), "two_sigma", "three_sigma",
        "two_sigma_percent";
        "none": there are none, values are exact.

    Examples
    --------
    >>> Conventions.of(pair=["psfMag_*=noise_*"], missing=-9999).missing
    (-9999.0,)
    """

    pair: tuple[str, ...] = ()
    missing: tuple[float, ...] = ()
    errors: str = "sigma"

    def __post_init__(self) -> None:
        if self.errors not in ERRORS:
            raise ValueError(f"`errors` must be one of {', '.join(ERRORS)}: got {self.errors!r}.")

    @classmethod
    def of(cls, said: Conventions | None = None, /, **words: Any) -> Conventions:
        """Return conventions from the keywords of a reader (`Said`)."""
        unknown = [name for name in words if name not in Said.__annotations__]
        if unknown:
            raise TypeError(
                f"unknown keyword {unknown[0]!r}: a table takes {', '.join(Said.__annotations__)} beside what its reader takes."
            )
        if said is not None:
            return said
        given = words.get("missing", ())
        numbers = (given,) if is_number(given) else tuple(given)
        if not all(is_number(number) for number in numbers):
            raise TypeError(f"`missing` must be numbers, such as [99, -9999]: got {given!r}.")
        return cls(
            as_patterns(words.get("pair", ())),
            tuple(float(number) for number in numbers),
            words.get("errors", "sigma"),
        )

    def kind(self, named: str) -> str:
        """Return what an error column holds whose name says `named`."""
        return self.errors if named == "sigma" else named

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, which `of` takes again."""
        return asdict(self)

    def read_as(self, form: str, columns: Mapping[str, str | None] | None) -> dict[str, Any]:
        """Return what ``Catalogue.read_as`` keeps of a table that was read by these conventions; the label is no part of it."""
        named = {role: name for role, name in (columns or {}).items() if role != "label"}
        return {"form": form, "columns": named, **self.as_dict()}

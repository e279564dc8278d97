"""A value column and its error, and what the owner of a table says about them where names do not tell.

"psfMag_*=psfMagErr_*"   the error of every such value; stars stand for what both names share
"redshift="              a value known exactly
"=sigma_v"               a column that is no error
"f_*=w_*:ivar"           what the errors hold (`badac.data.error_marks.KINDS`)
"f_*=up_*,low_*"         two sides of an error, with ``:bounds`` the ends of an interval (`badac.data.error_sides`)
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from badac.data.error_marks import KINDS, key_of, readings
from badac.data.error_sides import SIDED
from badac.data.losses import some

Pattern = str | tuple[str, str]


@dataclass(frozen=True)
class Pair:
    """A value column, its error column (None: the value is exact) and what that holds (`badac.data.error_marks.KINDS`).

    Of the kinds "sides" and "bounds" (`badac.data.error_sides.SIDED`) it has two: the upper side is `error`, the other `lower`.
    Of the kind "absent" is a column that a model knows and a new table lacks.

    Examples
    --------
    >>> from badac.data import Pair, pair_columns
    >>> pair_columns(["u", "e_u"]).pairs == (Pair("u", "e_u"),)
    True
    """

    value: str
    error: str | None
    kind: str = "sigma"
    lower: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the value is read from: its own, and those of its error."""
        return tuple(name for name in (self.value, self.error, self.lower) if name is not None)

    @property
    def error_columns(self) -> tuple[str, ...]:
        """The columns of the error: none, one, or its two sides."""
        return self.columns[1:]

    def __str__(self) -> str:
        if self.lower is not None:
            sides = f"{self.lower} and {self.error}"
            return (
                f"{self.value} between {sides}"
                if self.kind == "bounds"
                else f"{self.value} with the mean of {sides}"
            )
        held = "" if self.kind == "sigma" else f" ({self.kind.replace('_', ' ')})"
        return f"{self.value} with {self.error}{held}" if self.error else f"{self.value} (exact)"


def as_patterns(pair: Iterable[Pattern] | Mapping[str, str]) -> tuple[str, ...]:
    """Return what was said about pairs as "VALUE=ERROR"."""
    if isinstance(pair, str):
        raise TypeError(f"`pair` must be a list of 'VALUE=ERROR': got one text, {pair!r}. Write [{pair!r}].")
    items: Iterable[Pattern] = pair.items() if isinstance(pair, Mapping) else pair
    return tuple(item if isinstance(item, str) else "=".join(item) for item in items)


def fits(pattern: str, names: Sequence[str]) -> bool:
    """Whether "VALUE=ERROR" says something about a table with these columns.

    >>> fits("psf_*=noise_*", ["psf_u", "noise_u"]), fits("psf_*=noise_*", ["psf_u", "g"])
    (True, False)
    """
    try:
        told(tuple(names), pattern)
    except ValueError:
        return False
    return True


def told(names: tuple[str, ...], pattern: str) -> tuple[list[Pair], set[str]]:
    """Pairs that a pattern says, and columns that it says are no errors."""
    value, equals, rest = pattern.partition("=")
    error, colon, kind = rest.rpartition(":")
    if not colon or kind not in (*KINDS, *SIDED):
        error, kind = rest, ""
    # A name may hold a comma itself.
    errors = error.split(",") if error.count(",") == 1 and error not in names else [error]
    uneven = value and error and any(value.count("*") != one.count("*") for one in errors)
    if not equals or not (value or error) or uneven or (kind in SIDED) > (len(errors) == 2):
        raise ValueError(
            "`pair` takes 'VALUE=ERROR', with as many stars on both sides, such as 'psfMag_*=psfMagErr_*', or "
            "'VALUE=UPPER,LOWER' for the two sides of an error ('VALUE=UPPER,LOWER:bounds' for the ends of an interval): got "
            f"{pattern!r}."
        )
    pairs, absent = [], []
    for name in names:
        found = _matches(value or error, name)
        if found is None:
            continue
        others = [_filled(one, found) for one in errors] if value and error else []
        gone = [other for other in others if other not in names]
        absent += gone
        if not gone:
            pairs.append((name, others))
    if not pairs:
        wanted = absent[0] if absent else (value or error)
        near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
        hint = f" Near names: {', '.join(near)}." if near else ""
        raise ValueError(
            f"`pair` {pattern!r} fits no columns: there is no {wanted!r}.{hint} Columns: {some(names)}."
        )
    if not value:
        return [], {name for name, _ in pairs}
    return [_pair_of(name, others, kind) for name, others in pairs], set()


def _pair_of(name: str, errors: list[str], kind: str) -> Pair:
    """Return the pair of a value and the columns of its error that were said: none, one, or two sides."""
    if len(errors) == 2:
        return Pair(name, errors[0], kind or "sides", errors[1])
    error = errors[0] if errors else None
    return Pair(name, error, kind or _kind_in(error, name))


def _matches(pattern: str, name: str) -> tuple[str, ...] | None:
    expression = "(.+)".join(re.escape(part) for part in pattern.split("*"))
    found = re.fullmatch(expression, name)
    return None if found is None else found.groups()


def _filled(pattern: str, parts: tuple[str, ...]) -> str:
    pieces = pattern.split("*")
    return pieces[0] + "".join(part + piece for part, piece in zip(parts, pieces[1:], strict=True))


def _kind_in(error: str | None, value: str) -> str:
    """What the name of an error says that it holds: by the reading that fits the value's name, or by any."""
    found = list(readings(error or ""))
    kinds = [one.mark.kind for one in found if one.key == key_of(value)] or [one.mark.kind for one in found]
    return next((kind for kind in kinds if kind != "sigma"), "sigma")

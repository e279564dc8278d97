"""Errors of two sides: which two columns are the upper and the lower error of one value, or the bounds of its interval.

    rade + radeerr1 - radeerr2                 sigma = (|upper| + |lower|) / 2
    teff between teff_lower and teff_upper     sigma = (upper - lower) / 2

Catalogues of planets, X-ray sources and stellar parameters state the 68 % interval of a value, which need not be symmetric: two
errors (``radeerr1``, ``radeerr2``; ``mass_err_plus``, ``mass_err_minus``; ``E_mass``, ``e_mass``), or its bounds
(``teff_lower``, ``teff_upper``; ``mass16``, ``mass50``, ``mass84``). badac's errors are Gaussian: half of the interval is one
standard deviation.

A word for a side stands beside an error mark (`badac.data.error_marks`) or as a word of its own; what is left of both names
without it, the stem, must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from badac.data.error_marks import MARKS, key_of, words

SIDED = ("sides", "bounds")
"""What two columns beside a value hold: its two errors, or the ends of its interval."""

_WORDS = (
    ("plus", "minus"), ("pos", "neg"), ("positive", "negative"), ("upper", "lower"), ("up", "low"), ("up", "lo"),
    ("up", "down"), ("up", "dn"), ("hi", "lo"), ("high", "low"), ("right", "left"), ("top", "bottom"),
)  # fmt: skip
"""Upper and lower side, as words of their own or glued to an error mark."""

_LETTERS = (("p", "m"), ("p", "n"), ("u", "l"), ("u", "d"), ("h", "l"), ("1", "2"))
"""The same in a letter or a digit, which is one only right behind an error mark."""

_BOUNDS = (("upper", "lower"), ("hilim", "lolim"), ("ub", "lb"), ("q84", "q16"), ("p84", "p16"), ("84", "16"))
"""Ends of a 68 % interval, in names without an error mark. High and low are not among them: of a day's heat they are values."""

_PERCENTILES = frozenset(map(str, (1, 2, 3, 5, 10, 16, 25, 32, 50, 68, 75, 84, 90, 95, 97, 98, 99)))
"""Numbers that are percentiles where a table has no others behind the same word: ``y16`` of a hundred points is none."""

_MIDDLES = ("50", "q50", "p50", "median", "med")
"""The value between the 16th and the 84th percentile, where the stem itself is no column."""

_ERROR_MARKS = frozenset(
    mark.text for mark in MARKS if mark.kind == "sigma" and mark.text.isalpha() and mark.text != "d"
)
_LONG_MARKS = tuple(sorted(mark for mark in _ERROR_MARKS if len(mark) > 2))
"""Those that are told at the end of a word: se and e are ends of too many."""

_MAYBE = re.compile(
    "|".join(
        [
            *sorted({side for pair in (*_WORDS, *_BOUNDS) for side in pair}),
            rf"(?:{'|'.join(sorted(mark for mark in _ERROR_MARKS if len(mark) > 1))})[\W_]*[pmnulhd12](?![^\W_])",
        ]
    )
)
"""What any name of a side has in lower case: a table may have thousands of columns, and most are none."""


@dataclass(frozen=True)
class TwoSides:
    """Two columns that belong together.

    Attributes
    ----------
    stem : str
        Their name without the word for the side: that of one error column ("g_err"), or of the value itself ("teff").
    upper, lower : str
        The columns.
    kind : {"sides", "bounds"}
    """

    stem: str
    upper: str
    lower: str
    kind: str = "sides"


def two_sides(names: Sequence[str]) -> list[TwoSides]:
    """Return the pairs of columns that name the two sides of an error or of an interval, whatever value they belong to.

    >>> [(one.stem, one.upper, one.lower) for one in two_sides(["pl_rade", "pl_radeerr1", "pl_radeerr2"])]
    [('pl_radeerr', 'pl_radeerr1', 'pl_radeerr2')]
    >>> [(one.stem, one.kind) for one in two_sides(["teff", "teff_lower", "teff_upper", "E_mass", "e_mass"])]
    [('e_mass', 'sides'), ('teff', 'bounds')]
    """
    found: list[TwoSides] = []
    taken: set[str] = set()
    for one in (*_by_capitals(names), *_by_words(names)):
        if one.upper not in taken and one.lower not in taken:
            found.append(one)
            taken |= {one.upper, one.lower}
    return found


def _by_capitals(names: Sequence[str]) -> Iterator[TwoSides]:
    """VizieR: E_x and e_x are the upper and the lower error, B_x and b_x the upper and the lower bound of x."""
    there = set(names)
    for name in names:
        if name.startswith(("E_", "B_")) and name[0].lower() + name[1:] in there:
            rest = name[2:]
            stem, kind = (f"e_{rest}", "sides") if name[0] == "E" else (rest, "bounds")
            yield TwoSides(stem, name, name[0].lower() + name[1:], kind)


def _by_words(names: Sequence[str]) -> Iterator[TwoSides]:
    lowers: dict[tuple[str, str, int], str] = {}
    uppers: list[tuple[str, tuple[str, str, int], str]] = []
    for name in names:
        for stem, kind, number, is_upper in _readings(name):
            known = key_of(stem), kind, number
            if is_upper:
                uppers.append((stem, known, name))
            else:
                lowers.setdefault(known, name)
    for stem, known, upper in uppers:
        lower = lowers.get(known, upper)
        if lower != upper and (known[1] == "sides" or _are_percentiles(upper, names)):
            yield TwoSides(stem, upper, lower, known[1])


def _are_percentiles(bound: str, names: Sequence[str]) -> bool:
    """Whether no column has another number than a percentile where this one has its own; True if it has none."""
    number = re.search(r"\d+$", bound)
    if number is None:
        return True
    before = bound[: number.start()]
    rest = (name[len(before) :] for name in names if name.startswith(before))
    return all(one in _PERCENTILES for one in rest if one.isdigit())


def middles(stem: str) -> Iterator[str]:
    """Yield the keys that the value of an interval may have, by the stem of its bounds."""
    yield key_of(stem)
    for middle in _MIDDLES:
        yield key_of(stem) + middle


@lru_cache(maxsize=1 << 15)
def _readings(name: str) -> tuple[tuple[str, str, int, bool], ...]:
    """Return the ways to read a name as that of a side: the stem, what the columns hold, which pair of words, whether upper."""
    return tuple(_all_readings(name))


def _all_readings(name: str) -> Iterator[tuple[str, str, int, bool]]:
    if _MAYBE.search(name.lower()) is None:
        return
    pieces = [piece for word in words(name) for piece in word]
    for number, pair in enumerate((*_WORDS, *_LETTERS)):
        for side, is_upper in zip(pair, (True, False), strict=True):
            for stem in _without_side(pieces, side, beside_mark=pair in _LETTERS):
                yield stem, "sides", number, is_upper
    for number, pair in enumerate(_BOUNDS):
        for side, is_upper in zip(pair, (True, False), strict=True):
            of_value = _without_bound(pieces, side)
            if of_value is not None:
                yield of_value, "bounds", number, is_upper


def _without_side(pieces: list[str], side: str, *, beside_mark: bool) -> Iterator[str]:
    """Yield a name without its word for a side, where an error mark is left in it."""
    for place, piece in enumerate(pieces):
        before, after = pieces[:place], pieces[place + 1 :]
        marked = before[-1:] if beside_mark else [*before, *after]
        if piece == side and any(map(_ends_in_mark, marked)):
            yield "_".join([*before, *after])
        left = _unglued(piece, side, beside_mark=beside_mark)
        if left is not None:
            yield "_".join([*before, left, *after])


def _unglued(piece: str, side: str, *, beside_mark: bool) -> str | None:
    """Return a piece (``radeerrp``, ``eplus``, ``uperr``) without the side that is glued to its error mark, or None."""
    if piece.endswith(side) and piece[: -len(side)].endswith(_LONG_MARKS):
        return piece.removesuffix(side)
    if not beside_mark and piece.removesuffix(side) in _ERROR_MARKS and piece.endswith(side):
        return piece.removesuffix(side)
    if not beside_mark and piece.removeprefix(side) in _ERROR_MARKS and piece.startswith(side):
        return piece.removeprefix(side)
    return None


def _ends_in_mark(piece: str) -> bool:
    return piece in _ERROR_MARKS or piece.endswith(_LONG_MARKS)


def _without_bound(pieces: list[str], side: str) -> str | None:
    """Return a name without the word for an end of an interval; None where it has none. A number stands last."""
    if any(map(_ends_in_mark, pieces)):
        return None
    split = re.findall(r"[a-z]+|\d+", side)
    if not side.isalpha():
        return "_".join(pieces[: -len(split)]) if pieces[-len(split) :] == split != pieces else None
    if side not in pieces or len(pieces) == 1:
        return None
    place = pieces.index(side)
    return "_".join([*pieces[:place], *pieces[place + 1 :]])

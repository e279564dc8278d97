"""What in a column's name marks it as the error of another: the marks, and the places where they may stand.

Names are cut into words (at blanks, underscores, signs) and pieces (camel case, digits): ``psfMagErr_u`` is psf Mag Err u. A
mark is one piece or several (``over_error``), or stands inside a word (``MAGERR_AUTO_G``, ``uerr``). A standard deviation may
be qualified: in per cent, relative, or two or three of them (``flux_err (%)``, ``rel_unc_x``, ``age 2σ``). What is left of the
name without its mark is the key by which the value is found (`badac.data.pairing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

KINDS = (
    "sigma",
    "variance",
    "ivar",
    "relative",
    "percent",
    "over_error",
    "two_sigma",
    "three_sigma",
    "two_sigma_percent",
)
"""What an error column holds: one standard deviation, its square, 1 / square (0: missing), sigma / |value|, 100 times that,
value / sigma, two or three standard deviations, or two of them in per cent."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Mark:
    """A mark of an error column.

    Attributes
    ----------
    text : str
        In lower case, without separators.
    kind : str
        One of `KINDS`.
    sure : bool
        Whether a column with this mark is an error even if no value is found for it, and whether the mark may stand in place of
        the value's own (``mag_u`` with ``err_u``).
    glued : bool
        Whether it may stand without a separator (``uerr``).
    place : {"any", "ends", "start", "word"}
        Where it may stand in the name: anywhere, at its ends or as a word of its own, at its beginning, as words alone.
    """

    text: str
    kind: str = "sigma"
    sure: bool = True
    glued: bool = False
    place: str = "any"


MARKS = (
    Mark("error", glued=True),
    Mark("errors"),
    Mark("err", glued=True),
    Mark("errs"),
    Mark("stderr"),
    Mark("sigma", glued=True),
    Mark("σ", glued=True),
    Mark("sigcom", glued=True),
    Mark("msigcom"),
    Mark("cmsig"),
    Mark("unc", glued=True),
    Mark("uncert", glued=True),
    Mark("uncertainty", glued=True),
    Mark("ivar", "ivar", glued=True),
    Mark("invvar", "ivar", glued=True),
    Mark("inversevariance", "ivar"),
    Mark("overerror", "over_error"),
    Mark("overerr", "over_error"),
    Mark("variance", "variance", sure=False),
    Mark("var", "variance", sure=False),
    Mark("snr", "over_error", sure=False),
    Mark("sig", sure=False, glued=True),
    Mark("std", sure=False, glued=True),
    Mark("stddev", sure=False, glued=True),
    Mark("stdev", sure=False),
    Mark("standarddeviation", sure=False),
    Mark("rms", sure=False),
    Mark("se", sure=False, place="ends"),
    Mark("1s", sure=False, place="ends"),
    Mark("1se", sure=False, place="ends"),
    Mark("1sigma", sure=False),
    Mark("1σ", sure=False),
    Mark("1sd", sure=False, place="ends"),
    Mark("sd", sure=False, place="ends"),
    Mark("e", sure=False, place="ends"),
    Mark("delta", sure=False, place="start"),
    Mark("d", sure=False, glued=True, place="start"),
)  # fmt: skip


def _qualified() -> Iterator[Mark]:
    """Yield the marks of standard deviations that a name qualifies."""
    percent, relative = ("pct", "percent"), ("rel", "relative", "frac", "fractional")
    for mark in MARKS:
        if mark.kind == "sigma" and mark.sure:
            for words, kind in ((percent, "percent"), (relative, "relative")):
                for word in words:
                    yield from (Mark(text, kind) for text in (word + mark.text, mark.text + word))
    for word in percent:
        yield from (Mark(text, "percent") for text in (word + "rsd", "rsd" + word))
    for number, kind in (("1", "sigma"), ("2", "two_sigma"), ("3", "three_sigma")):
        # Errors of isotope ratios and ages; a sulphur line (2s) is no word of its own beside its value.
        for text, sure in (("sigma", True), ("σ", True), ("s", False), ("sd", False), ("se", False)):
            if kind != "sigma":
                yield Mark(number + text, kind, sure=sure, place="any" if sure else "word")
            held = {"sigma": "percent", "two_sigma": "two_sigma_percent"}.get(kind)
            if held is not None:
                yield from (Mark(number + text + word, held, place="word") for word in percent)


_BY_TEXT = {mark.text: mark for mark in (*_qualified(), *MARKS)}
_GLUED = sorted((mark for mark in MARKS if mark.glued), key=lambda mark: -len(mark.text))
_MOST_PIECES = 3

VALUE_MARKS = word_set("value values val flux mag magnitude mean median x y m spec spectrum data counts rate")
"""What an error's mark may stand in place of."""

_SIGN = re.compile(r"±|\+/-|\+-")
_UNIT = re.compile(r"\s*(\([^()]*\)|\[[^\[\]]*\])\s*$")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


def words(name: str) -> list[list[str]]:
    """Return the pieces of each word of a name, in lower case.

    >>> words("gMeanPSFMagErr"), words("MAGERR_AUTO_G")
    ([['g', 'mean', 'psf', 'mag', 'err']], [['magerr'], ['auto'], ['g']])
    """
    plain = _SIGN.sub(" err ", name).replace("%", " pct ")
    return [[piece.lower() for piece in _PIECE.findall(word)] for word in re.split(r"[\W_]+", plain) if word]


def without_unit(name: str) -> str:
    """Return a name without the unit that stands in brackets at its end, or behind it as a sign of per cent.

    >>> without_unit("Na (mg/L)"), without_unit("SiO2 %"), without_unit("(total)")
    ('Na', 'SiO2', '(total)')
    """
    bare = _UNIT.sub("", name).removesuffix("%").strip()
    return bare or name


def key_of(name: str) -> str:
    """Return a name in lower case without separators, by which names are compared."""
    return "".join(piece for word in words(name) for piece in word)


@dataclass(frozen=True)
class Reading:
    """A name read as that of an error column: its mark, where it stands, and the key of the value."""

    mark: Mark
    place: str
    glued: bool
    key: str

    @property
    def style(self) -> tuple[str, str, bool]:
        """What error columns of one table have in common."""
        return self.mark.text, self.place, self.glued


def readings(name: str) -> Iterator[Reading]:
    """Yield the ways to read a name as that of an error column.

    >>> [(reading.mark.text, reading.key) for reading in readings("psfMagErr_u")]
    [('err', 'psfmagu')]
    >>> [(reading.mark.text, reading.key) for reading in readings("j_msigcom")]
    [('msigcom', 'j'), ('sigcom', 'jm'), ('sig', 'jmcom')]
    """
    yield from _readings(name)


@lru_cache(maxsize=1 << 15)
def _readings(name: str) -> tuple[Reading, ...]:
    by_word = words(name)
    pieces = [piece for word in by_word for piece in word]
    ends = {0, *accumulate(len(word) for word in by_word)}
    found: dict[tuple[str, str], Reading] = {}
    for start in range(len(pieces)):
        for stop in range(start + 1, min(start + _MOST_PIECES, len(pieces)) + 1):
            mark = _BY_TEXT.get("".join(pieces[start:stop]))
            if mark is not None:
                alone = {start, stop} <= ends
                for reading in _reading(mark, pieces[:start], pieces[stop:], glued=False, alone=alone):
                    found.setdefault((mark.text, reading.key), reading)
    # A piece of camel case and a word of capitals may both hide a mark.
    whole = ["".join(word) for word in by_word]
    for parts in (whole,) if whole == pieces else (whole, pieces):
        for number, part in enumerate(parts):
            for mark in _GLUED:
                if mark.text not in part or (mark.place == "start" and number > 0):
                    continue
                for before, after in _without(part, mark.text):
                    places = [*parts[:number], *before], [*after, *parts[number + 1 :]]
                    for reading in _reading(mark, *places, glued=True):
                        found.setdefault((mark.text, reading.key), reading)
    return tuple(found.values())


def _without(part: str, text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield what stands before and after each occurrence of a mark in a part that is more than the mark."""
    if part == text:
        return
    start = part.find(text)
    while start >= 0:
        before, after = part[:start], part[start + len(text) :]
        yield [before] if before else [], [after] if after else []
        start = part.find(text, start + 1)


def _reading(
    mark: Mark, before: list[str], after: list[str], *, glued: bool, alone: bool = False
) -> Iterator[Reading]:
    place = "start" if not before else ("end" if not after else "inside")
    at_ends = mark.place == "ends" and (alone or place != "inside")
    if mark.place == "any" or at_ends or place == mark.place or (mark.place == "word" and alone):
        yield Reading(mark, place, glued, "".join([*before, *after]))


def value_keys(name: str) -> list[str]:
    """Return the keys that a value's name answers to: its own, then those without one of its value marks.

    >>> value_keys("mag_u"), value_keys("j_m")
    (['magu', 'u'], ['jm', 'j'])
    """
    by_word = words(name)
    pieces = [piece for word in by_word for piece in word]
    keys = ["".join(pieces)]
    for number, piece in enumerate(pieces):
        if piece in VALUE_MARKS:
            keys.append("".join([*pieces[:number], *pieces[number + 1 :]]))
    glued = [word[0] for word in by_word[:1] if len(by_word) == 1 and len(word) == 1]
    for word in glued:
        # magpsf with sigmapsf: the mark of the value is glued too.
        for mark in ("mag", "flux"):
            if word.startswith(mark) and word != mark:
                keys.append(word.removeprefix(mark))
    return keys


def without_value_mark(value: str, key: str) -> str:
    """Return a value's name as it is written, without the mark whose absence leaves the key."""
    for mark in sorted(VALUE_MARKS):
        for found in re.finditer(mark, value, re.IGNORECASE):
            rest = value[: found.start()] + value[found.end() :]
            if key_of(rest) == key:
                return rest
    return value

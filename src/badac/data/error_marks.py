"""What in a column's name marks it as the error of another: the marks, and the places where they may stand.

Names are cut into words (at blanks, underscores, signs) and pieces (camel case, digits): ``psfMagErr_u`` is psf Mag Err u. A
mark is one piece or several (``over_error``), or stands inside a word (``MAGERR_AUTO_G``, ``uerr``). What is left of the name
without its mark is the key by which the value is found (`badac.data.pairing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

KINDS = ("sigma", "variance", "ivar", "relative", "percent", "over_error")
"""What an error column holds: one standard deviation, its square, 1 / square (0: missing), sigma / |value|, 100 times that, or
value / sigma."""


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
    place : {"any", "ends", "start"}
        Where it may stand in the name: anywhere, at its ends or as a word of its own, at its beginning.
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
    Mark("relerr", "relative"),
    Mark("relerror", "relative"),
    Mark("fracerr", "relative"),
    Mark("fracerror", "relative"),
    Mark("percenterror", "percent"),
    Mark("percenterr", "percent"),
    Mark("pcterr", "percent"),
    Mark("errpct", "percent"),
    Mark("errpercent", "percent"),
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
_BY_TEXT = {mark.text: mark for mark in MARKS}
_GLUED = sorted((mark for mark in MARKS if mark.glued), key=lambda mark: -len(mark.text))
_MOST_PIECES = 3

VALUE_MARKS = word_set("value values val flux mag magnitude mean median x y m spec spectrum data counts rate")
"""What an error's mark may stand in place of."""

_SIGN = re.compile(r"±|\+/-|\+-")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


def words(name: str) -> list[list[str]]:
    """Return the pieces of each word of a name, in lower case.

    >>> words("gMeanPSFMagErr"), words("MAGERR_AUTO_G")
    ([['g', 'mean', 'psf', 'mag', 'err']], [['magerr'], ['auto'], ['g']])
    """
    plain = _SIGN.sub(" err ", name)
    return [[piece.lower() for piece in _PIECE.findall(word)] for word in re.split(r"[\W_]+", plain) if word]


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
    found: dict[tuple[str, str], Reading] = {}
    for start in range(len(pieces)):
        for stop in range(start + 1, min(start + _MOST_PIECES, len(pieces)) + 1):
            mark = _BY_TEXT.get("".join(pieces[start:stop]))
            if mark is not None:
                alone = [*pieces[start:stop]] in by_word
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
    if mark.place == "any" or place == "start" or (mark.place == "ends" and (alone or place == "end")):
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

"""Which column is the error of which: one recogniser of value/error pairs, by the columns' names alone.

An error's name is the value's name with one error mark put in (``u_err``, ``e_u``, ``psfMagErr_u``, ``MAGERR_AUTO_G``), or with
the value's own mark replaced by one (``err_u`` for ``mag_u``, ``ivar`` for ``flux``), or that of a value without the unit in
brackets behind it (``Na RSD (%)`` for ``Na (mg/L)``). Pairs are one to one. Where a value has
several errors, the mark that fits most values of the table wins, then a standard deviation before anything it could be computed
from; a draw is ambiguous and is refused in words. ``dg`` and ``d_g`` are errors only where most values of the table have one.
Two columns may be the two sides of one error, or the bounds of an interval (`badac.data.error_sides`).

What the rules do not cover is said (`badac.data.said_pairs`).
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from badac.data.column_sorts import is_coordinate, plain_numbers
from badac.data.error_marks import (
    KINDS,
    Reading,
    key_of,
    readings,
    value_keys,
    without_unit,
    without_value_mark,
)
from badac.data.error_sides import TwoSides, middles, two_sides
from badac.data.losses import some
from badac.data.said_pairs import Pair, Pattern, as_patterns, told

_CONSISTENT = 2 / 3
"""Share of the values that must have a ``d`` column before those count as errors: displacements rarely have one for each."""


@dataclass(frozen=True)
class Pairing:
    """The columns of a table, sorted out.

    Attributes
    ----------
    names : tuple of str
        All columns.
    pairs : tuple of Pair
        Values with their errors, in the order of the values; coordinates (ra with ra_error) are not among them.
    also : dict from str to str
        Further errors of a value that has one, or of a coordinate, with the column that they belong to.
    positions : tuple of Pair
        Coordinates with their errors: no features, unless they are named.
    stray : tuple of str
        Columns that look like errors of no column.
    ambiguous : tuple of str
        Sentences about columns that could belong together in more than one way.

    Examples
    --------
    >>> from badac.data import pair_columns
    >>> found = pair_columns(["name", "g", "g_err", "r", "r_ivar"])
    >>> [(pair.value, pair.error, pair.kind) for pair in found.pairs]
    [('g', 'g_err', 'sigma'), ('r', 'r_ivar', 'ivar')]
    """

    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    positions: tuple[Pair, ...]
    also: Mapping[str, str]
    stray: tuple[str, ...]
    ambiguous: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are neither value nor error."""
        used = {name for pair in self.pairs for name in pair.columns} | set(self.stray)
        return tuple(name for name in self.names if name not in used)

    def of(self, value: str) -> Pair | None:
        """Return the pair of a value column, a coordinate too, if it has one."""
        return next((pair for pair in (*self.pairs, *self.positions) if pair.value == value), None)

    def said(self) -> str:
        """Return the first pair in words, and how many there are."""
        more = ", ..." if len(self.pairs) > 1 else ""
        return f"{len(self.pairs)} values with errors ({self.pairs[0]}{more})"

    def checked(self) -> Pairing:
        """Return the pairing, or raise a ValueError that names the columns in doubt and what to say about them."""
        if self.ambiguous:
            raise ValueError(f"{self.ambiguous[0]} Columns: {some(self.names)}.")
        if self.stray:
            raise ValueError(self._about_strays())
        return self

    def typed(self, frame: Any) -> Pairing:
        """Return the pairing of a table whose types are known: text that looks like an error by its name is none."""
        return replace(self, stray=tuple(plain_numbers(self.stray, frame)))

    def _about_strays(self) -> str:
        first = self.stray[0]
        bare = next((reading.key for reading in readings(first) if reading.key), first)
        near = difflib.get_close_matches(bare, self.others, n=1, cutoff=0.5)
        hint = f"{near[0]}={first}" if near else f"VALUE={first}"
        looks = "looks like an error column" if len(self.stray) == 1 else "look like error columns"
        which = f"Column {first!r}" if len(self.stray) == 1 else f"Columns {some(self.stray)}"
        return (
            f"{which} {looks}, but no value was found for {'it' if len(self.stray) == 1 else 'them'}. Say which "
            f"with pair=[{hint!r}] (badac.data.from_table(table, pair=...), --pair; stars stand for what the names share: "
            "'mag_*=err_*'), say that it is none with "
            f"pair=['={first}'], or drop it. If the table has one row per measurement, say which column is what: "
            f"columns={{'object': ..., 'time': ..., 'value': ..., 'error': {first!r}}} (--column object=..., and so on). "
            f"Columns: {some(self.names)}."
        )


@dataclass(frozen=True)
class _Candidate:
    error: str
    value: str
    reading: Reading
    replaced: bool

    def rank(self, votes: Counter[tuple[str, str, bool]]) -> tuple[int, ...]:
        """Small is good."""
        mark = self.reading.mark
        return (
            self.replaced,
            -votes[self.reading.style],
            KINDS.index(mark.kind),
            not mark.sure,
            _unlike(
                without_value_mark(self.value, self.reading.key) if self.replaced else self.value, self.error
            ),
        )


def pair_columns(names: Sequence[str], pair: Iterable[Pattern] | Mapping[str, str] = ()) -> Pairing:
    """Sort the columns of a table into values, errors and others.

    Parameters
    ----------
    names : the table's columns
    pair : "VALUE=ERROR", or a mapping from value to error
        What the names do not tell; stars stand for what both names share.

    Examples
    --------
    >>> names = ["id", "psfMag_u", "psfMagErr_u", "j_m", "j_msigcom", "flux_ivar_g", "flux_g"]
    >>> [str(pair) for pair in pair_columns(names).pairs]
    ['psfMag_u with psfMagErr_u', 'j_m with j_msigcom', 'flux_g with flux_ivar_g (ivar)']
    """
    return _pair_columns(tuple(names), as_patterns(pair))


@lru_cache(maxsize=64)
def _pair_columns(names: tuple[str, ...], patterns: tuple[str, ...]) -> Pairing:
    said: list[Pair] = []
    no_errors: set[str] = set()
    for pattern in patterns:
        pairs, plain = told(names, pattern)
        said += pairs
        no_errors |= plain
    taken = [name for pair in said for name in pair.columns]
    twice = [name for name, count in Counter(taken).items() if count > 1]
    if twice:
        raise ValueError(
            f"`pair` uses the column {twice[0]!r} twice. A value has one error, and an error one value."
        )
    free = [name for name in names if name not in set(taken)]
    sided = _Sided.of(free, no_errors)
    chosen, ambiguous, also = _assigned(sided.names, no_errors)
    pairs = [*said, *(sided.pair(one) for one in chosen)]
    also = sided.also(also)
    intervals, beside = _intervals(names, pairs, {*no_errors, *also})
    pairs += intervals
    values = {pair.value for pair in pairs}
    also = {error: value for error, value in (beside | also).items() if error not in values}
    positions = tuple(pair for pair in pairs if is_coordinate(pair.value) and pair not in said)
    also |= {error: pair.value for pair in positions for error in pair.error_columns}
    pairs = [pair for pair in pairs if pair not in positions]
    place = {name: number for number, name in enumerate(names)}
    pairs.sort(key=lambda pair: place[pair.value])
    used = {name for pair in pairs for name in pair.columns} | set(also) | no_errors
    left = plain_numbers([name for name in names if name not in used])
    styles = Counter(one.reading.style for one in chosen)
    stray = tuple(name for name in left if _looks_like_error(name, styles))
    return Pairing(names, tuple(pairs), positions, also, stray, tuple(ambiguous))


@dataclass(frozen=True)
class _Sided:
    """The names of a table in which the two sides of an error are one name, their stem.

    Attributes
    ----------
    names : list of str
    of_stem : dict from str to TwoSides
    further : dict from str to str
        Sides of a value that has an error without sides too, and the value.
    """

    names: list[str]
    of_stem: dict[str, TwoSides]
    further: dict[str, str]

    @classmethod
    def of(cls, names: list[str], no_errors: set[str]) -> _Sided:
        """Find the sides whose stem is the error of a value, while neither of them is that of another by itself."""
        all_sides = [
            one for one in two_sides([name for name in names if name not in no_errors]) if one.kind == "sides"
        ]
        if not all_sides:
            return cls(names, {}, {})
        by_itself = _values_of(_candidates(names, no_errors))
        columns = {column for one in all_sides for column in (one.upper, one.lower)}
        rest = [name for name in names if name not in columns]
        by_stem = _values_of(
            _candidates([*rest, *(one.stem for one in all_sides if one.stem not in set(rest))], no_errors)
        )
        plain = set(rest)
        with_error = {value for error, of in by_itself.items() if error in plain for value in of}
        kept: dict[str, TwoSides] = {}
        further: dict[str, str] = {}
        for one in all_sides:
            found = by_stem.get(one.stem, [])
            if not found or not {*by_itself.get(one.upper, ()), *by_itself.get(one.lower, ())} <= set(found):
                continue
            if found[0] in with_error:
                further |= {one.upper: found[0], one.lower: found[0]}
            else:
                kept[one.stem] = one
        sides = {column for one in kept.values() for column in (one.upper, one.lower)} | set(further)
        return cls([*(name for name in names if name not in sides), *kept], kept, further)

    def pair(self, one: _Candidate) -> Pair:
        """Return the pair of a candidate that was chosen."""
        sides = self.of_stem.get(one.error)
        if sides is None:
            return Pair(one.value, one.error, one.reading.mark.kind)
        return Pair(one.value, sides.upper, sides.kind, sides.lower)

    def also(self, found: dict[str, str]) -> dict[str, str]:
        """Return further errors by their columns, those of two sides among them."""
        out = dict(self.further)
        for error, value in found.items():
            sides = self.of_stem.get(error)
            out |= {error: value} if sides is None else {sides.upper: value, sides.lower: value}
        return out


def _values_of(candidates: Iterable[_Candidate]) -> dict[str, list[str]]:
    """Return the values that each error column could belong to."""
    found: dict[str, list[str]] = {}
    for one in candidates:
        if one.reading.mark.text != "d":
            found.setdefault(one.error, []).append(one.value)
    return found


def _intervals(
    names: Sequence[str], pairs: Sequence[Pair], taken: set[str]
) -> tuple[list[Pair], dict[str, str]]:
    """Values between two bounds, and bounds of values that have an error already."""
    busy = {name for pair in pairs for name in pair.columns} | taken
    by_key = {key_of(name): name for name in reversed(names)}
    found: list[Pair] = []
    further: dict[str, str] = {}
    for one in two_sides([name for name in names if name not in busy]):
        value = next((by_key[key] for key in middles(one.stem) if key in by_key), None)
        if one.kind != "bounds" or value is None or value in (one.upper, one.lower):
            continue
        if value in busy:
            further |= {one.upper: value, one.lower: value}
        else:
            found.append(Pair(value, one.upper, one.kind, one.lower))
    return found, further


def _assigned(names: list[str], no_errors: set[str]) -> tuple[list[_Candidate], list[str], dict[str, str]]:
    """Pairs chosen among all candidates, sentences about draws, and errors of values that have another."""
    candidates = _candidates(names, no_errors)
    votes: Counter[tuple[str, str, bool]] = Counter()
    for style, _ in {(one.reading.style, one.value) for one in candidates}:
        votes[style] += 1
    ranks = {one: one.rank(votes) for one in candidates}
    ordered = sorted((one for one in candidates if one.reading.mark.text != "d"), key=ranks.__getitem__)
    of_error: dict[str, list[_Candidate]] = {}
    of_value: dict[str, list[_Candidate]] = {}
    for one in ordered:
        of_error.setdefault(one.error, []).append(one)
        of_value.setdefault(one.value, []).append(one)
    chosen: list[_Candidate] = []
    ambiguous: list[str] = []
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    for one in ordered:
        if one.error in errors or one.error in values or one.value in values or one.value in errors:
            continue
        drawn = [
            two.value for two in of_error[one.error] if ranks[two] == ranks[one] and two.value not in values
        ]
        if len(drawn) > 1:
            ambiguous.append(_draw(one.error, "the error of", drawn))
        drawn = [
            two.error for two in of_value[one.value] if ranks[two] == ranks[one] and two.error not in errors
        ]
        if len(drawn) > 1:
            ambiguous.append(_draw(one.value, "the value of", drawn))
        chosen.append(one)
        values[one.value], errors[one.error] = one.error, one.value
    for one in _displacements(candidates, names, values, errors):
        chosen.append(one)
        values[one.value], errors[one.error] = one.error, one.value
    also = {
        one.error: one.value for one in reversed(ordered) if one.error not in errors and one.value in values
    }
    return chosen, ambiguous, {error: value for error, value in also.items() if error not in values}


def _candidates(names: list[str], no_errors: set[str]) -> list[_Candidate]:
    whole: dict[str, list[str]] = {}
    replaced: dict[str, list[str]] = {}
    of_bare: dict[str, list[str]] = {}
    for name in names:
        first, *rest = value_keys(name)
        whole.setdefault(first, []).append(name)
        for key in rest:
            replaced.setdefault(key, []).append(name)
        bare = key_of(without_unit(name))
        if bare != first:
            of_bare.setdefault(bare, []).append(name)
    found: dict[tuple[str, str], _Candidate] = {}
    for name in names:
        if name in no_errors:
            continue
        for reading in readings(name):
            matches = [(value, False) for value in whole.get(reading.key, []) if reading.key]
            if reading.mark.sure or reading.mark.text == "e":
                matches += [(value, True) for value in replaced.get(reading.key, [])]
            # An error without a unit has that of its value, and one in per cent has none.
            with_unit = of_bare.get(reading.key, [])
            if len(with_unit) == 1 and not reading.glued:
                matches.append((with_unit[0], True))
            for value, by_replacement in matches:
                if value != name:
                    candidate = _Candidate(name, value, reading, by_replacement)
                    if found.setdefault((name, value), candidate).replaced and not by_replacement:
                        found[name, value] = candidate
    return list(found.values())


def _displacements(
    candidates: list[_Candidate], names: list[str], values: dict[str, str], errors: dict[str, str]
) -> list[_Candidate]:
    """Columns ``dg`` for ``g``, if most values that are left have one."""
    taken = set(values) | set(errors)
    found = [
        one
        for one in candidates
        if one.reading.mark.text == "d" and not one.replaced and not {one.error, one.value} & taken
    ]
    displaced = {one.error for one in found}
    found = [one for one in found if one.value not in displaced]
    taken |= displaced
    left = plain_numbers([name for name in names if name not in taken])
    return found if len(found) >= 2 and len(found) >= _CONSISTENT * len(left) else []


def _draw(name: str, role: str, others: list[str]) -> str:
    said = f"{others[0]}={name}" if role == "the error of" else f"{name}={others[0]}"
    return (
        f"Column {name!r} could be {role} {', '.join(repr(other) for other in others[:-1])} or {others[-1]!r}. Say which with "
        f"pair=[{said!r}] (--pair), or drop the other."
    )


def _looks_like_error(name: str, styles: Counter[tuple[str, str, bool]]) -> bool:
    """Whether an unpaired column looks like an error: by a sure mark, or by the mark that most errors of the table have."""
    if any(is_coordinate(reading.key) for reading in readings(name)):
        # POS_ERR, RADEC_ERR: of a position, which travels.
        return False
    for reading in readings(name):
        mark = reading.mark
        at_end = mark.text in ("err", "error") and reading.place == "end"
        # Inside a name sigma is often a quantity of its own: astrometric_sigma5d_max.
        plain = not reading.glued and (reading.place != "inside" or "sig" not in mark.text)
        if mark.sure and (plain or at_end):
            return True
        if mark.text != "d" and 2 * styles[reading.style] > styles.total():
            return True
    return False


def _unlike(value: str, error: str) -> int:
    """How many characters of the value's name the error's lacks, in order: signs, separators and capitals tell names apart."""
    common = [0] * (len(error) + 1)
    for letter in value:
        before = 0
        for place, other in enumerate(error, 1):
            longest = before + 1 if letter == other else max(common[place], common[place - 1])
            before, common[place] = common[place], longest
    return len(value) - common[-1]

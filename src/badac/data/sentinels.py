"""Numbers that stand for nothing: 99 +- 99, -9999, 0 +- 0, and any extreme that many objects share.

A sentinel learned as a value is a class of its own. Well-known ones in both value and error are taken as missing, and said;
those in the value alone, and any extreme that several objects share far from all others, are said only: ``missing=[99]`` makes
them missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from badac.data.losses import counted, some
from badac.data.validation import BoolArray, FloatArray, largest, smallest

# Runs of nines (99, 99.99, 9999 ...) and large powers of ten: what surveys write where nothing was measured.
_NINES = [(10.0**digits - 1.0) / 10.0**after for digits in range(2, 7) for after in range(digits - 1)]
_KNOWN = np.array(sorted({*_NINES, 1e9, 1e10, 1e20, 1e30}))
_ROUNDING = 1e-6
"""Relative: a sentinel written in single precision."""
_FAR = 10.0
"""An extreme is far out beyond this many times the middle 80 % of the others: no tail of real values reaches it repeatedly."""
_SHARED = 3
"""So many objects with exactly one extreme are no chance."""
_MOST = 4
"""So many sentinels of a column are looked for."""


@dataclass(frozen=True, eq=False)
class Sentinels:
    """Cells (n, m) that count as missing, and sentences about these and about others that may be."""

    missing: BoolArray
    notes: tuple[str, ...] = ()


def find_sentinels(values: FloatArray, errors: FloatArray, names: Sequence[str]) -> Sentinels:
    """Find numbers that stand for nothing.

    Parameters
    ----------
    values, errors : (n, m)
        As the table has them, NaN where empty.
    names : (m,)
        Value columns.
    """
    if _nothing_to_take(errors):
        taken = np.zeros((1, 1), dtype=bool)
    else:
        # Where errors are mostly positive, 0 means unknown rather than exact.
        nothing = (errors == 0) & (values == 0)
        finite = np.isfinite(errors) & np.isfinite(values) & ~nothing
        positive = 2 * int((errors[finite] > 0).sum()) > int(finite.sum())
        taken = is_known(values) & (is_known(errors) | (errors < 0) | (positive & (errors == 0)))
        if positive:
            taken = taken | nothing
    some_taken = bool(taken.any())
    notes = [_taken(values, taken, names)] if some_taken else []
    doubtful = _doubtful(np.where(taken, np.nan, values) if some_taken else values, names)
    if doubtful:
        numbers = ", ".join(f"{number:g}" for number in dict.fromkeys(number for _, number, _ in doubtful))
        listed = [f"{name} is {number:g} in {counted(count, 'rows')}" for name, number, count in doubtful]
        notes.append(
            f"values far from all others that several objects share, taken as measured: {some(listed, 5)}; "
            f"if they mean missing, say missing=[{numbers}] (--missing)"
        )
    return Sentinels(np.broadcast_to(taken, values.shape), tuple(notes))


def _nothing_to_take(errors: FloatArray) -> bool:
    """Whether it shows at a glance that no cell is a sentinel in value and error: all errors are positive, and small."""
    return smallest(errors) > 0 and largest(errors) < _KNOWN[0] * (1 - _ROUNDING)


def said_missing(values: FloatArray, errors: FloatArray, missing: Sequence[float]) -> BoolArray:
    """Return the cells (n, m) whose value or error is one of the numbers that were said to mean missing."""
    hit = np.zeros(values.shape, dtype=bool)
    for number in missing:
        for cells in (values, errors):
            hit |= np.isclose(cells, number, rtol=_ROUNDING, atol=0.0)
    return hit


def is_known(numbers: FloatArray) -> BoolArray:
    """Return which numbers are well-known sentinels.

    >>> import numpy as np
    >>> is_known(np.array([99.0, -9999.0, 99.99, 98.0, 0.99, -999999488.0]))
    array([ True,  True,  True, False, False,  True])
    """
    size = np.abs(numbers)
    large = size >= _KNOWN[0] * (1 - _ROUNDING)
    out = np.zeros(numbers.shape, dtype=bool)
    if large.any():
        some_sizes = size[large]
        place = np.clip(np.searchsorted(_KNOWN, some_sizes * (1 - _ROUNDING)), 0, len(_KNOWN) - 1)
        out[large] = np.abs(some_sizes - _KNOWN[place]) <= _ROUNDING * _KNOWN[place]
    return out


def _taken(values: FloatArray, taken: BoolArray, names: Sequence[str]) -> str:
    found = []
    for column in np.flatnonzero(taken.any(axis=0)).tolist():
        numbers, counts = np.unique(values[taken[:, column], column], return_counts=True)
        found += [
            f"{names[column]} = {number:g} in {counted(int(count), 'rows')}"
            for number, count in zip(numbers, counts, strict=True)
        ]
    count = counted(int(taken.sum()), "cells")
    return f"{count} taken as missing, where value and error both stand for nothing: {some(found, 5)}"


def _doubtful(values: FloatArray, names: Sequence[str]) -> list[tuple[str, float, int]]:
    """Column, number and count of extremes that several objects share, or that are well known, far from all others."""
    found: list[tuple[str, float, int]] = []
    if not len(values):
        return found
    with np.errstate(invalid="ignore"):
        extremes = np.stack([np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)])
        shared = np.stack([(values == extreme).sum(axis=0) for extreme in extremes]) >= _SHARED
    for column in np.flatnonzero((shared | is_known(extremes)).any(axis=0)).tolist():
        rest = values[:, column]
        rest = rest[np.isfinite(rest)]
        for _ in range(_MOST):
            hit = next((one for one in _ends(rest) if _is_far(rest, one)), None)
            if hit is None:
                break
            found.append((names[column], hit, int((rest == hit).sum())))
            rest = rest[rest != hit]
    return found


def _ends(numbers: FloatArray) -> tuple[float, ...]:
    return (float(numbers.max()), float(numbers.min())) if numbers.size else ()


def _is_far(numbers: FloatArray, extreme: float) -> bool:
    same = numbers == extreme
    if same.sum() < _SHARED and not is_known(np.array([extreme]))[0]:
        return False
    others = numbers[~same]
    if len(others) < _SHARED:
        return False
    low, middle, high = np.quantile(others, [0.1, 0.5, 0.9])
    return bool(high > low and abs(extreme - middle) > _FAR * (high - low))

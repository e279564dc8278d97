"""Gaps that training objects do not have: like is compared with like.

An object that lacks a column which nearly every training object has is not strange for that, but its score is another number:
fewer points, other odds. Training objects are judged twice, as they are and with the same columns taken away, and quantile by
quantile a score with the gap is carried over to the one that it stands for without:

    score without  =  F_without^-1 ( F_with ( score with the gap ) )

The map rises, needs no second model, and depends on the object alone, not on the others of its table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# A column that fewer training objects lack is one whose absence the null distribution does not know.
_RARELY_MISSING = 0.02
# Up to so many columns a pattern is taken as it is; in longer curves in eighths of the range, and by number otherwise.
_FEW_COLUMNS, _EXACT, _EIGHTHS = 32, 2, 8


def missing_share(observed: BoolArray) -> FloatArray:
    """Return (m,): share of objects (n, m) that lack each column."""
    return np.asarray(1.0 - observed.mean(axis=0)) if len(observed) else np.ones(observed.shape[1])


def unusual_gaps(observed: BoolArray, missing: FloatArray) -> BoolArray:
    """Return (n, m): where objects lack what nearly all training objects have; `missing` (m,) is their `missing_share`."""
    gaps = ~observed & (missing < _RARELY_MISSING)
    # Nothing measured is nothing compared.
    return np.asarray(gaps & observed.any(axis=1, keepdims=True))


def patterns(gaps: BoolArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Yield objects with the same kind of unusual gaps, and the columns (m,) to take away from training objects for them.

    The kind depends on the object alone. Among few columns, up to two missing ones are a kind of their own. A stretch of a
    long curve is widened to eighths of the range. For anything else the kind is the number of columns, in octaves, and those
    to take away are spread evenly.
    """
    concerned = np.flatnonzero(gaps.any(axis=1))
    if not concerned.size:
        return
    kinds: dict[bytes, tuple[list[int], BoolArray]] = {}
    for row in concerned.tolist():
        columns = _kind(gaps[row])
        kinds.setdefault(columns.tobytes(), ([], columns))[0].append(row)
    for rows, columns in kinds.values():
        yield np.array(rows), columns


def _kind(gaps: BoolArray) -> BoolArray:
    m, where = gaps.size, np.flatnonzero(gaps)
    if m <= _FEW_COLUMNS and where.size <= _EXACT:
        return gaps
    out = np.zeros(m, dtype=np.bool_)
    stretch = where.size > 1 and where[-1] - where[0] + 1 == where.size
    if stretch and m > _FEW_COLUMNS:
        first, last = where[0] * _EIGHTHS // m, -(-(where[-1] + 1) * _EIGHTHS // m)
        out[first * m // _EIGHTHS : max(last * m // _EIGHTHS, first * m // _EIGHTHS + 1)] = True
    else:
        count = min(2 ** round(np.log2(where.size)), m - 1)
        out[np.linspace(0, m - 1, count).round().astype(np.int64)] = True
    if out.all():
        out[m // 2] = False
    return out


def without_columns(objects: Measurements, columns: BoolArray) -> Measurements:
    """Return objects (n, m) that lack some columns (m,)."""
    values = np.where(columns, np.nan, objects.values)
    sigma = np.where(columns, np.inf, objects.sigma)
    return objects._changed(values=values, sigma=sigma)


def carried_over(score: FloatArray, with_gaps: FloatArray, without_gaps: FloatArray) -> FloatArray:
    """Return (n,): scores of objects with gaps as scores without, by training objects (s,) judged with and without them."""
    first, second = np.sort(with_gaps), np.sort(without_gaps)
    inside = np.interp(score, first, second)
    # Beyond the ends, as far from them as before.
    beyond = np.maximum(score - first[-1], 0.0) + np.minimum(score - first[0], 0.0)
    return np.asarray(inside + beyond)

"""A class moved along the coordinate: what its curves look like if everything happens later by ``s``.

    y(t) -> y(t - s)

Mean, factors and psi of a population are functions on the grid: cubic splines between the points. Beyond the ends, where no
member was ever seen, the curve goes on along its last slope, and how wrong that may be by the distance ``x`` from the end is
read off the class itself: from a point at ``x`` before the end, the same straight line misses the end by ``e(x)``, whose
variance over the class is known in closed form. It enters as one more column of the factors. Leaving the points beyond the end
out instead would give far shifts a bonus: they would be forgiven all mismatch there.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements


def move_columns(columns: FloatArray, at: FloatArray, by: float) -> tuple[FloatArray, FloatArray]:
    """Columns (m, q) later by `by`, and the standard deviation (m,) of what is not known of their sum beyond the ends.

    The first column counts as it is, the others with coefficients of variance one.
    """
    where = at - by
    inside = np.clip(where, at[0], at[-1])
    moved = CubicSpline(at, columns)(inside)
    beyond = where - inside
    missing = np.zeros(len(at))
    out = beyond != 0
    if out.any():
        end = at[-1] if by < 0 else at[0]
        moved[out] += beyond[out, None] * slopes(columns, at, np.array([end]), by < 0)
        # The same step taken inside the class, up to where it is known how it ends.
        before = np.clip(end - beyond[out], at[0], at[-1])
        edge = columns[-1] if by < 0 else columns[0]
        guess = CubicSpline(at, columns)(before) + (end - before)[:, None] * slopes(
            columns, at, before, by < 0
        )
        missing[out] = np.sqrt(((edge - guess) ** 2).sum(axis=1))
    return moved, missing


def slopes(columns: FloatArray, at: FloatArray, where: FloatArray, forwards: bool) -> FloatArray:
    """Slopes (w, q) of columns (m, q) just before each place: a line through a twentieth of the points, at least three."""
    count = max(3, len(at) // 20)
    out = np.empty((len(where), columns.shape[1]))
    for row, place in enumerate(where):
        index = int(np.searchsorted(at, place, side="right" if forwards else "left"))
        start = int(np.clip(index - count if forwards else index, 0, len(at) - count))
        x = at[start : start + count] - at[start : start + count].mean()
        out[row] = x @ columns[start : start + count] / (x @ x)
    return out


def nearest(row: FloatArray, at: FloatArray, by: float) -> FloatArray:
    """A variance or a width (m,) of the points, later by `by`: linear between the points, as at the ends beyond them."""
    return np.asarray(np.interp(at - by, at, row))


def move_objects(objects: Measurements, at: FloatArray, by: float | FloatArray) -> Measurements:
    """Return noisy objects later by `by`, one number or (n,), at the same points: linear between two points, both errors kept.

    Beyond the ends, and next to a gap, they are missing. By whole steps of an even grid nothing is mixed.
    """
    n, m = objects.shape
    where = at - np.broadcast_to(np.asarray(by, dtype=np.float64), (n,))[:, None]
    # A hair beyond the end is rounding.
    hair = 1e-9 * (at[-1] - at[0])
    left = np.clip(np.searchsorted(at, where + hair, side="right") - 1, 0, m - 2)
    part = (where - at[left]) / (at[left + 1] - at[left])
    part = np.where(np.abs(part - np.round(part)) < 1e-9, np.round(part), part)
    if ((part > 0) & (part < 1)).any():
        objects.refuse_counts()
    rows = np.arange(n)[:, None]
    values, variance = objects.values, np.where(objects.observed, objects.sigma, 0.0) ** 2
    first, second = (
        np.where(part == 1, 0.0, values[rows, left]),
        np.where(part == 0, 0.0, values[rows, left + 1]),
    )
    mixed = (1.0 - part) * first + part * second
    spread = (1.0 - part) ** 2 * variance[rows, left] + part**2 * variance[rows, left + 1]
    gone = (where < at[0] - hair) | (where > at[-1] + hair) | np.isnan(mixed)
    return objects._changed(
        values=np.where(gone, np.nan, mixed), sigma=np.where(gone, np.inf, np.sqrt(spread)), covariance=None
    )

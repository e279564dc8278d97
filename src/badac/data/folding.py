"""Phase folding: ``phase = (time - epoch) / period mod 1``, so that the cycles of a periodic star lie on one another.

Fold before a Gaussian process with the periodic kernel of period 1, or before `binned` for a model that needs a grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import FloatArray, as_real


def fold(objects: Measurements, period: Any, epoch: Any = 0.0) -> Measurements:
    """Replace times by phases in [0, 1).

    Parameters
    ----------
    objects : Measurements
        (n, m) with coordinates `at`.
    period : scalar or (n,) array-like
        Positive, in the unit of `at`.
    epoch : scalar or (n,) array-like
        Time of phase 0.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import fold
    >>> fold(Measurements([[1.0, 2.0, 3.0]], 0.1, at=[[0.5, 2.75, 4.25]]), period=2.0).at
    array([[0.25 , 0.375, 0.125]])
    """
    if objects.at is None:
        raise ValueError("folding needs the times of the points: give the objects `at`.")
    periods = _one_each(objects, period, "period")
    epochs = _one_each(objects, epoch, "epoch")
    bad = ~(periods > 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"`period` must be positive and finite: got {periods[row]} at object {row} ({int(bad.sum())} in all). "
            "Leave objects without a period out."
        )
    times = np.broadcast_to(objects.at, objects.shape)
    phase = (times - epochs[:, None]) / periods[:, None] % 1.0
    # A tiny negative number modulo 1 rounds to 1, which is phase 0.
    phase = np.where(phase >= 1.0, 0.0, phase)
    return objects._changed(at=phase)


def _one_each(objects: Measurements, given: Any, name: str) -> FloatArray:
    array = as_real(given, name)
    if array.shape not in ((), (objects.n_objects,)):
        raise ValueError(
            f"`{name}` must be one number or one per object, ({objects.n_objects},): got {array.shape}."
        )
    finite = np.isfinite(np.atleast_1d(array))
    if not finite.all():
        raise ValueError(
            f"`{name}` must be positive and finite: got a number that is not at object {int(np.argmin(finite))}."
        )
    return np.broadcast_to(array, (objects.n_objects,))


def binned(objects: Measurements, edges: Any) -> Measurements:
    """Average each object's points in bins of the coordinate, weighted by 1 / sigma^2.

    Parameters
    ----------
    objects : Measurements
        With `at` and errors; bands are averaged together, so select one first.
    edges : (k + 1,) array-like
        Rising. A bin without points is missing; points outside are left out.

    Returns
    -------
    Measurements
        (n, k) at the middles of the bins; sigma is that of the weighted mean, scatter inside the bin not included.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import binned
    >>> curve = Measurements([[1.0, 3.0, 5.0]], 0.1, at=[[0.1, 0.2, 0.8]])
    >>> binned(curve, [0.0, 0.5, 1.0]).values
    array([[2., 5.]])
    """
    limits = as_real(edges, "edges")
    objects.refuse_counts()
    if objects.at is None or not objects.has_errors or objects.covariance is not None:
        raise ValueError("`binned` needs objects with `at` and with independent errors.")
    if limits.ndim != 1 or limits.size < 2 or not (np.diff(limits) > 0).all():
        raise ValueError(f"`edges` must rise: got {limits.tolist()}.")
    n, k = objects.n_objects, limits.size - 1
    times = np.broadcast_to(objects.at, objects.shape)
    cell = np.searchsorted(limits, times, side="right") - 1
    use = objects.observed & (cell >= 0) & (cell < k) & (objects.sigma > 0)
    rows = np.broadcast_to(np.arange(n)[:, None], objects.shape)[use]
    weight = objects.sigma[use] ** -2.0
    where = rows * k + cell[use]
    total = np.bincount(where, weight, n * k).reshape(n, k)
    mean = np.bincount(where, weight * objects.values[use], n * k).reshape(n, k)
    filled = total > 0
    values = np.divide(mean, total, out=np.full((n, k), np.nan), where=filled)
    sigma = np.divide(1.0, np.sqrt(total), out=np.full((n, k), np.inf), where=filled)
    made = Measurements(values, sigma, at=0.5 * (limits[1:] + limits[:-1]))
    return made.with_columns(objects.columns)

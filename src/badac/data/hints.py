"""A word where light curves look periodic or transient and nobody said so: in calendar time neither has a common shape.

A cheap test on a few points of a few objects. Sinusoids of many cycles that explain more than slow ones do: periodic (of a slow
rise the daily alias explains as much, and no more). Else one rise and fall of the means in time above a quiet level: transient.
It only speaks; nothing is done to the curves.
"""

from __future__ import annotations

import numpy as np

from badac.data.catalogue import Catalogue
from badac.data.measurements import Measurements
from badac.data.periods import find_period
from badac.data.preparation import shortest_period
from badac.data.validation import FloatArray

_ASKED, _FEWEST_POINTS, _MOST_POINTS = 7, 15, 150
_CYCLES = 5.0
"""Fewer cycles than this in a curve are slow."""
_EXPLAINED, _FALSE_ALARM, _LEAD = 0.25, 1e-6, 1.25
"""Of a periodic object: share of the variance explained, chance of it, and how many times what slow terms explain."""
_BINS, _SIGMAS, _HIGH, _MOST_HIGH, _QUIET = 12, 5.0, 0.5, 0.7, 0.25
"""Of a transient: means in time, significance of the highest, share of it that is high, how many may be high, and the scatter
of the others as a share of it."""


def hint(catalogue: Catalogue) -> str:
    """Return a sentence on how the light curves look and what to say about it, or "" if there is nothing to say.

    Parameters
    ----------
    catalogue : Catalogue
        As it was read, neither folded nor aligned.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_table, hint
    >>> hint(from_table(pd.DataFrame({"g": [17.1, 18.0], "g_err": [0.1, 0.2]})))
    ''
    """
    objects = catalogue.objects
    prepared = catalogue.axis.name in ("phase", "time from peak")
    if catalogue.kind != "light curve" or prepared or objects.at is None or objects.covariance is not None:
        return ""
    long_enough = np.flatnonzero(objects.observed.sum(axis=1) >= _FEWEST_POINTS)
    asked = long_enough[:: max(1, len(long_enough) // _ASKED)][:_ASKED]
    if not len(asked):
        return ""
    upside_down = catalogue.quantity.name == "magnitude"
    looks = [_look(objects[int(row)], shortest_period(catalogue), upside_down) for row in asked]
    periods = [period for period, _ in looks if period > 0]
    transient = sum(fades for _, fades in looks)
    if 2 * transient > len(looks):
        flux = ", quantity='flux'" if upside_down else ""
        return (
            f"{transient} of {len(looks)} objects looked at rise and fade once. Compared in time from their peak, classes "
            f"have a common shape: Preparation(align='peak'{flux}) (--align peak{' --flux' if upside_down else ''})."
        )
    if 2 * len(periods) > len(looks):
        known = next((name for name in catalogue.carried if name.lower() == "period"), None)
        say = "period='find', fold=True) (--find-period --fold)"
        if known is not None:
            say = f"period={known!r}, fold=True) (--period {known} --fold)"
        return (
            f"{len(periods)} of {len(looks)} objects looked at repeat, with periods about {np.median(periods):.3g}. "
            f"Compared in phase, classes have a common shape: Preparation({say}."
        )
    return ""


def _look(one: Measurements, shortest: float | None, upside_down: bool) -> tuple[float, bool]:
    """Return the period of an object (1, m), 0 if it has none, and whether it rises and fades once."""
    assert one.at is not None
    times = np.where(one.observed, np.broadcast_to(one.at, one.shape), np.nan)[0]
    order = np.argsort(times, kind="stable")[: int(one.observed.sum())]
    start = max(0, (len(order) - _MOST_POINTS) // 2)
    some = one.points(order[start : start + _MOST_POINTS])
    length = float(np.ptp(times[order[start : start + _MOST_POINTS]]))
    if not length > 0:
        return 0.0, False
    slow = find_period(some, shortest=length / _CYCLES, longest=_CYCLES * length)
    fast = find_period(some, shortest=shortest, longest=length / _CYCLES)
    sure = fast.explained[0] > _EXPLAINED and fast.false_alarm[0] < _FALSE_ALARM
    if sure and fast.explained[0] > _LEAD * np.nan_to_num(slow.explained[0]):
        return float(fast.period[0]), False
    return 0.0, _rises_once(one, upside_down)


def _rises_once(one: Measurements, upside_down: bool) -> bool:
    """Whether means in time of the band that varies most are quiet but for one rise and fall."""
    mean, sigma = _means(one, upside_down)
    quiet = float(np.quantile(mean, 0.2))
    best = int(np.argmax(mean))
    height = float(mean[best]) - quiet
    high = np.flatnonzero(mean - quiet > _HIGH * height)
    low = np.setdiff1d(np.arange(len(mean)), high)
    if height < _SIGMAS * sigma[best] or len(high) > _MOST_HIGH * len(mean) or len(low) < 2:
        return False
    return bool(np.ptp(high) == len(high) - 1 and np.std(mean[low]) < _QUIET * height)


def _means(one: Measurements, upside_down: bool) -> tuple[FloatArray, FloatArray]:
    """Weighted means and their errors in bins of time, of the band whose means vary most beyond their errors."""
    assert one.at is not None
    seen = one.observed[0]
    times = np.broadcast_to(one.at, one.shape)[0, seen]
    values = (-1.0 if upside_down else 1.0) * one.values[0, seen]
    sigma = one.sigma[0, seen] if one.has_errors else np.full(len(values), max(float(np.std(values)), 1e-300))
    weight = np.maximum(sigma, 1e-3 * max(float(np.std(values)), 1e-300)) ** -2.0
    band = (
        np.zeros(len(values), dtype=np.int64)
        if one.band is None
        else np.broadcast_to(one.band, one.shape)[0, seen]
    )
    place = np.minimum((times - times.min()) / max(float(np.ptp(times)), 1e-300) * _BINS, _BINS - 1).astype(
        np.int64
    )
    found: tuple[float, FloatArray, FloatArray] = (-1.0, np.zeros(1), np.ones(1))
    for number in np.unique(band):
        here = band == number
        total = np.bincount(place[here], weight[here], _BINS)
        mean = np.bincount(place[here], weight[here] * values[here], _BINS)[total > 0] / total[total > 0]
        error = np.asarray(total[total > 0] ** -0.5, dtype=np.float64)
        varies = float((((mean - np.average(mean, weights=error**-2.0)) / error) ** 2).sum())
        if len(mean) > 3 and varies > found[0]:
            found = (varies, mean, error)
    return found[1], found[2]

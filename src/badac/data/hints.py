"""A word where light curves look periodic or transient and nobody said so: in calendar time neither has a common shape.

A cheap test on a few objects: most of the variance explained by a sinusoid of many cycles, or one rise and fall above a quiet
level. It only speaks; nothing is done to the curves.
"""

from __future__ import annotations

import numpy as np

from badac.data.catalogue import Catalogue
from badac.data.measurements import Measurements
from badac.data.periods import find_period

_ASKED = 12
_FEWEST_POINTS = 15
_EXPLAINED, _FALSE_ALARM, _CYCLES = 0.6, 1e-3, 5.0
"""Of a periodic object: share of variance explained, chance of it, cycles observed."""
_FREQUENCIES = 20_000
_HIGH, _SIGMAS, _TOGETHER, _MOST_HIGH = 0.3, 5.0, 0.7, 0.6
"""Of a transient: points above this share of the peak and this many sigma, how many of those between the first and last of
them are high, and how many may be high at all."""


def hint(catalogue: Catalogue) -> str:
    """Return a sentence on how the light curves look and what to say about it, or "" if there is nothing to say.

    Parameters
    ----------
    catalogue : Catalogue
        As it was read, neither folded nor aligned.
    """
    objects = catalogue.objects
    prepared = catalogue.axis.name in ("phase", "time from peak")
    if catalogue.kind != "light curve" or prepared or objects.at is None or objects.covariance is not None:
        return ""
    count = objects.observed.sum(axis=1)
    asked = np.argsort(-count, kind="stable")[:_ASKED]
    asked = asked[count[asked] >= _FEWEST_POINTS]
    if not len(asked):
        return ""
    some = objects[np.sort(asked)]
    upside_down = catalogue.quantity.name == "magnitude"
    transient = [_is_transient(some[row], upside_down) for row in range(len(some))]
    if 2 * sum(transient) > len(some):
        flux = ", quantity='flux'" if upside_down else ""
        return (
            f"{sum(transient)} of {len(some)} objects looked at rise and fade once. Compared in time from their peak, classes "
            f"have a common shape: Preparation(align='peak'{flux}) (--align peak{' --flux' if upside_down else ''})."
        )
    periods = [_period(some[row]) for row in range(len(some))]
    found = [period for period in periods if period > 0]
    if 2 * len(found) > len(some):
        return (
            f"{len(found)} of {len(some)} objects looked at repeat, with periods about {np.median(found):.3g}. Compared in "
            "phase, classes have a common shape: Preparation(period='find', fold=True) (--find-period --fold), or "
            "period='COLUMN' (--period COLUMN --fold) where periods are known."
        )
    return ""


def _period(one: Measurements) -> float:
    """Period of an object (1, m), 0 if it does not repeat."""
    assert one.at is not None
    times = np.broadcast_to(one.at, one.shape)[one.observed]
    length = float(np.ptp(times)) if times.size else 0.0
    if not length > 0:
        return 0.0
    found = find_period(one, shortest=5.0 * length / _FREQUENCIES, longest=length / _CYCLES)
    sure = found.explained[0] > _EXPLAINED and found.false_alarm[0] < _FALSE_ALARM
    return float(found.period[0]) if sure else 0.0


def _is_transient(one: Measurements, upside_down: bool) -> bool:
    """Whether an object (1, m) is quiet but for one rise and fall."""
    assert one.at is not None
    seen = one.observed[0]
    order = np.argsort(np.broadcast_to(one.at, one.shape)[0, seen], kind="stable")
    values = (-1.0 if upside_down else 1.0) * one.values[0, seen][order]
    sigma = one.sigma[0, seen][order]
    band = (
        np.zeros(len(values), dtype=np.int64)
        if one.band is None
        else np.broadcast_to(one.band, one.shape)[0, seen][order]
    )
    high = np.zeros(len(values), dtype=bool)
    for number in np.unique(band):
        here = band == number
        quiet = np.quantile(values[here], 0.2)
        top = values[here].max() - quiet
        above = values[here] - quiet
        high[here] = (above > _HIGH * top) & (above > _SIGMAS * sigma[here])
    if high.sum() < 3 or high.mean() > _MOST_HIGH:
        return False
    first, last = np.flatnonzero(high)[[0, -1]]
    return bool(high[first : last + 1].mean() > _TOGETHER)

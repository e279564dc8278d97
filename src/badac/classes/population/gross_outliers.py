"""Values that cannot be true: a population is learned without them.

One value of a million among values around one (a slipped decimal point, a code for "no data") is enough to move the mean of its
point and to make its variance useless. A value is a gross outlier if

    |y - median| > 1000 u ,     u = 1.48 median |y - median| + median sigma

and no more than one in a hundred (or a single one) of the point's values are so far out: more would be a population with
long tails, not an accident. Gross outliers count as missing while the class is learned. The members that have them keep them
when their own evidence is asked for, and a width as wide as all training objects, gross outliers included, stays in the
class (`badac.classes.population.tails`), so that they are rare instead of impossible.
"""

from __future__ import annotations

import numpy as np

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray

_FAR = 1000.0  # spreads: a slipped decimal point or a code, no tail of anything
_SHARE = 0.01  # of a point's values: more are a population
_LEAST = 4  # members: a median needs some
_FOR_A_MIDDLE = 150  # members tell a median to a tenth of the spread, and far is a thousand of them


def gross_outliers(members: Measurements) -> BoolArray | None:
    """Return (n, m), True where a value is a gross outlier; None if there is none, or too few members to tell."""
    n = members.n_objects
    if n < _LEAST:
        return None
    # Middle and spread need no more than some of the members.
    middle, unit = _middle(members[:: max(1, n // _FOR_A_MIDDLE)])
    limit = np.where(unit > 0, _FAR * unit, np.inf)
    least, most = np.fmin.reduce(members.values, axis=0), np.fmax.reduce(members.values, axis=0)
    points = np.flatnonzero((most - middle > limit) | (middle - least > limit))
    if not points.size:
        return None
    far = np.zeros(members.shape, dtype=np.bool_)
    far[:, points] = np.abs(members.values[:, points] - middle[points]) > limit[points]
    count = far.sum(axis=0)
    far &= count <= np.maximum(1.0, _SHARE * members.observed.sum(axis=0))
    return far if far.any() else None


def without(members: Measurements, outliers: BoolArray | None) -> Measurements:
    """Return the members with their gross outliers missing."""
    if outliers is None:
        return members
    return members.replaced(np.where(outliers, np.nan, members.values))


def _middle(members: Measurements) -> tuple[FloatArray, FloatArray]:
    """Median (m,) and robust spread (m,) of each point; a spread of 0 where nobody observed it."""
    observed = members.observed
    if members.complete:
        # Along memory a median takes half of the time.
        values = np.ascontiguousarray(members.values.T)
        middle = np.median(values, axis=1)
        spread = np.median(np.abs(values - middle[:, None]), axis=1)
        return middle, 1.4826 * spread + np.median(np.ascontiguousarray(members.sigma.T), axis=1)
    middle = _medians(members.values, observed)
    spread = _medians(np.abs(members.values - middle), observed)
    return middle, 1.4826 * spread + _medians(members.sigma, observed)


def _medians(values: FloatArray, observed: BoolArray) -> FloatArray:
    """Median (m,) of the observed values of each point, 0 where there are none; by one sort for all points."""
    count = observed.sum(axis=0)
    ordered = np.sort(np.where(observed, values, np.inf), axis=0)
    point = np.arange(values.shape[1])
    low, high = ordered[np.maximum(count - 1, 0) // 2, point], ordered[count // 2 % len(values), point]
    return np.where(count > 0, 0.5 * (low + high), 0.0)

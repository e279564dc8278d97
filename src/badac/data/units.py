"""Units in which the values are about one: a choice of units must not decide whether squares are beyond a float.

    values, sigma  ->  values / u , sigma / u         log P(d) = log P(d / u) - sum_j log u_j     (observed points j)

Values of 1e200, or of 1e-200, are no accident but a choice of units, and every model squares them. ``u`` is a power of two, so
that going there and back changes no digit. It is 1 for values within `beyond` of one: those keep the units they came in.
Points share one unit, since neighbours are compared, unless their sizes differ by more than any curve's do: then each point
has its own.
"""

from __future__ import annotations

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import FloatArray, largest, smallest

# Points whose typical values differ by more than this are different quantities: squares of both do not add up in a double.
_OF_ONE_KIND = 1e8
_OBJECTS_ASKED = 200
_REACH = 1e30


def unit_of(objects: Measurements, beyond: float = 1e100) -> float:
    """Return one unit for all points: 1 if values lie between ``1 / beyond`` and `beyond`, else the power of two near them.

    Some of many objects are enough to tell, and half of the values may be anything.
    """
    return _unit_near(_sizes(objects), beyond)


def _unit_near(size: FloatArray, beyond: float) -> float:
    """`unit_of` points of these typical sizes (m,)."""
    middle = float(np.median(size[~np.isnan(size)])) if not np.isnan(size).all() else 1.0
    return 1.0 if 1.0 / beyond < middle < beyond else float(_near(np.array(middle)))


def units_of(objects: Measurements, beyond: float = 1e20) -> FloatArray:
    """Return (1,), a unit for all points as in `unit_of`; or (m,), where they cannot have one in common."""
    size = _sizes(objects)
    known = size[~np.isnan(size)]
    if known.size and np.log(known.max()) - np.log(known.min()) > np.log(_OF_ONE_KIND):
        return _near(np.where(np.isnan(size), np.median(known), size))
    return np.array([_unit_near(size, beyond)])


def in_units(objects: Measurements, unit: float | FloatArray) -> Measurements:
    """Return the objects with values and errors divided by `unit`, a number or (m,)."""
    if np.all(unit == 1.0):
        return objects
    values = objects.values / unit
    if objects.covariance is not None:
        covariance = objects.covariance / unit / np.atleast_1d(unit)[:, None]
        return objects.replaced(values, covariance=covariance)
    return objects.replaced(values, objects.sigma / unit if objects.has_errors else None)


def reach_of(size: float) -> float:
    """Return how far out a value among values of this size can be told from one that is farther."""
    return _REACH * size


def within(objects: Measurements, reach: float) -> Measurements:
    """Return the objects with values and errors of at most `reach`: what lies farther out is no nearer to any class.

    So a value of 1e200 among values of one is as strange as can be told, and its square is still a number.
    """
    widest = largest(objects.sigma)
    if widest == np.inf:
        widest = largest(np.where(objects.observed, objects.sigma, 0.0))
    if max(largest(objects.values), -smallest(objects.values), widest) <= reach:
        return objects
    values = np.clip(objects.values, -reach, reach)
    if objects.covariance is not None or objects.counted or not objects.has_errors:
        return objects.replaced(values)
    return objects.replaced(values, np.where(objects.observed, np.minimum(objects.sigma, reach), np.inf))


def log_jacobian(objects: Measurements, unit: float | FloatArray) -> FloatArray:
    """Return (n,): what the log density of each object gains by going to other units, to be subtracted."""
    return np.asarray(objects.observed @ np.broadcast_to(np.log(unit), objects.n_points))


def _sizes(objects: Measurements) -> FloatArray:
    """The typical size of the values of each point (m,), or of all points where each object has its own (1,)."""
    some = objects[:: max(1, objects.n_objects // _OBJECTS_ASKED)]
    values, sigma = some.values, np.where(np.isinf(some.sigma), np.nan, some.sigma)
    if objects.own_points:
        values, sigma = values.reshape(-1, 1), sigma.reshape(-1, 1)
    # A value that is 0 within its errors has the size of the errors.
    return np.fmax(_typical(values), _typical(sigma))


def _typical(numbers: FloatArray) -> FloatArray:
    """The median size of the numbers of each column (n, m) that are not 0, (m,); NaN if there is none."""
    size = np.abs(numbers)
    if not len(size):
        return np.full(size.shape[1], np.nan)
    if np.min(size) > 0.0:
        # Along memory a median takes half of the time.
        return np.asarray(np.median(np.ascontiguousarray(size.T), axis=1))
    # By one sort of all columns, the numbers that are 0 last; `numpy.median` of one column after the other takes longer.
    ordered, count = np.sort(np.where(size > 0.0, size, np.nan), axis=0), (size > 0.0).sum(axis=0)
    column = np.arange(size.shape[1])
    low, high = (ordered[np.maximum(place, 0), column] for place in ((count - 1) // 2, count // 2))
    with np.errstate(over="ignore"):
        return np.asarray(np.where(count > 0, 0.5 * (low + high), np.nan))


def _near(size: FloatArray) -> FloatArray:
    return np.asarray(2.0 ** np.clip(np.round(np.log2(size)), -1022, 1022))

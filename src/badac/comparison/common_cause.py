"""One change of all new objects that makes them like the training's: much that differs may have a single cause.

    error bars      sigma -> c sigma
    scale           values, sigma -> g values, g sigma
    offset          values -> values + b

The size of a change is that under which most objects are most probable: a median over objects, in which a few anomalies do not
count. The size of error bars is that under which they are as probable as known objects, by a mean in which anomalies count
little. Whether it is the cause is for `badac.comparison` to say: it is, if nothing else differs once it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from badac.comparison.left_out_objects import leave_out_some
from badac.data.error_scale import with_error_scale
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian
from badac.evidence import log_evidence
from badac.judge import FittedModel
from badac.posterior import log_total

FloatArray = npt.NDArray[np.float64]

SURE = 4.0
"""Standard errors beyond which a difference is none of chance."""
# Logs of factors: fine enough for a parabola, wide enough for error bars that are variances or full widths.
_LOG_FACTORS = np.linspace(-1.6, 1.6, 17)
_MIDDLE = len(_LOG_FACTORS) // 2
# Of the log of the factor: below, nothing would be said of it (`badac.comparison.checks`).
_SUSPICIOUS = 0.1
# Of known objects on either side, beyond which a new one is no more convincing than they are.
_TAIL = 0.1
# Offsets in units of the training's spread.
_OFFSETS = np.linspace(-2.0, 2.0, 17)


@dataclass(frozen=True)
class Change:
    """One change of all objects.

    Attributes
    ----------
    size : float
        The factor, or the offset in the units of the model.
    sure : float
        By how many standard errors most objects are more probable with it.
    apply : function
        From objects to the changed ones.
    """

    size: float
    sure: float
    apply: Callable[[Measurements], Measurements]


def with_offset(objects: Measurements, offset: float) -> Measurements:
    """Return objects whose values are larger by `offset`."""
    return objects._changed(values=objects.values + offset)


def error_bars(model: FittedModel, old: Measurements, new: Measurements) -> Change | None:
    """Return the factor on the new error bars under which the bulk is as probable as the training's; None without errors.

    Classes explain the objects that they learned from better than new ones. Where that makes new error bars look wrong,
    training objects are asked again under classes without them (`badac.comparison.left_out_objects`). Where they cannot be,
    in a model without its training objects, most new objects must be more probable by themselves.
    """
    if not new.has_errors or not old.has_errors:
        return None
    before = _UnderFactors(lambda factor: _with_errors(model, old, factor))
    after = _UnderFactors(lambda factor: _with_errors(model, new, factor))
    found = _error_factor(before, after)
    suspicious = found.sure >= SURE and abs(np.log(found.size)) >= _SUSPICIOUS
    if not suspicious and not _most_are_beyond(before.slope(_MIDDLE), after.slope(_MIDDLE)):
        return found
    left_out = leave_out_some(model, len(old))
    if left_out is None:
        return _of_most(before.all(), after.all())
    unlearned = left_out.each
    return _error_factor(_UnderFactors(lambda factor: unlearned(partial(_with_errors, factor=factor))), after)


def _with_errors(model: FittedModel, objects: Measurements, factor: float) -> FloatArray:
    """Log evidence (n,) of objects with their error bars times a factor."""
    return _log_total(model, with_error_scale(objects, factor))


class _UnderFactors:
    """Log evidences (n,) of objects with their error bars times each factor of `_LOG_FACTORS`, found as they are asked for.

    Parameters
    ----------
    found : callable
        From a factor to log evidences (n,).
    """

    def __init__(self, found: Callable[[float], FloatArray]) -> None:
        self._found = found
        self._kept: dict[int, FloatArray] = {}

    def __getitem__(self, place: int) -> FloatArray:
        if place not in self._kept:
            self._kept[place] = self._found(float(np.exp(_LOG_FACTORS[place])))
        return self._kept[place]

    def slope(self, place: int) -> FloatArray:
        """Slope (n,) by the log of the factor; not at the first and the last."""
        return np.asarray((self[place + 1] - self[place - 1]) / (_LOG_FACTORS[2] - _LOG_FACTORS[0]))

    def all(self) -> FloatArray:
        """Return (n, g), of all factors."""
        return np.column_stack([self[place] for place in range(len(_LOG_FACTORS))])


def _error_factor(before: _UnderFactors, after: _UnderFactors) -> Change:
    """The factor by which new objects' log evidences need larger error bars than known objects'.

    A robust estimate of scale beside a sample that is right (Huber 1964): the slope of an object's log evidence by the log of
    the factor, bounded by the tails that it has among known objects, so that anomalies count as one strange known object each,
    is on average as large as theirs. So whatever is not the error bars (few columns, a class of the wrong shape) cancels.
    """
    own = before.slope(_MIDDLE)
    bounds = np.quantile(own, [_TAIL, 1.0 - _TAIL])
    usual, above = float(np.clip(own, *bounds).mean()), 0.0
    # From the largest on: objects of hopelessly small error bars are explained by the tails of a class, whatever the factor.
    for place in range(len(_LOG_FACTORS) - 2, 0, -1):
        excess = float(np.clip(after.slope(place), *bounds).mean()) - usual
        if excess > 0.0:
            break
        above = excess
    else:
        return Change(1.0, 0.0, lambda objects: objects)
    log_factor = float(_LOG_FACTORS[place])
    if place < len(_LOG_FACTORS) - 2:
        log_factor += excess / (excess - above) * float(_LOG_FACTORS[1] - _LOG_FACTORS[0])
    factor = float(np.exp(log_factor))
    sure = _surer_than_known(before, after, int(np.argmin(np.abs(_LOG_FACTORS - log_factor))))
    return Change(factor, sure, lambda objects: with_error_scale(objects, factor))


def _most_are_beyond(own: FloatArray, new: FloatArray) -> bool:
    """Whether most new slopes (n,) lie in the tails of those of known objects: beside these, nothing is told by bounded ones.

    So it is with one curve per member, each of whom is explained best by itself: all have the same slope.
    """
    low, high = np.quantile(own, [_TAIL, 1.0 - _TAIL])
    return bool(np.mean((new < low) | (new > high)) > 0.5)


def _of_most(before: FloatArray, after: FloatArray) -> Change:
    """The factor under which most new objects are most probable, by their log evidences (n, g), over that of known objects.

    A median, so that classes that explain known objects too well make no right error bars look wrong; of few columns it finds
    less than `_error_factor`.
    """
    best_old, best_new = _most_probable(before, _LOG_FACTORS), _most_probable(after, _LOG_FACTORS)
    # Where the members' own spread hides the error bars, the training's say nothing of a factor.
    if _sure(before, _LOG_FACTORS, best_old, 0.0) < SURE:
        best_old = 0.0
    factor = float(np.exp(best_new - best_old))
    sure = _sure(after, _LOG_FACTORS, best_new, best_old)
    return Change(factor, sure, lambda objects: with_error_scale(objects, factor))


def _surer_than_known(before: _UnderFactors, after: _UnderFactors, place: int) -> float:
    """How many standard errors new objects gain more by a factor than known objects do."""
    # What known objects lose by the factor, and what they would gain if theirs were wrong by it.
    gain, lost = after[place] - after[_MIDDLE], before[place] - before[_MIDDLE]
    mended = before[_MIDDLE] - before[2 * _MIDDLE - place]
    bounds = np.quantile(np.concatenate([lost, mended]), [_TAIL, 1.0 - _TAIL])
    gain, lost = np.clip(gain, *bounds), np.clip(lost, *bounds)
    error = float(np.sqrt(gain.var() / len(gain) + lost.var() / len(lost)))
    return float((gain.mean() - lost.mean()) / max(error, 1e-12))


def scale(model: FittedModel, new: Measurements) -> Change:
    """Return the factor on values and error bars under which the bulk is most probable."""

    def at(log_factor: float) -> FloatArray:
        unit = float(np.exp(-log_factor))
        return _log_total(model, in_units(new, unit)) - log_jacobian(new, unit)

    curve = np.column_stack([at(one) for one in _LOG_FACTORS.tolist()])
    best = _most_probable(curve, _LOG_FACTORS)
    factor = float(np.exp(best))
    sure = _sure(curve, _LOG_FACTORS, best, 0.0)
    return Change(factor, sure, lambda objects: in_units(objects, 1.0 / factor))


def offset(model: FittedModel, new: Measurements) -> Change:
    """Return the offset on all values under which the bulk is most probable."""
    sizes = _OFFSETS * float(np.median(model.scales.scale))
    curve = np.column_stack([_log_total(model, with_offset(new, one)) for one in sizes.tolist()])
    best = _most_probable(curve, sizes)
    return Change(best, _sure(curve, sizes, best, 0.0), lambda objects: with_offset(objects, best))


def _log_total(model: FittedModel, objects: Measurements) -> FloatArray:
    return log_total(log_evidence(model.class_models, objects), model.log_prior)


def _most_probable(curve: FloatArray, sizes: FloatArray) -> float:
    """The size, of those (g,) that were tried or between two of them, with the highest median of log evidences (n, g)."""
    middle = np.median(curve - curve[:, [len(sizes) // 2]], axis=0)
    best = int(np.argmax(middle))
    if 0 < best < len(sizes) - 1:
        left, peak, right = middle[best - 1 : best + 2]
        bend = left - 2.0 * peak + right
        shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
        return float(sizes[best] + shift * (sizes[1] - sizes[0]))
    return float(sizes[best])


def _sure(curve: FloatArray, sizes: FloatArray, here: float, there: float) -> float:
    """How many standard errors most objects are more probable with one size than with another."""
    first, second = (int(np.argmin(np.abs(sizes - one))) for one in (here, there))
    gain = curve[:, first] - curve[:, second]
    error = 1.2533 * float(np.std(np.clip(gain, *np.quantile(gain, [0.1, 0.9])))) / np.sqrt(len(gain))
    return float(np.median(gain) / max(error, 1e-12))

"""Is it noise, or do the members of a class differ? What can be told, and what cannot.

A point scatters by ``sqrt(a^2 + (k sigma)^2)``: the class's own variety ``a`` at that point, and the noise, ``k`` times the
error bars. Two things tell them apart:

    quiet points   variety differs from point to point, a wrong error bar does not: no point scatters by less than ``k sigma``,
                   so the quietest points bound ``k`` from above; where all points scatter alike, it is the noise
    other errors   members with larger error bars scatter more, by ``k``: the slope of the squared scatter over ``sigma^2``

Where points differ and the error bars of a point are alike, nothing tells ``k``, and that is what is said. The scatter is that
of each point around what the class and all other points of the object predict, by a model learned without the object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.noise_learning.halves import Halves

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_ONE_SIGMA = norm.cdf([-1.0, 1.0])
# Points are quiet that scatter by at most this much more than the quietest tenth.
_QUIET = 1.3
# All points scatter alike if the ninth decile is at most this times the first.
_ALIKE = 1.5
# From so many points on it is no chance that all scatter alike.
_MANY_POINTS = 8
# The slope is told if its two-sigma interval is narrower than this ratio.
_TOLD = 1.6
_FACTORS = np.geomspace(0.2, 8.0, 120)
_POINTS_ASKED = 64
# Relative variance of a squared central width of n normal numbers, times n (from the density at one sigma: 2 x 1.17^2).
_WIDTH_VARIANCE = 2.8
# Error bars of a point differ enough if those of the upper third are larger than those of the lower by this factor.
_ERRORS_DIFFER = 1.4


@dataclass(frozen=True, eq=False)
class Variety:
    """How much more the members of classes scatter than their error bars say, and what of it can be blamed on those.

    Attributes
    ----------
    ratio : (k, m)
        Scatter of each class at each point in units of the error bars, NaN where it was not measured.
    floor : float
        Of the quietest points: an upper bound of the factor that the error bars are off by.
    quiet : (m,) bool
        Points of little variety in nearly all classes, where noise can be looked at.
    factor : float or None
        What the error bars should be multiplied by, as far as it can be told; None where it cannot.
    by_slope : bool
        Whether it was told by the error bars that differ between members.
    pulls : (p,)
        Residuals in units of the error bars, at quiet points if there are any.
    pulls_within : (p,)
        The same, of an object whose points scatter by more than those of others narrowed to their width: one that strays as a
        whole is unlike the others, and says nothing of single points.
    """

    ratio: FloatArray
    floor: float
    quiet: BoolArray
    factor: float | None
    by_slope: bool
    pulls: FloatArray
    pulls_within: FloatArray

    @property
    def typical(self) -> float:
        """Scatter at a typical point, in units of the error bars."""
        known = self.ratio[np.isfinite(self.ratio)]
        return float(np.median(known)) if known.size else np.nan

    @property
    def alike(self) -> bool:
        """Whether all points scatter alike, by chance or not."""
        return _alike(self.ratio)


def measure_variety(classes: Iterable[Halves]) -> Variety:
    """Compare the scatter of the members of classes, on common points, with their error bars.

    Those of the members that are left out of what the other half teaches.
    """
    found = [_residuals(halves) for halves in classes]
    ratio = np.stack([one.ratio for one in found])
    known = ratio[np.isfinite(ratio)]
    floor = float(np.quantile(known, 0.1)) if known.size else np.nan
    # A point is quiet if it is so in four of five classes; without a number in any of them it is not.
    full = np.where(np.isfinite(ratio), ratio, np.inf)
    quiet = np.quantile(full, 0.8, axis=0, method="lower") <= _QUIET * max(floor, 1.0)
    factor = slope = _slope(found)
    if _alike(ratio):
        # Of two that agree, the one that all points have a say in.
        middle = float(np.median(known))
        factor = middle if slope is None or 1.0 / _QUIET < middle / slope < _QUIET else slope
    elif slope is None and known.size and floor <= _QUIET:
        factor = floor
    shown = quiet if quiet.any() else np.ones_like(quiet)
    by_object = [one.pull[:, shown] for one in found]
    pulls = np.concatenate([each.ravel() for each in by_object])
    typical = float(central_width(pulls[:, None], axis=0)[0]) if np.isfinite(pulls).any() else 0.0
    within = np.concatenate([_within(each, typical).ravel() for each in by_object])
    seen = np.isfinite(pulls)
    return Variety(ratio, floor, quiet, factor, slope is not None, pulls[seen], within[seen])


def _within(pulls: FloatArray, typical: float) -> FloatArray:
    """Pulls (k, m), those of objects whose central width is above the typical one narrowed to it, if enough points tell it."""
    asked = np.isfinite(pulls).sum(axis=1) >= _MANY_POINTS
    beyond = np.ones(len(pulls))
    if asked.any() and typical > 0.0:
        beyond[asked] = np.maximum(central_width(pulls[asked], axis=1) / typical, 1.0)
    return np.asarray(pulls / beyond[:, None])


def central_width(pulls: FloatArray, axis: int) -> FloatArray:
    """Half of the width of the central two thirds along an axis of pulls (k, m); of what is not NaN, one number at least."""
    # By one sort: `numpy.nanquantile` goes through Python for each point.
    ordered = np.sort(np.moveaxis(pulls, axis, -1), axis=-1)
    last = (~np.isnan(ordered)).sum(axis=-1) - 1
    low, high = (_at(ordered, share * last) for share in _ONE_SIGMA)
    return np.asarray((high - low) / 2.0)


def _at(ordered: FloatArray, place: FloatArray) -> FloatArray:
    """Elements of rising rows (k, n) at places (k,) between their numbers, interpolated."""
    below = np.floor(place).astype(np.int64)
    row = np.arange(len(ordered))
    low, high = ordered[row, below], ordered[row, np.ceil(place).astype(np.int64)]
    return np.asarray(low + (place - below) * (high - low))


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Of one class's members (k, m): residual, error bar, and the variance of the prediction; NaN where missing."""

    residual: FloatArray
    sigma: FloatArray
    predicted: FloatArray

    @property
    def pull(self) -> FloatArray:
        return np.asarray(self.residual / np.sqrt(self.sigma**2 + self.predicted))

    @property
    def ratio(self) -> FloatArray:
        """(m,): half the width of the central two thirds of the pulls.

        NaN where fewer than ten were measured, and where the prediction is worse than the measurement, so that the pulls would
        not notice wrong error bars.
        """
        pull = self.pull
        with np.errstate(invalid="ignore"):
            sharp = (self.predicted <= self.sigma**2).sum(axis=0) >= 0.5 * np.isfinite(pull).sum(axis=0)
        enough = (np.isfinite(pull).sum(axis=0) >= 10) & sharp
        out = np.full(pull.shape[1], np.nan)
        if enough.any():
            out[enough] = central_width(pull[:, enough], axis=0)
        return out


def _residuals(halves: Halves) -> _Residuals:
    """Residuals of each half of the members around what a model of the other half and their other points predict."""
    parts = []
    for known, left_out in halves.turns():
        residual, predicted = left_out_points(left_out.members, known.factor(halves.rank))
        # What was learned from n members is uncertain by a share of about (1 + rank) / n of the scatter.
        residual /= np.sqrt(1.0 + (1.0 + halves.rank) / max(known.members.n_objects, 1))
        sigma = np.where(left_out.members.observed, left_out.members.sigma, np.nan)
        parts.append((residual, sigma, predicted))
    return _Residuals(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def left_out_points(members: Measurements, factor: Factor) -> tuple[FloatArray, FloatArray]:
    """Return (k, m) each: value less what the class and the other points predict, and the prediction's variance.

    With ``R = (W W' + D)^-1`` and ``D = psi + sigma^2`` the residual is ``[R r]_j / R_jj``, of variance ``1 / R_jj``, of which
    ``D_j`` is the point's own.
    """
    seen = members.observed
    own = factor.psi + np.where(seen, members.sigma, np.inf) ** 2
    weight = 1.0 / own
    centred = np.where(seen, members.values - factor.mean, 0.0)
    loadings = factor.factors
    inner = np.linalg.inv(
        np.eye(factor.rank) + np.einsum("jr,nj,js->nrs", loadings, weight, loadings, optimize=True)
    )
    shift = np.einsum("jr,nj->nr", loadings, weight * centred)
    explained = np.einsum("jr,nrs,ns->nj", loadings, inner, shift, optimize=True)
    leverage = weight * np.einsum("jr,nrs,js->nj", loadings, inner, loadings, optimize=True)
    rest = np.maximum(1.0 - leverage, 1e-6)
    residual = (centred - explained) / rest
    prediction = np.where(seen, own, np.nan) * leverage / rest
    return np.where(seen, residual, np.nan), prediction


def _alike(ratio: FloatArray) -> bool:
    known = ratio[np.isfinite(ratio)]
    if np.isfinite(ratio).any(axis=0).sum() < _MANY_POINTS:
        return False
    low, high = np.quantile(known, [0.1, 0.9])
    return bool(high <= _ALIKE * low)


def _slope(found: list[_Residuals]) -> float | None:
    """The factor by which scatter grows with the error bars of members, by weighted least squares; None if it is not told."""
    parts = [part for one in found for part in _thirds(one)]
    if not parts:
        return None
    scatter, variance, predicted, weight = (np.stack(each) for each in zip(*parts, strict=True))
    misfit = np.empty(_FACTORS.size)
    for place, factor in enumerate(_FACTORS):
        left = scatter - predicted - factor**2 * variance
        own = np.maximum((weight * left).sum(axis=1) / weight.sum(axis=1), 0.0)  # the class's variety
        misfit[place] = (weight * (left - own[:, None]) ** 2).sum()
    # Where straight lines do not fit, the interval grows by as much.
    width = 4.0 * max(1.0, float(misfit.min()) / max(2 * len(parts) - 1, 1))
    inside = _FACTORS[misfit <= misfit.min() + width]
    if inside[-1] > _TOLD * inside[0] or inside[0] == _FACTORS[0]:
        return None
    return float(_FACTORS[int(misfit.argmin())])


def _thirds(one: _Residuals) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Of each point, for members in thirds of their error bars: squared scatter, sigma^2, prediction's variance, weight."""
    parts = []
    m = one.sigma.shape[1]
    for point in np.unique(np.linspace(0, m - 1, min(m, _POINTS_ASKED)).round().astype(np.int64)):
        seen = np.flatnonzero(np.isfinite(one.residual[:, point]))
        if len(seen) < 3 * 10:
            continue
        order = seen[np.argsort(one.sigma[seen, point], kind="stable")]
        thirds = np.array_split(order, 3)
        errors = np.array([_middle(one.sigma[rows, point]) for rows in thirds])
        if errors[0] <= 0 or errors[2] < _ERRORS_DIFFER * errors[0] or _goes_with_value(one, point, order):
            continue
        ends = np.array([np.quantile(one.residual[rows, point], [*_ONE_SIGMA, 0.5]) for rows in thirds])
        squares = ((ends[:, 1] - ends[:, 0]) / 2.0) ** 2
        size = np.array([len(rows) for rows in thirds])
        # Weights from the scatter of all, so that a third is not believed for being narrow by chance.
        expected = np.maximum(squares.mean() * errors**2 / (errors**2).mean(), 0.25 * squares.mean())
        parts.append(
            (
                squares,
                errors**2,
                np.array([np.median(one.predicted[rows, point]) for rows in thirds]),
                size / (_WIDTH_VARIANCE * expected**2),
            )
        )
    return parts


def _middle(rising: FloatArray) -> float:
    """Median of rising numbers (k,)."""
    return 0.5 * float(rising[(len(rising) - 1) // 2] + rising[len(rising) // 2])


def _goes_with_value(one: _Residuals, point: int, order: IntArray) -> bool:
    """Whether large error bars go with values to one side: then variety and noise grow together, and tell nothing."""
    rank = np.argsort(np.argsort(one.residual[order, point]))
    correlation = float(np.corrcoef(np.arange(len(order)), rank)[0, 1])
    return bool(abs(correlation) > max(0.25, 3.0 / np.sqrt(len(order))))

"""Random curves at points of an object's own, integrated out: the twin of `badac.anomalies.curves_on_a_grid`.

    d = class + features c + noise ,     c ~ N(0, A^2 diag variances)

A random curve that is a few features at any coordinates (`badac.anomalies.sequence.FeaturesAtPoints`) costs an object of p
points ``p q^2`` multiplications and small Cholesky factors: what the object says of the q features is asked, and they are
integrated out of that. Beyond the range of the training objects cosines are no longer what they stand for; there, for
kernels of the user's own and for correlated errors, the covariance of the points is made and factorised.

A curve of no class has its own course in each band with half of its variance. Its coefficients are then a common part and
one for each band, ``c_b = u + v_b``; every ``v_b`` is integrated out of its own band first, so the cost grows with the number
of bands, not with its cube.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from badac._kernels.low_rank import LowRankPoints
from badac.anomalies.hypothesis import NOISE_SHARE, ProcessAlone, ProcessOnClass, log_mean_exp
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import FeaturesAtPoints, within_range
from badac.cached import cached_property
from badac.data.validation import IntArray
from badac.latent.low_rank import LowRank
from badac.latent.process import Block
from badac.latent.process_summary import PointsUnderClass, Whitened


class _Taken(Protocol):
    def take(self, rows: Any, /) -> Self: ...


Objects = TypeVar("Objects", bound=_Taken)
# Of the known classes' variance: what keeps exact points of a curve without a class from being a delta function.
_JITTER = 1e-6
# Of a curve without a class: what two bands have in common.
BETWEEN_BANDS = 0.5


@dataclass(frozen=True, eq=False)
class CurvesAtPoints:
    """Random curves at the points of a block of objects, made once for all classes.

    Attributes
    ----------
    added : ProcessOnClass or ProcessAlone
    block : Block
    x : (b, p)
        Coordinates in units of the range.
    by_features : (b,) bool
        Whether the curves are a few features at all points of an object. The others have no part in `alternatives`.
    alternatives : tuple of (b, p, q) and (q,)
        Features of each alternative, whatever they are in the padding, and their variances.
    """

    added: ProcessOnClass | ProcessAlone
    block: Block
    x: FloatArray
    by_features: npt.NDArray[np.bool_]
    alternatives: tuple[tuple[FloatArray, FloatArray], ...]

    @classmethod
    def of(cls, added: ProcessOnClass | ProcessAlone, block: Block, x: FloatArray) -> CurvesAtPoints:
        """Prepare them for a block with coordinates `x` (b, p), in units of the range."""
        known = [one for one in added.curves if isinstance(one, FeaturesAtPoints)]
        if block.extra is not None or len(known) < max(len(added.curves), 1):
            return cls(added, block, x, np.zeros(len(x), dtype=np.bool_), ())
        # Exact points have no precision to sum.
        fits = (within_range(x) & (block.variance > 0)) | ~block.seen
        inside = np.where(fits & block.seen, x, 0.0)
        alternatives = tuple(each for one in known for each in one.features_at(inside))
        return cls(added, block, x, np.asarray(fits.all(axis=1)), alternatives)

    @cached_property
    def noise_variance(self) -> FloatArray:
        """(b,): `noise_variance` of the objects."""
        return noise_variance(self.block)

    def covariances(self, places: IntArray) -> Iterator[FloatArray]:
        """Yield the covariance (k, p, p) of each alternative at the points of objects without features, 0 in the padding."""
        rows = np.searchsorted(self._without_features, places)
        return (each[rows] for each in self._covariances)

    @cached_property
    def _without_features(self) -> IntArray:
        return np.flatnonzero(~self.by_features)

    @cached_property
    def _covariances(self) -> tuple[FloatArray, ...]:
        both = _together(self.block.take(self._without_features))
        if not self.added.curves:
            return (np.eye(both.shape[1]) * both,)
        x = self.x[self._without_features]
        return tuple(near * both for one in self.added.curves for near in one.at_points(x))


@dataclass(frozen=True, eq=False)
class NoClass:
    """A block of objects as curves of no class see it.

    Attributes
    ----------
    block : Block
    residual : (b, p)
        Around the level of each band; 0 in the padding.
    variance : float
        Of the known classes.
    n_bands : int
    """

    block: Block
    residual: FloatArray
    variance: float
    n_bands: int

    def take(self, rows: IntArray) -> NoClass:
        """Return some of the objects."""
        return NoClass(self.block.take(rows), self.residual[rows], self.variance, self.n_bands)


def curve_on_classes(under: Sequence[PointsUnderClass], curves: CurvesAtPoints) -> FloatArray:
    """Return (n,): log P(d | class plus a random curve) of objects under one class after the other.

    The curves are those of the whole block that the objects are from.
    """
    terms = [_in_two_ways(one, curves, one.places, _features_on_class, _kernel_on_class) for one in under]
    return log_mean_exp(np.concatenate(terms))


def curve_alone(objects: NoClass, curves: CurvesAtPoints) -> FloatArray:
    """Return (b,): log P(d | a level of its own plus a random curve), both of the scale of the known classes."""
    every = np.arange(len(curves.x))
    return log_mean_exp(_in_two_ways(objects, curves, every, _features_alone, _kernel_alone))


# From objects and where they are in the block to the log densities (b, alternatives) of each alternative.
Way = Callable[[Objects, CurvesAtPoints, IntArray], FloatArray]


def _in_two_ways(
    objects: Objects,
    curves: CurvesAtPoints,
    places: IntArray,
    by_features: Way[Objects],
    by_kernel: Way[Objects],
) -> FloatArray:
    fits = curves.by_features[places]
    if fits.all():
        return by_features(objects, curves, places)
    ways = [
        (rows, way(objects.take(rows), curves, places[rows]))
        for rows, way in ((np.flatnonzero(fits), by_features), (np.flatnonzero(~fits), by_kernel))
        if rows.size
    ]
    out = np.empty((len(places), ways[0][1].shape[1]))
    for rows, found in ways:
        out[rows] = found
    return out


def _features_on_class(under: PointsUnderClass, curves: CurvesAtPoints, places: IntArray) -> FloatArray:
    whitened = under.whitened
    size = np.sqrt(curves.noise_variance[places])[:, None] * np.array(curves.added.amplitudes)
    terms = [
        whitened.log_gain(features, size[..., None] * np.sqrt(power), places)
        for features, power in curves.alternatives
    ]
    return whitened.log_evidence[:, None] + np.concatenate(terms, axis=1)


def _kernel_on_class(under: PointsUnderClass, curves: CurvesAtPoints, places: IntArray) -> FloatArray:
    block, whitened = under.block, under.whitened
    typical, full = curves.noise_variance[places, None, None], whitened.full
    terms = [
        Whitened.of(block, whitened.residual, full + size**2 * typical * near).log_evidence
        for near in curves.covariances(places)
        for size in curves.added.amplitudes
    ]
    return np.stack(terms, axis=1)


def _features_alone(objects: NoClass, curves: CurvesAtPoints, places: IntArray) -> FloatArray:
    block, residual = objects.block, objects.residual
    nothing = np.zeros((*residual.shape, 0))
    variance = block.variance + _JITTER * objects.variance * block.seen
    band = np.where(block.seen, block.band, -1)
    noise_alone = LowRank.of(LowRankPoints(residual, variance, band, nothing, nothing))
    visible = (objects.variance + NOISE_SHARE * curves.noise_variance[places])[:, None, None]
    squares = np.array(curves.added.amplitudes)[:, None] ** 2
    terms = []
    for features, power in curves.alternatives:
        level = np.eye(1, power.size)[0]  # a constant of its own
        sizes = np.sqrt(visible * (level + squares * power))
        terms.append(noise_alone.log_gain(features, sizes, places, BETWEEN_BANDS))
    return noise_alone.log_evidence[:, None] + np.concatenate(terms, axis=1)


def _kernel_alone(objects: NoClass, curves: CurvesAtPoints, places: IntArray) -> FloatArray:
    block = objects.block
    visible = (objects.variance + NOISE_SHARE * curves.noise_variance[places])[:, None, None]
    same = block.band[:, :, None] == block.band[:, None, :]
    bands = np.where(same, 1.0, BETWEEN_BANDS) * _together(block)
    noise = np.zeros_like(bands)
    diagonal = np.arange(bands.shape[1])
    noise[:, diagonal, diagonal] = block.variance + _JITTER * objects.variance * block.seen
    if block.extra is not None:
        noise += block.extra
    terms = [
        Whitened.of(block, objects.residual, visible * bands * (1.0 + size**2 * near) + noise).log_evidence
        for near in curves.covariances(places)
        for size in curves.added.amplitudes
    ]
    return np.stack(terms, axis=1)


def _together(block: Block) -> FloatArray:
    """Return (b, p, p): whether both of two points were observed."""
    return np.asarray(block.seen[:, :, None] & block.seen[:, None, :])


def noise_variance(block: Block) -> FloatArray:
    """Return (b,): the variance that has the mean precision of an object's noise."""
    variance = block.variance
    if block.extra is not None:
        variance = variance + np.diagonal(block.extra, axis1=1, axis2=2)
    precision = np.where(block.seen, 1.0 / np.maximum(variance, 1e-300), 0.0)
    return np.asarray(np.maximum(block.seen.sum(axis=1), 1) / np.maximum(precision.sum(axis=1), 1e-300))

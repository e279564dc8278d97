"""The hypotheses for objects with points of their own: Gaussians at each object's points.

At an object's points a known class has the mean ``c`` and the covariance ``K_s``, noise included, low rank plus diagonal where
it has no kernel (`badac.latent.process_summary`, `badac.latent.low_rank`). All hypotheses are as on a grid
(`badac.anomalies.on_a_grid`), with these in place of the factor model:

    a random curve alone           N(d ; level , v (1 + A^2 k) + Sigma_d)
    a class plus a shape           the matched filter, z = g'K^-1 (d - c) / sqrt(g'K^-1 g)
    a class plus a random curve    N(d ; c , K_s + A^2 k)

Several bands share a shape and a deviation; a curve of no class may differ between bands by half of its variance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from badac._kernels import Pairs
from badac.anomalies.bump import Bump
from badac.anomalies.curves_at_points import CurvesAtPoints, NoClass, curve_alone, curve_on_classes
from badac.anomalies.hypothesis import (
    ProcessAlone,
    ProcessOnClass,
    Scales,
    ShapeOnClass,
    UnderClasses,
    Weigh,
    over_classes_at_once,
)
from badac.anomalies.matched_filter import averaged_log_bayes_factor, log_bayes_factor
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.prediction_at_points import on_common_grid, predicted
from badac.anomalies.reasons import REACH, STRANGE, WIDEST, Reasons
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.basis import coordinates
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.mixture import logsumexp_rows
from badac.latent.process import Block, blocks
from badac.latent.process_summary import PointsUnderClass, ProcessSummary
from badac.noise.model import Noise, noise_of_class
from badac.registry import registered
from badac.threads import over_blocks

# Places of shapes are as dense as a typical object's points, within these bounds: an object of thousands of points would
# otherwise have thousands of places, each with a dense solve.
_FEWEST_PLACES, _MOST_PLACES = 3, 60
# A shape of which no point of the object shows more than this much of the height is not asked about.
_LEAST_SEEN = 0.5
# A shape of which less than this share of the largest precision is left cannot be told from the class.
_TOLD = 1e-6
# Squared ratios that differ by less than this share are the same: far above rounding, far below anything that tells.
_SAME = 1e-9
# In units of the range: beyond it all coordinates are equally far, and their squares stay within a float.
_FARTHEST = 1e6
# Block sizes, as numbers of matrices of points by points: where there are such, 1 MiB of doubles stay in a core's cache; where
# there are not, as many objects as make the calls of the kernels small beside their work.
_NUMBERS_IF_DENSE, _NUMBERS_PER_BLOCK = 1 << 17, 1 << 20
# Points of the common grid on which two curves are compared.
_KNOTS = 20


@registered("part", holds={"classes": "(k,)", "log_prior": "(k,) may be -inf", "span": "> 0"})
@dataclass(frozen=True, eq=False)
class AtPoints:
    """The known classes at any points.

    Attributes
    ----------
    classes : tuple of ProcessSummary
    log_prior : (k,)
        Of the classes.
    scales : Scales
    lower, span : float
        Where the training objects' coordinates begin, and how far they reach.
    level : (bands,)
        Mean of the training objects in each band.
    noise : Noise
        Of the objects: a factor on their error bars.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> at = rng.uniform(0, 6, (40, 12))
    >>> curves = Measurements(np.sin(at) + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    >>> model = BADACClassifier("population", random_state=0).fit(curves, np.repeat([0, 1], 20))
    >>> type(model.anomaly_model_.evaluator).__name__
    'AtPoints'
    """

    classes: tuple[ProcessSummary, ...]
    log_prior: FloatArray
    scales: Scales
    lower: float
    span: float
    level: FloatArray
    noise: Noise | None = None

    @classmethod
    def of(cls, known: Known, classes: tuple[ProcessSummary, ...]) -> AtPoints:
        """Take the scales from the training objects."""
        noise_of_any = noise_of_class(known.noise, None)
        training, observed = with_noise_scale(known.training, noise_of_any), known.training.observed
        at, values = coordinates(training)[observed], training.values[observed]
        band = np.zeros(values.size, dtype=np.int64)
        if training.band is not None:
            band = np.broadcast_to(training.band, training.shape)[observed]
        n_bands = known.scales.n_bands
        count = np.maximum(np.bincount(band, minlength=n_bands), 1)
        level = np.bincount(band, weights=values, minlength=n_bands) / count
        spread = float(((values - level[band]) ** 2).mean()) if values.size else 1.0
        noise = float((training.sigma[observed] ** 2).mean()) if values.size else 0.0
        variance = max(spread - noise, 0.01 * spread, 1e-12)
        typical = int(np.median(observed.sum(axis=1)))
        even = np.linspace(0.0, 1.0, int(np.clip(typical, _FEWEST_PLACES, _MOST_PLACES)))
        scales = Scales(even, float(level.mean()), variance, known.scales.centre, known.scales.scale)
        span = float(np.ptp(at)) if at.size else 0.0
        lower = float(at.min()) if at.size else 0.0
        return cls(classes, known.log_prior, scales, lower, span if span > 0 else 1.0, level, noise_of_any)

    def blocks(self, objects: Measurements) -> Iterator[tuple[IntArray, Block]]:
        objects, basis = with_noise_scale(objects, self.noise), self.classes[0].process.basis
        dense = objects.covariance is not None or any(one.process.bands.any() for one in self.classes)
        for block in blocks(objects, basis, most_numbers=_NUMBERS_IF_DENSE if dense else _NUMBERS_PER_BLOCK):
            yield block.rows, block

    def under(self, block: Block, *, n_threads: int = 1) -> UnderClasses[PointsUnderClass]:
        """Return the block as every class of every width sees it, with the log prior of both."""
        return UnderClasses(
            PointsUnderClass(block, whitened, float(prior) + float(share))
            for one, prior in zip(self.classes, self.log_prior, strict=True)
            for whitened, share in zip(one.whitened(block, n_threads=n_threads), one.log_shares, strict=True)
        )

    def log_known(self, under: UnderClasses[PointsUnderClass], log_anomaly: FloatArray) -> FloatArray:
        """Return (b,): log P(d | known classes)."""
        return logsumexp_rows(under.joint)

    def scaled(self, at: FloatArray) -> FloatArray:
        """Return coordinates in units of the range of the training objects'; far outside of it all are equally far."""
        return np.clip((at - self.lower) / self.span, -_FARTHEST, _FARTHEST)

    # -- the hypotheses ----------------------------------------------------------------------------------------------

    def shape_on_class(self, added: ShapeOnClass) -> Weigh:
        def weigh(under: UnderClasses[PointsUnderClass]) -> FloatArray:
            shapes = self._shapes(under[0].whole, added)

            def of_all(parts: Sequence[PointsUnderClass]) -> FloatArray:
                squares = squared_ratios(parts, shapes)
                known = np.concatenate([one.log_evidence for one in parts])
                return known + averaged_log_bayes_factor(squares, added.signal_to_noise)

            return over_classes_at_once(under, of_all)

        return weigh

    def _shapes(self, block: Block, added: ShapeOnClass) -> ShapesAtPoints:
        # In the padding an object's first point stands again: it shows no more of a shape, and nobody looks at it.
        at = block.at if block.full else np.where(block.seen, block.at, block.at[:, :1])
        shapes = added.at(self.scaled(at))
        largest = np.maximum(shapes.max(axis=1), -shapes.min(axis=1))
        return ShapesAtPoints(shapes, (largest > _LEAST_SEEN) & block.seen[:, :1])

    def process_on_class(self, added: ProcessOnClass) -> Weigh:
        def weigh(under: UnderClasses[PointsUnderClass]) -> FloatArray:
            block = under[0].whole
            curves = CurvesAtPoints.of(added, block, self.scaled(block.at))
            return over_classes_at_once(under, lambda parts: curve_on_classes(parts, curves))

        return weigh

    def process_alone(self, added: ProcessAlone) -> Weigh:
        def weigh(under: UnderClasses[PointsUnderClass]) -> FloatArray:
            block = under[0].block
            residual = np.where(block.seen, block.values - self.level[block.band], 0.0)
            objects = NoClass(block, residual, self.scales.variance, self.level.size)
            return curve_alone(objects, CurvesAtPoints.of(added, block, self.scaled(block.at)))

        return weigh

    # -- why an object is strange ------------------------------------------------------------------------------------

    def reasons(self, objects: Measurements, *, n_threads: int = 1) -> Reasons:
        out = Reasons.blank(*objects.shape)
        edges = np.cumsum([0, *(len(one.widths) for one in self.classes)])

        def explain(part: tuple[IntArray, Block], n_threads: int) -> None:
            rows, block = part
            under = self.under(block, n_threads=n_threads)
            joint = under.joint
            total = np.stack([logsumexp_rows(joint[:, a:b]) for a, b in pairwise(edges)], axis=1)
            out.best[rows] = total.argmax(axis=1)
            top = joint.argmax(axis=1)
            for which in np.unique(top):
                self._fill_in(out, under[which].take(np.flatnonzero(top == which)))

        over_blocks(explain, self.blocks(objects), n_threads)
        return out

    def _fill_in(self, out: Reasons, under: PointsUnderClass) -> None:
        """Fill in all but the best class for some objects, as the class of the width that fits best sees them."""
        block = under.block
        low, high, factor = self.strangest_window(under)
        out.window[block.rows] = self.lower + self.span * np.stack([low, high], axis=1)
        out.window_log_bayes_factor[block.rows] = factor
        x = self.scaled(block.at)
        inside = (x >= low[:, None]) & (x <= high[:, None]) & block.seen
        # With most points hidden there would be no object left to predict.
        few = inside.sum(axis=1) < 0.5 * block.seen.sum(axis=1)
        mean, sigma = predicted(under, inside & (few & (factor > STRANGE))[:, None])
        rows = np.broadcast_to(block.rows[:, None], block.columns.shape)[block.seen]
        where = rows, block.columns[block.seen]
        out.expected[where] = mean[block.seen]
        out.expected_sigma[where] = sigma[block.seen]
        out.pull[where] = under.whitened.pulls()[block.seen]

    def strangest_window(self, under: PointsUnderClass) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return both ends of the window (b,), in units of the range, and its log Bayes factor (b,)."""
        bump = Bump(widest=WIDEST)
        places, widths = bump.places(self.scales)
        squares = np.maximum(squared_ratios((under,), self._shapes(under.whole, bump.adds(self.scales))), 0.0)
        # What a single point shows fits bumps of all widths around it equally well: the first, and narrowest, of the best.
        best = (squares >= (1.0 - _SAME) * squares.max(axis=1, keepdims=True)).argmax(axis=1)
        factor = log_bayes_factor(np.sqrt(squares[np.arange(len(best)), best]), bump.signal_to_noise)
        centre, reach = places[best], REACH * widths[best]
        return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0), factor

    def to_compare(self, index: int, objects: Measurements, known: Known) -> tuple[IntArray, Pairs]:
        """Return the training objects of a class (k,), and all by their smooth predictions under the class."""
        rows = np.flatnonzero(known.label == index)
        one, grid = self.classes[index], self.lower + self.span * np.linspace(0.0, 1.0, _KNOTS)
        least = 1e-6 * self.scales.variance
        mean, sigma = on_common_grid(one, objects, grid, least)
        of_members, their_sigma = on_common_grid(one, known.training[rows], grid, least)
        return rows, Pairs.of(mean, sigma, of_members, their_sigma)


class ShapesAtPoints(NamedTuple):
    """Shapes at the points of a block of objects.

    Attributes
    ----------
    shapes : (b, p, s)
    seen : (b, s) bool
        Whether some point of the object shows enough of the shape.
    """

    shapes: FloatArray
    seen: npt.NDArray[np.bool_]


def squared_ratios(under: Sequence[PointsUnderClass], added: ShapesAtPoints) -> FloatArray:
    """Return (n, s): squared signal-to-noise ratios of shapes, for objects under one class after the other.

    The shapes are those of the whole block that the objects are from; -inf where an object has no point to see one.
    """
    found = [one.whitened.filtered(added.shapes, one.places) for one in under]
    signal, precision = (np.concatenate(part) for part in zip(*found, strict=True))
    told = precision > _TOLD * precision.max(axis=1, keepdims=True, initial=0.0)
    told &= added.seen[np.concatenate([one.places for one in under])]
    return np.where(told, signal * (signal / np.where(told, precision, 1.0)), -np.inf)

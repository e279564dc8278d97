"""The hypotheses for objects with points of their own: dense Gaussians at each object's points.

At an object's points a known class has the mean ``c`` and the covariance ``K_s``, noise included
(`badac.latent.process_summary`). All hypotheses are as on a grid (`badac.anomalies.on_a_grid`), with these in place of the
factor model:

    a random curve alone           N(d ; level , v (1 + A^2 k) + Sigma_d)
    a class plus a shape           the matched filter, z = g'K^-1 (d - c) / sqrt(g'K^-1 g)
    a class plus a random curve    N(d ; c , K_s + A^2 k)

Several bands share a shape and a deviation; a curve of no class may differ between bands by half of its variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from badac._kernels import Pairs, pair_log_match
from badac.anomalies.bump import Bump
from badac.anomalies.hypothesis import (
    NOISE_SHARE,
    ProcessAlone,
    ProcessOnClass,
    Scales,
    ShapeOnClass,
    Weigh,
    joint_log_evidence,
    log_mean_exp,
    over_classes,
)
from badac.anomalies.matched_filter import averaged_log_bayes_factor, log_bayes_factor
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.prediction_at_points import on_common_grid, predicted, pulls
from badac.anomalies.reasons import REACH, STRANGE, WIDEST, Reasons
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.basis import coordinates
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.mixture import logsumexp_rows
from badac.latent.process import Block, blocks
from badac.latent.process_summary import PointsUnderClass, ProcessSummary, Whitened
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
# In units of the range: beyond it all coordinates are equally far, and their squares stay within a float.
_FARTHEST = 1e6
# Of the known classes' variance: what keeps exact points of a curve without a class from being a delta function.
_JITTER = 1e-6
# Of a curve without a class: what two bands have in common.
_BETWEEN_BANDS = 0.5
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
        for block in blocks(with_noise_scale(objects, self.noise), self.classes[0].process.basis):
            yield block.rows, block

    def under(self, block: Block, *, n_threads: int = 1) -> tuple[PointsUnderClass, ...]:
        """Return the block as every class of every width sees it, with the log prior of both."""
        return tuple(
            PointsUnderClass(block, one.whitened(block, width), float(prior) + float(share))
            for one, prior in zip(self.classes, self.log_prior, strict=True)
            for width, share in zip(one.widths, one.log_shares, strict=True)
        )

    def log_known(self, under: tuple[PointsUnderClass, ...], log_anomaly: FloatArray) -> FloatArray:
        """Return (b,): log P(d | known classes)."""
        return logsumexp_rows(joint_log_evidence(under))

    def scaled(self, at: FloatArray) -> FloatArray:
        """Return coordinates in units of the range of the training objects'; far outside of it all are equally far."""
        return np.clip((at - self.lower) / self.span, -_FARTHEST, _FARTHEST)

    # -- the hypotheses ----------------------------------------------------------------------------------------------

    def shape_on_class(self, added: ShapeOnClass) -> Weigh:
        def weigh(one: PointsUnderClass) -> FloatArray:
            gain = averaged_log_bayes_factor(self.ratios(one, added), added.signal_to_noise)
            return one.log_evidence + gain

        return lambda under: over_classes(under, weigh)

    def ratios(self, under: PointsUnderClass, added: ShapeOnClass) -> FloatArray:
        """Return (b, p): signal-to-noise ratio of every shape; NaN where the object has no point to see it."""
        block, whitened = under.block, under.whitened
        shapes = added.at(self.scaled(block.at)) * block.seen[:, :, None]
        white = np.linalg.solve(whitened.root, shapes)
        precision = (white**2).sum(axis=1)
        told = (np.abs(shapes).max(axis=1) > _LEAST_SEEN) & (
            precision > _TOLD * precision.max(axis=1, keepdims=True, initial=0.0)
        )
        signal = (white * whitened.white[:, :, None]).sum(axis=1)
        return np.where(told, signal / np.sqrt(np.where(told, precision, 1.0)), np.nan)

    def process_on_class(self, added: ProcessOnClass) -> Weigh:
        def weigh(one: PointsUnderClass) -> FloatArray:
            block, whitened = one.block, one.whitened
            typical = noise_variance(block)[:, None, None]
            terms = [
                Whitened.of(block, whitened.residual, whitened.full + size**2 * typical * near).log_evidence
                for near in self._alternatives(added, block)
                for size in added.amplitudes
            ]
            return log_mean_exp(terms)

        return lambda under: over_classes(under, weigh)

    def process_alone(self, added: ProcessAlone) -> Weigh:
        def weigh(under: tuple[PointsUnderClass, ...]) -> FloatArray:
            block = under[0].block
            residual = np.where(block.seen, block.values - self.level[block.band], 0.0)
            visible = (self.scales.variance + NOISE_SHARE * noise_variance(block))[:, None, None]
            same = block.band[:, :, None] == block.band[:, None, :]
            bands = np.where(same, 1.0, _BETWEEN_BANDS) * together(block)
            noise = np.zeros_like(bands)
            diagonal = np.arange(bands.shape[1])
            noise[:, diagonal, diagonal] = block.variance + _JITTER * self.scales.variance * block.seen
            if block.extra is not None:
                noise += block.extra
            terms = [
                Whitened.of(block, residual, visible * bands * (1.0 + size**2 * near) + noise).log_evidence
                for near in self._alternatives(added, block)
                for size in added.amplitudes
            ]
            return log_mean_exp(terms)

        return weigh

    def _alternatives(self, added: ProcessOnClass | ProcessAlone, block: Block) -> Iterator[FloatArray]:
        """Yield the covariance (b, p, p) of each alternative at the points of the objects, 0 in the padding."""
        x, both = self.scaled(block.at), together(block)
        if not added.curves:
            yield np.eye(x.shape[1]) * both
        for curves in added.curves:
            for near in curves.at_points(x):
                yield near * both

    # -- why an object is strange ------------------------------------------------------------------------------------

    def reasons(self, objects: Measurements, *, n_threads: int = 1) -> Reasons:
        out = Reasons.blank(*objects.shape)
        edges = np.cumsum([0, *(len(one.widths) for one in self.classes)])

        def explain(part: tuple[IntArray, Block], n_threads: int) -> None:
            rows, block = part
            under = self.under(block, n_threads=n_threads)
            joint = joint_log_evidence(under)
            total = np.stack([logsumexp_rows(joint[:, a:b]) for a, b in pairwise(edges)], axis=1)
            out.best[rows] = total.argmax(axis=1)
            top = joint.argmax(axis=1)
            for which in np.unique(top):
                self._fill_in(out, objects, under[which].take(np.flatnonzero(top == which)))

        over_blocks(explain, self.blocks(objects), n_threads)
        return out

    def _fill_in(self, out: Reasons, objects: Measurements, under: PointsUnderClass) -> None:
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
        # A block holds an object's observed points in their order.
        for row, values, spread, pull in zip(block.rows, mean, sigma, pulls(under), strict=True):
            points = np.flatnonzero(objects.observed[row])
            out.expected[row, points] = values[: points.size]
            out.expected_sigma[row, points] = spread[: points.size]
            out.pull[row, points] = pull[: points.size]

    def strangest_window(self, under: PointsUnderClass) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return both ends of the window (b,), in units of the range, and its log Bayes factor (b,)."""
        bump = Bump(widest=WIDEST)
        places, widths = bump.places(self.scales)
        ratio = np.nan_to_num(self.ratios(under, bump.adds(self.scales)))
        best = np.abs(ratio).argmax(axis=1)
        factor = log_bayes_factor(ratio[np.arange(len(best)), best], bump.signal_to_noise)
        centre, reach = places[best], REACH * widths[best]
        return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0), factor

    def most_alike(self, index: int, objects: Measurements, known: Known, *, n_threads: int = 1) -> IntArray:
        """Return (n,): the training object whose smooth prediction under the class matches that of each object best."""
        rows = np.flatnonzero(known.label == index)
        one, grid = self.classes[index], self.lower + self.span * np.linspace(0.0, 1.0, _KNOTS)
        least = 1e-6 * self.scales.variance
        mean, sigma = on_common_grid(one, objects, grid, least)
        of_members, their_sigma = on_common_grid(one, known.training[rows], grid, least)
        match = pair_log_match(Pairs.of(mean, sigma, of_members, their_sigma), n_threads=n_threads)
        return np.asarray(rows[match.argmax(axis=1)])


def together(block: Block) -> FloatArray:
    """Return (b, p, p): whether both of two points were observed."""
    return np.asarray(block.seen[:, :, None] & block.seen[:, None, :])


def noise_variance(block: Block) -> FloatArray:
    """Return (b,): the variance that has the mean precision of an object's noise."""
    variance = block.variance
    if block.extra is not None:
        variance = variance + np.diagonal(block.extra, axis1=1, axis2=2)
    precision = np.where(block.seen, 1.0 / np.maximum(variance, 1e-300), 0.0)
    return np.asarray(np.maximum(block.seen.sum(axis=1), 1) / np.maximum(precision.sum(axis=1), 1e-300))

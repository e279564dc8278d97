"""The anomaly hypotheses for objects with points of their own: dense Gaussians at each object's points.

At an object's points a known class has the mean ``c`` and the covariance ``K_s``, noise included
(`badac.anomalies.own_class`). All hypotheses are as on a grid, with these in place of the factor model:

    something else entirely     N(d ; level , v (1 + A^2 k_l) + Sigma_d)
    a class plus a bump         log BF = z^2 / 2 * k^2 / (1 + k^2) - log(1 + k^2) / 2 ,    z = g'K^-1 (d - c) / sqrt(g'K^-1 g)
    a class plus something smooth   N(d ; c , K_s + A^2 k_l)

Several bands share a bump and a deviation; something else entirely may differ between bands by half of its variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from badac.anomalies.bump import Bump
from badac.anomalies.hypothesis import Hypothesis, log_mean_exp
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.own_class import OwnClass, Seen, own_class, taken
from badac.anomalies.sequence import bump_grid
from badac.anomalies.smooth import SmoothDeviation
from badac.anomalies.something_else import NOISE_SHARE, SomethingElse
from badac.classes.processes.gp import WIDTHS
from badac.data.measurements import Measurements
from badac.latent.basis import coordinates
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.mixture import logsumexp_rows
from badac.latent.process import Block, blocks
from badac.noise.model import Noise, noise_of_class

_HOPELESS = 30.0
_MOST_PLACES = 60
_LEAST_SEEN = 0.5
_FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class OwnPoints:
    """The known classes as the hypotheses see them, for objects with points of their own.

    Attributes
    ----------
    classes : tuple of OwnClass
    lower, span : float
        Where the training objects' coordinates begin, and how far they reach.
    level : (bands,)
        Mean of the training objects in each band.
    variance : float
        Of their true values around it.
    typical_points : int
        Of a training object.
    noise : Noise
        Of the objects: a factor on their error bars.
    """

    classes: tuple[OwnClass, ...]
    lower: float
    span: float
    level: FloatArray
    variance: float
    typical_points: int
    noise: Noise | None = None

    @classmethod
    def of(cls, known: Known, rng: np.random.Generator) -> OwnPoints:
        """Describe the known classes."""
        of_any = noise_of_class(known.noise, None)
        training, observed = with_noise_scale(known.training, of_any), known.training.observed
        at, values = coordinates(training)[observed], training.values[observed]
        band = np.zeros(values.size, dtype=np.int64)
        if training.band is not None:
            band = np.broadcast_to(training.band, training.shape)[observed]
        n_bands = known.scales.n_bands
        count = np.maximum(np.bincount(band, minlength=n_bands), 1)
        level = np.bincount(band, weights=values, minlength=n_bands) / count
        spread = float(((values - level[band]) ** 2).mean()) if values.size else 1.0
        noise = float((training.sigma[observed] ** 2).mean()) if values.size else 0.0
        span = float(np.ptp(at)) if at.size else 0.0
        return cls(
            tuple(own_class(known, index, model, rng) for index, model in enumerate(known.models)),
            float(at.min()) if at.size else 0.0,
            span if span > 0 else 1.0,
            level,
            max(spread - noise, 0.01 * spread, 1e-12),
            int(np.median(observed.sum(axis=1))),
            of_any,
        )

    def bumps(self, bump: Bump) -> tuple[FloatArray, FloatArray]:
        """Return (p,) places and (p,) widths of the bumps that are asked about, in units of the range."""
        even = np.linspace(0.0, 1.0, int(np.clip(self.typical_points, 3, _MOST_PLACES)))
        return bump_grid(even, bump.step, bump.widest)

    def blocks(self, objects: Measurements) -> Iterator[Block]:
        return blocks(with_noise_scale(objects, self.noise), self.classes[0].process.basis)

    def by_hypothesis(self, hypotheses: tuple[Hypothesis, ...], objects: Measurements) -> FloatArray:
        """Return (n, hypotheses): the log Bayes factor of each hypothesis against all known classes."""
        out = np.empty((objects.n_objects, len(hypotheses)))
        for block in self.blocks(objects):
            seen = self.see(block)
            joint = self.joint(seen)
            known = logsumexp_rows(joint)
            for column, hypothesis in enumerate(hypotheses):
                out[block.rows, column] = self._log_evidence(hypothesis, block, seen, joint) - known
        return out

    def see(self, block: Block) -> list[tuple[float, Seen]]:
        """Return the block as every class of every width sees it, with the log prior of both."""
        return [
            (one.log_prior + float(share), one.see(block, width))
            for one in self.classes
            for width, share in zip(WIDTHS, one.log_shares, strict=False)
        ]

    def joint(self, seen: list[tuple[float, Seen]]) -> FloatArray:
        """Return (b, classes x widths): log prior plus log evidence."""
        return np.stack([prior + one.log_evidence for prior, one in seen], axis=1)

    def _log_evidence(
        self, hypothesis: Hypothesis, block: Block, seen: list[tuple[float, Seen]], joint: FloatArray
    ) -> FloatArray:
        if isinstance(hypothesis, SomethingElse):
            return self._something_else(hypothesis, block)
        if not isinstance(hypothesis, Bump | SmoothDeviation):
            raise ValueError(
                f"objects with points of their own (`at` per object) know the hypotheses SomethingElse, Bump and "
                f"SmoothDeviation: got {type(hypothesis).__name__}. Leave it out, or put the curves on a common grid."
            )
        out = np.full(joint.shape, -np.inf)
        asked = joint >= joint.max(axis=1, keepdims=True) - _HOPELESS
        for column, (prior, one) in enumerate(seen):
            rows = np.flatnonzero(asked[:, column])
            if not rows.size:
                continue
            some, part = taken(block, rows), one.taken(rows)
            if isinstance(hypothesis, Bump):
                gain = averaged_bumps(self.ratios(hypothesis, some, part), hypothesis.signal_to_noise)
                out[rows, column] = joint[rows, column] + gain
            else:
                out[rows, column] = prior + self._smooth(hypothesis, some, part)
        return logsumexp_rows(out)

    def ratios(self, bump: Bump, block: Block, seen: Seen) -> FloatArray:
        """Return (b, p): signal-to-noise ratio of every bump; NaN where the object has no point to see it."""
        places, widths = self.bumps(bump)
        shapes = np.exp(-(((self.scaled(block.at)[:, :, None] - places) / widths) ** 2))
        shapes *= (shapes > 1e-2) & block.seen[:, :, None]
        white = np.linalg.solve(seen.root, shapes)
        precision = (white**2).sum(axis=1)
        told = (shapes.max(axis=1) > _LEAST_SEEN) & (
            precision > 1e-6 * precision.max(axis=1, keepdims=True, initial=0.0)
        )
        signal = (white * seen.white[:, :, None]).sum(axis=1)
        return np.where(told, signal / np.sqrt(np.where(told, precision, 1.0)), np.nan)

    def _smooth(self, smooth: SmoothDeviation, block: Block, seen: Seen) -> FloatArray:
        typical = noise_variance(block)[:, None, None]
        terms = [
            Seen.of(
                block, seen.residual, seen.full + amplitude**2 * typical * self._near(block, length)
            ).log_evidence
            for length in smooth.lengths
            for amplitude in smooth.amplitudes
        ]
        return log_mean_exp(terms)

    def _something_else(self, other: SomethingElse, block: Block) -> FloatArray:
        residual = np.where(block.seen, block.values - self.level[block.band], 0.0)
        visible = (self.variance + NOISE_SHARE * noise_variance(block))[:, None, None]
        together = block.seen[:, :, None] & block.seen[:, None, :]
        bands = np.where(block.band[:, :, None] == block.band[:, None, :], 1.0, 0.5) * together
        noise = np.zeros_like(bands)
        diagonal = np.arange(bands.shape[1])
        noise[:, diagonal, diagonal] = block.variance + 1e-6 * self.variance * block.seen
        if block.extra is not None:
            noise += block.extra
        terms = []
        for length in other.lengths:
            near = self._near(block, length)
            terms += [
                Seen.of(block, residual, visible * bands * (1.0 + size**2 * near) + noise).log_evidence
                for size in other.amplitudes
            ]
        return log_mean_exp(terms)

    def _near(self, block: Block, length: float) -> FloatArray:
        x = self.scaled(block.at)
        together = block.seen[:, :, None] & block.seen[:, None, :]
        return np.asarray(np.exp(-0.5 * ((x[:, :, None] - x[:, None, :]) / length) ** 2) * together)

    def scaled(self, at: FloatArray) -> FloatArray:
        """Return coordinates in units of the range of the training objects'; far outside of it all are equally far."""
        return np.clip((at - self.lower) / self.span, -_FARTHEST, _FARTHEST)


def averaged_bumps(ratio: FloatArray, signal_to_noise: float) -> FloatArray:
    """Return (b,): log Bayes factor of a bump anywhere, from the ratios (b, p); 0 where none can be seen."""
    squared = signal_to_noise**2
    told = ~np.isnan(ratio)
    exponent = 0.5 * squared / (1.0 + squared) * np.where(told, ratio, 0.0) ** 2 - 0.5 * np.log1p(squared)
    total = logsumexp_rows(np.where(told, exponent, -np.inf))
    return np.where(told.any(axis=1), total - np.log(np.maximum(told.sum(axis=1), 1)), 0.0)


def noise_variance(block: Block) -> FloatArray:
    """Return (b,): the variance that has the mean precision of an object's noise."""
    variance = block.variance
    if block.extra is not None:
        variance = variance + np.diagonal(block.extra, axis1=1, axis2=2)
    precision = np.where(block.seen, 1.0 / np.maximum(variance, 1e-300), 0.0)
    return np.asarray(np.maximum(block.seen.sum(axis=1), 1) / np.maximum(precision.sum(axis=1), 1e-300))

"""Where objects lie: a few directions that known and new objects vary in, with each object's own uncertainty there.

    y_true = mean + factors z + eps ,   z ~ N(0, I) ,        d says of z_j :   N(place_j ; z_j , variance_j)

The directions are the principal ones of training and new objects together, each point shrunk by its own noise and cut at five
robust standard deviations, so that neither noise nor a few wild values choose them; and those of what these leave of the
strangest objects, since a new kind may be new in a way that nothing known varies in. For curves at points of their own they are
functions of the coordinate, sums of a few cosines in each band. A young class (`badac.triage.young_class`) is a Gaussian in
this space: its evidence for all objects is one pass over ``r`` numbers each, whatever the number of points.

The likelihood of each object is taken direction by direction: its posterior under ``N(0, I)`` is divided by that prior. What a
direction says of another through missing points is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from badac._kernels.eigen import eigh
from badac.anomalies.sequence import cosines
from badac.data.measurements import Measurements
from badac.judge import FittedModel
from badac.latent import LatentLikelihood
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.likelihood import project_each
from badac.noise import Gaussian
from badac.noise.kinds import NoiseKind, kind_of, with_covariance_of
from badac.noise.model import Noise, noise_of_class
from badac.noise.widths import stand_in

FloatArray = npt.NDArray[np.float64]

# Chosen on seed 100 of benchmarks/triage_sets.py, which no table shows: 6, 8 and 16 find about as many.
_DIRECTIONS = 10
_STRANGE_DIRECTIONS = 4  # further ones, of what the others leave of the strangest objects
_STRANGE, _FEWEST_STRANGE, _MOST_STRANGE = 0.03, 20, 300  # share and number of those
_WAVES = 7  # cosines in each band of an irregular curve
_LEAST_SHARE = 1e-3  # of the variance of the first direction, that another must have
_FAR = 5.0  # robust standard deviations: what is beyond chooses no direction
_REACH = 30.0  # places are cut here: further out nothing is alike anyway
_LEAST_INFORMATION = 1e-3
_SAMPLE = 4000  # objects that the directions are taken from
_BLOCK = 256  # block size


@dataclass(frozen=True, eq=False)
class Positions:
    """Places (n, r) of objects in units of the spread of all, and the variance (n, r) that noise leaves there."""

    place: FloatArray
    variance: FloatArray

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, rows: npt.NDArray[np.int64]) -> Positions:
        return Positions(self.place[rows], self.variance[rows])

    @classmethod
    def of(cls, latent: LatentLikelihood) -> Positions:
        """Take what the likelihoods say of each direction, the prior ``N(0, I)`` taken out again."""
        mean, covariance = latent.posterior
        left = np.diagonal(covariance, axis1=1, axis2=2)
        information = np.maximum(1.0 / left - 1.0, _LEAST_INFORMATION)
        place = np.clip(mean / left / information, -_REACH, _REACH)
        return cls(np.ascontiguousarray(place), 1.0 / information)


class Space(Protocol):
    """The directions, and where objects lie in them."""

    def locate(self, objects: Measurements) -> Positions:
        """Return the positions of objects in the units of the model."""


def space(model: FittedModel, objects: Measurements, score: FloatArray) -> Space:
    """Return the directions of a model's training and new objects, with the score (n,) of the static ranking.

    Parameters
    ----------
    model : FittedModel
    objects : Measurements
        (n, m), as the model judges them (`badac.judge.Judgement.objects`).
    score : (n,)
    """
    new, training = objects, model.in_units(model.training)
    if not len(training) or (training.n_points != new.n_points and not new.own_points):
        training = new[:0]
    count = min(len(new), max(_FEWEST_STRANGE, min(_MOST_STRANGE, int(_STRANGE * len(new)))))
    strange = new[np.sort(np.argsort(-score, kind="stable")[:count])]
    if new.own_points:
        return _at_points(new, training, strange)
    return _on_grid(model, new, training, strange)


def _principal(rows: FloatArray, strange: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean (f,), factors (f, r) and what they leave (f,) of rows (n, f), and of what they leave of the strange ones (s, f)."""
    mean = rows.mean(axis=0)
    covariance = np.atleast_2d(np.cov((rows - mean).T)) if len(rows) > 1 else np.eye(rows.shape[1])
    vectors = _leading(covariance, _DIRECTIONS, _LEAST_SHARE)
    left = (strange - mean) - (strange - mean) @ vectors @ vectors.T
    if left.shape[1] > vectors.shape[1] and len(left):
        more = _leading(left.T @ left / len(left), _STRANGE_DIRECTIONS, 0.05)
        vectors = np.linalg.qr(np.hstack([vectors, more]))[0][
            :, : min(left.shape[1], vectors.shape[1] + more.shape[1])
        ]
    # A sign of our own choice, so that the same objects have the same places everywhere.
    top = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[top, np.arange(vectors.shape[1])])
    along = np.einsum("fr,fg,gr->r", vectors, covariance, vectors)
    factors = vectors * np.sqrt(np.maximum(along, 1e-6 * max(float(along.max()), 1e-6)))
    whole = np.diag(covariance)
    return mean, factors, np.maximum(whole - (factors**2).sum(axis=1), 0.02 * whole + 1e-4)


def _leading(covariance: FloatArray, most: int, least: float) -> FloatArray:
    """Eigenvectors (f, r) of the largest eigenvalues, those of at least a share of the first."""
    values, vectors = eigh(covariance)
    order = np.argsort(-values)[:most]
    enough = values[order] > least * values[order[0]]
    enough[0] = True
    return np.asarray(vectors[:, order[enough]])


def _some(objects: Measurements) -> Measurements:
    """Objects evenly spaced in the table, as many as directions need."""
    return objects[:: max(1, -(-len(objects) // _SAMPLE))]


def robust_scale(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Median and inter-quartile range / 1.349 (m,) of each column; the standard deviation where half of it is one value."""
    low, centre, high = _columns(
        values, lambda x: np.percentile(x, (25, 50, 75)), np.array([0.0, 0.0, 0.0])
    ).T
    spread = _columns(values, lambda x: np.array([x.std()]), np.ones(1))[:, 0]
    scale = np.where(high - low > 0.1 * spread, (high - low) / 1.349, spread)
    return centre, np.where(scale > 0.0, scale, 1.0)


def _columns(values: FloatArray, of: Callable[[FloatArray], FloatArray], empty: FloatArray) -> FloatArray:
    seen = ~np.isnan(values)
    return np.stack(
        [of(values[seen[:, j], j]) if seen[:, j].any() else empty for j in range(values.shape[1])]
    )


# -- on a grid, or named columns -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GridSpace:
    """Directions on a common grid, or of named columns."""

    factor: Factor
    noise: Noise

    def locate(self, objects: Measurements) -> Positions:
        """Return the positions of objects in the units of the model."""
        known = _log_rates(objects, self.noise)
        if known is not objects:
            return Positions.of(latent_likelihood(known, self.factor, Gaussian()))
        return Positions.of(
            latent_likelihood(with_covariance_of(self.noise, objects), self.factor, self.noise)
        )


def _on_grid(
    model: FittedModel, new: Measurements, training: Measurements, strange: Measurements
) -> GridSpace:
    noise = stand_in(noise_of_class(model.noise, None), training if len(training) else new)
    new, training, strange = (_log_rates(part, noise) for part in (new, training, strange))
    ground = training if len(training) else new
    centre, scale = robust_scale(_some(ground).values)
    parts = [part for part in (_some(training), _some(new)) if len(part)]
    rows = np.vstack([_shrunk(part, centre, scale) for part in parts])
    mean, factors, psi = _principal(rows, _shrunk(strange, centre, scale))
    factor = Factor(centre + scale * mean, scale[:, None] * factors, scale**2 * psi)
    return GridSpace(factor, noise)


def _log_rates(objects: Measurements, noise: Noise) -> Measurements:
    """Return counts as log rates with the error that half a count more gives them; anything else as it is."""
    if objects.exposure is None and kind_of(noise) is not NoiseKind.LINKED:
        return objects
    seen = objects.observed
    counts = np.where(seen, objects.values, 0.0) + 0.5
    exposure = np.ones(objects.shape) if objects.exposure is None else np.where(seen, objects.exposure, 1.0)
    log_rate, sigma = np.log(np.maximum(counts, 0.5) / exposure), 1.0 / np.sqrt(np.maximum(counts, 0.5))
    return Measurements(np.where(seen, log_rate, np.nan), np.where(seen, sigma, np.inf), at=objects.at)


def _shrunk(objects: Measurements, centre: FloatArray, scale: FloatArray) -> FloatArray:
    """Values (n, m) in units of the scale, each shrunk to the centre by its own noise; 0 where missing."""
    seen = objects.observed
    noise = np.where(seen, objects.sigma, 0.0) / scale
    value = np.where(seen, np.nan_to_num(objects.values) - centre, 0.0) / scale
    # The scale holds the noise of typical objects too: what is left of it without, but never less than a tenth.
    typical = np.median(noise, axis=0) if len(noise) else np.zeros(len(scale))
    true = np.maximum(1.0 - typical**2, 0.1)
    return np.asarray(np.clip(value * true / (true + noise**2), -_FAR, _FAR))


# -- at points of their own ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Waves:
    """Cosines in each band at an object's own points, in units of the spread of the values."""

    low: float
    high: float
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, objects: Measurements) -> _Waves:
        assert objects.at is not None
        seen, band = objects.observed, _bands(objects)
        low, high = np.percentile(objects.at[seen], (1.0, 99.0))
        centre, scale = np.zeros(band.max(initial=0) + 1), np.ones(band.max(initial=0) + 1)
        for number in range(len(centre)):
            values = objects.values[seen & (band == number)]
            if values.size:
                found = robust_scale(values[:, None])
                centre[number], scale[number] = found[0][0], found[1][0]
        return cls(float(low), float(max(high, low + 1e-9)), centre, scale)

    def standard(self, objects: Measurements) -> Measurements:
        """Values in units of each band's spread."""
        band, seen = np.clip(_bands(objects), 0, len(self.scale) - 1), objects.observed
        scale = self.scale[band]
        return Measurements(
            np.clip((objects.values - self.centre[band]) / scale, -30.0, 30.0),
            np.where(seen, np.maximum(objects.sigma / scale, 1e-2), np.inf),
            at=objects.at,
            band=band,
        )

    def shapes(self, objects: Measurements) -> FloatArray:
        """Return (n, m, bands x waves): every wave at every point, 0 in other bands and where missing."""
        assert objects.at is not None and objects.band is not None
        where = np.clip((np.nan_to_num(objects.at) - self.low) / (self.high - self.low), 0.0, 1.0)
        waves = cosines(where.ravel(), _WAVES).reshape(*where.shape, _WAVES)
        waves = waves / np.sqrt(1.0 + np.arange(_WAVES) ** 2.0)
        inside = (objects.band[..., None] == np.arange(len(self.scale))) & objects.observed[..., None]
        full = inside[..., :, None] * waves[..., None, :]
        return np.asarray(full.reshape(*where.shape, -1), dtype=np.float64)

    def project(self, objects: Measurements, mean: FloatArray, factors: FloatArray) -> LatentLikelihood:
        """Latent likelihoods in combinations (q, r) of the waves, around a mean (q,), block by block."""
        parts = []
        for start in range(0, max(len(objects), 1), _BLOCK):
            block = self.standard(objects[start : start + _BLOCK])
            waves = self.shapes(block)
            parts.append(project_each(block, waves @ mean, waves @ factors, 0.05))
        return LatentLikelihood(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("precision", "shift", "offset")
            )
        )


def _bands(objects: Measurements) -> npt.NDArray[np.int64]:
    band = np.zeros(1, dtype=np.int64) if objects.band is None else objects.band
    return np.broadcast_to(band, objects.shape)


@dataclass(frozen=True, eq=False)
class PointsSpace:
    """Directions as combinations (q, r) of waves, around a mean (q,)."""

    waves: _Waves
    mean: FloatArray
    factors: FloatArray

    def locate(self, objects: Measurements) -> Positions:
        """Return the positions of objects in the units of the model."""
        return Positions.of(self.waves.project(objects, self.mean, self.factors))


def _at_points(new: Measurements, training: Measurements, strange: Measurements) -> PointsSpace:
    waves = _Waves.of(training if len(training) else new)
    count = len(waves.scale) * _WAVES
    whole, origin = np.eye(count), np.zeros(count)
    parts = [waves.project(part, origin, whole).position for part in (_some(training), _some(new), strange)]
    mean, factors, _ = _principal(np.vstack(parts[:2]), parts[2])
    return PointsSpace(waves, mean, factors)

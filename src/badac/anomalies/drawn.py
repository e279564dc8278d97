"""Anomalies as the hypotheses have them: objects drawn with the noise of measured ones.

    ShapeOnClass      a member of a known class with a shape of random height at a random place
    ProcessOnClass    a member with a random curve
    ProcessAlone      a random curve, seen through the noise of a member

How strange such objects come out says what a score means where no anomaly was seen yet (`badac.calibration.caution`).
"""

from __future__ import annotations

import numpy as np

from badac._kernels.hypotheses import mean_variance
from badac._kernels.latent import unpack
from badac.anomalies.deviations import Deviations
from badac.anomalies.hypothesis import NOISE_SHARE, Addition, ProcessOnClass, Scales, ShapeOnClass
from badac.anomalies.model import FloatArray
from badac.anomalies.on_a_grid import OnGrid
from badac.anomalies.sequence import RandomCurves
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.model import Noise, noise_of_class

_ADDS_UP = frozenset({NoiseKind.GAUSSIAN, NoiseKind.WIDTHS})


def draw_anomalies(
    model: Deviations, members: Measurements, noise: Noise, count: int, rng: np.random.Generator
) -> Measurements | None:
    """Return so many objects (count, m) as the hypotheses of a fitted model have them, each with its share.

    Parameters
    ----------
    model : Deviations
        Fitted.
    members : Measurements
        (n, m), of known classes, whose error bars and gaps the anomalies have; better not those that it learned from.
    noise : Noise
    count : int
    rng : numpy Generator

    Returns
    -------
    Measurements or None
        None where it is not worked out how: for counts and other noise that does not add up with a curve, for correlated
        errors and for points of an object's own.
    """
    grid, noise = model.grid, noise_of_class(noise, None)
    if grid is None or members.covariance is not None or not len(members):
        return None
    if members.counted or kind_of(noise) not in _ADDS_UP:
        return None
    like = members[rng.integers(len(members), size=count)]
    values = like.values.copy()
    kind = rng.choice(len(model.shares), p=model.shares, size=count)
    for number, hypothesis in enumerate(model.hypotheses):
        rows = np.flatnonzero(kind == number)
        if rows.size:
            values[rows] = _drawn(hypothesis.adds(grid.scales), grid, like[rows], noise, rng)
    return like._changed(values=values)


def _drawn(
    added: Addition, grid: OnGrid, like: Measurements, noise: Noise, rng: np.random.Generator
) -> FloatArray:
    """Values (n, m) of anomalies of one hypothesis with the error bars and gaps of members (n, m)."""
    if isinstance(added, ShapeOnClass):
        return like.values + _shapes(added, grid, like, rng)
    amplitude = rng.choice(added.amplitudes, size=len(like))
    if isinstance(added, ProcessOnClass):
        variance = _noise_variance(like, _likeliest(grid, like)[0], grid)
        if not added.curves:
            return np.asarray(
                like.values + amplitude[:, None] * np.sqrt(variance) * rng.standard_normal(like.shape)
            )
        size = amplitude * np.sqrt(mean_variance(_precision(variance, like)))
        return np.asarray(like.values + size[:, None] * _curves(added.curves, grid.scales, len(like), rng))
    scales = grid.scales
    if not added.curves:
        truth = scales.centre + amplitude[:, None] * scales.scale * rng.standard_normal(like.shape)
        return noise.draw(truth, like, rng)
    visible = np.sqrt(scales.variance + NOISE_SHARE * mean_variance(_precision(like.sigma**2, like)))[:, None]
    own_level = rng.standard_normal((len(like), 1))
    curve = own_level + amplitude[:, None] * _curves(added.curves, scales, len(like), rng)
    return noise.draw(scales.level + visible * curve, like, rng)


def _curves(
    families: tuple[RandomCurves, ...], scales: Scales, count: int, rng: np.random.Generator
) -> FloatArray:
    """Random curves (count, m) of variance one, all alternatives of all families equally likely."""
    assert scales.where is not None
    alternatives = []
    for family in families:
        features, powers = family.on_grid(scales.where)
        alternatives += [features[:, : power.size] * np.sqrt(power) for power in powers]
    which = rng.integers(len(alternatives), size=count)
    out = np.empty((count, scales.where.size))
    for number, features in enumerate(alternatives):
        rows = np.flatnonzero(which == number)
        out[rows] = rng.standard_normal((rows.size, features.shape[1])) @ features.T
    return out


def _shapes(added: ShapeOnClass, grid: OnGrid, like: Measurements, rng: np.random.Generator) -> FloatArray:
    """Shapes (n, m) of random height in units of the error with which it would be measured beside the class."""
    shapes, _ = grid.visible(added)
    own = shapes.take(rng.integers(shapes.shape[1], size=len(like))).dense().T
    best, component = _likeliest(grid, like)
    weight = _precision(_noise_variance(like, best, grid), like)
    scaled = own * weight
    information = (own * scaled).sum(axis=1)
    for number in np.unique(best):
        # What the class itself can do of a shape is no anomaly.
        rows, summary = np.flatnonzero(best == number), grid.classes[number]
        seen = scaled[rows] @ summary.factor.factors
        precision = unpack(summary.components[0][component[rows]] + weight[rows] @ summary.products)
        information[rows] -= np.einsum("ij,ij->i", seen, np.linalg.solve(precision, seen[..., None])[..., 0])
    # A shape that the object cannot show stays below its noise.
    error = 1.0 / np.sqrt(np.maximum(information, 1e-6 * np.maximum((own * scaled).sum(axis=1), 1e-300)))
    height = added.signal_to_noise * error * rng.standard_normal(len(like))
    return np.asarray(np.where(information > 0, height, 0.0)[:, None] * own)


def _likeliest(grid: OnGrid, like: Measurements) -> tuple[IntArray, IntArray]:
    """The class (n,) that explains each member best, and the component (n,) of its mixture that does."""
    under = grid.under(like)
    best = under.joint.argmax(axis=1)
    component = np.stack([one.responsible[1][:, 0] for one in under], axis=1)
    return best, component[np.arange(len(best)), best]


def _noise_variance(like: Measurements, best: IntArray, grid: OnGrid) -> FloatArray:
    """Variance (n, m) of the noise and of what the class leaves open at each point."""
    psi = np.stack([one.factor.psi for one in grid.classes])[best]
    return np.asarray(np.where(like.observed, like.sigma, 0.0) ** 2 + psi)


def _precision(variance: FloatArray, like: Measurements) -> FloatArray:
    """One over variances (n, m); 0 where nothing was measured."""
    return np.where(like.observed, 1.0 / np.maximum(variance, 1e-300), 0.0)

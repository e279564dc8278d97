"""Random curves on a common grid, integrated out in the latent space.

    d = class + features c + noise ,     c ~ N(0, A^2 diag variances)

A random curve lives in a few dozen features (`badac.anomalies.sequence`) beside the factors of the class. It is integrated
out of the object's latent likelihood by one small Cholesky factor, and what is left meets the class's mixture as any object
does. Without a class the same holds with a level of its own in place of the factors. For features without an order there
are no curves: a deviation is one more independent variance at each point, and something else is independent values.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import latent_without
from badac.anomalies.hypothesis import NOISE_SHARE, Scales, log_mean_exp
from badac.anomalies.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.class_summary import ObjectsUnderClass, gaussian_objects, in_factors
from badac.latent.factor import Factor
from badac.latent.likelihood import LatentLikelihood, project, weighted_residuals
from badac.latent.mixture import logsumexp_rows

_LOG_2PI = float(np.log(2.0 * np.pi))
# Of the known classes' variance: what keeps a curve without a class from being a delta function between its features.
_JITTER = 1e-6

# Features (m, q) of a family of curves, and the variances of its alternatives.
OnGridCurves = tuple[FloatArray, tuple[FloatArray, ...]]


def without(
    latent: LatentLikelihood, amplitude: FloatArray, rest: int = 0, *, n_threads: int = 1
) -> LatentLikelihood:
    """Integrate the first q latent dimensions over N(0, diag amplitude^2) and keep the likelihood of the last `rest`.

    Parameters
    ----------
    latent : LatentLikelihood
        n objects in q + r dimensions or more; those in between are fixed at 0.
    amplitude : (n, q)
        Prior standard deviations of the first q.
    rest : int
        r

    Returns
    -------
    LatentLikelihood
        In r dimensions.
    """
    chosen = np.concatenate([np.arange(amplitude.shape[1]), np.arange(latent.rank - rest, latent.rank)])
    return LatentLikelihood(
        *latent_without(latent.precision, latent.shift, latent.offset, amplitude, chosen, n_threads=n_threads)
    )


def mean_variance(weight: FloatArray) -> FloatArray:
    """Return (n,): the variance that has the mean precision of the points with a precision ``weight`` (n, m) at all."""
    return np.asarray(np.maximum((weight > 0).sum(axis=1), 1) / np.maximum(weight.sum(axis=1), 1e-300))


def curve_on_class(
    under: ObjectsUnderClass, families: tuple[OnGridCurves, ...], amplitudes: tuple[float, ...]
) -> FloatArray:
    """Return (n,): log P(d | class plus a random curve), the curve integrated out of the latent likelihood first."""
    factor = under.summary.factor
    # Points that are taken for bad ones under the class stay so, as for shapes: the Bayes factor compares like with like.
    variance = mean_variance(under.weighed[0])
    terms = []
    for features, alternatives in families:
        latent = under.through(np.hstack([features, factor.factors]))
        for power in alternatives:
            for amplitude in amplitudes:
                size = amplitude * np.sqrt(variance[:, None] * power)
                left = without(latent, size, factor.rank, n_threads=under.n_threads)
                terms.append(under.summary.log_evidence(left, n_threads=under.n_threads))
    return log_mean_exp(terms) + under.gaussian[1]


def widened_class(under: ObjectsUnderClass, amplitudes: tuple[float, ...]) -> FloatArray:
    """Return (n,): log P(d | class with one more independent variance at each point)."""
    factor, (gaussian, constant) = under.summary.factor, under.gaussian
    terms = []
    for amplitude in amplitudes:
        wider = widened(gaussian, factor.psi, 1.0 + amplitude**2)
        latent = factor.project(wider, n_threads=under.n_threads)
        terms.append(under.summary.log_evidence(latent, n_threads=under.n_threads))
    return log_mean_exp(terms) + constant


def widened(objects: Measurements, psi: FloatArray, ratio: float) -> Measurements:
    """Return the objects with errors such that noise plus psi (m,) is `ratio` times the variance that it was."""
    sigma = np.sqrt(ratio * objects.sigma**2 + (ratio - 1.0) * psi)
    if objects.covariance is None:
        return Measurements._trusted(objects.values, sigma, at=objects.at)
    extra = (ratio - 1.0) * np.diag(psi)
    return Measurements._trusted(objects.values, sigma, ratio * objects.covariance + extra, objects.at)


def curve_alone(
    under: ObjectsUnderClass,
    scales: Scales,
    families: tuple[OnGridCurves, ...],
    amplitudes: tuple[float, ...],
) -> FloatArray:
    """Return (n,): log P(d | a level of its own plus a random curve), both of the scale of the known classes."""
    objects, noise = under.objects, under.summary.noise
    level = np.full(objects.n_points, scales.level)
    jitter = np.full(objects.n_points, _JITTER * scales.variance)
    out = []
    for features, alternatives in families:
        start = np.sqrt(scales.variance) * typical_amplitude(alternatives)
        start[0] = np.sqrt(start[0] ** 2 + scales.variance)
        gaussian, constant = gaussian_objects(objects, Factor(level, features * start, jitter), noise)
        weight, scaled, offset = weighted_residuals(gaussian, level, jitter, n_threads=under.n_threads)
        if gaussian.covariance is None:
            latent = in_factors(weight, scaled, offset, features)
        else:
            latent = project(gaussian, level, features, jitter, n_threads=under.n_threads)
        visible = scales.variance + NOISE_SHARE * mean_variance(weight)
        terms = []
        for power in alternatives:
            for amplitude in amplitudes:
                variance = amplitude**2 * visible[:, None] * power
                variance[:, 0] += visible
                left = without(latent, np.sqrt(variance), n_threads=under.n_threads)
                terms.append(-0.5 * left.offset)
        out.append(log_mean_exp(terms) + constant)
    count = np.array([len(alternatives) for _, alternatives in families])
    return logsumexp_rows(np.stack(out, axis=1) + np.log(count / count.sum()))


def typical_amplitude(powers: tuple[FloatArray, ...]) -> FloatArray:
    """Return (q,): standard deviation of each feature, averaged over the alternatives."""
    most = max(power.size for power in powers)
    return np.asarray(np.sqrt(np.mean([np.pad(power, (0, most - power.size)) for power in powers], axis=0)))


def independent_values(objects: Measurements, scales: Scales, amplitudes: tuple[float, ...]) -> FloatArray:
    """Return (n,): log P(d | each feature by itself, around its mean in the training objects)."""
    observed = objects.observed
    residual = np.where(observed, objects.values - scales.centre, 0.0)
    sigma = np.where(observed, objects.sigma, 0.0)
    terms = []
    for amplitude in amplitudes:
        variance = (amplitude * scales.scale) ** 2 + sigma**2
        density = residual**2 / variance + np.log(variance) + _LOG_2PI
        terms.append(-0.5 * np.where(observed, density, 0.0).sum(axis=1))
    return log_mean_exp(terms)

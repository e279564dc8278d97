"""Random curves on a common grid, integrated out in the latent space.

    d = class + features c + noise ,     c ~ N(0, A^2 diag variances)

A random curve lives in a few dozen features (`badac.anomalies.sequence`) beside the factors of the class. What an object says
of them are sums over its points of the features' products, of which cosines have few different ones. The curve is integrated
out of the object's latent likelihood by one small Cholesky factor, and what is left meets the class's mixture as any object
does. Without a class the same holds with a level of its own in place of the factors. For features without an order there
are no curves: a deviation is one more independent variance at each point, and something else is independent values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from badac._kernels import curve_log_evidence, latent_without
from badac._kernels.hypotheses import Features, GridPoints, Layout, Sizes, mean_variance
from badac._kernels.latent import products, triangle
from badac.anomalies.hypothesis import NOISE_SHARE, Scales, log_mean_exp
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import RandomCurves, SharedProducts
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.class_summary import ObjectsUnderClass, gaussian_objects
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import is_plain, with_noise_scale
from badac.latent.likelihood import LatentLikelihood, project, weighted_residuals
from badac.latent.mixture import logsumexp_rows

_LOG_2PI = float(np.log(2.0 * np.pi))
# Of the known classes' variance: what keeps a curve without a class from being a delta function between its features.
_JITTER = 1e-6


@dataclass(frozen=True, eq=False)
class OnGridCurves:
    """A family of random curves at the points of the grid, beside the factors of a class.

    Attributes
    ----------
    columns : (m, q + r)
        Features of the curves, then the factors.
    products : (m, s)
        Columns of which the product of any two of them is one, or the sum of two (`badac._kernels.hypotheses.Layout`).
    powers : tuple of (q_k,)
        Variances of the first features, for each alternative.
    layouts : tuple of Layout
        The dimensions of each alternative: its features, then the factors.
    """

    columns: FloatArray
    products: FloatArray
    powers: tuple[FloatArray, ...]
    layouts: tuple[Layout, ...]

    @classmethod
    def of(cls, curves: RandomCurves, where: FloatArray, factors: FloatArray | None = None) -> OnGridCurves:
        """Prepare them for coordinates (m,) and factors (m, r); None for curves of no class."""
        features, powers = curves.on_grid(where)
        q, packed = features.shape[1], triangle(features.shape[1])
        if isinstance(curves, SharedProducts):
            shared, *entries = curves.products_on_grid(where)
        else:
            shared, entries = products(features), [np.arange(packed[0].size), np.full(packed[0].size, -1)]
        columns = features if factors is None else np.hstack([features, factors])
        size, upper = columns.shape[1], triangle(columns.shape[1])
        others = upper[1] >= q
        first, second = np.full(upper[0].size, -1), np.full(upper[0].size, -1)
        first[~others], second[~others] = entries
        first[others] = shared.shape[1] + np.arange(np.count_nonzero(others))
        crossed = columns[:, upper[0][others]] * columns[:, upper[1][others]]
        whole = Layout(np.arange(size), first, second)
        layouts = tuple(whole.of(_dimensions(power.size, q, size)) for power in powers)
        return cls(columns, np.ascontiguousarray(np.hstack([shared, crossed])), powers, layouts)

    @cached_property
    def features(self) -> Features:
        """As the kernel takes them."""
        return Features(self.columns, self.products, self.layouts)

    def without(
        self, latent: LatentLikelihood, amplitudes: tuple[FloatArray, ...], *, n_threads: int = 1
    ) -> Iterator[LatentLikelihood]:
        """Integrate out the features of each alternative: yield what is left, likelihoods in the r factors.

        Parameters
        ----------
        latent : LatentLikelihood
            In `columns` (`badac.latent.likelihood.project`).
        amplitudes : tuple of (n, q_k)
            Prior standard deviations of the features of each alternative.
        """
        size = self.columns.shape[1]
        parts = latent.precision, latent.shift, latent.offset
        for amplitude, layout in zip(amplitudes, self.layouts, strict=True):
            own = Layout.packed(size, layout.chosen)
            yield LatentLikelihood(*latent_without(*parts, amplitude, own, n_threads=n_threads))


def _dimensions(used: int, features: int, size: int) -> IntArray:
    """The first `used` features, and all factors."""
    return np.concatenate([np.arange(used), np.arange(features, size)])


def curve_on_class(
    under: ObjectsUnderClass, families: tuple[OnGridCurves, ...], amplitudes: tuple[float, ...]
) -> FloatArray:
    """Return (n,): log P(d | class plus a random curve), the curve integrated out of the latent likelihood first."""
    # Points that are taken for bad ones under the class stay so, as for shapes: the Bayes factor compares like with like.
    terms = []
    for family in families:
        for amplitude in amplitudes:
            sizes = Sizes(tuple(amplitude * np.sqrt(power) for power in family.powers), base=0.0, share=1.0)
            if under.correlated:
                terms.append(_on_class_with_covariances(under, family, sizes))
                continue
            components = under.summary.components
            terms.append(
                curve_log_evidence(
                    under.points, family.features, sizes, components, n_threads=under.n_threads
                )
            )
    count = np.repeat([len(family.powers) for family in families], len(amplitudes))
    return log_shared(terms, count / count.sum()) + under.log_constant


def _on_class_with_covariances(under: ObjectsUnderClass, family: OnGridCurves, sizes: Sizes) -> FloatArray:
    """As `badac._kernels.curve_log_evidence` of the class."""
    latent, unit = under.through(family.columns), np.sqrt(mean_variance(under.weighed[0]))[:, None]
    amplitudes = tuple(unit * size for size in sizes.of_features)
    left = family.without(latent, amplitudes, n_threads=under.n_threads)
    terms = [under.summary.log_evidence(one, n_threads=under.n_threads) for one in left]
    return log_mean_exp(np.stack(terms, axis=1))


def widened_class(under: ObjectsUnderClass, amplitudes: tuple[float, ...]) -> FloatArray:
    """Return (n,): log P(d | class with one more independent variance at each point)."""
    factor, (gaussian, constant) = under.summary.factor, under.gaussian
    terms = []
    for amplitude in amplitudes:
        wider = widened(gaussian, factor.psi, 1.0 + amplitude**2)
        latent = factor.project(wider, n_threads=under.n_threads)
        terms.append(under.summary.log_evidence(latent, n_threads=under.n_threads))
    return log_mean_exp(np.stack(terms, axis=1)) + constant


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
    every = np.arange(objects.n_objects)
    out, constant = [], np.zeros(1)
    for family in families:
        if is_plain(noise):
            gaussian = with_noise_scale(objects, noise)
        else:
            start = np.sqrt(scales.variance) * typical_amplitude(family.powers)
            start[0] = np.sqrt(start[0] ** 2 + scales.variance)
            factor = Factor(level, family.columns * start, jitter)
            gaussian, constant = gaussian_objects(objects, factor, noise)
        terms = []
        for amplitude in amplitudes:
            of_features = tuple(_around_level(amplitude, power) for power in family.powers)
            sizes = Sizes(of_features, base=scales.variance, share=NOISE_SHARE)
            if gaussian.covariance is not None:
                around = gaussian, level, jitter
                terms.append(_alone_with_covariances(around, family, sizes, n_threads=under.n_threads))
                continue
            points = GridPoints(gaussian.values, gaussian.sigma, level, jitter, every)
            terms.append(curve_log_evidence(points, family.features, sizes, None, n_threads=under.n_threads))
        out.append(log_mean_exp(np.stack(terms, axis=1)) + constant)
    count = np.array([len(family.powers) for family in families])
    return log_shared(out, count / count.sum())


def log_shared(terms: list[FloatArray], shares: FloatArray) -> FloatArray:
    """Log of the sum (n,) of densities whose logs (n,) are given, each with its share."""
    if len(terms) == 1:
        return terms[0]
    return logsumexp_rows(np.stack(terms, axis=1) + np.log(shares))


def _alone_with_covariances(
    around: tuple[Measurements, FloatArray, FloatArray], family: OnGridCurves, sizes: Sizes, *, n_threads: int
) -> FloatArray:
    """As `badac._kernels.curve_log_evidence` of no class, of objects around a level with a jitter (m,)."""
    objects, level, jitter = around
    latent = project(objects, level, family.columns, jitter, n_threads=n_threads)
    weight, _, _ = weighted_residuals(objects, level, jitter, n_threads=n_threads)
    unit = np.sqrt(sizes.base + sizes.share * mean_variance(weight))[:, None]
    left = family.without(latent, tuple(unit * size for size in sizes.of_features), n_threads=n_threads)
    return log_mean_exp(np.stack([-0.5 * one.offset for one in left], axis=1))


def _around_level(amplitude: float, power: FloatArray) -> FloatArray:
    """Standard deviations (q,) of a curve's features, in units of a visible one's; the constant has the level's too."""
    variance = amplitude**2 * power
    variance[0] += 1.0
    return np.sqrt(variance)


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
    return log_mean_exp(np.stack(terms, axis=1))

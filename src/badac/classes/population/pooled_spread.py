"""What the classes of a training set have in common of their spread: where a class of few members borrows it.

Four members tell a variance to a factor of two, and a class that seems too narrow by chance is then far too sure of itself.
Where classes are alike, their spreads are told by all of them together. How alike they are is asked of the data (empirical
Bayes, as Smyth 2004 moderates the variances of genes): with ``s2`` the variance of a class at a point and ``g`` that of the
residuals of all classes around their own means,

    log(s2 / g)  ~  noise of trigamma((n - 1) / 2)  +  tau^2 ,      trigamma(d / 2) = tau^2

is the scatter of the variances beyond chance, over all points and classes, and ``d - 2`` members of variance ``g`` are added
to every class (`PooledSpread`; the mean of the posterior under a scaled inverse chi-square prior of ``d`` degrees of freedom).
Measurement noise is part of ``s2`` and ``g`` and blurs the ratio, by the factor ``g / (g + sigma^2)``.

Only classes whose spread is in no factor use it (`badac.latent.moments.Spectrum.factor`): few members tell no factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, polygamma

from badac.classes.model import FloatArray
from badac.classes.population.gross_outliers import gross_outliers, without
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.moments import population_variance
from badac.noise.kinds import NoiseKind, kind_of
from badac.training import PooledSpread, TrainingScales, TrainingSet

_FEW = 100  # members: a larger class knows its own spread to 14 %
_MANY = 600  # of a class that are asked, by cost: they tell a variance to 6 %
# Scatter of log variances that is expected beforehand, how much that counts beside the data (in units of their precision), and
# the least that is ever believed: spreads that differ by a sixth. The first two were settled on blobs of 8 to 60 objects with
# equal spreads and with spreads that differ by half (seeds 500 to 511).
_EXPECTED, _KNOWN, _LEAST = 0.3, 5.0, 0.1


def with_pooled_spread(training: TrainingSet) -> TrainingScales:
    """Return the scales of the training set, with the pooled spread of its classes where some of them have few members.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian
    >>> from badac.training import TrainingScales, TrainingSet
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat([0, 1, 2], 6)
    >>> objects = Measurements(10.0 * label[:, None] + rng.standard_normal((18, 5)), 0.1)
    >>> scales, classes = TrainingScales.of(objects), np.arange(3)
    >>> training = TrainingSet(objects, label, classes, Gaussian(), scales, rng)
    >>> with_pooled_spread(training).pooled.variance.round(1)
    array([0.4, 1. , 0.9, 0.5, 1.8])
    """
    objects, counts = training.objects, training.counts
    told = np.flatnonzero(counts > 1)
    if not told.size or len(counts) < 2 or counts[counts > 0].min() >= _FEW:
        return training.scales
    if objects.own_points or objects.covariance is not None:
        return training.scales
    if any(kind_of(training.noise_of(number)) is not NoiseKind.GAUSSIAN for number in told.tolist()):
        return training.scales
    classes = [_Residuals.of(training, number) for number in told.tolist()]
    variance = _variance(
        np.concatenate([one.values for one in classes]),
        np.concatenate([one.noise for one in classes]),
        np.concatenate([one.observed for one in classes]),
    )
    scatter = _scatter(classes, variance)
    # Of two degrees of freedom or fewer the mean of the variances would not exist: the classes have nothing in common.
    members = max(2.0 * _inverse_trigamma(max(scatter, _LEAST)) - 2.0, 0.0)
    return replace(training.scales, pooled=PooledSpread(variance, members))


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Members of one class around their mean, grown by what the mean took from them, and their noise variances; (n, m)."""

    values: FloatArray
    noise: FloatArray
    observed: BoolArray

    @classmethod
    def of(cls, training: TrainingSet, number: int) -> _Residuals:
        members = training.members(number)
        members = members[:: max(1, members.n_objects // _MANY)]
        members = without(members, gross_outliers(members))
        members = with_noise_scale(members, training.noise_of(number))
        observed = members.observed
        noise = np.where(observed, members.sigma, 0.0) ** 2
        values = np.where(observed, members.values, 0.0)
        weight = observed / (_variance(values, noise, observed) + noise)
        mean = (weight * values).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        count = observed.sum(axis=0)
        # One value alone is its own mean, and says nothing of a spread.
        observed = observed & (count > 1)
        grown = np.sqrt(count / np.maximum(count - 1.0, 1.0))
        return cls(np.where(observed, (values - mean) * grown, 0.0), noise, observed)


def _variance(values: FloatArray, noise: FloatArray, observed: BoolArray) -> FloatArray:
    """Return (m,): the variance of true values (n, m) with noise variances (n, m), in units of what these values scatter by."""
    scales = TrainingScales.of(Measurements(np.where(observed, values, np.nan)))
    return population_variance(values, noise, observed, scales)


def _scatter(classes: Sequence[_Residuals], variance: FloatArray) -> float:
    """Return how much the log variances of the classes scatter around the pooled one (m,), beyond chance."""
    total, known = _KNOWN * _EXPECTED, _KNOWN
    counts = np.stack([one.observed.sum(axis=0) for one in classes])
    for one, count in zip(classes, counts, strict=True):
        told = (count > 1) & (variance > 0)
        weight = one.observed[:, told] / (variance[told] + one.noise[:, told])
        half = 0.5 * (count[told] - 1.0)
        ratio = (weight * one.values[:, told] ** 2).sum(axis=0) / count[told]
        away = np.log(np.maximum(ratio, 1e-12)) - digamma(half) + np.log(half)
        # Of what varies so much is the class's own.
        own = np.maximum(weight.sum(axis=0) / count[told] * variance[told], 1e-3)
        chance = polygamma(1, half) / own**2
        # The class is part of what it is compared with: of one class alone nothing is told.
        apart = 1.0 - count[told] / counts.sum(axis=0)[told]
        total += float((((away / own) ** 2 - apart * chance) / chance**2).sum())
        known += float((apart / chance**2).sum())
    return total / known


def _inverse_trigamma(value: float) -> float:
    """Return x with trigamma(x) = value, by Newton's method on 1 / trigamma, which is nearly a line (Smyth 2004, appendix)."""
    x = 0.5 + 1.0 / value
    for _ in range(20):
        found = float(polygamma(1, x))
        x += found * (1.0 - found / value) / float(polygamma(2, x))
    return x

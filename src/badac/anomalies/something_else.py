"""Something else entirely: any smooth curve, or any values, of no known class, seen through the object's own noise.

    P(d | something else) = mean over A and l of  N(d ; centre , s^2 + A^2 K_l + Sigma_d)        points with an order
    P(d | something else) = mean over A of  prod_j N(d_j ; centre_j , A^2 scale_j^2 + sigma_dj^2)    features without

``s^2`` is the variance of the known classes around their common level; amplitudes ``A`` are in units of ``s`` and lengths
``l`` in units of the range of the coordinates. For an object of noise ``sigma_d`` the scale is at least that of the noise,
``s^2 + 4 sigma_d^2``: something else is something that could be seen. With ``s`` alone a noisy object of a known class would
drift towards even odds, and above the quiet ones in the ranking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac.anomalies.class_summary import View, gaussian_objects, seen_through, without
from badac.anomalies.hypothesis import Ground, log_mean_exp, mean_variance, typical_amplitude
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import cosines, spectrum
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.likelihood import project, weighted_residuals
from badac.noise.model import Noise
from badac.registry import registered

NOISE_SHARE = 4.0
_LOG_2PI = float(np.log(2.0 * np.pi))


@registered("hypothesis")
@dataclass(frozen=True, eq=False)
class SomethingElse:
    """A Gaussian process of unknown amplitude and length; for features without an order, independent values.

    Parameters
    ----------
    lengths : tuple of float
        In units of the range of the coordinates.
    amplitudes : tuple of float
        In units of the known classes' own scale. For features without an order, of each feature's standard deviation.
    """

    lengths: tuple[float, ...] = (0.05, 0.15, 0.4)
    amplitudes: tuple[float, ...] = (0.7,)
    ground: Ground | None = None

    def fit(self, ground: Ground) -> Self:
        return replace(self, ground=ground)

    def log_evidence(self, objects: Measurements, views: tuple[View, ...]) -> FloatArray:
        assert self.ground is not None, "fit first"
        if self.ground.where is None:
            return self._independent(objects, self.ground)
        return self._smooth(objects, self.ground, self.ground.where, views[0].described.noise)

    def _smooth(self, objects: Measurements, ground: Ground, where: FloatArray, noise: Noise) -> FloatArray:
        powers = [spectrum(length) for length in self.lengths]
        waves = cosines(where, max(power.size for power in powers))
        level = np.full(objects.n_points, ground.level)
        jitter = np.full(objects.n_points, 1e-6 * ground.variance)
        start = np.sqrt(ground.variance) * typical_amplitude(powers)
        start[0] = np.sqrt(start[0] ** 2 + ground.variance)
        gaussian, constant = gaussian_objects(objects, Factor(level, waves * start, jitter), noise)
        weight, scaled, offset = weighted_residuals(gaussian, level, jitter)
        if gaussian.covariance is None:
            latent = seen_through(weight, scaled, offset, waves)
        else:
            latent = project(gaussian, level, waves, jitter)
        visible = ground.variance + NOISE_SHARE * mean_variance(weight)
        terms = []
        for power in powers:
            for amplitude in self.amplitudes:
                variance = amplitude**2 * visible[:, None] * power
                variance[:, 0] += visible
                terms.append(-0.5 * without(latent, np.sqrt(variance)).offset)
        return log_mean_exp(terms) + constant

    def _independent(self, objects: Measurements, ground: Ground) -> FloatArray:
        observed = objects.observed
        residual = np.where(observed, objects.values - ground.centre, 0.0)
        sigma = np.where(observed, objects.sigma, 0.0)
        terms = []
        for amplitude in self.amplitudes:
            variance = (amplitude * ground.scale) ** 2 + sigma**2
            density = residual**2 / variance + np.log(variance) + _LOG_2PI
            terms.append(-0.5 * np.where(observed, density, 0.0).sum(axis=1))
        return log_mean_exp(terms)

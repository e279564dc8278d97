"""The paper's anomaly: the true value of every point is anywhere in a wide box, equally likely.

``P(d | anomaly) = prod_j integral_a^b N(d_j ; y , sigma_dj^2) dy / (b - a)``, with [a, b] twice the observed range of the
training data. For points well inside the box that is the paper's ``(b - a)^-m``, a density per point; outside it the
object's own noise gives the edge its width, so the evidence falls off instead of vanishing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import log_ndtr

from badac.anomalies.model import FloatArray, Known
from badac.data.measurements import Measurements

# An exact point outside the box would have evidence zero under the anomaly, as if it were less strange than one inside.
_SOFTEST_EDGE = 1e-3


@dataclass(frozen=True)
class TopHat:
    """A box of `times` the observed range, centred on it."""

    times: float = 2.0
    lower: float = np.nan
    upper: float = np.nan

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        around = known.surroundings
        centre = 0.5 * (around.upper + around.lower)
        half = 0.5 * self.times * (around.upper - around.lower)
        if half <= 0:
            half = self.times * float(np.median(around.scale))
        return replace(self, lower=centre - half, upper=centre + half)

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        width = self.upper - self.lower
        sigma = np.maximum(np.where(objects.observed, objects.sigma, 1.0), _SOFTEST_EDGE * width)
        values = np.where(objects.observed, objects.values, 0.5 * (self.lower + self.upper))
        inside = log_interval((self.lower - values) / sigma, (self.upper - values) / sigma)
        return np.asarray(np.where(objects.observed, inside - np.log(width), 0.0).sum(axis=1))


def log_interval(low: FloatArray, high: FloatArray) -> FloatArray:
    """Log of the normal probability of [low, high], accurate in both tails."""
    flip = low > 0  # the upper tail is the lower one mirrored
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    upper = log_ndtr(b)
    return np.asarray(upper + np.log1p(-np.exp(np.minimum(log_ndtr(a) - upper, -1e-300))))

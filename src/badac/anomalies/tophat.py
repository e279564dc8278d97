"""The paper's anomaly: the true value of every point is anywhere in a wide box, equally likely.

``P(d | anomaly) = prod_j integral_a^b N(d_j ; y , sigma_dj^2) dy / (b - a)``, with [a, b] twice the observed range of the
training data. For points well inside the box that is the paper's ``(b - a)^-m``, a density per point; outside it the
object's own noise gives the edge its width. The paper's box covers all data that are judged; ours is made before they are seen,
covers twice the range of the training data, and has a far tail (`badac.anomalies.far_tail`) for whatever lies beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import log_ndtr

from badac.anomalies.far_tail import with_far_tail
from badac.anomalies.model import FloatArray, Known
from badac.data.measurements import Measurements
from badac.registry import registered

# An exact point outside the box would have evidence zero under the anomaly, as if it were less strange than one inside.
_SOFTEST_EDGE = 1e-3


@registered("anomaly", "tophat", holds={"times": "> 0", "lower": "may be nan", "upper": "may be nan"})
@dataclass(frozen=True)
class TopHat:
    """A box of `times` the observed range, centred on it.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> known = Measurements(0.1 * rng.standard_normal((40, 5)), 0.1)
    >>> model = BADACClassifier("template", anomaly="tophat", random_state=0).fit(known, np.repeat([0, 1], 20))
    >>> normal, strange = model.anomaly_score(Measurements([[0.0] * 5, [2.0] * 5], 0.1))
    >>> bool(strange > normal)
    True
    """

    times: float = 2.0
    lower: float = np.nan
    upper: float = np.nan

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        scales = known.scales
        centre = 0.5 * (scales.upper + scales.lower)
        half = 0.5 * self.times * (scales.upper - scales.lower)
        if half <= 0:
            half = self.times * float(np.median(scales.scale))
        return replace(self, lower=centre - half, upper=centre + half)

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        width = self.upper - self.lower
        sigma = np.maximum(np.where(objects.observed, objects.sigma, 1.0), _SOFTEST_EDGE * width)
        values = np.where(objects.observed, objects.values, 0.5 * (self.lower + self.upper))
        inside = log_interval((self.lower - values) / sigma, width / sigma)
        density = with_far_tail(inside - np.log(width), objects, 0.5 * (self.lower + self.upper), 0.5 * width)
        return np.asarray(np.where(objects.observed, density, 0.0).sum(axis=1))


def log_interval(low: FloatArray, width: FloatArray) -> FloatArray:
    """Log of the normal probability of [low, low + width], accurate in both tails and for widths of any size."""
    high = low + width
    flip = low > 0  # the upper tail is the lower one mirrored
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    upper = log_ndtr(b)
    # How much less likely the lower end is: known from the width where the difference of the ends is rounded away.
    fall = np.maximum(upper - log_ndtr(a), width * np.maximum(-b, 0.0))
    narrow = fall < 1e-5
    between = np.log(-np.expm1(-np.where(narrow, 1.0, fall)))
    middle = -0.5 * (0.5 * np.where(narrow, a + b, 0.0)) ** 2 - 0.5 * np.log(2.0 * np.pi) + np.log(width)
    return np.asarray(np.where(narrow, middle, upper + between))

"""A broad normalised Gaussian: the true value of every point scatters around the data's mean, widely.

``P(d | anomaly) = prod_j N(d_j ; centre_j , (times x scale_j)^2 + sigma_dj^2)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac.anomalies.far_tail import with_far_tail
from badac.anomalies.model import FloatArray, Known
from badac.data.measurements import Measurements
from badac.registry import registered


@registered("anomaly", "broad", holds={"centre": "(m,)", "width": "(m,) > 0", "times": "> 0"})
@dataclass(frozen=True, eq=False)
class Broad:
    """A Gaussian of `times` the spread of all training objects at each point.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> known = Measurements(0.1 * rng.standard_normal((40, 5)), 0.1)
    >>> model = BADACClassifier("template", anomaly="broad", random_state=0).fit(known, np.repeat([0, 1], 20))
    >>> normal, strange = model.anomaly_score(Measurements([[0.0] * 5, [2.0] * 5], 0.1))
    >>> bool(strange > normal)
    True
    """

    times: float = 2.0
    centre: FloatArray | None = None
    width: FloatArray | None = None

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        scales = known.scales
        return replace(self, centre=scales.centre, width=self.times * scales.scale)

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        assert self.centre is not None and self.width is not None, "fit first"
        variance = np.where(objects.observed, objects.sigma, 0.0) ** 2 + self.width**2
        residual = np.where(objects.observed, objects.values - self.centre, 0.0)
        density = -0.5 * (residual**2 / variance + np.log(2.0 * np.pi * variance))
        density = with_far_tail(density, objects, self.centre, self.width)
        return np.asarray(np.where(objects.observed, density, 0.0).sum(axis=1))

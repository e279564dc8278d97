"""A far tail for the densities of anomalies: what lies beyond everything seen is never less strange for it.

    p(d_j) = (1 - share) density(d_j)  +  share Cauchy(d_j ; centre_j , sqrt(scale_j^2 + sigma_dj^2))

A box or a Gaussian made from the training objects ends somewhere, and beyond its end falls as fast as the known classes do. A
Cauchy distribution falls more slowly than any class that is Gaussian far out, and is a density: it integrates to one.
"""

from __future__ import annotations

import numpy as np

from badac.anomalies.model import FloatArray
from badac.data.measurements import Measurements

_SHARE = 1e-3  # costs a hundred points a tenth of a nat where the density itself holds


def with_far_tail(
    log_density: FloatArray, objects: Measurements, centre: FloatArray | float, scale: FloatArray | float
) -> FloatArray:
    """Return (n, m) log densities of each point with a far tail around `centre` of the width `scale`, both (m,) or numbers."""
    observed = objects.observed
    width = np.hypot(scale, np.where(observed, objects.sigma, 0.0))
    away = np.where(observed, objects.values - centre, 0.0) / width
    tail = -np.log(np.pi * width) - 2.0 * np.log(np.hypot(1.0, away))
    return np.asarray(np.logaddexp(np.log1p(-_SHARE) + log_density, np.log(_SHARE) + tail))

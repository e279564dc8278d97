"""Points that know nothing of each other, each under a mixture of Gaussians: the definition in slow and clear NumPy.

    out[n] = sum_j log sum_g w_jg N(d_nj ; y_jg , v_nj + u_jg)

over the points that were observed. Shapes: ``n`` objects, ``m`` points, ``g`` Gaussians at each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads

_LOG_2PI = float(np.log(2.0 * np.pi))
# Farther than this is as far as any: sums of it are still numbers.
LEAST = -1e300


class PointMixtures(NamedTuple):
    """The Gaussians at every point.

    Attributes
    ----------
    values, variance : (m, g)
        Finite; the variance positive.
    log_weights : (m, g)
        -inf for one that does not count.
    """

    values: FloatArray
    variance: FloatArray
    log_weights: FloatArray


def pointwise_logsumexp(
    values: FloatArray, variance: FloatArray, mixtures: PointMixtures, *, n_threads: int = 1
) -> FloatArray:
    """Log evidence (n,) of objects with values and variances (n, m); a point of infinite variance is missing."""
    checked_threads(n_threads)
    out = np.zeros(len(values))
    for point in range(values.shape[1]):
        rows = np.flatnonzero(np.isfinite(variance[:, point]))
        total = variance[rows, point, None] + mixtures.variance[point]
        residual = values[rows, point, None] - mixtures.values[point]
        with np.errstate(over="ignore"):
            match = mixtures.log_weights[point] - 0.5 * (residual**2 / total + np.log(total))
        match = np.maximum(match, LEAST)
        best = match.max(axis=1)
        out[rows] += best + np.log(np.exp(match - best[:, None]).sum(axis=1)) - 0.5 * _LOG_2PI
    return out

"""Exact instances with an unknown gain and offset: a rank-2 covariance around each curve, in closed form.

    P(d | curve y) = N(d ; y , diag(sigma_d^2 + (1 + gain^2) sigma_y^2) + gain^2 y y' + offset^2 1 1')

By Woodbury's identity each pair costs six sums over the points and a 2 x 2 system.
"""

from __future__ import annotations

import numpy as np

from badac.data.measurements import Measurements
from badac.latent.mixture import logsumexp_rows
from badac.noise.model import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))
_NUMBERS_PER_BLOCK = 1 << 21


def calibrated_log_mixture(
    objects: Measurements, curves: Measurements, gain: float, offset: float
) -> FloatArray:
    """Return (n,): log of the mean match of each object (n, m) with the curves (k, m), gain and offset integrated out."""
    n, k = objects.n_objects, curves.n_objects
    out = np.empty(n)
    step = max(1, _NUMBERS_PER_BLOCK // (k * objects.n_points))
    for start in range(0, n, step):
        block = slice(start, start + step)
        out[block] = logsumexp_rows(_log_match(objects[block], curves, gain, offset)) - np.log(k)
    return out


def _log_match(objects: Measurements, curves: Measurements, gain: float, offset: float) -> FloatArray:
    seen = objects.observed[:, None, :]
    variance = np.where(seen, objects.sigma[:, None, :], 1.0) ** 2 + (1.0 + gain**2) * curves.sigma**2
    if not (variance > 0).all():
        raise ValueError(
            "sigma must not be 0 in an object and in a curve of the class: give one side its measurement error."
        )
    weight = np.where(seen, 1.0 / variance, 0.0)
    residual = np.where(seen, objects.values[:, None, :] - curves.values, 0.0)
    along = gain * curves.values
    weighed = weight * residual
    squares = np.einsum("nkm,nkm->nk", weighed, residual)
    b_gain = np.einsum("nkm,km->nk", weighed, along)
    b_offset = offset * weighed.sum(axis=2)
    a_gain = 1.0 + np.einsum("nkm,km->nk", weight, along**2)
    a_both = offset * np.einsum("nkm,km->nk", weight, along)
    a_offset = 1.0 + offset**2 * weight.sum(axis=2)
    determinant = a_gain * a_offset - a_both**2
    explained = (a_offset * b_gain**2 - 2.0 * a_both * b_gain * b_offset + a_gain * b_offset**2) / determinant
    logs = np.where(seen, np.log(variance) + _LOG_2PI, 0.0).sum(axis=2)
    return np.asarray(-0.5 * (squares - explained + np.log(determinant) + logs))

"""Correlated Gaussian errors: ``N(d ; y , C_d + C_y)``, with a covariance per object or shared.

Where one covariance serves all pairs the problem is whitened once and costs as much as the uncorrelated one. Otherwise
each distinct sum of covariances takes a Cholesky factor of its own. A missing point of the object is marginalised: its row
and column leave the covariance.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from badac.data.measurements import Measurements
from badac.noise.model import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))


def correlated_log_match(objects: Measurements, curves: Measurements) -> FloatArray:
    """Return (n, k): the log density of every object under every curve; at least one side has a covariance."""
    n, k = objects.n_objects, curves.n_objects
    out = np.empty((n, k))
    curve_shared = _is_shared(curves)
    for rows in _alike(objects):
        points = np.flatnonzero(objects.observed[rows[0]])
        values = objects.values[np.ix_(rows, points)]
        own = _covariance(objects, int(rows[0]), points)
        if curve_shared:
            total = own + _covariance(curves, 0, points)
            out[rows] = _whitened(values, curves.values[:, points], total)
        else:
            for curve in range(k):
                total = own + _covariance(curves, curve, points)
                out[rows, curve] = _whitened(values, curves.values[curve : curve + 1, points], total)[:, 0]
    return out


def _whitened(values: FloatArray, curves: FloatArray, covariance: FloatArray) -> FloatArray:
    """(n, k) log densities under one covariance, by its Cholesky factor."""
    if not values.shape[1]:
        return np.zeros((len(values), len(curves)))
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the sum of the covariances of an object and a curve must be positive definite: it is singular. "
            "A point is exact on both sides; give one side its measurement error."
        ) from None
    centre = curves.mean(axis=0)
    left = solve_triangular(factor, (values - centre).T, lower=True).T
    right = solve_triangular(factor, (curves - centre).T, lower=True).T
    half_log_det = np.log(np.diagonal(factor)).sum()
    out = np.empty((len(values), len(curves)))
    for row in range(len(values)):
        out[row] = -0.5 * ((left[row] - right) ** 2).sum(axis=1)
    return out - half_log_det - 0.5 * values.shape[1] * _LOG_2PI


def _is_shared(measurements: Measurements) -> bool:
    if measurements.covariance is not None:
        return measurements.covariance.ndim == 2
    return bool((measurements.sigma == measurements.sigma[:1]).all())


def _covariance(measurements: Measurements, row: int, points: FloatArray) -> FloatArray:
    if measurements.covariance is None:
        return np.diag(measurements.sigma[row, points] ** 2)
    full = measurements.covariance if measurements.covariance.ndim == 2 else measurements.covariance[row]
    return np.asarray(full[np.ix_(points, points)])


def _alike(objects: Measurements) -> list[FloatArray]:
    """Groups of rows with one covariance and one set of observed points."""
    if objects.covariance is not None and objects.covariance.ndim == 3:
        return [np.array([row]) for row in range(objects.n_objects)]
    key = objects.observed.astype(np.float64)
    if objects.covariance is None:
        key = np.hstack([key, np.where(objects.observed, objects.sigma, 0.0)])
    _, group = np.unique(key, axis=0, return_inverse=True)
    return [np.flatnonzero(group == index) for index in range(int(group.max(initial=-1)) + 1)]

"""Tops of many posteriors at once: damped Newton steps, derivatives by differences.

    z + (H + damping)^-1 g ,     g and -H: slope and curvature of  log P(d | z) + log N(z ; 0 , I)

The width of the top comes with it (Laplace), which is where the proposals of `badac.classes.parametric.importance` start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from badac._kernels.eigen import eigh
from badac.classes.model import FloatArray
from badac.data.validation import IntArray

# log P(d | z) of the objects with the given indices, at points (s, p) for all or (rows, s, p) of their own -> (rows, s).
LogLikelihood = Callable[[IntArray, FloatArray], FloatArray]

LOG_2PI = float(np.log(2.0 * np.pi))
_CLIMBS = 30  # at most: an object stops at its top
_STEP = 0.1  # of the differences, in widths of the top: their error is of second order, a hundredth
_DAMPINGS = (1.0, 1e2, 1e4)  # tried at once, since one call for three points costs little more than for one


def climb(log_likelihood: LogLikelihood, rows: IntArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Climb to a top of each object's log posterior by damped Newton steps, derivatives by differences.

    Parameters
    ----------
    log_likelihood : callable
    rows : (n,)
        Of the objects.
    start : (n, p)

    Returns
    -------
    top : (n, p)
    root : (n, p, p)
        Cholesky factor of the inverse curvature there (Laplace); where the function is not smooth, whatever was found.
    """
    n, p = start.shape
    top, root = start.copy(), np.tile(np.eye(p), (n, 1, 1))
    pattern, derivatives = _stencil(p)
    damping, width = np.full(n, 1e-3), np.full((n, p), 1e-2)
    height = np.full(n, -np.inf)
    active = np.arange(n)
    for _ in range(_CLIMBS):
        step = _STEP * width[active]
        points = top[active, None] + pattern * step[:, None]
        values = log_likelihood(rows[active], points) + log_normal(points)
        usable = np.isfinite(values).all(axis=1)
        active, step, values = active[usable], step[usable], values[usable]
        if not active.size:
            break
        height[active] = values[:, 0]
        found = (values - values[:, :1]) @ derivatives.T
        gradient = found[:, :p] / step
        rise, column = np.triu_indices(p)
        curvature = np.empty((len(active), p, p))
        curvature[:, rise, column] = -found[:, p:] / (step[:, rise] * step[:, column])
        curvature[:, column, rise] = curvature[:, rise, column]
        size, vectors = eigh(curvature)
        # Where the posterior bends upwards the size of the bend still says how far to go.
        size = np.maximum(np.abs(size), 1e-2)
        turned = vectors / np.sqrt(size)[:, None, :]
        root[active] = np.linalg.cholesky(turned @ turned.transpose(0, 2, 1))
        width[active] = np.sqrt((turned**2).sum(axis=2))
        slope = (vectors.transpose(0, 2, 1) @ gradient[..., None])[..., 0]
        gain = (slope**2 / size).sum(axis=1)
        trial = np.empty((len(active), len(_DAMPINGS), p))
        for number, factor in enumerate(_DAMPINGS):
            damped = slope / (size * (1.0 + factor * damping[active, None]))
            trial[:, number] = top[active] + (vectors @ damped[..., None])[..., 0]
        tried = log_likelihood(rows[active], trial) + log_normal(trial)
        best = np.argmax(np.where(np.isfinite(tried), tried, -np.inf), axis=1)
        each = np.arange(len(active))
        better = tried[each, best] > values[:, 0]
        top[active[better]] = trial[each, best][better]
        damping[active] = np.where(
            better, np.maximum(damping[active] * np.array(_DAMPINGS)[best] * 0.1, 1e-6), 1e3 * damping[active]
        )
        active = active[(gain > 1e-3) & (damping[active] < 1e9)]
        if not active.size:
            break
    return top, root


@lru_cache(maxsize=16)
def _stencil(p: int) -> tuple[FloatArray, FloatArray]:
    """Points (s, p) of central differences, the centre first, and what turns values (s,) there into derivatives (q, s).

    The derivatives are the p first ones and the second ones of each pair in the order of `numpy.triu_indices`.
    """
    pairs = list(zip(*np.triu_indices(p), strict=True))
    points = [np.zeros(p)]
    points += [sign * np.eye(p)[a] for a in range(p) for sign in (1.0, -1.0)]
    points += [np.eye(p)[a] + np.eye(p)[b] for a, b in pairs if a != b]
    points += [-np.eye(p)[a] - np.eye(p)[b] for a, b in pairs if a != b]
    pattern = np.array(points)
    columns = [pattern] + [
        (pattern[:, a] * pattern[:, b] * (0.5 if a == b else 1.0))[:, None] for a, b in pairs
    ]
    # Least squares through the centre: exact for a parabola, and the odd terms of third order drop out.
    return pattern, np.linalg.pinv(np.hstack(columns))


def log_normal(points: FloatArray) -> FloatArray:
    """Log density of points (..., p) under ``N(0, I)``."""
    return np.asarray(-0.5 * ((points**2).sum(axis=-1) + points.shape[-1] * LOG_2PI))

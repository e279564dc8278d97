"""All classes of a kind at once, to single precision: the definition in slow and clear NumPy.

    curves_log_sums     out[n, c] = log 1/k_c sum_i prod_j N(d_nj ; y_ij , v_nj + u_ij)       over the k_c curves of class c
    points_log_sums     out[n, c] = sum_j log sum_g w_cjg N(d_nj ; y_cjg , v_nj + u_cjg)

over the points that were observed. Other models of a stack (`badac.calibration.stacking`) are weighed and softened: a
millionth of a nat is more than they can tell, and half the memory is several times the speed. Whoever needs the last digits
asks `badac._kernels.pairs` and `badac._kernels.pointwise`.

Shapes: ``n`` objects, ``m`` points, ``k`` curves, ``c`` classes, ``g`` Gaussians at each point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.pointwise import PointMixtures, pointwise_logsumexp

_LOG_2PI = float(np.log(2.0 * np.pi))


class ClassCurves(NamedTuple):
    """Curves of several classes, one class after the other.

    Attributes
    ----------
    values, variance : (k, m)
        Finite; the variance positive.
    first : (c + 1,)
        Where each class begins, and where the last one ends; every class has a curve.
    """

    values: FloatArray
    variance: FloatArray
    first: IntArray


class ClassMixtures(NamedTuple):
    """The Gaussians of each class at every point: as `PointMixtures`, (c, m, g) each."""

    values: FloatArray
    variance: FloatArray
    log_weights: FloatArray


def curves_log_sums(
    values: FloatArray, variance: FloatArray, curves: ClassCurves, *, n_threads: int = 1
) -> FloatArray:
    """Log of the mean match (n, c) of objects with the curves of each class.

    Parameters
    ----------
    values, variance : (n, m)
        Finite values; a point of infinite variance is missing.
    curves : ClassCurves
    """
    checked_threads(n_threads)
    out = np.empty((len(values), len(curves.first) - 1))
    for row, (own, noise) in enumerate(zip(values, variance, strict=True)):
        seen = np.isfinite(noise)
        total = noise[seen] + curves.variance[:, seen]
        residual = own[seen] - curves.values[:, seen]
        match = -0.5 * (residual**2 / total + np.log(total) + _LOG_2PI).sum(axis=1)
        for column, (first, last) in enumerate(zip(curves.first[:-1], curves.first[1:], strict=True)):
            best = match[first:last].max()
            out[row, column] = best + np.log(np.exp(match[first:last] - best).mean())
    return out


def points_log_sums(
    values: FloatArray, variance: FloatArray, mixtures: ClassMixtures, *, n_threads: int = 1
) -> FloatArray:
    """Log evidence (n, c) of objects with values and variances (n, m); a point of infinite variance is missing."""
    checked_threads(n_threads)
    each = (PointMixtures(*one) for one in zip(*mixtures, strict=True))
    return np.column_stack([pointwise_logsumexp(values, variance, one) for one in each])

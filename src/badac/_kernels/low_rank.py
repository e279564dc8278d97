"""Objects at points of their own under a Gaussian of low rank plus diagonal, and columns that are added to it: the definition.

Shapes ``H`` (r) are common to all points of an object, local shapes ``G`` (j) to those of one band. With all their coefficients
drawn from N(0, I) the residual ``d`` of an object has the covariance

    K = D + H H' + sum over bands  G_b G_b' ,     K^-1 = D^-1 - D^-1 F (I + F'D^-1 F)^-1 F'D^-1 ,   F = (H, G_1, G_2, ...)

(Woodbury), so its m points cost ``m (r + j)^2 / 2`` multiplications, never ``m^3``. Columns ``C`` (q) at the same points are
what a hypothesis adds: shapes of unknown height, whose signal ``g'K^-1 d`` and precision ``g'K^-1 g`` are asked for
(`low_rank_filtered`), or random curves, whose coefficients are integrated out (`low_rank_gain`). The latter may differ between
bands,

    c_b = u + v_b ,     u ~ N(0, common sizes^2) ,   v_b ~ N(0, (1 - common) sizes^2) .
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.points import Curves, features_at

_LOG_2PI = float(np.log(2.0 * np.pi))


class LowRankPoints(NamedTuple):
    """Objects under such a Gaussian, packed.

    Attributes
    ----------
    residual, variance : (n, p)
        Of each point; variances are positive.
    band : (n, p)
        Which local shapes are those of a point; -1 where there is no point. Quickest if it does not fall along an object.
    shapes, local : (n, p, r), (n, p, j)
    """

    residual: FloatArray
    variance: FloatArray
    band: IntArray
    shapes: FloatArray
    local: FloatArray


class Columns(NamedTuple):
    """Columns at the points of some of the objects.

    Attributes
    ----------
    rows : (k,)
        Which objects.
    columns : (l, p, q)
    places : (k,)
        Which of the `columns` are at the points of each.
    """

    rows: IntArray
    columns: FloatArray
    places: IntArray


def curve_rows(at: FloatArray, band: IntArray, curves: Curves, *, n_threads: int = 1) -> FloatArray:
    """Return (N, 1 + r + j): mean, shapes and local shapes of `curves` at coordinates `at` (N,) in bands (N,)."""
    checked_threads(n_threads)
    out = np.empty((len(at), curves.coefficients.shape[2]))
    for number, coefficients in enumerate(curves.coefficients):
        here = band == number
        out[here] = features_at(at[here], curves) @ coefficients
    return out


def low_rank_offset(points: LowRankPoints, *, n_threads: int = 1) -> FloatArray:
    """Return (n,): ``d'K^-1 d + log det K + m log 2 pi`` of each object."""
    checked_threads(n_threads)
    return _Swept(points, np.arange(len(points.residual))).offset


def low_rank_filtered(
    points: LowRankPoints, added: Columns, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return ``g'K^-1 d`` and ``g'K^-1 g`` (k, q) of each column ``g``."""
    checked_threads(n_threads)
    swept, columns = _Swept(points, added.rows), added.columns[added.places]
    weighed, across = swept.weighed(columns)
    signal = (weighed * swept.residual[..., None]).sum(axis=1) - (across * swept.white[..., None]).sum(axis=1)
    return signal, (weighed * columns).sum(axis=1) - (across**2).sum(axis=1)


def low_rank_gain(
    points: LowRankPoints, added: Columns, sizes: FloatArray, common: float = 1.0, *, n_threads: int = 1
) -> FloatArray:
    """Return (k, a): log density gained by random coefficients of the columns, for each of `sizes` (k, a, q).

    `common` is the share of their variance that all bands have in common.
    """
    checked_threads(n_threads)
    swept, columns = _Swept(points, added.rows), added.columns[added.places]
    own, q = np.sqrt(1.0 - common), columns.shape[2]
    if own > 0.0:
        columns = np.concatenate(
            [
                np.sqrt(common) * columns,
                own * _by_band(columns, swept.band, 1 + int(points.band.max(initial=0))),
            ],
            axis=2,
        )
    weighed, across = swept.weighed(columns)
    precision = columns.transpose(0, 2, 1) @ weighed - across.transpose(0, 2, 1) @ across
    shift = (
        weighed.transpose(0, 2, 1) @ swept.residual[..., None]
        - across.transpose(0, 2, 1) @ swept.white[..., None]
    )
    out = np.empty(sizes.shape[:2])
    for number in range(sizes.shape[1]):
        size = np.tile(sizes[:, number], columns.shape[2] // max(q, 1))
        inner = np.eye(columns.shape[2]) + size[:, :, None] * precision * size[:, None, :]
        root = np.linalg.cholesky(inner)
        white = np.linalg.solve(root, size[..., None] * shift)[..., 0]
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        out[:, number] = 0.5 * ((white**2).sum(axis=1) - log_det)
    return out


class _Swept:
    """Some of the objects, with all shapes swept out."""

    def __init__(self, points: LowRankPoints, rows: IntArray) -> None:
        self.band = points.band[rows]
        there = self.band >= 0
        local = _by_band(points.local[rows], self.band, 1 + int(points.band.max(initial=0)))
        self.shapes = np.concatenate([points.shapes[rows], local], axis=2) * there[..., None]
        self.residual = np.where(there, points.residual[rows], 0.0)
        variance = np.where(there, points.variance[rows], 1.0)
        self.weight = there / variance
        weighed = self.weight[..., None] * self.shapes
        inner = np.eye(self.shapes.shape[2]) + self.shapes.transpose(0, 2, 1) @ weighed
        root = np.linalg.cholesky(inner)
        self.half = np.linalg.inv(root)
        self.white = (self.half @ (weighed.transpose(0, 2, 1) @ self.residual[..., None]))[..., 0]
        log_det = np.log(variance).sum(axis=1) + 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        square = (self.weight * self.residual**2).sum(axis=1) - (self.white**2).sum(axis=1)
        self.offset = np.asarray(square + log_det + there.sum(axis=1) * _LOG_2PI)

    def weighed(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return columns (k, p, q) times their weights, and ``L^-1 F'D^-1 C`` (k, f, q) with ``L L' = I + F'D^-1 F``."""
        weighed = self.weight[..., None] * columns
        return weighed, self.half @ (self.shapes.transpose(0, 2, 1) @ weighed)


def _by_band(columns: FloatArray, band: IntArray, n_bands: int) -> FloatArray:
    """Return (k, p, bands x q): columns (k, p, q) once for each band, 0 at points of the others."""
    chosen = band[..., None] == np.arange(n_bands)
    k, p, q = columns.shape
    return np.asarray((chosen[..., None] * columns[..., None, :]).reshape(k, p, n_bands * q))

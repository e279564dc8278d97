"""The compiled kernels of Gaussians of low rank plus diagonal at points of an object's own, and of what is added to them.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: curves with more
than 48 shapes or 32 local ones, knots above 256, more than 2048 columns that are integrated out.
Tolerance: 1e-9 of the sum of the sizes of the terms; 1e-8 for columns. Cosines and bumps: to the
last bits.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.backends import NUMPY
from badac._kernels.compiled_calls import how
from badac._kernels.low_rank import Columns, LowRankPoints
from badac._kernels.points import Curves

_whole = np.ascontiguousarray


class _Points(TypedDict):
    residual: FloatArray
    variance: FloatArray
    band: IntArray
    shapes: FloatArray
    local: FloatArray


class _Added(TypedDict):
    rows: IntArray
    columns: FloatArray
    places: IntArray


def _of(points: LowRankPoints) -> _Points:
    return {
        "residual": _whole(points.residual),
        "variance": _whole(points.variance),
        "band": _whole(points.band),
        "shapes": _whole(points.shapes),
        "local": _whole(points.local),
    }


def _with(added: Columns) -> _Added:
    return {"rows": _whole(added.rows), "columns": _whole(added.columns), "places": _whole(added.places)}


def _fits(points: LowRankPoints) -> bool:
    return bool(max(points.shapes.shape[2], points.local.shape[2]) <= _core.low_rank_most_columns)


def curve_rows(at: FloatArray, band: IntArray, curves: Curves, *, n_threads: int = 1) -> FloatArray:
    r, columns = curves.rank, curves.coefficients.shape[2]
    fits = r <= _core.points_max_rank and columns - 1 - r <= _core.points_max_local
    if not fits or len(curves.knots) > _core.points_max_knots:
        return NUMPY.curve_rows(at, band, curves)
    out = np.empty((len(at), columns))
    _core.curve_rows(
        out=out,
        at=_whole(at),
        band=_whole(band),
        knots=_whole(curves.knots),
        coefficients=_whole(curves.coefficients),
        rank=r,
        length=curves.length,
        period=curves.period,
        **how(n_threads),
    )
    return out


def cosine_rows(angle: FloatArray, count: int, *, n_threads: int = 1) -> FloatArray:
    checked_threads(n_threads)
    out = np.empty((len(angle), count))
    _core.cosine_rows(out=out, angle=_whole(angle), count=count, n_threads=n_threads)
    return out


def bump_rows(
    where: FloatArray, places: FloatArray, widths: FloatArray, farthest: float, *, n_threads: int = 1
) -> FloatArray:
    checked_threads(n_threads)
    out = np.empty((len(where), len(places)))
    _core.bump_rows(
        out=out,
        where=_whole(where),
        places=_whole(places),
        widths=_whole(widths),
        farthest=farthest,
        n_threads=n_threads,
    )
    return out


def low_rank_offset(points: LowRankPoints, *, n_threads: int = 1) -> FloatArray:
    if not _fits(points):
        return NUMPY.low_rank_offset(points)
    out = np.empty(len(points.residual))
    _core.low_rank_offset(out=out, **_of(points), **how(n_threads))
    return out


def low_rank_filtered(
    points: LowRankPoints, added: Columns, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    if not _fits(points):
        return NUMPY.low_rank_filtered(points, added)
    shape = len(added.rows), added.columns.shape[2]
    out = np.empty(shape), np.empty(shape)
    _core.low_rank_filtered(signal=out[0], precision=out[1], **_of(points), **_with(added), **how(n_threads))
    return out


def low_rank_gain(
    points: LowRankPoints, added: Columns, sizes: FloatArray, common: float = 1.0, *, n_threads: int = 1
) -> FloatArray:
    if not _fits(points) or added.columns.shape[2] > _core.low_rank_most_columns:
        return NUMPY.low_rank_gain(points, added, sizes, common)
    out = np.empty(sizes.shape[:2])
    _core.low_rank_gain(
        out=out,
        **_of(points),
        **_with(added),
        sizes=_whole(sizes),
        common=float(common),
        **how(n_threads),
    )
    return out

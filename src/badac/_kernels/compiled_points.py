"""The compiled kernels of objects at points of their own: points in groups, their likelihoods, shifts of their coordinates.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: latent dimensions above
those of a point's own curves, local shapes above 32, knots above 256.
Tolerance: 1e-9 of the sum of the sizes of a match's terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.backends import NUMPY
from badac._kernels.compiled_calls import how, whole
from badac._kernels.points import Curves, GroupedPoints
from badac._kernels.spare_threads import at_least_spare


def grouped_points(
    values: FloatArray,
    sigma: FloatArray,
    at: FloatArray,
    band: IntArray | None,
    n_bands: int,
    *,
    n_threads: int = 1,
) -> GroupedPoints:
    n, m = values.shape
    most = min(n * m, n * n_bands)
    out = np.empty((3, n * m))
    first, group, band_of = (np.empty(size, dtype=np.int64) for size in (most + 1, n + 1, most))
    no_band = np.empty((0, 0), dtype=np.int64)
    count, groups = _core.grouped_points(
        values=out[0],
        variance=out[1],
        at=out[2],
        first=first,
        group=group,
        band=band_of,
        all_values=whole(values),
        sigma=whole(np.broadcast_to(sigma, values.shape)),
        all_at=whole(np.broadcast_to(at, values.shape)),
        all_band=no_band if band is None else whole(np.broadcast_to(band, values.shape), dtype=np.int64),
        n_bands=n_bands,
        n_threads=at_least_spare(checked_threads(n_threads)),
    )
    own = out[:, :count]
    return GroupedPoints(own[0], own[1], own[2], first[: groups + 1], group, band_of[:groups])


def points_likelihood(
    points: GroupedPoints, curves: Curves, widths: FloatArray, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r, j = curves.rank, curves.coefficients.shape[2] - 1 - curves.rank
    fits = 0 < r <= _core.points_max_rank and 0 <= j <= _core.points_max_local
    if not fits or len(curves.knots) > _core.points_max_knots:
        return NUMPY.points_likelihood(points, curves, widths)
    n, s = len(points.group) - 1, len(widths)
    out = (np.empty((s, n, r * (r + 1) // 2)), np.empty((s, n, r)), np.empty((s, n)))
    _core.points_likelihood(
        precision=out[0],
        shift=out[1],
        offset=out[2],
        **_of(points, curves),
        widths=whole(widths),
        rank=r,
        **how(n_threads),
    )
    return out


def shifted_evidence(
    points: GroupedPoints, curves: Curves, shifts: FloatArray, unit: float, *, n_threads: int = 1
) -> FloatArray:
    r, columns = curves.rank, curves.coefficients.shape[2]
    fits = 0 < r <= _core.points_max_rank and len(curves.knots) <= _core.points_max_knots
    if not fits or columns != 1 + r:
        return NUMPY.shifted_evidence(points, curves, shifts, unit)
    out = np.empty((len(points.group) - 1, len(shifts)))
    _core.shifted_evidence(
        out=out,
        **_of(points, curves),
        shifts=whole(shifts),
        unit=float(unit),
        **how(n_threads),
    )
    return out


def _of(points: GroupedPoints, curves: Curves) -> dict[str, Any]:
    """Points and curves as the core names them."""
    arrays = {name: whole(array) for name, array in points._asdict().items()}
    own = {name: whole(getattr(curves, name)) for name in ("knots", "coefficients", "psi")}
    return {**arrays, **own, "length": curves.length, "period": curves.period}

"""The compiled kernels of the anomaly hypotheses: the same numbers as `badac._kernels.hypotheses`, much faster.

Twin: the functions of the same name in `badac._kernels.hypotheses`. Precondition: up to 96 dimensions in `latent_without`, up
to 48 factors and 2 components in the bumps; above that the twin is called. Tolerance: 1e-9 of the sum of the sizes of the
terms. A bump is visited only at the points from its first to its last that are not zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac._kernels import _core, hypotheses
from badac._kernels.arguments import FloatArray, IntArray, checked_threads, simd_level
from badac._kernels.hypotheses import Filtering


def latent_without(
    precision: FloatArray,
    shift: FloatArray,
    offset: FloatArray,
    amplitude: FloatArray,
    chosen: IntArray,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Integrate the first of the chosen dimensions; see `badac._kernels.hypotheses`."""
    n, columns = amplitude.shape
    rest = chosen.size - columns
    if not 1 <= chosen.size <= _core.hypothesis_max_size:
        return hypotheses.latent_without(precision, shift, offset, amplitude, chosen)
    out = np.empty((n, rest * (rest + 1) // 2)), np.empty((n, rest)), np.empty(n)
    _core.latent_without(
        *out,
        np.ascontiguousarray(precision),
        np.ascontiguousarray(shift),
        np.ascontiguousarray(offset),
        np.ascontiguousarray(amplitude),
        chosen=chosen.astype(np.int32),
        place=packed_places(shift.shape[1], chosen),
        n_threads=checked_threads(n_threads),
        level=simd_level(),
    )
    return out


def packed_places(size: int, chosen: IntArray) -> npt.NDArray[np.int32]:
    """Where the upper triangle of the chosen rows and columns is in the packed matrix of all `size`."""
    rows, columns = np.triu_indices(chosen.size)
    low, high = np.minimum(chosen[rows], chosen[columns]), np.maximum(chosen[rows], chosen[columns])
    return np.asarray(low * size - low * (low - 1) // 2 + high - low, dtype=np.int32)


def bump_ratios(
    through: Filtering,
    shapes: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Signal-to-noise ratio of every bump in every object, (n, c, b); see `badac._kernels.hypotheses`."""
    if _too_large(through):
        return hypotheses.bump_ratios(through, shapes)
    out = np.empty((*through.which.shape, shapes.shape[1]))
    _run(out, through, shapes, 0.0, n_threads)
    return out


def bump_average(
    through: Filtering,
    shapes: FloatArray,
    shrink: float,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log of the mean of ``exp(shrink ratio^2 / 2)`` over the bumps, (n, c); see `badac._kernels.hypotheses`."""
    if _too_large(through) or shrink <= 0.0:
        return hypotheses.bump_average(through, shapes, shrink)
    out = np.empty(through.which.shape)
    _run(out, through, shapes, shrink, n_threads)
    return out


def _too_large(through: Filtering) -> bool:
    rank, asked = through.factors.shape[1], through.which.shape[1]
    return not (1 <= rank <= _core.bump_max_rank and 1 <= asked <= _core.bump_max_asked)


def _run(out: FloatArray, through: Filtering, shapes: FloatArray, shrink: float, n_threads: int) -> None:
    first, length, begin, height = stretches(shapes)
    _core.bumps(
        out,
        **{name: np.ascontiguousarray(array) for name, array in through._asdict().items()},
        first=first,
        length=length,
        begin=begin,
        height=height,
        shrink=shrink,
        n_threads=checked_threads(n_threads),
        level=simd_level(),
    )


def stretches(
    shapes: FloatArray,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], IntArray, FloatArray]:
    """First point, number of points and place of the heights of every bump (b,), and the heights one after another."""
    some = shapes != 0.0
    first = np.where(some.any(axis=0), some.argmax(axis=0), 0)
    last = np.where(some.any(axis=0), len(shapes) - some[::-1].argmax(axis=0), 0)
    length = last - first
    begin = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    points = np.arange(len(shapes))[:, None]
    inside = (points >= first) & (points < last)
    return first.astype(np.int32), length.astype(np.int32), begin, np.ascontiguousarray(shapes.T[inside.T])

"""The compiled kernels of latent positions: weights of points, matches, EM steps, hypotheses and widths.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: latent dimensions above
48, more than 2 components named as responsible, local shapes above 32, knots above 256, deviations above 96, more than 2
components asked about bumps, more than 64 widths.
Tolerance: 1e-10 of the sum of the sizes of a match's terms; 1e-9 of it for hypotheses and for points of an object's own; 1e-9
of the log likelihood and of the weights for widths. A bump is visited only at the points from its first to its last that are
not zero.
"""

from __future__ import annotations

import os
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.backends import NUMPY
from badac._kernels.hypotheses import Features, Filtering, GridPoints, Layout, Sizes
from badac._kernels.latent import (
    FLOOR,
    LARGEST_CHANGE,
    LEAST_INFORMATION,
    Components,
    Gaussians,
    Near,
    Sums,
)
from badac._kernels.points import Curves, GroupedPoints
from badac._kernels.spare_threads import at_least_spare
from badac._kernels.stretches import Stretches
from badac._kernels.widths import WidePoints

_ABI = 21  # of `_core`, counted up when a signature there changes

if _core.abi != _ABI:
    raise RuntimeError(
        f"the compiled core is not of this version of badac: it has abi {_core.abi}, and {_ABI} is needed. "
        "Build it again (`make install`), or set BADAC_KERNELS=reference."
    )

_whole = np.ascontiguousarray
# Multiply-adds: some tenths of a millisecond. To start and end a thread takes up to one.
_WORTH_A_THREAD = 4e6


class How(TypedDict):
    n_threads: int
    level: str


def how(n_threads: int, work: float = np.inf) -> How:
    """What every kernel of the core takes besides its arrays; threads to spare as far as the multiply-adds are worth them."""
    asked = checked_threads(n_threads)
    return {
        "n_threads": max(asked, int(min(at_least_spare(asked), work / _WORTH_A_THREAD))),
        "level": os.environ.get("BADAC_SIMD", ""),
    }


def _matches(shift: FloatArray, components: Components) -> float:
    """Multiply-adds of the matches of all objects with all components, as `src/native/latent.cpp` counts them."""
    (k, p), (n, r) = components.precision.shape, shift.shape
    return float(n * k * (r * p / 3.0 + p + 20.0))


def _fits(shift: FloatArray) -> bool:
    return bool(0 < shift.shape[1] <= _core.latent_max_rank)


def latent_log_match(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> FloatArray:
    if not _fits(shift):
        return NUMPY.latent_log_match(precision, shift, components)
    out = np.empty((len(shift), len(components.log_constant)))
    work = _matches(shift, components)
    _core.latent_log_match(out, *map(_whole, (precision, shift, *components)), **how(n_threads, work))
    return out


def latent_log_evidence(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> FloatArray:
    if not _fits(shift):
        return NUMPY.latent_log_evidence(precision, shift, components)
    out = np.empty(len(shift))
    work = _matches(shift, components)
    _core.latent_log_evidence(out, *map(_whole, (precision, shift, *components)), **how(n_threads, work))
    return out


def latent_responsible(
    precision: FloatArray, shift: FloatArray, components: Components, count: int, *, n_threads: int = 1
) -> tuple[FloatArray, IntArray, FloatArray]:
    count = min(count, len(components.log_constant))
    if not _fits(shift) or not 1 <= count <= _core.latent_max_responsible:
        return NUMPY.latent_responsible(precision, shift, components, count)
    n = len(shift)
    out = (np.empty(n), np.empty((n, count), np.int64), np.empty((n, count)))
    work = _matches(shift, components)
    _core.latent_responsible(*out, *map(_whole, (precision, shift, *components)), **how(n_threads, work))
    return out


def latent_posterior(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    if not _fits(shift):
        return NUMPY.latent_posterior(precision, shift, component_precision, component_shift)
    out = (np.empty(precision.shape), np.empty(shift.shape), np.empty(len(shift)))
    arrays = (precision, shift, component_precision[None], component_shift[None])
    work = float(precision.size * (shift.shape[1] + 2) + 20 * len(shift))
    _core.latent_posterior(*out, *map(_whole, arrays), **how(n_threads, work))
    return out


def latent_step(
    precision: FloatArray, shift: FloatArray, components: Components, near: Near, *, n_threads: int = 1
) -> tuple[FloatArray, Sums]:
    if not _fits(shift):
        return NUMPY.latent_step(precision, shift, components, near)
    (k, p), r = components.precision.shape, shift.shape[1]
    evidence, sums = np.empty(len(shift)), np.zeros((k, 1 + r + 2 * p))
    _core.latent_step(
        evidence,
        sums,
        near.flags.view(np.uint8),
        *map(_whole, (precision, shift, *components)),
        refresh=near.refresh,
        threshold=near.threshold,
        **how(n_threads, _matches(shift, components)),
    )
    count, first, second, spread = np.split(sums, [1, 1 + r, 1 + r + p], axis=1)
    return evidence, (count[:, 0], first, second, spread)


def latent_improved(
    mixture: Gaussians, sums: Sums, *, pooling: float, n_threads: int = 1
) -> tuple[Gaussians, Components]:
    k, r = mixture.means.shape
    if r <= _core.improve_max_rank:
        p = r * (r + 1) // 2
        found = Gaussians(np.empty(k), np.empty((k, r)), np.empty((k, r, r)))
        components = Components(np.empty((k, p)), np.empty((k, r)), np.empty(k))
        together = _together(sums)
        good = _core.latent_improved(
            *found,
            *components,
            old_means=_whole(mixture.means),
            old_covariances=_whole(mixture.covariances),
            sums=together,
            pooling=pooling,
            least_information=LEAST_INFORMATION,
            largest_change=LARGEST_CHANGE,
            floor=FLOOR,
            **how(n_threads, 40.0 * k * r**3),
        )
        if good:
            return found, components
    return NUMPY.latent_improved(mixture, sums, pooling=pooling)


def _together(sums: Sums) -> FloatArray:
    """Return (k, 1 + r + 2 p): the sums side by side, as `latent_step` had them; no copy if they still are."""
    base, width = sums[0].base, 1 + sum(part.shape[1] for part in sums[1:])
    if isinstance(base, np.ndarray) and base.shape == (len(sums[0]), width) and base.flags.c_contiguous:
        starts = np.cumsum([0, 1, *(part.shape[1] for part in sums[1:-1])])
        places = [base[:, start:].ctypes.data for start in starts.tolist()]
        if base.dtype == np.float64 and [part.ctypes.data for part in sums] == places:
            return base
    return np.hstack([sums[0][:, None], *sums[1:]])


def latent_left_out(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    means: FloatArray,
    count: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    if not _fits(shift):
        return NUMPY.latent_left_out(precision, shift, components, means, count)
    out = np.empty(len(shift))
    arrays = (precision, shift, *components, means, count)
    _core.latent_left_out(out, *map(_whole, arrays), **how(n_threads, _matches(shift, components)))
    return out


def weigh_points(
    values: FloatArray, sigma: FloatArray, mean: FloatArray, psi: FloatArray, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    out = (np.empty(values.shape), np.empty(values.shape), np.empty(len(values)))
    _core.weigh_points(*out, *map(_whole, (values, sigma, mean, psi)), **how(n_threads, 20.0 * values.size))
    return out


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
        all_values=_whole(values),
        sigma=_whole(np.broadcast_to(sigma, values.shape)),
        all_at=_whole(np.broadcast_to(at, values.shape)),
        all_band=no_band if band is None else _whole(np.broadcast_to(band, values.shape), dtype=np.int64),
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
        values=_whole(points.values),
        variance=_whole(points.variance),
        at=_whole(points.at),
        first=_whole(points.first),
        group=_whole(points.group),
        band=_whole(points.band),
        knots=_whole(curves.knots),
        coefficients=_whole(curves.coefficients),
        psi=_whole(curves.psi),
        widths=_whole(widths),
        rank=r,
        length=curves.length,
        period=curves.period,
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
        values=_whole(points.values),
        variance=_whole(points.variance),
        at=_whole(points.at),
        first=_whole(points.first),
        group=_whole(points.group),
        band=_whole(points.band),
        knots=_whole(curves.knots),
        coefficients=_whole(curves.coefficients),
        psi=_whole(curves.psi),
        shifts=_whole(shifts),
        length=curves.length,
        period=curves.period,
        unit=float(unit),
        **how(n_threads),
    )
    return out


def latent_without(
    sums: FloatArray,
    shift: FloatArray,
    offset: FloatArray,
    amplitude: FloatArray,
    layout: Layout,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, columns = amplitude.shape
    rest = layout.chosen.size - columns
    if not 1 <= layout.chosen.size <= _core.hypothesis_max_size:
        return NUMPY.latent_without(sums, shift, offset, amplitude, layout)
    out = np.empty((n, rest * (rest + 1) // 2)), np.empty((n, rest)), np.empty(n)
    _core.latent_without(
        *out,
        *map(_whole, (sums, shift, offset, amplitude)),
        **{name: places.astype(np.int32) for name, places in layout._asdict().items()},
        **how(n_threads),
    )
    return out


def curve_log_evidence(
    points: GridPoints, features: Features, sizes: Sizes, components: Components | None, *, n_threads: int = 1
) -> FloatArray:
    rank = 0 if components is None else components.shift.shape[1]
    sizes_of = [layout.chosen.size for layout in features.layouts]
    integrated = [size.size for size in sizes.of_features]
    fits = max(sizes_of) <= _core.curves_max_size and rank <= _core.latent_max_rank
    if not fits or (components is not None and not rank):
        return NUMPY.curve_log_evidence(points, features, sizes, components)
    out = np.empty(len(points.rows))
    own = Components(np.empty((0, 0)), np.empty((0, 0)), np.empty(0)) if components is None else components
    _core.curve_log_evidence(
        out,
        **_points(points),
        products=_whole(features.products),
        columns=_whole(features.columns),
        integrated=np.array(integrated, dtype=np.int32),
        sizes=np.array(sizes_of, dtype=np.int32),
        **_one_after_another(features.layouts),
        size_of=np.concatenate(sizes.of_features),
        base=sizes.base,
        share=sizes.share,
        component_precision=_whole(own.precision),
        component_shift=_whole(own.shift),
        log_constant=_whole(own.log_constant),
        **how(n_threads),
    )
    return out


def _points(points: GridPoints) -> dict[str, npt.NDArray[Any]]:
    return {name: _whole(array) for name, array in points._asdict().items()}


def _one_after_another(layouts: tuple[Layout, ...]) -> dict[str, Any]:
    parts = zip(*layouts, strict=True)
    return {
        name: np.concatenate(part).astype(np.int32) for name, part in zip(Layout._fields, parts, strict=True)
    }


def bump_ratios(through: Filtering, shapes: Stretches, *, n_threads: int = 1) -> FloatArray:
    if not _can_filter(through):
        return NUMPY.bump_ratios(through, shapes)
    out = np.empty((*through.which.shape, shapes.shape[1]))
    _bumps(out, through, np.empty((0, 0)), shapes, 0.0, n_threads)
    return out


def bump_average(
    through: Filtering, log_share: FloatArray, shapes: Stretches, shrink: float, *, n_threads: int = 1
) -> FloatArray:
    if not _can_filter(through) or not 0.0 < shrink < 1.0:
        return NUMPY.bump_average(through, log_share, shapes, shrink)
    out = np.empty(len(through.which))
    _bumps(out, through, log_share, shapes, shrink, n_threads)
    return out


def _can_filter(through: Filtering) -> bool:
    rank, asked = through.factors.shape[1], through.which.shape[1]
    return bool(1 <= rank <= _core.bump_max_rank and 1 <= asked <= _core.bump_max_asked)


def _bumps(
    out: FloatArray,
    through: Filtering,
    log_share: FloatArray,
    shapes: Stretches,
    shrink: float,
    n_threads: int,
) -> None:
    _core.bumps(
        out,
        **_points(through.points),
        **{name: _whole(array) for name, array in zip(Filtering._fields[1:], through[1:], strict=True)},
        first=shapes.first,
        length=shapes.length,
        begin=shapes.begin,
        height=shapes.height,
        log_share=_whole(log_share),
        shrink=shrink,
        **how(n_threads),
    )


def widths_log_likelihood(points: WidePoints, positions: FloatArray, *, n_threads: int = 1) -> FloatArray:
    if not _can_weigh(points):
        return NUMPY.widths_log_likelihood(points, positions)
    out = np.empty(positions.shape[:2])
    _core.widths_log_likelihood(
        out, *_shares(points), positions=_whole(positions, dtype=np.float64), **how(n_threads)
    )
    return out


def latent_draws(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    responsibility: FloatArray,
    points: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    count, rank = points.shape
    if rank > _core.draws_max_rank:
        return NUMPY.latent_draws(precision, shift, components, responsibility, points)
    out = np.empty((len(shift), count, rank))
    arrays = (precision, shift, components.precision, components.shift, responsibility, points)
    own = [_whole(array, dtype=np.float64) for array in arrays]
    _core.latent_draws(out, *own, n_threads=how(n_threads)["n_threads"])
    return out


def widths_posterior(
    points: WidePoints,
    start: FloatArray | None = None,
    *,
    max_steps: int,
    tolerance: float,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    if not _can_weigh(points):
        return NUMPY.widths_posterior(points, start, max_steps=max_steps, tolerance=tolerance)
    weight = np.empty(points.residual.shape)
    squared = np.empty(weight.shape) if start is None else np.array(start, dtype=np.float64, order="C")
    _core.widths_posterior(
        weight,
        squared,
        *_shares(points),
        started=start is not None,
        max_steps=max_steps,
        tolerance=tolerance,
        **how(n_threads),
    )
    return weight, squared


def _can_weigh(points: WidePoints) -> bool:
    rank, count = points.factors.shape[1], len(points.scale)
    return bool(rank <= _core.widths_max_rank and count <= _core.widths_max_widths)


def _shares(points: WidePoints) -> list[FloatArray]:
    """The arrays in the order of the core, which takes shares, not their logs."""
    ready = points._replace(log_share=np.exp(points.log_share))
    return [_whole(array, dtype=np.float64) for array in ready]

"""The compiled kernels of the anomaly hypotheses: random curves and bumps on a class.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: deviations above 96, more
than 2 components asked about bumps. A bump is visited only at the points from its first to its last that are not zero.
Tolerance: 1e-9 of the sum of the sizes of a match's terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from badac._kernels import _core
from badac._kernels.arguments import FloatArray
from badac._kernels.backends import NUMPY
from badac._kernels.compiled_calls import how, whole
from badac._kernels.hypotheses import Features, Filtering, GridPoints, Layout, Sizes
from badac._kernels.latent import Components
from badac._kernels.stretches import Stretches


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
        *map(whole, (sums, shift, offset, amplitude)),
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
        products=whole(features.products),
        columns=whole(features.columns),
        integrated=np.array(integrated, dtype=np.int32),
        sizes=np.array(sizes_of, dtype=np.int32),
        **_one_after_another(features.layouts),
        size_of=np.concatenate(sizes.of_features),
        base=sizes.base,
        share=sizes.share,
        component_precision=whole(own.precision),
        component_shift=whole(own.shift),
        log_constant=whole(own.log_constant),
        **how(n_threads),
    )
    return out


def _points(points: GridPoints) -> dict[str, npt.NDArray[Any]]:
    return {name: whole(array) for name, array in points._asdict().items()}


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
        **{name: whole(array) for name, array in zip(Filtering._fields[1:], through[1:], strict=True)},
        first=shapes.first,
        length=shapes.length,
        begin=shapes.begin,
        height=shapes.height,
        log_share=whole(log_share),
        shrink=shrink,
        **how(n_threads),
    )

"""The compiled kernels of latent positions: weights of points, matches, moments, EM steps.

Twin: the function of the same name in `NUMPY`, which is also called where the core's own bounds end: latent dimensions above
48, more than 2 components named as responsible.
Tolerance: 1e-10 of the sum of the sizes of a match's terms, 1e-9 of the others.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray
from badac._kernels.backends import NUMPY
from badac._kernels.compiled_calls import how, whole
from badac._kernels.latent import (
    FLOOR,
    LARGEST_CHANGE,
    LEAST_INFORMATION,
    Components,
    Gaussians,
    Near,
    Sums,
)


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
    _core.latent_log_match(out, *map(whole, (precision, shift, *components)), **how(n_threads, work))
    return out


def latent_log_evidence(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> FloatArray:
    if not _fits(shift):
        return NUMPY.latent_log_evidence(precision, shift, components)
    out = np.empty(len(shift))
    work = _matches(shift, components)
    _core.latent_log_evidence(out, *map(whole, (precision, shift, *components)), **how(n_threads, work))
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
    _core.latent_responsible(*out, *map(whole, (precision, shift, *components)), **how(n_threads, work))
    return out


def latent_moments(
    precision: FloatArray, shift: FloatArray, components: Components, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    if not _fits(shift):
        return NUMPY.latent_moments(precision, shift, components)
    out = (np.empty(shift.shape), np.empty(precision.shape))
    work = 2.0 * _matches(shift, components)
    _core.latent_moments(*out, *map(whole, (precision, shift, *components)), **how(n_threads, work))
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
    _core.latent_posterior(*out, *map(whole, arrays), **how(n_threads, work))
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
        *map(whole, (precision, shift, *components)),
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
            old_means=whole(mixture.means),
            old_covariances=whole(mixture.covariances),
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
    _core.latent_left_out(out, *map(whole, arrays), **how(n_threads, _matches(shift, components)))
    return out


def weigh_points(
    values: FloatArray, sigma: FloatArray, mean: FloatArray, psi: FloatArray, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    out = (np.empty(values.shape), np.empty(values.shape), np.empty(len(values)))
    _core.weigh_points(*out, *map(whole, (values, sigma, mean, psi)), **how(n_threads, 20.0 * values.size))
    return out

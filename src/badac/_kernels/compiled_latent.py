"""The compiled latent kernels: the same numbers as `badac._kernels.latent`, much faster.

Twin: the functions of the same name in `badac._kernels.latent`. Precondition: 1 to 48 latent dimensions; above that the twin
is called. Tolerance: 1e-10 of the sum of the sizes of a match's terms.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import _core, latent
from badac._kernels.arguments import FloatArray, checked_threads, simd_level
from badac._kernels.latent import BoolArray, Components


def latent_log_match(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log of each object's likelihood averaged over each component, (n, k); see `badac._kernels.latent`."""
    if not _fits(shift):
        return latent.latent_log_match(precision, shift, components)
    out = np.empty((len(shift), len(components.log_constant)))
    arrays = map(np.ascontiguousarray, (precision, shift, *components))
    _core.latent_log_match(out, *arrays, n_threads=checked_threads(n_threads), level=simd_level())
    return out


def latent_log_evidence(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log of the sum of the matches over the components, (n,); see `badac._kernels.latent`."""
    if not _fits(shift):
        return latent.latent_log_evidence(precision, shift, components)
    out = np.empty(len(shift))
    arrays = map(np.ascontiguousarray, (precision, shift, *components))
    _core.latent_log_evidence(out, *arrays, n_threads=checked_threads(n_threads), level=simd_level())
    return out


def latent_posterior(
    precision: FloatArray, shift: FloatArray, component_precision: FloatArray, component_shift: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Covariance (n, p), mean (n, r) and log det (n,) under one component; see `badac._kernels.latent`."""
    if not _fits(shift):
        return latent.latent_posterior(precision, shift, component_precision, component_shift)
    out = (np.empty(precision.shape), np.empty(shift.shape), np.empty(len(shift)))
    arrays = (precision, shift, component_precision[None], component_shift[None])
    _core.latent_posterior(*out, *map(np.ascontiguousarray, arrays), level=simd_level())
    return out


def latent_step(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    near: BoolArray,
    *,
    refresh: bool = True,
    threshold: float = 1e-5,
) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Evidence (n,) and the sums of one EM step; see `badac._kernels.latent`."""
    if not _fits(shift):
        return latent.latent_step(precision, shift, components, near, refresh=refresh, threshold=threshold)
    (k, p), r = components.precision.shape, shift.shape[1]
    evidence, sums = np.empty(len(shift)), np.zeros((k, 1 + r + 2 * p))
    _core.latent_step(
        evidence,
        sums,
        near.view(np.uint8),
        *map(np.ascontiguousarray, (precision, shift, *components)),
        refresh=refresh,
        threshold=threshold,
        level=simd_level(),
    )
    count, first, second, spread = np.split(sums, [1, 1 + r, 1 + r + p], axis=1)
    return evidence, (count[:, 0], first, second, spread)


def latent_left_out(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    means: FloatArray,
    count: FloatArray,
) -> FloatArray:
    """Log evidence (n,) of members, their own shares removed; see `badac._kernels.latent`."""
    if not _fits(shift):
        return latent.latent_left_out(precision, shift, components, means, count)
    out = np.empty(len(shift))
    arrays = (precision, shift, *components, means, count)
    _core.latent_left_out(out, *map(np.ascontiguousarray, arrays), level=simd_level())
    return out


def weigh_points(
    values: FloatArray, sigma: FloatArray, mean: FloatArray, psi: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, weighted residual (n, m) and offset (n,) of the points; see `badac._kernels.latent`."""
    out = (np.empty(values.shape), np.empty(values.shape), np.empty(len(values)))
    _core.weigh_points(*out, *map(np.ascontiguousarray, (values, sigma, mean, psi)), level=simd_level())
    return out


def _fits(shift: FloatArray) -> bool:
    return bool(0 < shift.shape[1] <= _core.latent_max_rank)

"""The compiled latent kernels: the same numbers as `badac._kernels.latent`, much faster.

Twin: the functions of the same name in `badac._kernels.latent`. Precondition: 1 to 48 latent dimensions; above that the twin
is called. Tolerance: 1e-10 of the sum of the sizes of a match's terms.
"""

from __future__ import annotations

import os

import numpy as np

from badac._kernels import _core, latent
from badac._kernels.arguments import FloatArray, checked_threads
from badac._kernels.latent import BoolArray


def latent_log_match(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log of each object's likelihood averaged over each component, (n, k); see `badac._kernels.latent`."""
    arrays = (precision, shift, component_precision, component_shift, log_constant)
    if not _fits(shift):
        return latent.latent_log_match(*arrays)
    out = np.empty((len(shift), len(log_constant)))
    threads = checked_threads(n_threads)
    _core.latent_log_match(out, *map(np.ascontiguousarray, arrays), n_threads=threads, level=_level())
    return out


def latent_log_evidence(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Log of the sum of the matches over the components, (n,); see `badac._kernels.latent`."""
    arrays = (precision, shift, component_precision, component_shift, log_constant)
    if not _fits(shift):
        return latent.latent_log_evidence(*arrays)
    out = np.empty(len(shift))
    threads = checked_threads(n_threads)
    _core.latent_log_evidence(out, *map(np.ascontiguousarray, arrays), n_threads=threads, level=_level())
    return out


def latent_posterior(
    precision: FloatArray, shift: FloatArray, component_precision: FloatArray, component_shift: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Covariance (n, p), mean (n, r) and log det (n,) under one component; see `badac._kernels.latent`."""
    if not _fits(shift):
        return latent.latent_posterior(precision, shift, component_precision, component_shift)
    out = (np.empty(precision.shape), np.empty(shift.shape), np.empty(len(shift)))
    arrays = (precision, shift, component_precision[None], component_shift[None])
    _core.latent_posterior(*out, *map(np.ascontiguousarray, arrays), level=_level())
    return out


def latent_step(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    near: BoolArray,
    *,
    refresh: bool = True,
    threshold: float = 1e-5,
) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Evidence (n,) and the sums of one EM step; see `badac._kernels.latent`."""
    arrays = (precision, shift, component_precision, component_shift, log_constant)
    if not _fits(shift):
        return latent.latent_step(*arrays, near, refresh=refresh, threshold=threshold)
    (k, p), r = component_precision.shape, shift.shape[1]
    evidence, sums = np.empty(len(shift)), np.zeros((k, 1 + r + 2 * p))
    _core.latent_step(
        evidence,
        sums,
        near.view(np.uint8),
        *map(np.ascontiguousarray, arrays),
        refresh=refresh,
        threshold=threshold,
        level=_level(),
    )
    count, first, second, spread = np.split(sums, [1, 1 + r, 1 + r + p], axis=1)
    return evidence, (count[:, 0], first, second, spread)


def latent_left_out(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    log_constant: FloatArray,
    means: FloatArray,
    count: FloatArray,
) -> FloatArray:
    """Log evidence (n,) of members, their own shares removed; see `badac._kernels.latent`."""
    arrays = (precision, shift, component_precision, component_shift, log_constant, means, count)
    if not _fits(shift):
        return latent.latent_left_out(*arrays)
    out = np.empty(len(shift))
    _core.latent_left_out(out, *map(np.ascontiguousarray, arrays), level=_level())
    return out


def weigh_points(
    values: FloatArray, sigma: FloatArray, mean: FloatArray, psi: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, weighted residual (n, m) and offset (n,) of the points; see `badac._kernels.latent`."""
    out = (np.empty(values.shape), np.empty(values.shape), np.empty(len(values)))
    _core.weigh_points(*out, *map(np.ascontiguousarray, (values, sigma, mean, psi)), level=_level())
    return out


def _fits(shift: FloatArray) -> bool:
    return bool(0 < shift.shape[1] <= _core.latent_max_rank)


def _level() -> str:
    return os.environ.get("BADAC_SIMD", "")

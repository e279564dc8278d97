"""The compiled latent kernels: the same numbers as `badac._kernels.latent`, much faster.

Twin: the functions of the same name in `badac._kernels.latent`. Precondition: 1 to 48 latent dimensions; above that the twin
is called. Tolerance: 1e-10 of the sum of the sizes of a match's terms.
"""

from __future__ import annotations

import os

import numpy as np

from badac._kernels import _core, latent
from badac._kernels.arguments import FloatArray, checked_threads


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
    if shift.shape[1] > _core.latent_max_rank:
        return latent.latent_log_match(precision, shift, component_precision, component_shift, log_constant)
    out = np.empty((len(shift), len(log_constant)))
    _core.latent_log_match(
        out,
        np.ascontiguousarray(precision),
        np.ascontiguousarray(shift),
        np.ascontiguousarray(component_precision),
        np.ascontiguousarray(component_shift),
        np.ascontiguousarray(log_constant),
        n_threads=checked_threads(n_threads),
        level=os.environ.get("BADAC_SIMD", ""),
    )
    return out


def latent_sums(
    precision: FloatArray,
    shift: FloatArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
    responsibility: FloatArray,
    *,
    threshold: float = 1e-5,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sum the objects' latent posteriors per component; see `badac._kernels.latent`."""
    if shift.shape[1] > _core.latent_max_rank:
        return latent.latent_sums(
            precision, shift, component_precision, component_shift, responsibility, threshold=threshold
        )
    k, p = component_precision.shape
    sums = (np.zeros(k), np.zeros(component_shift.shape), np.zeros((k, p)), np.zeros((k, p)))
    _core.latent_sums(
        *sums,
        np.ascontiguousarray(precision),
        np.ascontiguousarray(shift),
        np.ascontiguousarray(component_precision),
        np.ascontiguousarray(component_shift),
        np.ascontiguousarray(responsibility),
        threshold=threshold,
        level=os.environ.get("BADAC_SIMD", ""),
    )
    return sums

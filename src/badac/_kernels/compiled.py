"""The compiled core, called with checked arrays: the same numbers as `reference`, much faster.

Twin: the functions of the same name in `badac._kernels.reference`. Precondition: none beyond theirs. Tolerance: matches agree
to 1e-12 of the sizes of their terms; a log-sum to 1e-9 of itself or 1e-12 nats, whichever is larger, as a bound (what is
seen is a tenth of it or less).

How it stays exact. The log-sum first scores every curve in single precision, with a bound on the error of each score, and
computes again in double all those that could change the log-sum by more than the tolerance together; where single precision
cannot resolve the residuals, or most curves matter, it works in double from the start. Pairs whose squares would overflow
or vanish take a slow path. Threads do not change a bit; other block sizes change rounding and what stays in single
precision, so they keep the same tolerance. How it is fast is told in ``src/native/README.md``.

The environment variable ``BADAC_SIMD`` (``baseline``, ``avx2``, ``avx512``) forces an instruction set, for tests.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt

from badac._kernels import _core
from badac._kernels.arguments import (
    FloatArray,
    Pairs,
    checked_skip,
    checked_threads,
    checked_weights,
    simd_level,
)


class Report(TypedDict):
    """How many pairs went which way: screened in float, of these again in double, in double at once, carefully."""

    screened: int
    survived: int
    in_double: int
    careful: int


def pair_log_match(
    d: npt.ArrayLike,
    d_sigma: npt.ArrayLike,
    y: npt.ArrayLike,
    y_sigma: npt.ArrayLike,
    *,
    extra_variance: npt.ArrayLike = 0.0,
    n_threads: int = 1,
) -> FloatArray:
    """Log density of every object under every curve, (n, k); see `badac._kernels.reference.pair_log_match`."""
    pairs = Pairs.of(d, d_sigma, y, y_sigma, extra_variance)
    out = np.empty((pairs.d.shape[0], pairs.y.shape[0]))
    _core.pair_log_match(
        out,
        pairs.d,
        pairs.d_sigma,
        pairs.y,
        pairs.y_sigma,
        pairs.extra_variance,
        n_threads=checked_threads(n_threads),
        level=simd_level(),
    )
    return out


def pair_logsumexp(
    d: npt.ArrayLike,
    d_sigma: npt.ArrayLike,
    y: npt.ArrayLike,
    y_sigma: npt.ArrayLike,
    *,
    log_weights: npt.ArrayLike | None = None,
    skip: npt.ArrayLike | None = None,
    extra_variance: npt.ArrayLike = 0.0,
    n_threads: int = 1,
) -> FloatArray:
    """Log evidence of every object, (n,); see `badac._kernels.reference.pair_logsumexp`."""
    pairs = Pairs.of(d, d_sigma, y, y_sigma, extra_variance)
    return pair_logsumexp_with(pairs, log_weights=log_weights, skip=skip, n_threads=n_threads)[0]


def pair_logsumexp_with(
    pairs: Pairs,
    *,
    log_weights: npt.ArrayLike | None = None,
    skip: npt.ArrayLike | None = None,
    n_threads: int = 1,
    screen: bool = True,
    objects_per_block: int = 0,
    curves_per_block: int = 0,
) -> tuple[FloatArray, Report]:
    """`pair_logsumexp` with its inner choices open, for tests and benchmarks: (n,) and what was done.

    ``screen=False`` keeps it in double; block sizes of 0 are chosen from the sizes of the problem.
    """
    n, k = pairs.d.shape[0], pairs.y.shape[0]
    out = np.empty(n)
    report: Report = _core.pair_logsumexp(
        out,
        pairs.d,
        pairs.d_sigma,
        pairs.y,
        pairs.y_sigma,
        pairs.extra_variance,
        log_weights=checked_weights(log_weights, k),
        skip=checked_skip(skip, n, k),
        n_threads=checked_threads(n_threads),
        screen=screen,
        objects_per_block=objects_per_block,
        curves_per_block=curves_per_block,
        level=simd_level(),
    )
    return out, report


def levels() -> list[str]:
    """Instruction sets that this build has and this machine can run, best first."""
    return [str(name) for name in _core.levels()]


def multiply_add_ns() -> float:
    """Nanoseconds per double of a vector multiply-add on one thread: the machine's arithmetic limit, measured."""
    return float(_core.multiply_add_ns(simd_level()))

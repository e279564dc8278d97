"""The compiled kernels of pairs of objects and curves.

Twin: the function of the same name in `NUMPY`. Tolerance: matches agree to 1e-12 of the sizes of their terms; a log-sum to 1e-9
of itself or 1e-12 nats, whichever is larger, as a bound (what is seen is a tenth of it or less); of curves that match equally
well to 1e-13 `pair_best` names the first; `mixture_logsumexp` to 1e-5 nats.

How it stays exact. The log-sum first scores every curve in single precision, with a bound on the error of each score, and
computes again in double all those that could change the log-sum by more than the tolerance together; where single precision
cannot resolve the residuals, or most curves matter, it works in double from the start. Pairs whose squares would overflow
or vanish take a slow path. Other block sizes change rounding and what stays in single precision, so they keep the same
tolerance. Under noise of several widths, curves more than 10 nats below the best keep their score in single precision, and
tiles of curves that cannot matter any more are given up. How it is fast is told in ``src/native/README.md``.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray, IntArray, Pairs
from badac._kernels.compiled_calls import how


class Report(TypedDict):
    """How many pairs went which way: screened in float, of these again in double, in double at once, carefully."""

    screened: int
    survived: int
    in_double: int
    careful: int


def pair_log_match(pairs: Pairs, *, n_threads: int = 1) -> FloatArray:
    out = np.empty((len(pairs.d), len(pairs.y)))
    _core.pair_log_match(
        out, pairs.d, pairs.d_sigma, pairs.y, pairs.y_sigma, pairs.extra_variance, **how(n_threads)
    )
    return out


def pair_best(pairs: Pairs, *, n_threads: int = 1) -> IntArray:
    out = np.empty(len(pairs.d), dtype=np.int64)
    _core.pair_best(
        out,
        pairs.d,
        pairs.d_sigma,
        pairs.y,
        pairs.y_sigma,
        pairs.extra_variance,
        log_weights=pairs.log_weights,
        skip=pairs.skip,
        **how(n_threads),
    )
    return out


def pair_logsumexp(pairs: Pairs, *, n_threads: int = 1) -> FloatArray:
    return pair_logsumexp_with(pairs, n_threads=n_threads)[0]


def pair_logsumexp_with(
    pairs: Pairs,
    *,
    n_threads: int = 1,
    screen: bool = True,
    objects_per_block: int = 0,
    curves_per_block: int = 0,
) -> tuple[FloatArray, Report]:
    """`pair_logsumexp` with its inner choices open, for tests and benchmarks: (n,) and what was done.

    ``screen=False`` keeps it in double; block sizes of 0 are chosen from the sizes of the problem.
    """
    out = np.empty(len(pairs.d))
    report: Report = _core.pair_logsumexp(
        out,
        pairs.d,
        pairs.d_sigma,
        pairs.y,
        pairs.y_sigma,
        pairs.extra_variance,
        log_weights=pairs.log_weights,
        skip=pairs.skip,
        screen=screen,
        objects_per_block=objects_per_block,
        curves_per_block=curves_per_block,
        **how(n_threads),
    )
    return out, report


def mixture_logsumexp(
    pairs: Pairs, log_share: FloatArray, scale: FloatArray, *, n_threads: int = 1
) -> FloatArray:
    out = np.empty(len(pairs.d))
    _core.mixture_logsumexp(
        out,
        pairs.d,
        pairs.d_sigma,
        pairs.y,
        pairs.y_sigma,
        *_pairs_of_widths(log_share, scale),
        log_weights=pairs.log_weights,
        skip=pairs.skip,
        **how(n_threads),
    )
    return out


def _pairs_of_widths(log_share: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Factors on the two variances and shares (C,) of all pairs of widths that have a share, the widest first."""
    rows, columns = (index.ravel() for index in np.indices((len(scale), len(scale))))
    share = np.exp(log_share[rows] + log_share[columns])
    of_object, of_curve = scale[rows] ** 2, scale[columns] ** 2
    order = np.argsort(-(of_object + of_curve), kind="stable")
    order = order[share[order] > 0]
    return of_object[order], of_curve[order], share[order]

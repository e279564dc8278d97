"""Arrays in, arrays out: the kernels, and the one place that chooses who computes them.

A `Backend` holds every kernel. `NUMPY` is the definition, slow and clear; `COMPILED` is the core, None where it was not built
or where the environment variable ``BADAC_KERNELS`` is ``reference``. ``badac._kernels.backend`` is the one in use: the core,
else the definition. `using` puts another in its place for a while. The functions here call the kernel of the same name of
that backend; what each computes is told where it is defined (`pairs`, `mixture`, `latent`, `hypotheses`, `widths`). All take
`n_threads`, and no result depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy.typing as npt

from badac._kernels import hypotheses as _hypotheses
from badac._kernels import latent as _latent
from badac._kernels import widths as _widths
from badac._kernels.arguments import FloatArray, IntArray, Pairs
from badac._kernels.backends import NUMPY, Backend
from badac._kernels.latent import BoolArray, Components, Near, Sums

__all__ = [
    "COMPILED",
    "NUMPY",
    "Backend",
    "FloatArray",
    "IntArray",
    "backend",
    "bump_average",
    "bump_ratios",
    "latent_left_out",
    "latent_log_evidence",
    "latent_log_match",
    "latent_posterior",
    "latent_step",
    "latent_without",
    "mixture_logsumexp",
    "pair_log_match",
    "pair_logsumexp",
    "using",
    "weigh_points",
    "widths_log_likelihood",
    "widths_posterior",
]


def _compiled_if_wanted() -> Backend | None:
    choice = os.environ.get("BADAC_KERNELS", "compiled")
    if choice not in ("compiled", "reference"):
        raise ValueError(
            f"BADAC_KERNELS must be 'compiled' or 'reference': got {choice!r}. Unset it for the default."
        )
    if choice == "reference":
        return None
    try:
        from badac._kernels.compiled import COMPILED
    except ImportError:
        return None
    return COMPILED


COMPILED = _compiled_if_wanted()
backend = NUMPY if COMPILED is None else COMPILED


@contextmanager
def using(other: Backend) -> Iterator[Backend]:
    """Let another backend compute, on all threads of this process, until the block ends."""
    global backend
    before, backend = backend, other
    try:
        yield other
    finally:
        backend = before


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _dispatched(definition: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return the kernel of this name of whichever backend is in use, as it is defined."""
    name = definition.__name__

    @wraps(definition)
    def kernel(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        found: Callable[_P, _R] = getattr(backend, name)
        return found(*args, **kwargs)

    return kernel


latent_log_match = _dispatched(_latent.latent_log_match)
latent_log_evidence = _dispatched(_latent.latent_log_evidence)
latent_posterior = _dispatched(_latent.latent_posterior)
latent_left_out = _dispatched(_latent.latent_left_out)
weigh_points = _dispatched(_latent.weigh_points)
latent_without = _dispatched(_hypotheses.latent_without)
bump_ratios = _dispatched(_hypotheses.bump_ratios)
bump_average = _dispatched(_hypotheses.bump_average)
widths_log_likelihood = _dispatched(_widths.widths_log_likelihood)
widths_posterior = _dispatched(_widths.widths_posterior)


def pair_log_match(
    d: npt.ArrayLike,
    d_sigma: npt.ArrayLike,
    y: npt.ArrayLike,
    y_sigma: npt.ArrayLike,
    *,
    extra_variance: npt.ArrayLike = 0.0,
    n_threads: int = 1,
) -> FloatArray:
    """Log density (n, k) of every object under every curve, the true values integrated out (paper eq. 7).

    Parameters
    ----------
    d, d_sigma : (n, m) and (n, m) or (1, m)
        The objects and their standard deviations; a point with a NaN value or an infinite sigma drops out.
    y, y_sigma : (k, m) and (k, m) or (1, m)
        The curves and theirs; both finite.
    extra_variance : scalar or (m,)
        Added to the variance of every pair: the intra-class variance sigma_*^2.
    n_threads : int

    Raises
    ------
    ValueError
        If a pair has no variance at all at a point that counts: its density would be infinite or zero.
    """
    return backend.pair_log_match(Pairs.of(d, d_sigma, y, y_sigma, extra_variance), n_threads=n_threads)


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
    """Log evidence (n,) of every object: the weighted mean of its matches, ``logsumexp_k (log w_k + log_match)``.

    Parameters
    ----------
    d, d_sigma, y, y_sigma, extra_variance
        As in `pair_log_match`.
    log_weights : (k,), optional
        Log weights of the curves; ``-log k`` each if not given. A curve of weight -inf does not count.
    skip : (n,) int64, optional
        For each object the index of one curve to leave out (its own, for leave-one-out), or -1. The weights of the
        others are used as they are.
    n_threads : int
    """
    pairs = Pairs.of(d, d_sigma, y, y_sigma, extra_variance).weighed(log_weights, skip)
    return backend.pair_logsumexp(pairs, n_threads=n_threads)


def mixture_logsumexp(
    d: FloatArray,
    d_sigma: FloatArray,
    y: FloatArray,
    y_sigma: FloatArray,
    log_share: FloatArray,
    scale: FloatArray,
    *,
    log_weights: FloatArray | None = None,
    skip: IntArray | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Log evidence (n,) under noise of several widths, ``log_share`` and ``scale`` (S,); otherwise as `pair_logsumexp`."""
    pairs = Pairs.of(d, d_sigma, y, y_sigma).weighed(log_weights, skip)
    return backend.mixture_logsumexp(pairs, log_share, scale, n_threads=n_threads)


def latent_step(
    precision: FloatArray,
    shift: FloatArray,
    components: Components,
    near: BoolArray,
    *,
    refresh: bool = True,
    threshold: float = 1e-5,
    n_threads: int = 1,
) -> tuple[FloatArray, Sums]:
    """Evidence (n,) and the sums of one EM step; `near` (groups, k), `refresh` and `threshold` as in `latent.Near`."""
    return backend.latent_step(
        precision, shift, components, Near(near, refresh, threshold), n_threads=n_threads
    )

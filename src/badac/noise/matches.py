"""From matches of single curves to the evidence of a class, and from matches of single points to those of curves.

log_mixture = logsumexp_i (log w_i + log_match_i)        over the curves of a class
log_match   = sum_j log density(d_j, y_j)                over the points that an object has
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from badac.data.measurements import Measurements
from badac.noise.model import FloatArray, IntArray, Noise
from badac.threads import over_blocks

_PAIRS_PER_BLOCK = 1 << 20
_CELLS_PER_BLOCK = 1 << 16


@runtime_checkable
class FastMixture(Protocol):
    """A noise model that knows a faster way to `log_mixture` than through the matrix of matches."""

    def log_mixture(
        self,
        objects: Measurements,
        curves: Measurements,
        *,
        log_weights: FloatArray | None = None,
        skip: IntArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray: ...


def log_mixture(
    noise: Noise,
    objects: Measurements,
    curves: Measurements,
    *,
    log_weights: FloatArray | None = None,
    skip: IntArray | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Log of the weighted mean of an object's matches with the curves of a class.

    Parameters
    ----------
    noise : Noise
    objects : Measurements
        (n, m)
    curves : Measurements
        (k, m), complete: a class model fills the gaps of its members.
    log_weights : (k,), optional
        ``-log k`` each if not given.
    skip : (n,), optional
        Index of one curve that each object leaves out, or -1.
    n_threads : int
        Changes no bit.

    Returns
    -------
    (n,)

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian, log_mixture
    >>> d, curves = Measurements([[0.0]], 0.1), Measurements([[0.0], [5.0]], 0.1)
    >>> matches = Gaussian().log_match(d, curves)
    >>> bool(matches.min() < log_mixture(Gaussian(), d, curves)[0] < matches.max())
    True
    """
    if isinstance(noise, FastMixture):
        return noise.log_mixture(objects, curves, log_weights=log_weights, skip=skip, n_threads=n_threads)
    return mixture_of_matches(
        noise.log_match, objects, curves, log_weights=log_weights, skip=skip, n_threads=n_threads
    )


def mixture_of_matches(
    log_match: Callable[[Measurements, Measurements], FloatArray],
    objects: Measurements,
    curves: Measurements,
    *,
    log_weights: FloatArray | None = None,
    skip: IntArray | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n,): `log_mixture` through the matrix of matches, in blocks of objects; the definition of every fast path.

    With more threads than one, `log_match` is called from several of them.
    """
    k = curves.n_objects
    weights = np.full(k, -np.log(k)) if log_weights is None else log_weights
    out = np.empty(objects.n_objects)
    step = max(1, _PAIRS_PER_BLOCK // k)

    def work(start: int, _: int) -> None:
        block = slice(start, start + step)
        matches = log_match(objects[block], curves) + weights
        if skip is not None:
            rows = np.flatnonzero(skip[block] >= 0)
            matches[rows, skip[block][rows]] = -np.inf
        with np.errstate(divide="ignore"):
            out[block] = logsumexp(matches, axis=1)

    over_blocks(work, range(0, objects.n_objects, step), n_threads)
    return out


class PointDensity(Protocol):
    """The match of one value with one curve's value: broadcasts over its arguments."""

    def __call__(
        self, d: FloatArray, d_sigma: FloatArray, y: FloatArray, y_sigma: FloatArray
    ) -> FloatArray: ...


def sum_over_points(objects: Measurements, curves: Measurements, density: PointDensity) -> FloatArray:
    """Return (n, k): the sum of a point-wise log match over the points that each object has.

    Parameters
    ----------
    density : PointDensity
        Called with blocks of objects, (b, 1, m) and their sigma, and with the curves (1, k, m) and theirs; returns
        (b, k, m). Missing points come as value 0 with sigma 1 and do not count.
    """
    n, m = objects.shape
    out = np.empty((n, curves.n_objects))
    step = max(1, _CELLS_PER_BLOCK // max(1, curves.n_objects * m))
    for start in range(0, n, step):
        block = objects[start : start + step]
        seen = block.observed[:, None, :]
        d = np.where(seen, block.values[:, None, :], 0.0)
        d_sigma = np.where(seen, block.sigma[:, None, :], 1.0)
        match = density(d, d_sigma, curves.values[None], curves.sigma[None])
        out[start : start + step] = np.where(seen, match, 0.0).sum(axis=2)
    return out

"""What a noise model is: how well a noisy object matches a noisy curve, and how noise is drawn.

With ``y`` the unknown true values, flat a priori, an object ``d`` and a curve ``c`` of a class match with

    log_match = log integral P(d | y) P(c | y) dy

(paper eq. 5), and the evidence of a class is the weighted mean of the matches with its curves,

    log_mixture = logsumexp_i (log w_i + log_match_i).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_PAIRS_PER_BLOCK = 1 << 20


@runtime_checkable
class Noise(Protocol):
    """A model of the measurement error, on the side of the object and on that of the curve."""

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        """Return (n, k): the log density of every object under every curve, true values integrated out."""

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        """Return (n, m): noisy values of the truths (n, m), with the error bars and the gaps of `like`."""


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
        Used by noise models with a compiled path.

    Returns
    -------
    (n,)
    """
    if isinstance(noise, FastMixture):
        return noise.log_mixture(objects, curves, log_weights=log_weights, skip=skip, n_threads=n_threads)
    k = curves.n_objects
    weights = np.full(k, -np.log(k)) if log_weights is None else log_weights
    out = np.empty(objects.n_objects)
    step = max(1, _PAIRS_PER_BLOCK // k)
    for start in range(0, objects.n_objects, step):
        block = slice(start, start + step)
        matches = noise.log_match(objects[block], curves) + weights
        if skip is not None:
            rows = np.flatnonzero(skip[block] >= 0)
            matches[rows, skip[block][rows]] = -np.inf
        with np.errstate(divide="ignore"):
            out[block] = logsumexp(matches, axis=1)
    return out

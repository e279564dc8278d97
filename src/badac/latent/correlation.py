"""Correlation functions of a Gaussian process: how alike two points of one curve are, by the distance of their coordinates.

    squared_exponential   exp(-r^2 / 2)                                   very smooth curves
    matern52              (1 + a + a^2 / 3) exp(-a),  a = sqrt(5) r       twice differentiable
    matern32              (1 + a) exp(-a),            a = sqrt(3) r       once differentiable: most light curves
    periodic              exp(-2 sin^2(pi lag / period) / (2 pi length / period)^2)     folded stars

with ``r = |lag| / length``. The length of the periodic kernel is scaled so that, for short lags, it means the same as the
squared exponential's.
"""

from __future__ import annotations

import numpy as np

from badac.training import FloatArray

KERNELS = ("squared_exponential", "matern32", "matern52", "periodic")

# In lengths: no correlation is left, and its square is still a number.
_FARTHEST = 1e6


def correlation(
    kernel: str, lag: FloatArray, length: float, period: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the correlation at each lag and its derivative with respect to log length, in the shape of `lag`."""
    if kernel == "squared_exponential":
        squared = np.clip(lag / length, -_FARTHEST, _FARTHEST) ** 2
        value = np.exp(-0.5 * squared)
        return value, squared * value
    if kernel == "matern32":
        a = np.abs(lag)
        a *= np.sqrt(3.0) / length
        np.minimum(a, _FARTHEST, out=a)
        decay = np.exp(-a)
        scaled = a * decay
        decay += scaled
        scaled *= a
        return decay, scaled
    if kernel == "matern52":
        a = np.minimum(np.abs(lag) * (np.sqrt(5.0) / length), _FARTHEST)
        decay = np.exp(-a)
        return (1.0 + a + a * a / 3.0) * decay, a * a * (1.0 + a) / 3.0 * decay
    if kernel == "periodic":
        chord = np.sin(np.pi * lag / period) * (period / (2.0 * np.pi * length))
        squared = 4.0 * chord * chord
        value = np.exp(-0.5 * squared)
        return value, squared * value
    raise ValueError(f"`kernel` must be one of {', '.join(KERNELS)}: got {kernel!r}.")

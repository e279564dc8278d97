"""The density of bad-point noise, summed over points, fast enough for quadrature.

With ``t = (d - y) / sigma``, a share ``q`` of points that are ``f`` times wider, and ``a = (1 - f^-2) / 2``,

    log P(d | y) = sum_j log[ (1 - q) N(t_j; 1) + q N(t_j; f) ] - sum_j log sigma_j
                 = sum_j { -t_j^2 / (2 f^2) + log[ (1 - q) exp(-a t_j^2) + q / f ] } - m log(2 pi) / 2 - sum_j log sigma_j

The bracket lies between ``q / f`` and 1, so whole groups of points are multiplied before one logarithm is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.simulate.distributions import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class MixtureDensity:
    """``(1 - share) N(0, 1) + share N(0, factor^2)`` of standardised residuals, for ``0 < share < 1, factor >= 1``."""

    share: float
    factor: float

    def __post_init__(self) -> None:
        if not (0.0 < self.share < 1.0 and self.factor >= 1.0):
            raise ValueError(
                "the evidence needs a share of bad points in (0, 1), and those wider than reported: got share "
                f"{self.share} and factor {self.factor}. Use Gaussian noise if no point is bad."
            )

    def begin(self, shape: tuple[int, ...]) -> LogSum:
        """Start a running sum over points for an array of the given shape."""
        return LogSum(self, shape)

    def log_density(self, t: FloatArray) -> FloatArray:
        """Log density of standardised residuals, element by element."""
        return -0.5 * (t / self.factor) ** 2 + np.log(self._bracket(t)) - 0.5 * _LOG_2PI

    def good(self, t: FloatArray) -> FloatArray:
        """Probability that a point with standardised residual `t` is a good one."""
        return 1.0 - self.share / self.factor / self._bracket(t)

    def _bracket(self, t: FloatArray) -> FloatArray:
        narrow = 0.5 * (1.0 - self.factor**-2)
        return np.asarray((1.0 - self.share) * np.exp(-narrow * t * t) + self.share / self.factor)


class LogSum:
    """Running ``sum_j log density(t_j)``: `add` one point at a time for a whole array, then `total`.

    Mutable on purpose: it owns the buffers of the innermost loop, which would otherwise be allocated per point.
    """

    def __init__(self, density: MixtureDensity, shape: tuple[int, ...]) -> None:
        self._floor = density.share / density.factor
        self._good = 1.0 - density.share
        self._narrow = -0.5 * (1.0 - density.factor**-2)
        self._wide = -0.5 * density.factor**-2
        # A product of this many brackets, each at least `floor`, stays above 1e-250.
        self._group = max(1, int(250.0 / max(-np.log10(self._floor), 1e-3)))
        self._square = np.zeros(shape)
        self._product = np.ones(shape)
        self._log = np.zeros(shape)
        self._points = 0

    def add(self, t: FloatArray) -> None:
        """Add a point with standardised residuals `t` of the sum's shape; `t` is used up as a buffer."""
        np.multiply(t, t, out=t)
        self._square += t
        t *= self._narrow
        np.exp(t, out=t)
        t *= self._good
        t += self._floor
        self._product *= t
        self._points += 1
        if self._points % self._group == 0:
            self._log += np.log(self._product)
            self._product.fill(1.0)

    def total(self) -> FloatArray:
        """Return the sum over the points added so far."""
        constant = -0.5 * self._points * _LOG_2PI
        return self._log + np.log(self._product) + self._wide * self._square + constant

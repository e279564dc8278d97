"""Random curves of unit variance along the coordinate: what a hypothesis adds to a class, or puts in its place.

    f ~ GP(0, k(x, x')) ,      k(x, x) = 1 ,      x in units of the range of the training objects' coordinates

A family of them has one or more alternatives (lengths, ...) that are equally likely, and two forms of each. At any points it is
the kernel itself. On a common grid it is a few features, ``f = features c`` with ``c ~ N(0, diag variances)``, so that a curve
of any number of points costs a few dozen numbers: for `SmoothCurves` cosines (`badac.anomalies.sequence`), for
`KernelCurves` the leading eigenvectors of the kernel on the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import cosines, spectrum

# Eigenvectors are kept until a thousandth of the variance is left: less than any object's noise would show.
_VARIANCE_KEPT = 0.999


class RandomCurves(Protocol):
    """Alternatives of one kind of random curve that share their features on a grid."""

    def on_grid(self, where: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        """Return features (m, q) at coordinates (m,), a constant 1 first, and variances of the first of them.

        One array (q_k,), ``q_k <= q``, for each alternative; 0 for the constant if the curves have no level of their own.
        """

    def at_points(self, x: FloatArray) -> Iterator[FloatArray]:
        """Yield the covariance (b, p, p) of each alternative at coordinates (b, p)."""


@dataclass(frozen=True)
class SmoothCurves:
    """Gaussian processes with squared-exponential kernels of these lengths, in units of the range."""

    lengths: tuple[float, ...]

    def on_grid(self, where: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        powers = tuple(spectrum(length) for length in self.lengths)
        return cosines(where, max(power.size for power in powers)), powers

    def at_points(self, x: FloatArray) -> Iterator[FloatArray]:
        lag = x[:, :, None] - x[:, None, :]
        for length in self.lengths:
            yield np.exp(-0.5 * (lag / length) ** 2)


@dataclass(frozen=True)
class KernelCurves:
    """Gaussian processes with a kernel of your own.

    Parameters
    ----------
    kernel : callable
        The covariance of the curve at coordinates x and x', arrays that broadcast; 1 where they are the same.
    """

    kernel: Callable[[FloatArray, FloatArray], FloatArray]

    def on_grid(self, where: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        values, vectors = np.linalg.eigh(self.kernel(where[:, None], where[None, :]))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        share = np.cumsum(values) / max(float(values.sum()), 1e-300)
        kept = 1 + int(np.searchsorted(share, _VARIANCE_KEPT))
        # In units in which every feature has a mean square of one, as a cosine has.
        features = np.column_stack([np.ones(where.size), np.sqrt(where.size) * vectors[:, :kept]])
        return features, (np.append(0.0, values[:kept] / where.size),)

    def at_points(self, x: FloatArray) -> Iterator[FloatArray]:
        yield np.array(self.kernel(x[:, :, None], x[:, None, :]), dtype=np.float64)

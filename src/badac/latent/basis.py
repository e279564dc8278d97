"""Functions of the coordinate as a few coefficients, so that curves on no common grid can be learned together.

    curve(t, band) = origin + basis(t, band) @ coefficients

Each band has a constant and ``q`` features ``k(t, knots) L^-T`` with ``L L' = k(knots, knots)``: with coefficients drawn from
N(0, 1) the curve is a Gaussian process of kernel ``k`` (Nystroem), so a ridge on them is a smoothness prior on the curve, and
away from the data the curve goes back to its constant instead of swinging off as a polynomial does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.correlation import correlation
from badac.registry import registered
from badac.training import FloatArray

_JITTER = 1e-6  # of the kernel at lag 0: a thousandth of a standard deviation, far above rounding
_LENGTH_IN_KNOTS = 1.5  # neighbours overlap: a curve does not sag between its knots


@registered(
    "part",
    holds={
        "knots": "(q,)",
        "whiten": "(q, _)",
        "length": "> 0",
        "period": "> 0, may be inf",
        "n_bands": "> 0, < 100000",
    },
)
@dataclass(frozen=True, eq=False)
class Basis:
    """Features of the coordinate, a block of them per band.

    Attributes
    ----------
    knots : (q,)
    whiten : (q, q)
        ``L^-T``.
    length, period : float
        Of the kernel; a finite period makes every feature periodic.
    n_bands : int

    Examples
    --------
    >>> from badac.latent import Basis
    >>> Basis.over(0.0, 1.0, n_knots=5).size
    6
    """

    knots: FloatArray
    whiten: FloatArray
    length: float
    period: float
    n_bands: int

    @classmethod
    def over(
        cls, lower: float, upper: float, n_knots: int, *, n_bands: int = 1, period: float = np.inf
    ) -> Basis:
        """Spread knots evenly from lower to upper, or around one period."""
        if np.isfinite(period):
            knots = period * np.arange(n_knots) / n_knots
            spacing = period / n_knots
        else:
            span = upper - lower if upper > lower else 1.0
            knots = np.linspace(lower, lower + span, n_knots) if n_knots > 1 else np.array([lower + span / 2])
            spacing = span / max(n_knots - 1, 1)
        length = _LENGTH_IN_KNOTS * spacing
        # A period much longer than the length keeps only the short lags: the kernel is then no longer a valid one for few
        # knots, so the jitter also takes care of rounding.
        name = "periodic" if np.isfinite(period) else "matern52"
        full, _ = correlation(name, knots[:, None] - knots, length, period)
        factor = np.linalg.cholesky(full + _JITTER * np.eye(n_knots))
        return cls(knots, np.linalg.inv(factor).T, length, period, n_bands)

    @property
    def size(self) -> int:
        """Number of coefficients, all bands together."""
        return self.n_bands * (len(self.knots) + 1)

    def prior_scale(self) -> FloatArray:
        """Standard deviation (size,) of each coefficient in units of the values' own: wide for the constants."""
        return np.tile(np.append(10.0, np.ones(len(self.knots))), self.n_bands)

    def of_one_band(self, at: FloatArray) -> FloatArray:
        """Return (..., m, 1 + q): the features of a band at finite coordinates (..., m)."""
        name = "periodic" if np.isfinite(self.period) else "matern52"
        features = np.empty((*at.shape, len(self.knots) + 1))
        features[..., 0] = 1.0
        near, _ = correlation(name, at[..., None] - self.knots, self.length, self.period)
        np.matmul(near, self.whiten, out=features[..., 1:])
        return features

    def __call__(self, at: FloatArray, band: IntArray | None = None) -> FloatArray:
        """Return (..., m, size): the features at coordinates (..., m) in bands (..., m); NaN or band -1 give zeros."""
        seen = np.isfinite(at)
        features = self.of_one_band(np.where(seen, at, 0.0))
        if band is None or self.n_bands == 1:
            return np.asarray(features * seen[..., None])
        chosen = (band[..., None] == np.arange(self.n_bands)) & seen[..., None]
        return np.asarray((chosen[..., :, None] * features[..., None, :]).reshape(*at.shape, self.size))


def coordinates(objects: Measurements) -> FloatArray:
    """Return (n, m): the coordinate of every point; its number where the objects have none."""
    at = np.arange(objects.n_points, dtype=np.float64) if objects.at is None else objects.at
    return np.broadcast_to(at, objects.shape)

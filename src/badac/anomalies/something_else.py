"""Something else entirely: any smooth curve, or any values, of no known class, seen through the object's own noise.

    P(d | something else) = mean over A and l of  N(d ; level , s^2 (1 + A^2 K_l) + Sigma_d)           points with an order
    P(d | something else) = mean over A of  prod_j N(d_j ; centre_j , A^2 scale_j^2 + sigma_dj^2)    features without

``s^2`` is the variance of the known classes around their common level; amplitudes ``A`` are in units of ``s`` and lengths
``l`` in units of the range of the coordinates. For an object of noise ``sigma_d`` the scale is at least that of the noise,
``s^2 + 4 sigma_d^2``: something else is something that could be seen. With ``s`` alone a noisy object of a known
class would drift towards even odds, and above the quiet ones in the ranking.
"""

from __future__ import annotations

from dataclasses import dataclass

from badac.anomalies.hypothesis import ProcessAlone, Scales
from badac.anomalies.sequence import SmoothCurves
from badac.registry import registered


@registered("hypothesis")
@dataclass(frozen=True)
class SomethingElse:
    """A Gaussian process of unknown amplitude and length; for features without an order, independent values.

    Parameters
    ----------
    lengths : tuple of float
        In units of the range of the coordinates.
    amplitudes : tuple of float
        In units of the known classes' own scale. For features without an order, of each feature's standard deviation.

    Examples
    --------
    >>> from badac.anomalies import SomethingElse
    >>> SomethingElse().lengths
    (0.05, 0.15, 0.4)
    """

    lengths: tuple[float, ...] = (0.05, 0.15, 0.4)
    amplitudes: tuple[float, ...] = (0.7,)

    def adds(self, scales: Scales) -> ProcessAlone:
        curves = () if scales.where is None else (SmoothCurves(self.lengths),)
        return ProcessAlone(curves, self.amplitudes)

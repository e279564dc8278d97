"""A known class plus a smooth deviation of unknown size and length.

    P(d | deviation) = sum_k P(k) mean over A and l of  N(d ; class k , Sigma_d + A^2 K_l)

``A`` is in units of the object's own noise at a point: a deviation is sought where it could just be seen, and the score of a
normal object does not depend on its error bars. For features without an order the deviation is one more independent
variance at each point.
"""

from __future__ import annotations

from dataclasses import dataclass

from badac.anomalies.hypothesis import ProcessOnClass, Scales
from badac.anomalies.sequence import SmoothCurves
from badac.registry import registered


@registered("hypothesis")
@dataclass(frozen=True)
class SmoothDeviation:
    """A known class plus a Gaussian process.

    Parameters
    ----------
    lengths : tuple of float
        In units of the range of the coordinates.
    amplitudes : tuple of float
        In units of the object's noise (and the class's psi) at a point.

    Examples
    --------
    >>> from badac.anomalies import SmoothDeviation
    >>> SmoothDeviation(lengths=(0.2,)).lengths
    (0.2,)
    """

    lengths: tuple[float, ...] = (0.05, 0.3)
    amplitudes: tuple[float, ...] = (1.0,)

    def adds(self, scales: Scales) -> ProcessOnClass:
        curves = () if scales.where is None else (SmoothCurves(self.lengths),)
        return ProcessOnClass(curves, self.amplitudes)

"""A known class plus a bump of unknown place, width and height: a matched filter, averaged over its grid.

Places and widths are those of `badac.anomalies.sequence.bump_grid`; the Bayes factor is that of
`badac.anomalies.matched_filter`. For features without an order a bump is one point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from badac.anomalies.hypothesis import Scales, ShapeOnClass
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import bump_grid, bump_stretches, bumps
from badac.registry import registered


@registered("hypothesis")
@dataclass(frozen=True)
class Bump:
    """A known class plus a bump.

    Parameters
    ----------
    signal_to_noise : float
        Prior standard deviation of the height, in units of the error with which it would be measured.
    step : float
        Distance of neighbouring places, in units of the width.
    widest : float
        Largest width, in units of the range of the coordinates.
    components : int
        Number of components of the class's mixture that are tried per object.

    Examples
    --------
    >>> from badac.anomalies import Bump, Deviations
    >>> Deviations(hypotheses=(Bump(),), shares=(1.0,)).hypotheses
    (Bump(signal_to_noise=5.0, step=1.0, widest=0.1, components=2),)
    """

    signal_to_noise: float = 5.0
    step: float = 1.0
    widest: float = 0.1
    components: int = 2

    def adds(self, scales: Scales) -> ShapeOnClass:
        places, widths = self.places(scales)
        if scales.where is None:
            return ShapeOnClass(single_points, self.signal_to_noise, self.components)
        return ShapeOnClass(
            partial(bumps, places=places, widths=widths),
            self.signal_to_noise,
            self.components,
            partial(bump_stretches, places=places, widths=widths),
        )

    def places(self, scales: Scales) -> tuple[FloatArray, FloatArray]:
        """Return places and widths (p,) in units of the range; without an order the number of the feature, and 0."""
        if scales.where is None:
            return np.arange(scales.centre.size, dtype=np.float64), np.zeros(scales.centre.size)
        return bump_grid(scales.where, self.step, self.widest)


def single_points(number: FloatArray) -> FloatArray:
    """Return (m, m): one shape for each of m features."""
    return np.eye(number.size)

"""How probably a new object with a p-value is an anomaly, as the p-values of many new objects say it: two groups.

    p-values of new objects   ~   (1 - share) uniform  +  share (those of anomalies, whatever they are)        Efron (2008)
    P(anomaly | p)            =   1 - c (1 - share) / density(p)

What known objects score is known from those that were left out; what anomalies score is not, before there are any. Among
thousands of new objects there are: the small p-values that known objects do not have. The ``density`` of all falls (a stranger
object is never less probably an anomaly), and the best falling one is the slope of the least concave majorant of the
distribution function (Grenander 1956; Strimmer 2008 for the same use). The ``share`` is the one expected beforehand; ``c``,
from 1 to 1.5, is such that the probabilities do not add up to more than it: the left-out objects are a sample, and p-values
of the bulk that come out a tenth too small would make anomalies of thousands. Where there are more anomalies than expected,
clear ones stay clear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.registry import registered

FloatArray = npt.NDArray[np.float64]

FEWEST = 1000
"""New objects from which two groups are told: with a share of one in a hundred they hold ten anomalies."""
# Thirty left-out objects, one in a hundred of 3,000, are known to a fifth: twice that, and a little.
_MOST_FACTOR, _STEPS = 1.5, 40


@registered("part", holds={"pvalue": "(q,) sorted", "proba": "(q,) >= 0, <= 1"})
@dataclass(frozen=True, eq=False)
class TwoGroups:
    """The probability of an anomaly by p-value.

    Attributes
    ----------
    pvalue : (q,)
        Rising; ends of the steps.
    proba : (q,)
        Falling; probability of an anomaly for a p-value up to this end, and beyond the one before.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.calibration.two_groups import TwoGroups
    >>> pvalue = np.concatenate([np.full(10, 1e-6), (np.arange(990) + 0.5) / 990])
    >>> found = TwoGroups.learn(pvalue, share=0.01)
    >>> found.anomaly_proba(np.array([1e-7, 0.5])).round(2)
    array([1., 0.])
    """

    pvalue: FloatArray
    proba: FloatArray

    @classmethod
    def learn(cls, pvalue: FloatArray, share: float) -> TwoGroups:
        """Learn from the p-values (n,) of new objects, of which a `share` is expected to be anomalies."""
        ends, height = falling_density(pvalue)
        known = np.minimum((1.0 - share) / height, 1.0)
        weight = np.diff(np.searchsorted(np.sort(pvalue), ends, side="right"), prepend=0) / len(pvalue)

        def proba(factor: float) -> FloatArray:
            return np.maximum(1.0 - factor * known, 0.0)

        low, high = 1.0, _MOST_FACTOR
        if weight @ proba(low) <= share:
            return cls(ends, proba(low))
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if weight @ proba(middle) > share else (low, middle)
        return cls(ends, proba(high))

    def anomaly_proba(self, pvalue: FloatArray) -> FloatArray:
        """Return (n,): probabilities of an anomaly for p-values (n,)."""
        step = np.searchsorted(self.pvalue, pvalue, side="left")
        return np.asarray(self.proba[np.minimum(step, len(self.proba) - 1)])


def falling_density(pvalue: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (q,) of the steps of the falling density under which p-values (n,) are most probable, and its heights."""
    at, count = np.unique(pvalue, return_counts=True)
    x = np.concatenate([[0.0], at])
    y = np.concatenate([[0.0], np.cumsum(count) / len(pvalue)])
    corners = [0]
    for index in range(1, len(x)):
        # A corner that lies below the line from the one before it to this point is none.
        while len(corners) > 1 and _slope(x, y, corners[-2], corners[-1]) <= _slope(x, y, corners[-1], index):
            corners.pop()
        corners.append(index)
    ends = np.array(corners[1:])
    starts = np.array(corners[:-1])
    return x[ends], (y[ends] - y[starts]) / (x[ends] - x[starts])


def _slope(x: FloatArray, y: FloatArray, first: int, second: int) -> float:
    return float((y[second] - y[first]) / (x[second] - x[first]))

"""How probably a new object with a p-value is an anomaly, as the p-values of many new objects say it: two groups.

    p-values of new objects   ~   (1 - share) uniform  +  share (those of anomalies, whatever they are)        Efron (2008)
    P(anomaly | p)            =   1 - c (1 - share) / density(p)

What known objects score is known from those that were left out; what anomalies score is not, before there are any. Among
thousands of new objects there are: the small p-values that known objects do not have. The ``density`` of all falls (a stranger
object is never less probably an anomaly), and the best falling one is the slope of the least concave majorant of the
distribution function (Grenander 1956; Strimmer 2008 for the same use). The ``share`` is the one expected beforehand; ``c``,
from 1 to 2, is such that the probabilities do not add up to more than it: the left-out objects are a sample, and p-values
of the bulk that come out a tenth too small would make anomalies of thousands. Where there are more anomalies than expected,
clear ones stay clear.

The left-out objects are a sample: where three of them decide, their number is uncertain, and the probability is averaged over
what other samples, drawn again from this one, would have said (bagging, Breiman 1996). Chosen with the curves of
benchmarks/lists.py (seeds 500 to 507, 3,000 training curves; log-loss of a table, summed over six experiments): 1,429 nats with
the sample as it is, 1,291 so. New objects drawn again too gain 12 more, but a sample that lacks the least of thirty clear
anomalies takes it for a known object (0.73 on average). Also tried: the density of drawn anomalies (`badac.anomalies.drawn`)
tilted by two parameters (1,570 and more), or bent at 18 places, averaged over what both samples leave open (1,512 and more).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.calibration.pool import Pool
from badac.registry import registered

FloatArray = npt.NDArray[np.float64]

FEWEST = 1000
"""New objects from which two groups are told: with a share of one in a hundred they hold ten anomalies."""
# Thirty left-out objects, one in a hundred of 3,000, are known to a fifth, and a sample of that sample to a third.
_MOST_FACTOR, _STEPS = 2.0, 40
# Samples that are drawn again: probabilities to a few per cent.
_SAMPLES = 40
# New objects that are kept one by one, strangest first; the others in groups, as they are hardly anomalies.
_ONE_BY_ONE, _GROUPS = 3000, 300


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
        return cls(*_proba(pvalue, np.ones(len(pvalue)), share))

    @classmethod
    def averaged(
        cls, pvalue: FloatArray, score: FloatArray, known: FloatArray, share: float, rng: np.random.Generator
    ) -> TwoGroups:
        """Learn from p-values (n,), averaged over samples of the known objects.

        Parameters
        ----------
        pvalue : (n,)
            Of new objects.
        score : (n,)
            What they come from; high = strange, and none rises with the p-value.
        known : (c,)
            Scores of left-out known objects.
        share : float
            Of anomalies that is expected.
        rng : numpy Generator
        """
        order = np.lexsort((-score, pvalue))
        pvalue, score, n = pvalue[order], score[order], len(order)
        starts = np.concatenate([np.arange(min(n, _ONE_BY_ONE)), np.linspace(_ONE_BY_ONE, n, _GROUPS, False)])
        starts = np.unique(starts[starts < n].astype(np.int64))
        ends = np.concatenate([starts[1:], [n]]) - 1
        times = (ends - starts + 1).astype(np.float64)
        total = np.zeros(len(ends))
        for _ in range(_SAMPLES):
            share_of_known = Pool.of(rng.choice(known, len(known))).share(score[ends])
            steps = cls(*_proba(share_of_known, times, share))
            total += steps.anomaly_proba(share_of_known)
        # Falling, but for rounding.
        proba = np.minimum.accumulate(total / _SAMPLES)
        last = np.append(np.diff(pvalue[ends]) > 0, True)
        return cls(pvalue[ends][last], proba[last])

    def anomaly_proba(self, pvalue: FloatArray) -> FloatArray:
        """Return (n,): probabilities of an anomaly for p-values (n,)."""
        step = np.searchsorted(self.pvalue, pvalue, side="left")
        return np.asarray(self.proba[np.minimum(step, len(self.proba) - 1)])


def _proba(pvalue: FloatArray, times: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Ends (q,) of steps and the probability on each, of p-values (n,) that count so many times each."""
    ends, height = falling_density(pvalue, times)
    known = np.minimum((1.0 - share) / height, 1.0)
    weight = np.bincount(np.searchsorted(ends, pvalue), times, len(ends)) / times.sum()

    def proba(factor: float) -> FloatArray:
        return np.maximum(1.0 - factor * known, 0.0)

    low, high = 1.0, _MOST_FACTOR
    if weight @ proba(low) <= share:
        return ends, proba(low)
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if weight @ proba(middle) > share else (low, middle)
    return ends, proba(high)


def falling_density(pvalue: FloatArray, times: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the ends (q,) of the steps of the falling density under which p-values (n,) are most probable, and its heights.

    Each counts so many `times` (n,); once if not given.
    """
    at, back = np.unique(pvalue, return_inverse=True)
    count = np.bincount(back, times, len(at))
    x = np.concatenate([[0.0], at])
    y = np.concatenate([[0.0], np.cumsum(count) / count.sum()])
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

"""How far a Bayes factor in favour of an anomaly can be believed: no farther than left-out members of the known classes allow.

    1 / believed  =  1 / e  +  caution P(known object at least as strange)

A class of n members has members unlike all of them: about one in n + 1 (Good 1953, after Turing), more where left-out members
say so, and they are the less likely the stranger they are. The class models do not know them, and give them Bayes factors ``e``
of e^100. The share of known objects that are as strange, counted among left-out ones and continued by a tail
(`badac.calibration.pool`), bounds what can be concluded: evidence of more than one over that share would be claimed wrongly
more often than it may (an e-value cannot exceed 1/p; Vovk & Wang 2021). ``caution`` is at least 1, and so large that left-out
members average to one, as a Bayes factor does under the hypothesis that it speaks against. Both terms fall with the score, so
the order of the ranking stays.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from badac.calibration.pvalues import LeftOut

FloatArray = npt.NDArray[np.float64]

_MOST_CAUTION = 1e6


def believed_log_bayes_factor(log_bayes_factor: FloatArray, left_out: LeftOut) -> FloatArray:
    """Return (n,): log Bayes factors (n,) as far as they can be believed."""
    share = left_out.raw_pool.pvalue(log_bayes_factor)
    return _believed(log_bayes_factor, share, caution(left_out))


@lru_cache(maxsize=8)
def caution(left_out: LeftOut) -> float:
    """Return the factor that makes the believed Bayes factors of left-out known objects average to one; at least 1."""
    pool = left_out.raw_pool
    score = pool.score
    if not score.size:
        return 1.0
    share = pool.pvalue(score)

    def mean(factor: float) -> float:
        return float(np.exp(_believed(score, share, factor)).mean())

    low, high = 1.0, _MOST_CAUTION
    if mean(low) <= 1.0:
        return low
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if mean(middle) > 1.0 else (low, middle)
    return float(high)


def _believed(log_bayes_factor: FloatArray, share: FloatArray, factor: float) -> FloatArray:
    return np.asarray(-np.logaddexp(-log_bayes_factor, np.log(factor * share)))

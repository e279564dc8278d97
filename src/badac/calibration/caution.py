"""How far a Bayes factor in favour of an anomaly can be believed: what known objects and drawn anomalies score decides.

    believed  =  density of drawn anomalies / density of known objects          at the object's p-value
    1 / believed  =  1 / e  +  caution P(known object at least as strange)      where no anomalies could be drawn

A class of n members has members unlike all of them: about one in n + 1 (Good 1953, after Turing), more where left-out members
say so, and they are the less likely the stranger they are. The class models do not know them, and give them Bayes factors ``e``
of e^100. What known objects really score is known from those that were left out, continued by a tail
(`badac.calibration.pool`); what anomalies would score, from objects that are drawn as the anomaly model has them
(`badac.anomalies.drawn`). On the scale of p-values, which are uniform for known objects, the density of the drawn ones is the
ratio of the two, and as a stranger object is never less probably an anomaly, it falls (`badac.calibration.two_groups`).

Where none could be drawn, the share of known objects that are as strange bounds what can be concluded: evidence of more than
one over that share would be claimed wrongly more often than it may (an e-value cannot exceed 1/p; Vovk & Wang 2021).
``caution`` is at least 1, and so large that left-out members average to one, as a Bayes factor does under the hypothesis that
it speaks against. Either way the order of the ranking stays.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from badac.calibration.pvalues import LeftOut
from badac.calibration.two_groups import falling_density

FloatArray = npt.NDArray[np.float64]

_MOST_CAUTION = 1e6
# The first step of the density reaches down to p = 0: its height is taken for that of p-values up to a tenth of its end.
_FIRST_STEP = 0.1


def believed_log_bayes_factor(
    log_bayes_factor: FloatArray, share: FloatArray, left_out: LeftOut
) -> FloatArray:
    """Return (n,): log Bayes factors (n,) as far as they can be believed; `share` (n,) of the raw pool is as strange."""
    if left_out.drawn.size:
        at, log_ratio = drawn_log_ratio(left_out)
        beyond = np.maximum(at[0] - np.log(share), 0.0)
        return np.asarray(np.interp(np.log(share), at, log_ratio) + beyond)
    return _believed(log_bayes_factor, share, caution(left_out))


@lru_cache(maxsize=8)
def drawn_log_ratio(left_out: LeftOut) -> tuple[FloatArray, FloatArray]:
    """Return log p-values (q,), rising, and the log of the density of drawn anomalies over that of known objects there.

    It begins with the strangest that was drawn: beyond, it is taken to grow as one over the p-value, the most that it may.
    """
    pvalue = left_out.raw_pool.pvalue(left_out.drawn)
    ends, height = falling_density(pvalue)
    # The middle of each step: between two of them the density goes on falling.
    log_ends = np.log(ends)
    middles = 0.5 * (log_ends + np.concatenate([[log_ends[0] + 2.0 * np.log(_FIRST_STEP)], log_ends[:-1]]))
    strangest = min(float(np.log(pvalue.min())), float(middles[0]))
    return np.concatenate([[strangest], middles]), np.log(np.concatenate([height[:1], height]))


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

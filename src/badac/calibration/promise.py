"""What a list promises: false alarms on average, their share at 90 % confidence, and why, if it promises nothing.

One rule for a list in memory (`badac.ranking`), of a file, and of the partitions of a cluster: it needs five numbers of the
p-values, which add up over partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.calibration.discoveries import BoolArray, FloatArray, false_share_bound, why_empty
from badac.calibration.pool import Pool


@dataclass(frozen=True)
class ListCounts:
    """What a promise is made of.

    Attributes
    ----------
    n_objects, n_listed : int
        Objects that were judged, and those of them that are on the list.
    last : float
        Largest p-value on the list; 0 if it is empty.
    smallest : float
        The smallest p-value of all, which `n_smallest` objects have.
    n_smallest : int
    """

    n_objects: int
    n_listed: int
    last: float
    smallest: float
    n_smallest: int

    @classmethod
    def of(cls, pvalue: FloatArray, listed: BoolArray) -> ListCounts:
        """Count p-values (n,) and who is on the list (n,)."""
        smallest = float(np.min(pvalue, initial=1.0))
        last = float(np.max(pvalue[listed], initial=0.0))
        return cls(len(pvalue), int(listed.sum()), last, smallest, int((pvalue == smallest).sum()))


@dataclass(frozen=True)
class Promise:
    """What a list promises.

    Attributes
    ----------
    expected_false_alarms : float
        How many normal objects it holds on average, at most; NaN where that cannot be promised.
    false_share_bound : float or None
        Share of normal objects that it does not exceed, at 90 % confidence; 1 where that cannot be promised, None where the
        known objects that were compared with are not there.
    why : str
        Why the list is empty and what would fill it, or why nothing can be promised; empty if all is well.
    """

    expected_false_alarms: float
    false_share_bound: float | None
    why: str


def promise_of(counts: ListCounts, fdr: float, pool: Pool | None, doubts: str = "") -> Promise:
    """Return the promise of a list.

    Parameters
    ----------
    counts : ListCounts
    fdr : float in (0, 1)
    pool : Pool or None
        The known objects that were compared with.
    doubts : str
        Why the new objects are not like the training's (`badac.comparison`): then nothing is promised.
    """
    if doubts:
        return Promise(float("nan"), 1.0, doubts)
    expected = float(counts.n_objects * counts.last)
    if pool is None:
        return Promise(expected, None, "")
    bound = false_share_bound(pool, counts.n_objects, counts.n_listed, counts.last)
    why = ""
    if not counts.n_listed:
        why = why_empty(counts.n_objects, counts.smallest, counts.n_smallest, len(pool), fdr)
    return Promise(expected, bound, why)

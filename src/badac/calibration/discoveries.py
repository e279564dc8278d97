"""Lists with a stated share of false alarms, what is to be expected of them, and why one is empty.

the longest list with  n p <= share (length of the list)                 Benjamini & Hochberg (1995)
expected false alarms  <= n p                                            p: the largest p-value on it
upper bound            false alarms ~ Poisson(n q),  q as uncertain as the pool of known objects leaves it
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import poisson

from badac.calibration.pool import Pool
from badac.data.validation import is_number

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

CONFIDENCE = 0.9
"""Of the upper bound on the share of false alarms."""


def check_share(share: float) -> None:
    """Refuse a share of false alarms that is none."""
    if not is_number(share) or not 0.0 < share < 1.0:
        raise ValueError(
            f"`fdr` must be a share of false alarms between 0 and 1: got {share!r}. Use for example 0.1."
        )


def discoveries(pvalue: FloatArray, share: float) -> BoolArray:
    """Return (n,): the longest list of which on average at most `share` is false (Benjamini & Hochberg 1995)."""
    check_share(share)
    n = len(pvalue)
    # Larger ones cannot be on it, and of known objects most are.
    ranked = np.sort(pvalue[pvalue <= share])
    below = np.flatnonzero(ranked <= share * np.arange(1, len(ranked) + 1) / n)
    if below.size == 0:
        return np.zeros(n, dtype=np.bool_)
    return np.asarray(pvalue <= ranked[below[-1]])


def expected_false_alarms(pvalue: FloatArray, found: BoolArray) -> float:
    """Return how many normal objects the list is expected to hold at most: n times its largest p-value."""
    return float(len(pvalue) * pvalue[found].max()) if found.any() else 0.0


def false_share_bound(pool: Pool, n_objects: int, n_listed: int, last: float) -> float:
    """Return the share of false alarms that a list does not exceed, at 90 % confidence; 0 for an empty one.

    Parameters
    ----------
    pool : Pool
        The known objects that were compared with.
    n_objects : int
        New objects that were judged.
    n_listed : int
        Of those, on the list.
    last : float
        Largest p-value on the list.
    """
    if n_listed == 0:
        return 0.0
    values, weights = pool.possible_pvalues(last)
    expected = n_objects * values
    low, high = 0, n_listed
    while low < high:
        middle = (low + high) // 2
        if weights @ poisson.cdf(middle, expected) >= CONFIDENCE:
            high = middle
        else:
            low = middle + 1
    return low / n_listed


def why_empty(n_objects: int, smallest: float, n_smallest: int, n_known: int, fdr: float) -> str:
    """Say why a list is empty, and what would fill it.

    Parameters
    ----------
    n_objects : int
        New objects that were judged.
    smallest : float
        The smallest of their p-values, which `n_smallest` of them have.
    n_known : int
        Known objects that they were compared with.
    fdr : float
    """
    if n_objects == 0:
        return "no objects, no list."
    wanted = int(np.ceil(n_objects * smallest / fdr))
    alike = "object has" if n_smallest == 1 else f"{n_smallest} objects have"
    words = (
        f"no list at {fdr:g}: the strangest {alike} p = {smallest:.2g}, and among {n_objects:,} objects chance alone gives "
        f"{n_objects * smallest:.2g} that strange. "
    )
    if smallest * (n_known + 1) > 2.0:
        # Known objects are as strange: finer p-values would not be smaller ones.
        return words + f"A list needs {wanted:,} objects as strange as the strangest, or stranger ones."
    labelled = int(np.ceil(n_objects / (fdr * max(n_smallest, 1)))) - n_known
    more = f", or about {labelled:,} more labelled objects" if labelled > 0 else ", or stranger ones"
    return words + f"A list needs {wanted:,} objects as strange as the strangest{more}."

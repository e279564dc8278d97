"""The rank-weighted score: how good is the top of an anomaly list?

Someone follows up the first ``N`` objects of a list, strangest first. The score is the share of weight that
true anomalies hold there, with a weight that falls linearly with the rank ``i``:

    S = (1 / S_0) sum_{i=1}^{N} w_i I_i ,   w_i = N + 1 - i ,   S_0 = N (N + 1) / 2

(the paper's section "Rank-Weighted Score"). ``I_i`` is 1 if the object at rank ``i`` is an anomaly. One:
the first ``N`` objects are all anomalies. Zero: none is. Use it where looking costs something, so that a
false alarm at rank 1 is worse than one at rank ``N``; use the same ``N`` for all algorithms that are
compared. Random ranking scores the share of anomalies.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.metrics.validation import FloatArray, check_length, check_ranking


def rank_weighted_score(is_anomaly: npt.ArrayLike, score: npt.ArrayLike, n: int) -> float:
    """Rank-weighted score of a ranking (the paper's RWS).

    Parameters
    ----------
    is_anomaly : (objects,) bool or 0/1
        Which objects are anomalies.
    score : (objects,) float
        High = strange. Infinite scores are allowed, NaN is not.
    n : int
        Length of the list that is looked at, usually the expected number of anomalies.

    Returns
    -------
    float
        In [0, 1]. With fewer than `n` anomalies among the objects 1 cannot be reached: the paper's
        definition.

    Notes
    -----
    Tied scores count with their expectation over all orders of the tied objects: each gets the mean weight
    of the ranks that they share. So the value depends neither on the order of the input nor on a random
    number.

    If `n` exceeds the number of objects, ranks beyond the last object do not exist. The ranks that do keep
    their weight ``n + 1 - i``, and ``S_0`` is the sum of those, so that 1 still means "every object of the
    list is an anomaly".

    Examples
    --------
    >>> from badac.metrics import rank_weighted_score
    >>> rank_weighted_score([1, 0, 1, 0, 0], [9.0, 7.0, 5.0, 2.0, 1.0], n=2)
    0.6666666666666666
    """
    is_anomaly, score = check_ranking(is_anomaly, score)
    weight = _expected_weight(score, _rank_weights(check_length(n), score.size))
    return float(weight[is_anomaly].sum() / weight.sum())


def expected_flag(score: FloatArray, n_flagged: int) -> FloatArray:
    """Probability (objects,) that each object is among the `n_flagged` strangest, ties broken at random."""
    rank_is_flagged = (np.arange(score.size) < n_flagged).astype(np.float64)
    return _expected_weight(score, rank_is_flagged)


def _rank_weights(n: int, n_objects: int) -> FloatArray:
    """``n + 1 - i`` for the ranks ``i = 1 ... n_objects``, zero below the list's end."""
    return np.maximum(n - np.arange(n_objects, dtype=np.float64), 0.0)


def _expected_weight(score: FloatArray, rank_weight: FloatArray) -> FloatArray:
    """Mean of `rank_weight` over the ranks that an object's score can take, (objects,)."""
    _, group, size = np.unique(-score, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    cumulative = np.concatenate([[0.0], np.cumsum(rank_weight)])
    mean = (cumulative[last] - cumulative[last - size]) / size
    return np.asarray(mean[group])

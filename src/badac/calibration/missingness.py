"""Which points are missing can tell the class: a star too faint in the infrared, a neutron star without optical counterpart.

    P(class | d)  proportional to  P(d | class)^beta  [prod_j share_cj^observed_j (1 - share_cj)^missing_j]^weight  P(class)

``share_cj`` is the share of the class's members that were observed at point j. The points do not go missing independently, so
the factor is tempered by a weight between 0 and 1, learned by the log-loss of training objects that were left out of their own
class. It is 0 unless they clearly ask for more: where missingness says nothing (clouds, chance) nothing changes. It assumes
that new objects go missing as training objects did; where the surveys differ, switch it off
(``BADACClassifier(missingness="ignore")``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.calibration.coarsening import FloatArray, IntArray, scores
from badac.registry import registered

_CLEARLY = 2.0


@registered("part", holds={"share": "(_, _) >= 0, <= 1", "uncertainty": "may be inf"})
@dataclass(frozen=True, eq=False)
class Missingness:
    """What the gaps of an object say of its class.

    Attributes
    ----------
    share : (k, m)
        Share of each class's members that were observed at each point, half a member added on both sides.
    weight : float
        To be used: 0 unless the estimate is clearly above.
    estimate, uncertainty : float
        The weight with the least log-loss, between 0 and 1, and its standard error.
    """

    share: FloatArray
    weight: float
    estimate: float
    uncertainty: float

    @classmethod
    def ignored(cls) -> Missingness:
        """Return a factor that is not used."""
        return cls(np.zeros((0, 0)), 0.0, 0.0, np.inf)

    def log_factor(self, observed: npt.NDArray[np.bool_]) -> FloatArray | float:
        """Return (n, k): what the gaps (n, m) add to the log evidence; 0 where they are not used."""
        if self.weight == 0.0:
            return 0.0
        return self.weight * log_probability(observed, self.share)


def log_probability(observed: npt.NDArray[np.bool_], share: FloatArray) -> FloatArray:
    """Return (n, k): log probability of each object's gaps under each class."""
    present = observed.astype(np.float64)
    return np.asarray(present @ (np.log(share) - np.log1p(-share)).T + np.log1p(-share).sum(axis=1))


def shares(observed: npt.NDArray[np.bool_], label: IntArray, n_classes: int) -> FloatArray:
    """Return (k, m): the share of each class's members that were observed at each point, half a member added on both sides."""
    count = np.bincount(label, minlength=n_classes).astype(np.float64)
    return (_seen(observed, label, n_classes) + 0.5) / (count[:, None] + 1.0)


def _seen(observed: npt.NDArray[np.bool_], label: IntArray, n_classes: int) -> FloatArray:
    return np.stack([observed[label == number].sum(axis=0) for number in range(n_classes)]).astype(np.float64)


def left_out_log_probability(
    observed: npt.NDArray[np.bool_], label: IntArray, rows: IntArray, n_classes: int
) -> FloatArray:
    """Return (r, k): `log_probability` of the gaps of some rows, each left out of its own class (which has others)."""
    own = label[rows]
    count = np.bincount(label, minlength=n_classes).astype(np.float64)
    out = log_probability(observed[rows], shares(observed, label, n_classes))
    without = (_seen(observed, label, n_classes)[own] - observed[rows] + 0.5) / count[own][:, None]
    out[np.arange(len(rows)), own] = np.where(observed[rows], np.log(without), np.log1p(-without)).sum(axis=1)
    return out


def learn_missingness(
    observed: npt.NDArray[np.bool_],
    label: IntArray,
    rows: IntArray,
    log_evidence: FloatArray,
    log_prior: FloatArray,
) -> Missingness:
    """Learn shares and weight.

    Parameters
    ----------
    observed : (n, m)
        Of all training objects.
    label : (n,)
    rows : (r,)
        Training objects that the weight is learned from.
    log_evidence : (r, k)
        Theirs, tempered, left out of their own class.
    log_prior : (k,)

    Returns
    -------
    Missingness
    """
    classes = len(log_prior)
    if observed.all():
        return Missingness.ignored()
    count = np.bincount(label, minlength=classes).astype(np.float64)
    share = shares(observed, label, classes)
    own = label[rows]
    factor = left_out_log_probability(observed, label, rows, classes)
    at_own = np.arange(len(rows)), own
    usable = np.isfinite(log_evidence[at_own]) & ~np.isnan(log_evidence).any(axis=1) & (count[own] > 1)
    if not usable.any():
        return Missingness.ignored()
    fixed = log_evidence - log_evidence[at_own][:, None] + log_prior - log_prior[own][:, None]
    fixed = np.maximum(fixed[usable], -1e6)
    relative = (factor - factor[at_own][:, None])[usable]
    low, high = 0.0, 1.0
    # Convex in the weight, so bisecting the sign of the slope finds the minimum.
    if float(scores(high, relative, fixed)[0].sum()) > 0.0:
        for _ in range(40):
            middle = 0.5 * (low + high)
            if float(scores(middle, relative, fixed)[0].sum()) > 0.0:
                high = middle
            else:
                low = middle
    slope, curvature = scores(high, relative, fixed)
    total = float(curvature.sum())
    uncertainty = float(np.sqrt((slope**2).sum()) / total) if total > 0 else np.inf
    weight = high if high > _CLEARLY * uncertainty else 0.0
    return Missingness(share, weight, high, uncertainty)

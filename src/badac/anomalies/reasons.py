"""Where an object departs from the known class that fits it best: each point's pull, the strangest window, the expected curve.

With ``R`` the inverse covariance of the class (population, psi and the object's noise) and ``c`` its centre,

    pull_j = [R (d - c)]_j / sqrt(R_jj)

is the deviation of point ``j`` from what the class and all other points predict, in standard deviations: N(0, 1) for a normal
object. The strangest window is the bump of any place and width with the largest Bayes factor
(`badac.anomalies.matched_filter`), and the expected curve is predicted from the points outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.anomalies.model import FloatArray
from badac.data.validation import IntArray

# A window reaches to where the bump has fallen to a tenth of its height, in units of its width.
REACH = 1.5
# Of the range of the coordinates: a wider bump would leave no object to predict from.
WIDEST = 0.5
# Nats: points in the window are left out of the prediction if the window is this much more probable than none.
STRANGE = 3.0


@dataclass(frozen=True, eq=False)
class Reasons:
    """Of n objects of m points each.

    Attributes
    ----------
    best : (n,) int
        The class that fits best.
    pull : (n, m)
        NaN where missing.
    window : (n, 2)
        In units of the coordinates (`at`, or the number of the point).
    window_log_bayes_factor : (n,)
        Of a bump in this window against none.
    expected, expected_sigma : (n, m)
        What the object should have looked like as a member of the class, without noise, and its standard deviation.
    """

    best: IntArray
    pull: FloatArray
    window: FloatArray
    window_log_bayes_factor: FloatArray
    expected: FloatArray
    expected_sigma: FloatArray

    @classmethod
    def blank(cls, n: int, m: int, *, whole: bool = False) -> Reasons:
        """Return a table to be filled in; without NaN to begin with, if all of it will be (`whole`)."""
        points = [np.empty((n, m)) if whole else np.full((n, m), np.nan) for _ in range(3)]
        return cls(
            np.zeros(n, dtype=np.int64), points[0], np.full((n, 2), np.nan), np.zeros(n), points[1], points[2]
        )

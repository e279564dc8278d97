"""Why an object is strange: which points, which window, and what it should have looked like.

The class that fits best says how far each point is pulled from where it should be, in which window most, and what the object
should have looked like (`badac.anomalies.reasons` has the formulas), on a common grid and at points of an object's own alike.
What a point adds to the strangeness is the log Bayes factor of a deviation of this point alone. The hypothesis that explains
the object best gives the kind of strangeness its name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies.bump import Bump
from badac.anomalies.deviations import Deviations
from badac.anomalies.matched_filter import log_bayes_factor
from badac.anomalies.model import Known
from badac.data.measurements import Measurements
from badac.data.units import in_units
from badac.latent.mixture import logsumexp_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Said of an object that the known classes explain better than any hypothesis about anomalies.
NOTHING = "nothing strange"


@dataclass(frozen=True, eq=False)
class Explanation:
    """What makes each of ``n`` objects strange, of ``m`` points.

    Attributes
    ----------
    objects : Measurements
        (n, m)
    log_bayes_factor : (n,)
        Of an anomaly of any kind against the known classes; high = strange.
    hypothesis : (n,) str
        The kind of anomaly that explains the object best; "nothing strange" where the known classes explain it better. Where
        strangeness comes from left-out objects (`badac.calibration.null_distribution`), what they say in place of "nothing
        strange".
    label : (n,)
        The known class that fits best.
    member : (n,) int
        Row of the training object of that class that is most alike.
    pull : (n, m)
        Deviation of every point from what the class and the other points predict, in standard deviations; NaN where missing.
    contribution : (n, m)
        Log Bayes factor of a deviation of this point alone; NaN where missing.
    window : (n, 2)
        The strangest window, in units of the coordinates (`at`, or the number of the point).
    window_log_bayes_factor : (n,)
        Of a bump in this window against none.
    expected, expected_sigma : (n, m)
        What the object should have looked like as a member of the class, without noise, and its standard deviation.
    """

    objects: Measurements
    log_bayes_factor: FloatArray
    hypothesis: npt.NDArray[np.str_]
    label: npt.NDArray[Any]
    member: IntArray
    pull: FloatArray
    contribution: FloatArray
    window: FloatArray
    window_log_bayes_factor: FloatArray
    expected: FloatArray
    expected_sigma: FloatArray

    def __len__(self) -> int:
        return len(self.objects)

    def in_units(self, unit: FloatArray) -> Explanation:
        """Return the same with values and errors divided by `unit`, (1,) or (m,)."""
        if np.all(unit == 1.0):
            return self
        expected, sigma = self.expected / unit, self.expected_sigma / unit
        return replace(self, objects=in_units(self.objects, unit), expected=expected, expected_sigma=sigma)

    def __str__(self) -> str:
        lines = [
            f"object {row}: {self.hypothesis[row]}, log Bayes factor {self.log_bayes_factor[row]:.1f}, nearest class "
            f"{self.label[row]}, strangest between {self.window[row, 0]:.4g} and {self.window[row, 1]:.4g} "
            f"(log Bayes factor {self.window_log_bayes_factor[row]:.1f})"
            for row in range(min(len(self), 20))
        ]
        return "\n".join([*lines, *([f"... {len(self) - 20} more"] if len(self) > 20 else [])])

    def plot(self, row: int = 0, ax: Any = None) -> Any:
        """Draw one object with error bars, what it should have looked like, and the strangest window.

        Parameters
        ----------
        row : int
            Which object.
        ax : matplotlib Axes, optional
            A new figure if not given.

        Returns
        -------
        matplotlib Axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(figsize=(5.0, 3.0), layout="constrained")[1]
        x = places(self.objects, row)
        seen = self.objects.observed[row]
        # A curve at its own points has no coordinate where it was not observed.
        order = np.flatnonzero(seen) if self.objects.own_points else np.arange(x.size)
        order = order[np.argsort(x[order], kind="stable")]
        ax.axvspan(*self.window[row], color="#EECC66", alpha=0.4, lw=0, label="strangest window")
        for width, shade in ((2.0, 0.15), (1.0, 0.3)):
            low = self.expected[row] - width * self.expected_sigma[row]
            high = self.expected[row] + width * self.expected_sigma[row]
            ax.fill_between(x[order], low[order], high[order], color="#004488", alpha=shade, lw=0)
        ax.plot(
            x[order], self.expected[row, order], color="#004488", lw=1.2, label=f"as class {self.label[row]}"
        )
        ax.errorbar(
            x[seen],
            self.objects.values[row, seen],
            self.objects.sigma[row, seen],
            fmt="o",
            ms=2.5,
            lw=0.8,
            color="#BB5566",
            label="object",
        )
        ax.set_title(
            f"{self.hypothesis[row]}: log Bayes factor {self.log_bayes_factor[row]:.1f}, window "
            f"{self.window_log_bayes_factor[row]:.1f}",
            fontsize="medium",
        )
        ax.set_xlabel("point" if self.objects.at is None else "at")
        ax.set_ylabel("value")
        ax.legend(fontsize="small", frameon=False)
        return ax


def explain(
    objects: Measurements,
    anomaly: Deviations,
    known: Known,
    classes: npt.NDArray[Any],
    *,
    n_threads: int = 1,
) -> Explanation:
    """Say of each object why it is strange.

    Parameters
    ----------
    objects : Measurements
        (n, m)
    anomaly : Deviations
        Fitted.
    known : Known
        What it was fitted on.
    classes : (k,)
        Labels, sorted.
    n_threads : int
        Changes no number.
    """
    by_hypothesis = anomaly.by_hypothesis(objects, n_threads=n_threads) + np.log(anomaly.shares)
    names = np.array([words(type(one).__name__) for one in anomaly.hypotheses])
    log_total = logsumexp_rows(by_hypothesis)
    # An object without any point has a factor of 1, up to rounding.
    strange = (log_total > 0) & objects.observed.any(axis=1)
    evaluator = anomaly.evaluator
    found = evaluator.reasons(objects, n_threads=n_threads)
    member = np.full(len(objects), -1, dtype=np.int64)
    for index in np.unique(found.best):
        rows = np.flatnonzero(found.best == index)
        member[rows] = evaluator.most_alike(int(index), objects[rows], known, n_threads=n_threads)
    return Explanation(
        objects=objects,
        log_bayes_factor=log_total,
        hypothesis=np.where(strange, names[by_hypothesis.argmax(axis=1)], NOTHING),
        label=classes[found.best],
        member=member,
        pull=found.pull,
        contribution=log_bayes_factor(found.pull, Bump().signal_to_noise),
        window=found.window,
        window_log_bayes_factor=found.window_log_bayes_factor,
        expected=found.expected,
        expected_sigma=found.expected_sigma,
    )


def words(name: str) -> str:
    """Turn the name of a class into words: "SmoothDeviation" -> "smooth deviation"."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def places(objects: Measurements, row: int = 0) -> FloatArray:
    """Return (m,): the coordinates of the points of one object, or their numbers."""
    if objects.at is None:
        return np.arange(objects.n_points, dtype=np.float64)
    return objects.at if objects.at.ndim == 1 else objects.at[row]

"""Why an object is strange: which points, which window, and what it should have looked like.

With ``R`` the inverse covariance of the class that fits best (population, psi and the object's noise) and ``c`` its centre,

    pull_j = [R (d - c)]_j / sqrt(R_jj)

is the deviation of point ``j`` from what the class and all other points predict, in standard deviations: N(0, 1) for a normal
object. What the point adds to the strangeness is the log Bayes factor of a bump at this point alone. The strangest window is
the bump of any place and width with the largest Bayes factor (`badac.anomalies.bump`). The object is then predicted from
its points outside that window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac._kernels import pair_log_match
from badac.anomalies.bump import Bump, log_bayes_factor
from badac.anomalies.class_summary import View
from badac.anomalies.deviations import Deviations
from badac.anomalies.hypothesis import Ground
from badac.anomalies.own_points import OwnPoints
from badac.anomalies.own_reasons import most_alike as alike_at_own_points
from badac.anomalies.own_reasons import reasons
from badac.classes.instances import fill_gaps
from badac.data.measurements import Measurements
from badac.data.units import in_units
from badac.latent.mixture import logsumexp_rows
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# A window reaches to where the bump has fallen to a tenth of its height.
_REACH = 1.5
_WIDEST = 0.5
# Points in the window are left out of the prediction if the window is this much more probable than none.
_STRANGE = 3.0


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
    training: Measurements,
    training_label: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    scales: TrainingScales,
) -> Explanation:
    """Say of each object why it is strange.

    Parameters
    ----------
    objects : Measurements
        (n, m)
    anomaly : Deviations
        Fitted.
    training : Measurements
        What it was fitted on.
    training_label : (t,)
    classes : (k,)
        Labels, sorted.
    scales : TrainingScales
        Of the training objects.
    """
    by_hypothesis = anomaly.by_hypothesis(objects) + np.log(anomaly.shares)
    names = np.array([words(type(one).__name__) for one in anomaly.hypotheses])
    log_total = logsumexp_rows(by_hypothesis)
    # An object without any point has a factor of 1, up to rounding.
    strange = (log_total > 0) & objects.observed.any(axis=1)
    hypothesis = np.where(strange, names[by_hypothesis.argmax(axis=1)], NOTHING)
    if anomaly.own is not None:
        return _at_own_points(objects, anomaly.own, training, training_label, classes, log_total, hypothesis)
    ground = anomaly.ground
    assert ground is not None, "fit first"
    views = anomaly.views(objects)
    best = np.stack([view.log_prior + view.log_evidence for view in views], axis=1).argmax(axis=1)
    n, m = objects.shape
    out = Explanation(
        objects=objects,
        log_bayes_factor=log_total,
        hypothesis=hypothesis,
        label=classes[best],
        member=np.full(n, -1, dtype=np.int64),
        pull=np.full((n, m), np.nan),
        contribution=np.full((n, m), np.nan),
        window=np.full((n, 2), np.nan),
        window_log_bayes_factor=np.zeros(n),
        expected=np.empty((n, m)),
        expected_sigma=np.empty((n, m)),
    )
    for index in np.unique(best):
        rows = np.flatnonzero(best == index)
        view = View(objects[rows], views[index].described, views[index].log_prior)
        out.pull[rows] = pulls(view, ground)
        out.contribution[rows] = log_bayes_factor(out.pull[rows], Bump().signal_to_noise)
        inside, out.window[rows], out.window_log_bayes_factor[rows] = strangest_window(view, ground)
        out.expected[rows], out.expected_sigma[rows] = predicted(
            view, inside & (out.window_log_bayes_factor[rows] > _STRANGE)[:, None]
        )
        members = np.flatnonzero(training_label == classes[index])
        out.member[rows] = members[most_alike(view.objects, fill_gaps(training[members], scales))]
    return out


def _at_own_points(
    objects: Measurements,
    own: OwnPoints,
    training: Measurements,
    training_label: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    log_total: FloatArray,
    hypothesis: npt.NDArray[np.str_],
) -> Explanation:
    """Explain objects with points of their own."""
    found = reasons(own, objects, widest=_WIDEST, reach=_REACH, strange=_STRANGE)
    member = np.full(len(objects), -1, dtype=np.int64)
    for index in np.unique(found.best):
        rows = np.flatnonzero(found.best == index)
        members = np.flatnonzero(training_label == classes[index])
        member[rows] = members[alike_at_own_points(own, int(index), objects[rows], training[members])]
    return Explanation(
        objects=objects,
        log_bayes_factor=log_total,
        hypothesis=hypothesis,
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


def pulls(view: View, ground: Ground) -> FloatArray:
    """Return (n, m): the deviation of each point from the prediction by the class and all others; NaN where missing."""
    m = view.objects.n_points
    single = Bump(components=1, shapes=np.eye(m), ground=ground)
    pull = single.signal(view)[0][:, 0]
    return np.where(view.objects.observed, pull, np.nan)


def strangest_window(view: View, ground: Ground) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray]:
    """Return the points inside (n, m), the window (n, 2) in coordinates and its log Bayes factor (n,)."""
    bump = Bump(components=1, widest=_WIDEST).fit(ground)
    assert bump.places is not None and bump.widths is not None
    ratio = np.nan_to_num(bump.signal(view)[0][:, 0])
    best = np.abs(ratio).argmax(axis=1)
    factor = log_bayes_factor(ratio[np.arange(len(best)), best], bump.signal_to_noise)
    x = places(view.objects)
    if ground.where is None:
        window = np.stack([x[best], x[best]], axis=1)
    else:
        centre, reach = bump.places[best], _REACH * bump.widths[best]
        scaled = np.clip(np.stack([centre - reach, centre + reach], axis=1), 0.0, 1.0)
        window = x.min() + scaled * np.ptp(x)
    inside = (x >= window[:, :1]) & (x <= window[:, 1:])
    return inside, window, factor


def predicted(view: View, hidden: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (n, m) of the true values under the class, given the points not hidden (n, m)."""
    # With most points hidden there would be no object left to predict.
    hidden = hidden & (hidden.mean(axis=1) < 0.5)[:, None]
    objects = view.objects
    if hidden.any():
        values, sigma = np.where(hidden, np.nan, objects.values), np.where(hidden, np.inf, objects.sigma)
        objects = Measurements._trusted(values, sigma, objects.covariance, objects.at, objects.has_errors)
    factor, mixture = view.described.factor, view.described.mixture
    position, covariance = mixture.posterior(View(objects, view.described, 0.0).latent)
    spread = np.einsum("ja,iab,jb->ij", factor.factors, covariance, factor.factors)
    return factor.mean + position @ factor.factors.T, np.sqrt(spread + factor.psi)


def most_alike(objects: Measurements, members: Measurements) -> IntArray:
    """Return (n,): the member (complete) that matches each object best, both errors taken into account."""
    match = pair_log_match(objects.values, objects.sigma, members.values, members.sigma + 1e-12)
    return np.asarray(match.argmax(axis=1))

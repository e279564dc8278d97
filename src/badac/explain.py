"""Why an object is strange: which points, which window, and what it should have looked like.

The class that fits best says how far each point is pulled from where it should be, in which window most, and what the object
should have looked like (`badac.anomalies.reasons` has the formulas), on a common grid and at points of an object's own alike.
What a point adds to the strangeness is the log Bayes factor of a deviation of this point alone. The hypothesis that explains
the object best gives the kind of strangeness its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac._kernels import Pairs, pair_best
from badac.anomalies.bump import Bump
from badac.anomalies.deviations import Deviations
from badac.anomalies.hypothesis import Evaluator
from badac.anomalies.matched_filter import log_bayes_factor
from badac.anomalies.model import Known
from badac.anomalies.reasons import Reasons
from badac.data.description import Description
from badac.data.measurements import Measurements
from badac.data.units import in_units
from badac.latent.mixture import logsumexp_rows
from badac.noise.model import CountingNoise, noise_of_class
from badac.printing import html_table, text_table
from badac.threads import in_order, one_thread_in_blas, over_blocks

__all__ = ["Explanation"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Said of an object that the known classes explain better than any hypothesis about anomalies.
NOTHING = "nothing strange"
# What a deviation is called where points are unlike columns: there are no bumps among them.
_OF_COLUMNS = {"bump": "one column off", "smooth deviation": "columns off together"}
# Share of what makes a window strange that the bands named with it hold together.
_MOST_OF_IT = 0.8
_ROWS_PER_BLOCK = 2048  # block size


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
    about : Description
        What the objects are, so that points are called by their column, band or wavelength.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 20)
    >>> members = Measurements(rng.normal(1, 0.2, (40, 1)) * x + 0.1 * rng.standard_normal((40, 20)), 0.1, at=x)
    >>> model = BADACClassifier("population", random_state=0).fit(members, np.full(40, "rising"))
    >>> odd = Measurements([x + 2.0 * (np.abs(x - 0.5) < 0.06)], 0.1, at=x)
    >>> why = model.explain(odd)
    >>> why.hypothesis.tolist()
    ['bump']
    >>> bool(why.window[0, 0] < 0.5 < why.window[0, 1])
    True
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
    about: Description = field(default_factory=Description)

    def __len__(self) -> int:
        return len(self.objects)

    def in_units(self, unit: FloatArray) -> Explanation:
        """Return the same with values and errors divided by `unit`, (1,) or (m,)."""
        if np.all(unit == 1.0):
            return self
        expected, sigma = self.expected / unit, self.expected_sigma / unit
        return replace(self, objects=in_units(self.objects, unit), expected=expected, expected_sigma=sigma)

    def of_points(self, stop: int) -> Explanation:
        """Return the same for the points up to `stop` only, without columns that were joined to them."""
        cut = {
            name: getattr(self, name)[:, :stop]
            for name in ("pull", "contribution", "expected", "expected_sigma")
        }
        return replace(self, objects=self.objects[:, :stop], **cut)

    def at_times(self, measured: Measurements, window: FloatArray) -> Explanation:
        """Return the same for objects at their times (n, m), which were at phases, and windows (n, 2) in times."""
        assert measured.at is not None
        return replace(self, objects=self.objects._changed(at=measured.at), window=window)

    def described(self, about: Description) -> Explanation:
        """Return the same for objects of which it is known what they are."""
        return replace(self, about=about)

    # -- in words ----------------------------------------------------------------------------------------------------

    def strongest(self, row: int = 0, n: int = 5) -> IntArray:
        """Return the numbers of the points of an object that are pulled furthest, the furthest first."""
        seen = np.flatnonzero(self.objects.observed[row])
        size = np.abs(np.nan_to_num(self.pull[row, seen]))
        return seen[np.argsort(-size, kind="stable")[:n]].astype(np.int64)

    def reason(self, row: int = 0) -> str:
        """Return the kind of anomaly that explains an object best, in words that fit columns without an order too."""
        found = str(self.hypothesis[row])
        return _OF_COLUMNS.get(found, found) if self.about.kind in ("catalogue", "counts") else found

    def where(self, row: int = 0) -> str:
        """Return where an object is strangest: the column, the window of wavelengths, or that of times and its bands."""
        said = self.about.window(self.objects, self.window[row])
        bands = self._bands_of_window(row)
        return f"{said}, {bands}" if said and bands else said

    def _bands_of_window(self, row: int) -> str:
        """The bands that hold most of what makes the strangest window strange."""
        if self.objects.band is None:
            return ""
        x = places(self.objects, row)
        band = np.broadcast_to(self.objects.band, self.objects.shape)[row]
        low, high = self.window[row]
        inside = np.flatnonzero(self.objects.observed[row] & (x >= low) & (x <= high))
        if not inside.size:
            return ""
        weight = np.bincount(band[inside], np.nan_to_num(self.pull[row, inside]) ** 2)
        order = np.argsort(-weight, kind="stable")
        number = 1 + int(np.searchsorted(np.cumsum(weight[order]), _MOST_OF_IT * weight.sum()))
        names = [self.about.band(int(which)) for which in order[:number] if weight[which] > 0]
        if len(names) > 1 and len(names) == len(np.unique(band[self.objects.observed[row]])):
            return "in every band"
        return (
            f"in band {names[0]}" if len(names) == 1 else f"in bands {' and '.join(names)}" if names else ""
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with a row for each object."""
        strongest = [next(iter(self.strongest(row, 1).tolist()), None) for row in range(len(self))]
        return {
            "object": list(range(len(self))),
            "why": [self.reason(row) for row in range(len(self))],
            "log_bayes_factor": self.log_bayes_factor.tolist(),
            "nearest_class": [str(name) for name in self.label],
            "strangest": [self.where(row) for row in range(len(self))],
            "furthest_point": [
                ""
                if index is None
                else f"{self.about.point(self.objects, row, index)} ({self.pull[row, index]:+.1f} sigma)"
                for row, index in enumerate(strongest)
            ],
        }

    def __str__(self) -> str:
        return text_table(self.columns())

    def _repr_html_(self) -> str:
        return html_table(self.columns(), "Why these objects are strange")

    def plot(self, row: int = 0, ax: Any = None) -> Any:
        """Draw one object as its kind of data is drawn (`badac.plots.ObjectDisplay`).

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
        from badac.plots.object import ObjectDisplay

        drawn = ObjectDisplay.from_explanation(self, row).plot(ax).ax_
        assert drawn is not None
        drawn.set_title(f"{self.reason(row)}: log Bayes factor {self.log_bayes_factor[row]:.1f}")
        return drawn


@one_thread_in_blas()
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
    member = most_alike(objects, found.best, evaluator, known, n_threads=n_threads)
    expected, expected_sigma = _as_measured(objects, found, known)
    contribution = np.empty_like(found.pull)

    def contribute(start: int, _: int) -> None:
        rows = slice(start, start + _ROWS_PER_BLOCK)
        contribution[rows] = log_bayes_factor(found.pull[rows], Bump().signal_to_noise)

    over_blocks(contribute, range(0, len(objects), _ROWS_PER_BLOCK), n_threads)
    return Explanation(
        objects=objects,
        log_bayes_factor=log_total,
        hypothesis=np.where(strange, names[by_hypothesis.argmax(axis=1)], NOTHING),
        label=classes[found.best],
        member=member,
        pull=found.pull,
        contribution=contribution,
        window=found.window,
        window_log_bayes_factor=found.window_log_bayes_factor,
        expected=expected,
        expected_sigma=expected_sigma,
        about=Description.of_objects(objects, ordered=evaluator.scales.where is not None),
    )


def most_alike(
    objects: Measurements, best: IntArray, evaluator: Evaluator, known: Known, *, n_threads: int = 1
) -> IntArray:
    """Return (n,): the row of the training object most alike to each object, of the class (n,) that fits it best."""
    out = np.full(len(objects), -1, dtype=np.int64)

    def ready(index: int) -> tuple[IntArray, IntArray, Pairs]:
        asked = np.flatnonzero(best == index)
        return asked, *evaluator.to_compare(index, objects[asked], known)

    # All threads for one class after the other, whose objects are copied side by side.
    for asked, rows, pairs in in_order(ready, np.unique(best).tolist(), n_threads):
        out[asked] = rows[pair_best(pairs, n_threads=n_threads)]
    return out


def _as_measured(objects: Measurements, found: Reasons, known: Known) -> tuple[FloatArray, FloatArray]:
    """What was expected and its standard deviation (n, m), as counts where a class of counts lives in log rates."""
    expected, sigma = found.expected, found.expected_sigma
    noises = {int(index): noise_of_class(known.noise, int(index)) for index in np.unique(found.best)}
    if any(isinstance(noise, CountingNoise) for noise in noises.values()):
        expected, sigma = expected.copy(), sigma.copy()
    for index, noise in noises.items():
        if not isinstance(noise, CountingNoise):
            continue
        rows = np.flatnonzero(found.best == index)
        some, link, width = objects[rows], found.expected[rows], found.expected_sigma[rows]
        low, high = (noise.mean_counts(some, link + side * width) for side in (-1.0, 1.0))
        expected[rows], sigma[rows] = noise.mean_counts(some, link), (high - low) / 2.0
    return expected, sigma


def words(name: str) -> str:
    """Turn the name of a class into words: "SmoothDeviation" -> "smooth deviation"."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


def places(objects: Measurements, row: int = 0) -> FloatArray:
    """Return (m,): the coordinates of the points of one object, or their numbers."""
    if objects.at is None:
        return np.arange(objects.n_points, dtype=np.float64)
    return objects.at if objects.at.ndim == 1 else objects.at[row]

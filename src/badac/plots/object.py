"""One object as evidence: its points with error bars, the class it should have matched, and the strangest window.

The band is what a member of the class would have looked like here, with one and two standard deviations of the truth, not of
the noise; a normal object's points scatter around it by their own error bars. The shaded window is where it is strangest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.plots.style import CLASS_COLOURS, CLASS_MARKERS, PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from badac.explain import Explanation

FloatArray = npt.NDArray[np.float64]

_FEWEST = 8


@dataclass(eq=False)
class ClassBand:
    """What a class looks like: coordinates `at`, the middle `mean` and one standard deviation `spread`, (p,) each."""

    at: FloatArray
    mean: FloatArray
    spread: FloatArray


@dataclass
class ObjectDisplay:
    """An object beside the class that fits it best.

    Parameters
    ----------
    objects : Measurements
        (1, m)
    label : str
        Name of the class.
    bands : sequence of (name, ClassBand)
        What the class looks like; one for each band of the object, or a single one without a name.
    window : (2,), optional
        Where the object is strangest.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.plots import ClassBand, ObjectDisplay
    >>> star = Measurements([[1.0, 2.0, 1.5]], sigma=0.1)
    >>> band = ClassBand(np.arange(3.0), np.full(3, 1.5), np.full(3, 0.2))
    >>> ObjectDisplay(star, "quiet", [("", band)], window=np.array([0.5, 1.5])).plot().ax_.get_ylabel()
    'value'
    """

    objects: Measurements
    label: str
    bands: Sequence[tuple[str, ClassBand]] = ()
    window: FloatArray | None = None

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_explanation(cls, explanation: Explanation, row: int = 0) -> Self:
        """Show one object of an explanation (`BADACClassifier.explain`)."""
        one = explanation.objects[row]
        band = ClassBand(_places(one), explanation.expected[row], explanation.expected_sigma[row])
        return cls(one, str(explanation.label[row]), [("", band)], explanation.window[row])

    @classmethod
    def from_members(
        cls,
        objects: Measurements,
        members: Measurements,
        label: object,
        band_names: Sequence[str] = (),
    ) -> Self:
        """Show an object with points of its own (1, m) over what the members of a class show around the same coordinates."""
        found = [
            (band_names[number] if number < len(band_names) else "", scatter)
            for number, scatter in _scatter(members, _range(objects))
        ]
        return cls(objects, str(label), found)

    def plot(self, ax: Axes | None = None, *, with_legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax)
        one, seen = self.objects, self.objects.observed[0]
        x = _places(one)
        band_of = np.zeros(one.n_points, dtype=np.int64)
        if one.band is not None:
            band_of = np.broadcast_to(one.band, one.shape)[0]
        single = len(self.bands) < 2
        with house_style():
            if self.window is not None and np.isfinite(self.window).all():
                low, high = self._drawn_window(x)
                ax.axvspan(low, high, color="#F0E442", alpha=0.45, linewidth=0, label="strangest window")
            for number, (name, band) in enumerate(self.bands):
                colour = PALETTE["blue"] if single else CLASS_COLOURS[number % len(CLASS_COLOURS)]
                order = np.argsort(band.at, kind="stable")
                at, mean, spread = band.at[order], band.mean[order], band.spread[order]
                for width, shade in ((2.0, 0.14), (1.0, 0.25)):
                    ax.fill_between(
                        at,
                        mean - width * spread,
                        mean + width * spread,
                        color=colour,
                        alpha=shade,
                        linewidth=0,
                    )
                said = f"class {self.label}" + (f", {name}" if name else "")
                ax.plot(at, mean, color=colour, linewidth=1.0, label=said)
            for number in np.unique(band_of[seen]).tolist():
                rows = seen & (band_of == number)
                ax.errorbar(
                    x[rows],
                    one.values[0, rows],
                    yerr=one.sigma[0, rows] if one.has_errors else None,
                    fmt=CLASS_MARKERS[number % len(CLASS_MARKERS)],
                    color=PALETTE["ink"] if single else CLASS_COLOURS[number % len(CLASS_COLOURS)],
                    markeredgecolor=PALETTE["ink"],
                    markeredgewidth=0.3,
                    markersize=2.4,
                    elinewidth=0.6,
                    label="object" if single else None,
                )
            ax.set_xlabel("point" if one.at is None else "coordinate")
            ax.set_ylabel("value")
        if with_legend:
            legend(ax, loc="best", borderaxespad=0.3)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _drawn_window(self, x: FloatArray) -> tuple[float, float]:
        """A window of one point is drawn as wide as the step between points."""
        assert self.window is not None
        low, high = (float(edge) for edge in self.window)
        if high > low:
            return low, high
        step = float(np.ptp(x)) / max(len(x) - 1, 1) or 1.0
        return low - 0.4 * step, high + 0.4 * step


def _places(one: Measurements) -> FloatArray:
    if one.at is None:
        return np.arange(one.n_points, dtype=np.float64)
    return np.asarray(np.broadcast_to(one.at, one.shape)[0])


def _range(one: Measurements) -> tuple[float, float]:
    at = _places(one)[one.observed[0]]
    return float(at.min()), float(at.max())


def _scatter(members: Measurements, between: tuple[float, float]) -> list[tuple[int, ClassBand]]:
    """Middle and spread of the members' points in slices of the range, for every band."""
    seen = members.observed
    at = np.broadcast_to(_all_places(members), members.shape)[seen]
    value = members.values[seen]
    band: Any = np.zeros(members.shape, dtype=np.int64) if members.band is None else members.band
    number = np.broadcast_to(band, members.shape)[seen]
    found = []
    for which in np.unique(number).tolist():
        inside = (number == which) & (at >= between[0]) & (at <= between[1])
        edges = np.linspace(*between, 13)
        place = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, 11)
        rows = [value[inside & (place == slot)] for slot in range(12)]
        full = [slot for slot, some in enumerate(rows) if len(some) >= _FEWEST]
        if not full:
            continue
        low, middle, high = np.array([np.quantile(rows[slot], (0.16, 0.5, 0.84)) for slot in full]).T
        centres = 0.5 * (edges[1:] + edges[:-1])[full]
        found.append((which, ClassBand(centres, middle, 0.5 * (high - low))))
    return found


def _all_places(members: Measurements) -> FloatArray:
    return np.arange(members.n_points, dtype=np.float64) if members.at is None else members.at

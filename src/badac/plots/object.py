"""One object as evidence: its points with error bars, the class it should have matched, and the strangest window.

The band is what a member of the class would have looked like here, with one and two standard deviations of the truth, not of
the noise; a normal object's points scatter around it by their own error bars. The shaded window is where it is strangest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.plots.style import CLASS_COLOURS, CLASS_MARKERS, PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from badac.explain import Explanation

FloatArray = npt.NDArray[np.float64]


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
    def from_explanation(cls, explanation: Explanation, row: int = 0, band_names: Sequence[str] = ()) -> Self:
        """Show one object of an explanation (`BADACClassifier.explain`), each of its bands with a line of its own."""
        one = explanation.objects[row]
        at, mean, spread = _places(one), explanation.expected[row], explanation.expected_sigma[row]
        label, window = str(explanation.label[row]), explanation.window[row]
        if one.band is None:
            return cls(one, label, [("", ClassBand(at, mean, spread))], window)
        seen, number = one.observed[0], _band_of(one)
        found = []
        for which in np.unique(number[seen]).tolist():
            rows = seen & (number == which)
            name = band_names[which] if which < len(band_names) else ""
            found.append((name, ClassBand(at[rows], mean[rows], spread[rows])))
        return cls(one, label, found, window)

    def plot(self, ax: Axes | None = None, *, with_legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax)
        one, seen = self.objects, self.objects.observed[0]
        x = _places(one)
        band_of = _band_of(one)
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
            for number, which in enumerate(np.unique(band_of[seen]).tolist()):
                rows = seen & (band_of == which)
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


def _band_of(one: Measurements) -> npt.NDArray[np.int64]:
    if one.band is None:
        return np.zeros(one.n_points, dtype=np.int64)
    return np.asarray(np.broadcast_to(one.band, one.shape)[0])

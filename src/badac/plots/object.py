"""One object as evidence: what was measured, what the class that fits best expected, and where the two part.

How it is drawn is a matter of what the data are (`badac.plots.pictures`): unlike columns of a catalogue by their pulls, a light
curve with a colour and a line for each band, a spectrum over its wavelengths, counts as bars, a curve on a grid as a curve. The
band is what a member of the class would have looked like here, with one and two standard deviations of the truth, not of the
noise; a normal object's points scatter around it by their own error bars. Yellow is where it is strangest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from badac.data.description import Description
from badac.data.measurements import Measurements
from badac.plots.pictures import LEGENDS, PICTURES, Picture
from badac.plots.style import legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]


class Explained(Protocol):
    """What is drawn of an explanation (`badac.explain.Explanation`), each array with a row for each object."""

    @property
    def objects(self) -> Measurements: ...
    @property
    def label(self) -> npt.NDArray[Any]: ...
    @property
    def pull(self) -> FloatArray: ...
    @property
    def window(self) -> FloatArray: ...
    @property
    def expected(self) -> FloatArray: ...
    @property
    def expected_sigma(self) -> FloatArray: ...
    @property
    def about(self) -> Description: ...


@dataclass(eq=False)
class ClassBand:
    """What a class looks like: coordinates `at`, the middle `mean` and one standard deviation `spread`, (p,) each.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.plots import ClassBand
    >>> ClassBand(np.arange(3.0), mean=np.ones(3), spread=np.full(3, 0.2)).mean
    array([1., 1., 1.])
    """

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
    about : Description, optional
        What the data are; by default a curve, or light curves where there are bands.
    pull : (m,), optional
        Deviation of every point from what the class and the other points predict, in standard deviations.
    period : float, optional
        A light curve is folded with it.

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
    about: Description | None = None
    pull: FloatArray | None = None
    period: float | None = None

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_explanation(cls, explanation: Explained, row: int = 0, period: float | None = None) -> Self:
        """Show one object of an explanation (`BADACClassifier.explain`), each of its bands with a line of its own."""
        one, about = explanation.objects[row], explanation.about
        at, mean, spread = _places(one), explanation.expected[row], explanation.expected_sigma[row]
        found = [("", ClassBand(at, mean, spread))]
        if one.band is not None:
            seen, number = one.observed[0], np.broadcast_to(one.band, one.shape)[0]
            found = [
                (about.band(which), ClassBand(at[rows], mean[rows], spread[rows]))
                for which in np.unique(number[seen]).tolist()
                for rows in [seen & (number == which)]
            ]
        window, pull = explanation.window[row], explanation.pull[row]
        return cls(one, str(explanation.label[row]), found, window, about, pull, period)

    def plot(self, ax: Axes | None = None, *, with_legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure, as the kind of data asks for."""
        about = self.about or Description.of_objects(self.objects)
        picture = PICTURES[about.kind]
        ax = new_axes(ax)
        picture(self._picture(about), ax)
        if with_legend:
            legend(ax, **LEGENDS.get(about.kind, {"loc": "best", "borderaxespad": 0.3}))
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _picture(self, about: Description) -> Picture:
        one = self.objects
        window = self.window if self.window is not None and np.isfinite(self.window).all() else None
        return Picture(
            x=_places(one),
            values=one.values[0],
            sigma=one.sigma[0] if one.has_errors else None,
            band=None if one.band is None else np.broadcast_to(one.band, one.shape)[0],
            expected=[(name, band.at, band.mean, band.spread) for name, band in self.bands],
            label=self.label,
            window=window,
            pull=self.pull,
            about=about,
            period=self.period,
            has_coordinates=one.at is not None,
        )


def _places(one: Measurements) -> FloatArray:
    if one.at is None:
        return np.arange(one.n_points, dtype=np.float64)
    return np.asarray(np.broadcast_to(one.at, one.shape)[0])

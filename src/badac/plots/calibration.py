"""Calibration curves: does a stated probability come true as often as it says?

Mean stated probability against the observed fraction, bin by bin, with Poisson bars; on the line ``y = x`` the
probabilities mean what they say. The numbers are `badac.metrics.calibration_curve`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.metrics import CalibrationCurve, calibration_curve
from badac.plots.style import LINE_COLOURS, LINE_DASHES, LINE_MARKERS, PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDEST_STEP = 0.25


@dataclass
class CalibrationDisplay:
    """Calibration curves of one or more models, by name.

    Examples
    --------
    >>> from badac.plots import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], {"a model": [0.1, 0.2, 0.8, 0.9]}, n_bins=2)
    >>> display.curves["a model"].observed
    array([0., 1.])
    """

    curves: Mapping[str, CalibrationCurve]

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_predictions(
        cls, is_class: npt.ArrayLike, probabilities: Mapping[str, npt.ArrayLike], n_bins: int = 10
    ) -> Self:
        """Bin each model's probabilities (n,) of the class that `is_class` (n,) tells."""
        return cls({name: calibration_curve(is_class, p, n_bins) for name, p in probabilities.items()})

    def plot(
        self, ax: Axes | None = None, *, of: str = "the class", fewest: int = 5, with_legend: bool = True
    ) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        of : str
            Names the class in the labels.
        fewest : int
            Bins with fewer objects are not drawn: their error bars would cover the panel.
        with_legend : bool
        """
        ax = new_axes(ax, height=3.0)
        with house_style():
            ax.plot((0, 1), (0, 1), color=PALETTE["grey"], linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
            for number, (name, curve) in enumerate(self.curves.items()):
                look = number % len(LINE_COLOURS)
                shown = curve.count >= fewest
                observed, error = curve.observed[shown], curve.error[shown]
                at = curve.mean_probability[shown]
                # Where bins in between are empty no line suggests that something was measured there.
                gaps = np.flatnonzero(np.diff(at) > _WIDEST_STEP) + 1
                at, observed, error = (np.insert(array, gaps, np.nan) for array in (at, observed, error))
                ax.errorbar(
                    at,
                    observed,
                    # A fraction cannot leave [0, 1], so neither do its bars.
                    yerr=(np.minimum(error, observed), np.minimum(error, 1.0 - observed)),
                    color=LINE_COLOURS[look],
                    linestyle=LINE_DASHES[look],
                    marker=LINE_MARKERS[look],
                    linewidth=1.0,
                    elinewidth=0.8,
                    capsize=1.5,
                    label=name,
                )
            ax.set_xlim(-0.02, 1.02)
            ax.set_ylim(-0.03, 1.03)
            ax.set_xlabel(f"stated probability of {of}")
            ax.set_ylabel("fraction that came true")
        if with_legend:
            legend(ax, loc="best", borderaxespad=0.3)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

"""P-values of new objects: flat for those of the known classes, with a peak at 0 where there are anomalies.

A slope in the bulk says that the objects are not like the training's: falling, all of them look stranger than known ones do
(error bars that are too small, a shift); rising, less strange (error bars that are too large).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import numpy.typing as npt

from badac.plots.style import PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]

# Anomalies hardly reach p-values above this (`badac.comparison`): the axis is made for the bulk, a higher peak is cut.
_BULK = 0.2


class Compared(Protocol):
    """What is drawn of a comparison (`badac.comparison.Comparison`)."""

    @property
    def known_share(self) -> float: ...

    def histogram(self, n_bins: int = 20) -> tuple[FloatArray, FloatArray]: ...


@dataclass
class PValuesDisplay:
    """Histogram of p-values over the level of the objects that look known.

    Parameters
    ----------
    edges, density : (b + 1,), (b,)
    known_share : float
        Share of the objects that look like known ones: the level of the bulk near 1.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.plots import PValuesDisplay
    >>> PValuesDisplay(np.linspace(0, 1, 5), np.array([1.3, 0.9, 0.9, 0.9]), 0.9).plot().ax_.get_xlabel()
    'p-value'
    """

    edges: FloatArray
    density: FloatArray
    known_share: float = 1.0

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_comparison(cls, comparison: Compared) -> Self:
        """Show what `BADACClassifier.compare` found."""
        return cls(*comparison.histogram(), comparison.known_share)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax)
        with house_style():
            ax.stairs(
                self.density, self.edges, fill=True, color=PALETTE["sky"], alpha=0.6, label="new objects"
            )
            ax.axhline(
                self.known_share,
                color=PALETTE["vermilion"],
                linestyle="--",
                label=f"flat: like the training ({100 * self.known_share:.0f} %)",
            )
            ax.set_xlim(0.0, 1.0)
            bulk = float(np.max(self.density[self.edges[1:] > _BULK], initial=self.known_share))
            ax.set_ylim(
                0.0, min(1.35 * max(float(np.max(self.density, initial=0.0)), 1.0), max(2.5 * bulk, 2.5))
            )
            ax.set_xlabel("p-value")
            ax.set_ylabel("density")
        legend(ax, loc="upper right", borderaxespad=0.2)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

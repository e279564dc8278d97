"""Evidence under two classes: where the decision falls, and how far from it the anomalies lie.

Each object is a point at ``(log P(d | a), log P(d | b))``. Below the line ``y = x`` the first class explains it better,
above it the second; anomalies lie far down on both axes (the paper's scatter figures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.plots.style import (
    ANOMALY_COLOUR,
    CLASS_COLOURS,
    CLASS_MARKERS,
    PALETTE,
    house_style,
    legend,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]


@dataclass
class EvidenceDisplay:
    """Log evidence of objects under two classes.

    Parameters
    ----------
    log_evidence : (n, 2)
        Columns: the first and the second class.
    label : (n,) int
        0 or 1: the true class; anything else: an anomaly.
    names : (str, str)
        What the classes are called.
    """

    log_evidence: FloatArray
    label: npt.NDArray[np.int64]
    names: tuple[str, str] = ("class 0", "class 1")

    ax_: Axes | None = None
    figure_: Figure | None = None

    def plot(self, ax: Axes | None = None, *, with_legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure.

        Each axis ends at the 0.2 % quantile of the known classes' objects; what lies beyond is drawn on the edge, so that
        one very strange object does not press all others into a corner.
        """
        ax = new_axes(ax, height=3.0)
        known = (self.label == 0) | (self.label == 1)
        (left, right), (bottom, top) = (self._range(known, column) for column in (0, 1))
        at = np.clip(self.log_evidence, (left, bottom), (right, top))
        with house_style():
            for kind in (0, 1):
                rows = self.label == kind
                ax.scatter(
                    at[rows, 0],
                    at[rows, 1],
                    s=5,
                    marker=CLASS_MARKERS[kind],
                    color=CLASS_COLOURS[kind],
                    alpha=0.55,
                    linewidths=0,
                    label=self.names[kind],
                    rasterized=True,
                )
            ax.scatter(
                at[~known, 0],
                at[~known, 1],
                s=11,
                marker="x",
                color=ANOMALY_COLOUR,
                linewidths=0.7,
                label="anomaly",
                rasterized=True,
                clip_on=False,
                zorder=3,
            )
            ends = (max(left, bottom), min(right, top))
            ax.plot(ends, ends, color=PALETTE["grey"], linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
            ax.set_xlim(left, right)
            ax.set_ylim(bottom, top)
            ax.set_xlabel(f"log P(object | {self.names[0]})")
            ax.set_ylabel(f"log P(object | {self.names[1]})")
        if with_legend:
            legend(ax, loc="lower left", markerscale=1.4, handletextpad=0.2)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _range(self, known: npt.NDArray[np.bool_], column: int) -> tuple[float, float]:
        values = self.log_evidence[known, column] if known.any() else self.log_evidence[:, column]
        finite = values[np.isfinite(values)]
        if not finite.size:
            return -1.0, 1.0
        low, high = float(np.quantile(finite, 0.002)), float(finite.max())
        margin = 0.06 * (high - low) or 1.0
        return low - margin, high + margin

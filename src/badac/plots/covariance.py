"""A covariance matrix as an image: which points err together, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.plots.style import house_style, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass
class CovarianceDisplay:
    """A covariance `matrix` (m, m), first point at the top left."""

    matrix: npt.NDArray[np.float64]

    ax_: Axes | None = None
    figure_: Figure | None = None

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax, height=2.9)
        # cividis is made to look alike with and without red-green deficiency.
        with house_style():
            image = ax.imshow(self.matrix, cmap="cividis", interpolation="nearest", rasterized=True)
            figure = ax.figure
            bar = figure.colorbar(image, ax=ax, shrink=0.85)
            bar.set_label("covariance")
            bar.outline.set_linewidth(0.4)
            ax.set_xlabel("point")
            ax.set_ylabel("point")
            ax.xaxis.set_label_position("top")
            ax.xaxis.tick_top()
        self.ax_, self.figure_ = ax, figure  # type: ignore[assignment]
        return self

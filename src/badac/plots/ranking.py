"""The ranking at a glance: anomaly probability against rank.

The strangest object is on the left. On a logarithmic abscissa the few that matter have as much room as the many that do not;
the dashed line is how far the list reaches for a stated share of false alarms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.plots.style import PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]

# More points than this are not seen on a figure of one column.
_DRAWN = 2000


@dataclass
class RankingDisplay:
    """Anomaly probabilities and p-values in the order of the ranking.

    Parameters
    ----------
    anomaly_proba : (n,)
        Strangest first.
    pvalue : (n,), optional
    n_discoveries : int
        How many objects can be told from the known classes at the share of false alarms `fdr`.
    fdr : float

    Examples
    --------
    >>> from badac.plots import RankingDisplay
    >>> RankingDisplay([0.9, 0.2, 0.01]).plot().ax_.get_xlabel()
    'rank'
    """

    anomaly_proba: npt.ArrayLike
    pvalue: npt.ArrayLike | None = None
    n_discoveries: int = 0
    fdr: float = 0.1

    ax_: Axes | None = None
    figure_: Figure | None = None

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax)
        proba = np.asarray(self.anomaly_proba, dtype=np.float64)
        n = len(proba)
        shown = np.unique(np.geomspace(1, n, min(n, _DRAWN)).round().astype(np.int64)) - 1
        with house_style():
            ax.plot(
                shown + 1,
                proba[shown],
                color=PALETTE["blue"],
                marker="o" if n < 60 else "",
                label="anomaly probability",
            )
            if self.pvalue is not None:
                ax.plot(
                    shown + 1,
                    np.asarray(self.pvalue, dtype=np.float64)[shown],
                    color=PALETTE["orange"],
                    linestyle="",
                    marker=".",
                    markersize=2.0,
                    alpha=0.7,
                    label="p-value",
                )
            if self.n_discoveries:
                ax.axvline(
                    self.n_discoveries + 0.5,
                    color=PALETTE["grey"],
                    linestyle=(0, (4, 2)),
                    linewidth=0.9,
                    label=f"{self.n_discoveries:,} at {100 * self.fdr:g} % false alarms",
                )
            ax.set_xscale("log")
            ax.set_ylim(-0.03, 1.03)
            ax.set_xlabel("rank")
            ax.set_ylabel("probability")
        # Above the axes: where the curves run depends on the data.
        legend(
            ax, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2, columnspacing=1.0, handlelength=1.2
        )
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

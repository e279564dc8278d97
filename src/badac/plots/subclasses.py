"""How many subclasses a class has: the evidence over their number, and the subclasses themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.classes import Division
from badac.plots.style import PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]


@dataclass
class SubclassesDisplay:
    """Log evidence over the number of subclasses.

    Parameters
    ----------
    log_evidence : (components,)
        Of 1, 2, ... subclasses, relative to one.
    number : int
        How many were chosen.
    least_gap : float
        What one more must gain, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.plots import SubclassesDisplay
    >>> SubclassesDisplay(np.array([0.0, 40.0, 38.0]), 2, 15.0).plot().ax_.get_xlabel()
    'subclasses'
    """

    log_evidence: FloatArray
    number: int
    least_gap: float

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_division(cls, division: Division) -> Self:
        """Take the numbers from the `division` of fitted `badac.classes.Subclasses`."""
        return cls(division.log_evidence, division.number, division.least_gap)

    def plot(self, ax: Axes | None = None, *, with_legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax)
        number = np.arange(1, self.log_evidence.size + 1)
        with house_style():
            ax.plot(number, self.log_evidence, "o-", color=PALETTE["blue"], label="members")
            chosen = self.log_evidence[self.number - 1]
            ax.plot(
                [self.number],
                [chosen],
                "o",
                ms=9,
                mfc="none",
                mec=PALETTE["vermilion"],
                label=f"chosen: {self.number}",
            )
            # From the chosen number on: what one more would have to reach.
            ax.plot(
                [self.number, number[-1] + 0.5],
                2 * [chosen + self.least_gap],
                color=PALETTE["grey"],
                linewidth=0.8,
                linestyle=(0, (4, 2)),
                label=f"{self.least_gap:g} nats more",
            )
            ax.set_xticks(number)
            ax.set_xlim(0.5, number[-1] + 0.5)
            ax.set_xlabel("subclasses")
            ax.set_ylabel("log evidence, relative to one")
        if with_legend:
            legend(ax, loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

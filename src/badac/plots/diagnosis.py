"""Do the error bars hold? Residuals in units of their error bars, over the Gaussian that they should follow.

On a logarithmic ordinate the tails show: points above the curve beyond three standard deviations are bad points or heavy
tails; a histogram wider or narrower than the curve means error bars that are too small or too large.
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


class Diagnosed(Protocol):
    """What is drawn of a diagnosis (`badac.diagnostics.Diagnosis`)."""

    @property
    def pulls(self) -> FloatArray: ...
    @property
    def best(self) -> str: ...


@dataclass
class DiagnosisDisplay:
    """Histogram of the pulls over a standard normal.

    Parameters
    ----------
    edges, density : (b + 1,), (b,)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from badac.plots import DiagnosisDisplay
    >>> pulls = np.random.default_rng(0).standard_normal(1000)
    >>> DiagnosisDisplay.from_pulls(pulls).plot().ax_.get_xlabel()
    'residual / sigma'
    """

    edges: FloatArray
    density: FloatArray
    title: str = ""

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_pulls(cls, pulls: npt.ArrayLike, title: str = "") -> Self:
        """Make the histogram of residuals in units of their error bars (p,); those beyond 6 are put at 6."""
        edges = np.linspace(-6.0, 6.0, 49)
        return cls(edges, np.histogram(np.clip(pulls, -6.0, 6.0), edges, density=True)[0], title)

    @classmethod
    def from_diagnosis(cls, diagnosis: Diagnosed) -> Self:
        """Show what `BADACClassifier.diagnose` found."""
        return cls.from_pulls(diagnosis.pulls, f"noise: {diagnosis.best}")

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax)
        with house_style():
            ax.stairs(
                np.maximum(self.density, 1e-9),
                self.edges,
                baseline=1e-9,
                fill=True,
                color=PALETTE["sky"],
                alpha=0.6,
                label="measured",
            )
            x = np.linspace(self.edges[0], self.edges[-1], 241)
            ax.plot(
                x,
                np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi),
                color=PALETTE["vermilion"],
                label="error bars hold",
            )
            ax.set_yscale("log")
            ax.set_ylim(1e-5, 2.0)
            ax.set_xlim(self.edges[0], self.edges[-1])
            ax.set_xlabel("residual / sigma")
            ax.set_ylabel("density")
            ax.set_title(self.title)
        legend(ax, loc="upper right", borderaxespad=0.2)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

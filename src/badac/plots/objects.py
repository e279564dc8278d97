"""Objects with their error bars: what the data look like, before any model.

One panel holds a few objects as points with one-sigma bars, coloured and marked by kind. Missing points are not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.plots.style import (
    ANOMALY_COLOUR,
    ANOMALY_MARKER,
    CLASS_COLOURS,
    CLASS_MARKERS,
    house_style,
    legend,
    literal,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]


@dataclass
class ObjectsDisplay:
    """A few objects with error bars.

    Parameters
    ----------
    objects : Measurements
        (n, m); `at` gives the abscissa, the point's number stands in where it is absent.
    kind : (n,) str
        What each object is called in the legend.
    truth : (n, m), optional
        True values, drawn as a line over the points.
    anomalies : set of str
        The kinds that are drawn as anomalies.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.plots import ObjectsDisplay
    >>> display = ObjectsDisplay(Measurements([[1.0, 2.0, 1.5]], sigma=0.1), ["a star"]).plot()
    >>> display.ax_.get_ylabel()
    'value'
    """

    objects: Measurements
    kind: Any
    truth: FloatArray | None = None
    anomalies: frozenset[str] | set[str] = frozenset()

    ax_: Axes | None = None
    figure_: Figure | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        colours: Mapping[str, str] | None = None,
        with_legend: bool = True,
    ) -> Self:
        """Draw into `ax`, or into a new figure; `colours` sets that of a kind."""
        ax = new_axes(ax)
        kinds = [str(kind) for kind in self.kind]
        looks = self._looks(kinds)
        seen: set[str] = set()
        with house_style():
            for row, kind in enumerate(kinds):
                colour, marker = looks[kind]
                colour = (colours or {}).get(kind, colour)
                at = _coordinates(self.objects, row)
                show = self.objects.observed[row]
                if self.truth is not None:
                    ax.plot(at, self.truth[row], color="black", linewidth=0.8, zorder=5)
                ax.errorbar(
                    at[show],
                    self.objects.values[row, show],
                    yerr=self.objects.sigma[row, show] if self.objects.has_errors else None,
                    fmt=marker,
                    color=colour,
                    markersize=2.2,
                    elinewidth=0.5,
                    alpha=0.65,
                    label=None if kind in seen else literal(kind),
                    zorder=2 + (kind in self.anomalies),
                )
                seen.add(kind)
            ax.set_xlabel("x" if self.objects.at is not None else "point")
            ax.set_ylabel("value")
        if with_legend:
            legend(ax)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _looks(self, kinds: list[str]) -> dict[str, tuple[str, str]]:
        normal = sorted({kind for kind in kinds if kind not in self.anomalies})
        looks = {
            kind: (CLASS_COLOURS[i % len(CLASS_COLOURS)], CLASS_MARKERS[i % len(CLASS_MARKERS)])
            for i, kind in enumerate(normal)
        }
        return looks | {kind: (ANOMALY_COLOUR, ANOMALY_MARKER) for kind in kinds if kind in self.anomalies}


def _coordinates(objects: Measurements, row: int) -> FloatArray:
    if objects.at is None:
        return np.arange(objects.n_points, dtype=np.float64)
    return objects.at if objects.at.ndim == 1 else objects.at[row]

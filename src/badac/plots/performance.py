"""How good a model is: scikit-learn's figures of calibration and confusion, in the house style.

scikit-learn's Display objects draw them; what they lack is added here: calibration curves of several models with Poisson bars
and without bins of too few objects, and a confusion matrix whose shade is the share of the row while its number is the count.
For ROC curves of a ranking use ``sklearn.metrics.RocCurveDisplay.from_predictions(is_anomaly, model.anomaly_score(X))``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.metrics import CalibrationCurve, calibration_curve
from badac.plots.style import LINE_COLOURS, LINE_DASHES, LINE_MARKERS, PALETTE, house_style, literal, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Where neighbouring bins are further apart, no line between them suggests that something was measured there.
_WIDEST_STEP = 0.25
# With more classes the numbers, and with more still the names, would not be readable.
_MOST_NUMBERED, _MOST_NAMED = 12, 20


@dataclass
class CalibrationDisplay:
    """Does a stated probability come true as often as it says? Curves of one or more models, by name.

    Mean stated probability against the observed fraction, bin by bin, with Poisson bars; on the line ``y = x`` the
    probabilities mean what they say. The numbers are `badac.metrics.calibration_curve`'s.

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
        from sklearn import calibration  # late, here and below: who draws nothing does not pay for it

        ax = new_axes(ax, height=3.0)
        with house_style():
            ax.plot((0, 1), (0, 1), color=PALETTE["grey"], linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
            for number, (name, curve) in enumerate(self.curves.items()):
                look = number % len(LINE_COLOURS)
                shown = curve.count >= fewest
                at, observed, error = curve.mean_probability[shown], curve.observed[shown], curve.error[shown]
                gaps = np.flatnonzero(np.diff(at) > _WIDEST_STEP) + 1
                at, observed, error = (np.insert(array, gaps, np.nan) for array in (at, observed, error))
                calibration.CalibrationDisplay(observed, at, None, estimator_name=name).plot(
                    ax=ax,
                    ref_line=False,
                    color=LINE_COLOURS[look],
                    linestyle=LINE_DASHES[look],
                    marker=LINE_MARKERS[look],
                    linewidth=1.0,
                )
                # A fraction cannot leave [0, 1], so neither do its bars.
                reach = (np.minimum(error, observed), np.minimum(error, 1.0 - observed))
                ax.errorbar(
                    at, observed, reach, fmt="none", ecolor=LINE_COLOURS[look], elinewidth=0.8, capsize=1.5
                )
            ax.set(xlim=(-0.02, 1.02), ylim=(-0.03, 1.03))
            ax.set(xlabel=f"stated probability of {of}", ylabel="fraction that came true")
            drawn = ax.get_legend()
            if drawn is not None and not with_legend:
                drawn.remove()
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


@dataclass
class ConfusionDisplay:
    """What the objects of each class were called: counts of true class (row) against called class (column).

    Everything off the diagonal is a mistake, and where mistakes gather two classes are alike.

    Parameters
    ----------
    counts : (k, k) int
    classes : (k,)
        Their names.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.plots import ConfusionDisplay
    >>> ConfusionDisplay(np.array([[3, 1], [0, 2]]), ["a", "b"]).shares
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """

    counts: npt.NDArray[np.int64]
    classes: Sequence[object]

    ax_: Axes | None = None
    figure_: Figure | None = None

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """(k, k): shares of each row; 0 in a row without objects."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        from sklearn.metrics import ConfusionMatrixDisplay

        ax = new_axes(ax, height=3.1)
        k = len(self.classes)
        every = -(-k // _MOST_NAMED)
        names = [
            literal(_short(str(name))) if not row % every else "" for row, name in enumerate(self.classes)
        ]
        with house_style():
            drawn = ConfusionMatrixDisplay(self.shares, display_labels=names).plot(
                ax=ax,
                cmap="Blues",
                colorbar=False,
                include_values=k <= _MOST_NUMBERED,
                xticks_rotation=90 if k > 6 or max(map(len, names)) > 6 else 0,
                im_kw={"vmin": 0.0, "vmax": 1.0},
                text_kw={"fontsize": 7.0 if k <= 6 else 5.5},
            )
            if drawn.text_ is not None:
                for text, count in zip(drawn.text_.ravel(), self.counts.ravel(), strict=True):
                    text.set_text(f"{count:,}" if count else "")
            ax.set(xlabel="called", ylabel="true class")
            ax.tick_params(length=0)
            ax.spines[:].set_visible(True)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def _short(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:13]}…"

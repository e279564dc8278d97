"""ROC curves: how many anomalies are found for how many false alarms.

True positive rate against false positive rate as the threshold falls. The area is the chance that a random anomaly ranks
above a random normal object. With one anomaly in a hundred, the left edge is what matters to whoever looks at the list, so
the false positive rate can be drawn on a logarithmic axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from badac.plots.style import LINE_COLOURS, LINE_DASHES, PALETTE, house_style, legend, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RocCurve:
    """A ROC curve: `false_positive` and `true_positive` rates, (points,) each, rising, and its area `auc`."""

    false_positive: FloatArray
    true_positive: FloatArray
    auc: float

    @classmethod
    def of(cls, is_anomaly: npt.ArrayLike, score: npt.ArrayLike) -> RocCurve:
        """Compute it for scores (n,), high = strange; infinite scores are allowed."""
        from sklearn.metrics import auc, roc_curve  # late: importing badac should not pay for it

        rank = np.unique(np.asarray(score, dtype=np.float64), return_inverse=True)[1]
        false_positive, true_positive, _ = roc_curve(is_anomaly, rank, drop_intermediate=True)
        return cls(false_positive, true_positive, float(auc(false_positive, true_positive)))


@dataclass
class RocDisplay:
    """ROC curves of one or more models, by name.

    Examples
    --------
    >>> from badac.plots import RocDisplay
    >>> RocDisplay.from_scores([1, 0, 1, 0], {"a model": [3.0, 2.0, 4.0, 1.0]}).curves["a model"].auc
    1.0
    """

    curves: Mapping[str, RocCurve]

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_scores(cls, is_anomaly: npt.ArrayLike, scores: Mapping[str, npt.ArrayLike]) -> Self:
        """Compute the curves of several scores (n,), high = strange, for the same objects."""
        return cls({name: RocCurve.of(is_anomaly, score) for name, score in scores.items()})

    def plot(self, ax: Axes | None = None, *, log_from: float | None = None) -> Self:
        """Draw into `ax`, or into a new figure; `log_from` starts a logarithmic abscissa there."""
        ax = new_axes(ax, height=3.0)
        with house_style():
            guide = np.linspace(0.0, 1.0, 101) if log_from is None else np.geomspace(log_from, 1.0, 101)
            ax.plot(guide, guide, color=PALETTE["grey"], linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
            for number, (name, curve) in enumerate(self.curves.items()):
                look = number % len(LINE_COLOURS)
                ax.step(
                    curve.false_positive if log_from is None else np.maximum(curve.false_positive, log_from),
                    curve.true_positive,
                    where="post",
                    color=LINE_COLOURS[look],
                    linestyle=LINE_DASHES[look],
                    label=f"{name}, {curve.auc:.3f}",
                )
            if log_from is not None:
                ax.set_xscale("log")
            ax.set_xlim(0.0 if log_from is None else log_from, 1.0)
            ax.set_ylim(0.0, 1.02)
            ax.set_xlabel("false positive rate")
            ax.set_ylabel("true positive rate")
        legend(ax, loc="lower right", title="area under the curve", alignment="left")
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

"""Confusion matrix: what the objects of each class were called.

A row is a true class, a column what it was called; the shade is the share of the row, the number the count. Everything off
the diagonal is a mistake, and where mistakes gather two classes are alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from badac.plots.style import COLUMN, house_style, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# With more classes the numbers would not be readable.
_MOST_NUMBERED = 12


@dataclass
class ConfusionDisplay:
    """Counts of true class (row) against called class (column).

    Parameters
    ----------
    counts : (k, k) int
    classes : (k,)
        Their names.

    Examples
    --------
    >>> from badac.plots import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"]).counts
    array([[1, 1],
           [0, 1]])
    """

    counts: npt.NDArray[np.int64]
    classes: Sequence[object]

    ax_: Axes | None = None
    figure_: Figure | None = None

    @classmethod
    def from_predictions(cls, label: npt.ArrayLike, called: npt.ArrayLike) -> Self:
        """Count true labels (n,) against what they were called (n,)."""
        truth, guess = np.asarray(label), np.asarray(called)
        classes = np.unique(np.concatenate([truth, guess]))
        cell = np.searchsorted(classes, truth) * len(classes) + np.searchsorted(classes, guess)
        counts = np.bincount(cell, minlength=len(classes) ** 2).reshape(len(classes), len(classes))
        return cls(counts, classes.tolist())

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """(k, k): shares of each row; 0 in a row without objects."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        ax = new_axes(ax, width=COLUMN, height=3.1)
        k = len(self.classes)
        shares = self.shares
        with house_style():
            ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
            for row, column in np.ndindex(k, k):
                if k <= _MOST_NUMBERED and self.counts[row, column]:
                    ax.text(
                        column,
                        row,
                        f"{self.counts[row, column]:,}",
                        ha="center",
                        va="center",
                        fontsize=7.0 if k <= 6 else 5.5,
                        color="white" if shares[row, column] > 0.55 else "black",
                    )
            names = [_short(str(name)) for name in self.classes]
            every = max(1, -(-k // 20))
            turned = 90 if k > 6 or max(map(len, names)) > 6 else 0
            ax.set_xticks(range(0, k, every), names[::every], rotation=turned)
            ax.set_yticks(range(0, k, every), names[::every])
            ax.set_xlabel("called")
            ax.set_ylabel("true class")
            _frame(ax)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def _frame(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)
    ax.tick_params(length=0)


def _short(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:13]}…"

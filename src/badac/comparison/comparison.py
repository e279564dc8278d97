"""What a comparison found: the differences, the p-values of the bulk, and whether a list can keep its promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.comparison.difference import ERROR_BARS, MOST_STRANGE, ROUNDED, Difference

FloatArray = npt.NDArray[np.float64]


class ListWarning(UserWarning):
    """A list is empty, or cannot promise its share of false alarms.

    Examples
    --------
    >>> from badac.comparison import ListWarning
    >>> issubclass(ListWarning, UserWarning)
    True
    """


@dataclass(frozen=True, eq=False)
class Comparison:
    """How new objects differ from the training's.

    Attributes
    ----------
    differences : tuple of Difference
        Empty if none was found.
    pvalue : (s,)
        Of the new objects that were compared, at most 2,000 of them: `histogram` draws them.
    error_scale : float or None
        Factor on the error bars of the new objects under which their bulk is like the training's: 1 unless their bulk says
        otherwise; None without error bars.
    known_share : float
        Share of the new objects that look like known ones: the density of p-values near 1.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> train = Measurements(0.1 * rng.standard_normal((200, 5)), 0.1)
    >>> model = BADACClassifier("template", random_state=0).fit(train, np.repeat([0, 1], 100))
    >>> found = model.compare(Measurements(0.1 * rng.standard_normal((200, 5)), 0.1))
    >>> found.promise_holds
    True
    """

    differences: tuple[Difference, ...]
    pvalue: FloatArray
    error_scale: float | None
    known_share: float

    @property
    def promise_holds(self) -> bool:
        """Whether a list of these objects can state its share of false alarms."""
        return not any(one.breaks_promise for one in self.differences)

    @property
    def widening(self) -> float:
        """Factor by which the error bars of the new objects are too small, where nothing else breaks the promise; else 1."""
        breaking = [one.what for one in self.differences if one.breaks_promise]
        scale = 1.0 if self.error_scale is None else self.error_scale
        return max(scale, 1.0) if breaking == [ERROR_BARS] else 1.0

    @property
    def why(self) -> str:
        """Why nothing can be promised, in words; empty if it can."""
        breaking = [one for one in self.differences if one.breaks_promise]
        strange = [one for one in breaking if one.what == MOST_STRANGE]
        named = [one for one in breaking if one.what == ROUNDED]
        if strange and len(breaking) > len(strange):
            return " ".join(one.sentence for one in named or strange) + " compare() says what else differs."
        return " ".join(one.sentence for one in breaking)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the table: what, training, new, breaks_promise, words."""
        names = ("what", "training", "new", "breaks_promise", "words")
        return {name: np.array([getattr(one, name) for one in self.differences]) for name in names}

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (needs the extra `io`)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def histogram(self, n_bins: int = 20) -> tuple[FloatArray, FloatArray]:
        """Return edges (b + 1,) and densities (b,) of the p-values: flat at `known_share` but for a peak of anomalies at 0."""
        density, edges = np.histogram(self.pvalue, np.linspace(0.0, 1.0, n_bins + 1), density=True)
        return edges, density

    def __str__(self) -> str:
        if not self.differences:
            return f"No difference from the training found; {self.known_share:.0%} of the objects look known."
        return "\n".join(f"{one.what}: {one.words}" for one in self.differences)

"""Ranking: what to look at first, a view of the verdicts sorted by score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.calibration.discoveries import discoveries
from badac.calibration.pool import Pool
from badac.calibration.promise import ListCounts, promise_of
from badac.data.rows import unpacked
from badac.verdicts import FloatArray, Verdicts

__all__ = ["Ranking"]

IntArray = npt.NDArray[np.int64]

_ROWS_SHOWN = 20
# Of 53: a score is a difference of sums, which another order of adding changes in its last digits, 2e-15 of 5 in tests/scale.
_BITS_OF_TIES = 40


@dataclass(frozen=True, eq=False)
class Ranking:
    """Objects sorted by how strange they are, strangest first.

    Attributes
    ----------
    verdicts : Verdicts
        What was found about them, in this order.
    objects : (n,) int
        Row of each object in the data that were ranked.
    fdr : float or None
        Share of false alarms that the list may hold, if it is such a list.
    expected_false_alarms : float or None
        How many normal objects it holds on average, at most; NaN where that cannot be promised.
    false_share_bound : float or None
        Share of normal objects that the list does not exceed, at 90 % confidence; 1 where that cannot be promised.
    why : str
        Why the list is empty and what would fill it, or why nothing can be promised of it; empty if all is well.
    score, anomaly_proba, pvalue, label, label_proba, proba : (n,), properties
        Columns of the verdicts. The score is what the model's ``score_meaning_`` says; `anomaly_proba` is None without an
        anomaly class, `pvalue` where it was not asked for; `proba` is (n, k), in the order of the model's ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> known = Measurements(np.repeat([[0.0], [1.0]], 20, axis=0) + 0.1 * rng.standard_normal((40, 5)), 0.1)
    >>> model = BADACClassifier("template", anomaly="tophat").fit(known, np.repeat(["low", "high"], 20))
    >>> new = Measurements([[0.0] * 5, [9.0] * 5, [1.0] * 5], 0.1)
    >>> ranking = model.rank(new)
    >>> ranking.objects
    array([1, 0, 2])
    >>> ranking.head(1).label
    array(['high'], dtype='<U4')
    """

    verdicts: Verdicts
    objects: IntArray
    fdr: float | None = None
    expected_false_alarms: float | None = None
    false_share_bound: float | None = None
    why: str = ""

    @classmethod
    def of(cls, verdicts: Verdicts) -> Ranking:
        """Sort the verdicts on some objects; ties keep their order."""
        order = strangest_first(verdicts.score)
        return cls(verdicts.take(order), order)

    def discoveries(self, fdr: float, pool: Pool | None = None, doubts: str = "") -> Ranking:
        """Return the list of objects of which on average at most the share `fdr` in (0, 1) are normal, by their p-values.

        Parameters
        ----------
        fdr : float
        pool : Pool, optional
            The known objects that they were compared with: for the upper bound.
        doubts : str
            Why the promise cannot hold, in words (`badac.comparison`); the list is then what it would be, without the promise.
        """
        pvalue = self.verdicts["pvalue"]
        found = discoveries(pvalue, fdr)
        promise = promise_of(ListCounts.of(pvalue, found), fdr, pool, doubts)
        listed = replace(
            self,
            fdr=fdr,
            expected_false_alarms=promise.expected_false_alarms,
            false_share_bound=promise.false_share_bound,
            why=promise.why,
        )
        return listed.take(np.flatnonzero(found))

    def take(self, rows: Any) -> Ranking:
        """Return some rows of the table, in the order given."""
        return replace(self, verdicts=self.verdicts.take(rows), objects=self.objects[rows])

    def head(self, n: int = 10) -> Ranking:
        """Return the n strangest."""
        return self.take(slice(0, n))

    @property
    def score(self) -> FloatArray:
        return self.verdicts.score

    @property
    def anomaly_proba(self) -> FloatArray | None:
        return self.verdicts.anomaly_proba

    @property
    def pvalue(self) -> FloatArray | None:
        return self.verdicts.pvalue

    @property
    def label(self) -> npt.NDArray[Any]:
        return self.verdicts.label

    @property
    def label_proba(self) -> FloatArray:
        return self.verdicts.label_proba

    @property
    def proba(self) -> FloatArray:
        return self.verdicts.proba

    @property
    def ids(self) -> npt.NDArray[Any]:
        """(n,): names of the objects, or their rows where they have none."""
        return unpacked(self.verdicts.quantities.get("object", self.objects))

    def columns(self, *, per_class: bool = False, first_rank: int = 1) -> dict[str, npt.NDArray[Any]]:
        """Return the columns in reading order; those of each class, ``proba_<class>``, only if asked for."""
        rank = np.arange(first_rank, first_rank + len(self))
        return {"rank": rank, "object": self.ids} | self.verdicts.columns(per_class=per_class)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame (needs the extra `io`)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def __len__(self) -> int:
        return len(self.objects)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = self.columns()
        for row in range(len(self)):
            yield {name: column[row] for name, column in columns.items()}

    def __str__(self) -> str:
        columns = self.head(_ROWS_SHOWN).columns()
        cells = {
            name: [f"{value:.4g}" if column.dtype.kind == "f" else str(value) for value in column]
            for name, column in columns.items()
        }
        widths = {name: max([len(name), *(len(cell) for cell in column)]) for name, column in cells.items()}
        lines = ["  ".join(name.rjust(widths[name]) for name in cells)]
        for row in range(min(len(self), _ROWS_SHOWN)):
            lines.append("  ".join(column[row].rjust(widths[name]) for name, column in cells.items()))
        if len(self) > _ROWS_SHOWN:
            lines.append(f"... {len(self) - _ROWS_SHOWN} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        if self.fdr is None:
            return f"Ranking({len(self)} objects, strangest first)\n{self}"
        promise = f"at most {self.expected_false_alarms:.1f} false alarms expected"
        if self.expected_false_alarms is None or np.isnan(self.expected_false_alarms):
            promise = "no promise about false alarms"
        elif self.false_share_bound:
            promise += f", a share of {self.false_share_bound:.2f} not exceeded at 90 % confidence"
        why = f"\n{self.why}" if self.why else ""
        return f"Ranking({len(self)} objects, {promise}, fdr={self.fdr:g}){why}\n{self}"


def strangest_first(score: FloatArray) -> IntArray:
    """Return the order of falling score; ties keep the order of the data.

    Scores that agree in their first 40 bits are ties: sums over another batch or partition of the data round the last few
    otherwise, and an object that stands there twice would change places with itself.
    """
    return np.argsort(place_of(score), kind="stable").astype(np.int64)


def place_of(score: FloatArray) -> FloatArray:
    """Return (n,): what `strangest_first` sorts by, rising; equal for ties."""
    digits, power = np.frexp(score)
    return np.asarray(-np.ldexp(np.rint(np.ldexp(digits, _BITS_OF_TIES)), power - _BITS_OF_TIES))

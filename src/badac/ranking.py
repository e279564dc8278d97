"""Ranking: what to look at first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.calibration.pvalues import discoveries, expected_false_alarms

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROWS_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Ranking:
    """Objects sorted by how strange they are, strangest first.

    Attributes
    ----------
    objects : (n,) int
        Row of each object in the data that were ranked.
    score : (n,)
        Log odds of the anomaly, or minus the log evidence where there is no anomaly class; high = strange.
    anomaly_proba : (n,) or None
        Posterior probability of the anomaly.
    label : (n,)
        The known class that fits best.
    label_proba : (n,)
        Its probability among the known classes.
    pvalue : (n,) or None
        Share of known objects of the same class and noise that look at least as strange; only in a list with a stated
        share of false alarms.
    fdr : float or None
        That share.
    expected_false_alarms : float or None
        How many normal objects such a list holds on average, at most.
    proba : (n, k) or None
        Probabilities of all known classes, columns in the order of the model's ``classes_``.
    """

    objects: IntArray
    score: FloatArray
    anomaly_proba: FloatArray | None
    label: npt.NDArray[Any]
    label_proba: FloatArray
    pvalue: FloatArray | None = None
    fdr: float | None = None
    expected_false_alarms: float | None = None
    proba: FloatArray | None = None

    @classmethod
    def of(
        cls,
        score: FloatArray,
        anomaly_proba: FloatArray | None,
        log_posterior: FloatArray,
        classes: npt.NDArray[Any],
    ) -> Ranking:
        """Sort objects with these scores (n,), anomaly probabilities (n,) and log posteriors (n, k) of the `classes` (k,)."""
        order = strangest_first(score)
        best = log_posterior.argmax(axis=1)[order]
        return cls(
            objects=order,
            score=score[order],
            anomaly_proba=None if anomaly_proba is None else anomaly_proba[order],
            label=classes[best],
            label_proba=np.exp(log_posterior[order, best]),
            proba=np.exp(log_posterior[order]),
        )

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns in reading order."""
        out: dict[str, npt.NDArray[Any]] = {
            "rank": np.arange(1, len(self) + 1),
            "object": self.objects,
            "score": self.score,
        }
        if self.anomaly_proba is not None:
            out["anomaly_proba"] = self.anomaly_proba
        if self.pvalue is not None:
            out["pvalue"] = self.pvalue
        return out | {"class": self.label, "class_proba": self.label_proba}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame (needs the extra `io`)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def head(self, n: int = 10) -> Ranking:
        """Return the n strangest."""
        return self.take(np.arange(min(n, len(self))))

    def take(self, rows: IntArray) -> Ranking:
        """Return some rows of the table, in the order given."""
        return replace(
            self,
            objects=self.objects[rows],
            score=self.score[rows],
            anomaly_proba=None if self.anomaly_proba is None else self.anomaly_proba[rows],
            label=self.label[rows],
            label_proba=self.label_proba[rows],
            pvalue=None if self.pvalue is None else self.pvalue[rows],
            proba=None if self.proba is None else self.proba[rows],
        )

    def discoveries(self, pvalue: FloatArray, fdr: float) -> Ranking:
        """Return the list of objects of which on average at most the share `fdr` are normal.

        Parameters
        ----------
        pvalue : (n,)
            Of the objects, in the order of the data that were ranked.
        fdr : float in (0, 1)
        """
        found = discoveries(pvalue, fdr)
        listed = replace(
            self,
            pvalue=pvalue[self.objects],
            fdr=fdr,
            expected_false_alarms=expected_false_alarms(pvalue, found),
        )
        return listed.take(np.flatnonzero(found[self.objects]).astype(np.int64))

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
        return (
            f"Ranking({len(self)} objects, at most {self.expected_false_alarms:.1f} false alarms expected, "
            f"fdr={self.fdr:g})\n{self}"
        )


def strangest_first(score: FloatArray) -> IntArray:
    """Return the order of falling score; ties keep the order of the data."""
    return np.argsort(-score, kind="stable").astype(np.int64)

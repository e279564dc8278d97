"""The result of a cell: its metrics, its times, and the curves that the figures show.

Detection: MCC and RWS with as many objects flagged as there are anomalies (one percent, for every algorithm alike), and the
AUC. Classification, on the normal objects only: accuracy, log-loss, calibration error. ``seconds`` are CPU seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import auc, matthews_corrcoef, roc_curve

from badac.metrics import CalibrationCurve, calibration_curve, classification_summary, detection_summary
from badac.simulate import Experiment
from reproduction.algorithms import ALGORITHMS, Answer
from reproduction.cells import Cell, Size

FloatArray = npt.NDArray[np.float64]

METRICS: Mapping[str, str] = {
    "mcc": "MCC",
    "auc": "AUC",
    "rws": "RWS",
    "accuracy": "Accuracy %",
    "log_loss": "Log-loss",
    "ece": "Calibration error",
}
"""The metrics of the tables and their headings."""

_SCATTER = 1_500
_ROC_POINTS = 300


@dataclass(frozen=True, eq=False)
class RocCurve:
    """True against false positive rates, (points,) each, rising, as the threshold falls, and the area `auc` under them."""

    false_positive: FloatArray
    true_positive: FloatArray
    auc: float

    @classmethod
    def of(cls, is_anomaly: npt.ArrayLike, score: npt.ArrayLike) -> RocCurve:
        """Compute it for scores (n,), high = strange; infinite scores, which scikit-learn refuses, are allowed."""
        rank = np.unique(np.asarray(score, dtype=np.float64), return_inverse=True)[1]
        false_positive, true_positive, _ = roc_curve(is_anomaly, rank)
        return cls(false_positive, true_positive, float(auc(false_positive, true_positive)))


@dataclass(frozen=True, eq=False)
class Result:
    """What a cell gave.

    Attributes
    ----------
    cell : Cell
    metrics : dict
        By name, as in `METRICS`; ``mcc (rule)`` and ``flagged (rule)`` for the algorithm's own rules.
    fit_seconds, score_seconds : float
    roc : RocCurve or None
    calibration : CalibrationCurve or None
        Of class 1, ten bins.
    scatter : (k, 3) or None
        Log evidence under class 0 and 1, and the label, of at most 1,500 normal objects and all anomalies.
    """

    cell: Cell
    metrics: Mapping[str, float]
    fit_seconds: float
    score_seconds: float
    roc: RocCurve | None = None
    calibration: CalibrationCurve | None = None
    scatter: FloatArray | None = None

    @property
    def seconds(self) -> float:
        return self.fit_seconds + self.score_seconds

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; floats that are not finite become None."""
        roc, curve = self.roc, self.calibration
        return {
            "cell": self.cell.as_dict(),
            "metrics": {name: _number(value) for name, value in self.metrics.items()},
            "fit_seconds": round(self.fit_seconds, 4),
            "score_seconds": round(self.score_seconds, 4),
            "roc": None
            if roc is None
            else {"fpr": _short(roc.false_positive), "tpr": _short(roc.true_positive), "auc": roc.auc},
            "calibration": None
            if curve is None
            else {
                "mean_probability": _short(curve.mean_probability),
                "observed": _short(curve.observed),
                "error": _short(curve.error),
                "count": curve.count.tolist(),
            },
            "scatter": None if self.scatter is None else [_short(row) for row in self.scatter],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Result:
        """Read what `as_dict` wrote."""
        cell, roc, curve = stored["cell"], stored["roc"], stored["calibration"]
        return cls(
            Cell(
                cell["experiment"],
                cell["setting"],
                cell["seed"],
                cell["algorithm"],
                Size(cell["n_train"], cell["n_test"], cell["n_trees"]),
            ),
            {name: math.nan if value is None else value for name, value in stored["metrics"].items()},
            stored["fit_seconds"],
            stored["score_seconds"],
            None if roc is None else RocCurve(np.array(roc["fpr"]), np.array(roc["tpr"]), roc["auc"]),
            None
            if curve is None
            else CalibrationCurve(
                np.array(curve["mean_probability"]),
                np.array(curve["observed"]),
                np.array(curve["error"]),
                np.array(curve["count"], dtype=np.int64),
            ),
            None
            if stored["scatter"] is None
            else np.array(stored["scatter"], dtype=np.float64).reshape(-1, 3),
        )


def run_cell(cell: Cell) -> Result:
    """Simulate a cell's data, run its algorithm on one thread, and measure what it says."""
    from threadpoolctl import threadpool_limits

    data = cell.data()
    with threadpool_limits(1):
        answer = ALGORITHMS[cell.algorithm].run(data, cell.seed, cell.size.n_trees)
    return measure(cell, data, answer)


def measure(cell: Cell, data: Experiment, answer: Answer) -> Result:
    """Compare an answer with the truth."""
    metrics: dict[str, float] = {}
    roc = curve = None
    anomaly = data.is_anomaly
    if answer.score is not None:
        found = detection_summary(anomaly, answer.score, n_flagged=int(anomaly.sum()))
        metrics |= {"mcc": found.mcc, "auc": found.auc, "rws": found.rws}
        roc = thinned(RocCurve.of(anomaly, answer.score))
    if answer.probabilities is not None:
        label, probabilities = data.test_label[~anomaly], answer.probabilities[~anomaly]
        told = classification_summary(label, probabilities)
        metrics |= {"accuracy": told.accuracy, "log_loss": told.log_loss, "ece": told.ece}
        curve = calibration_curve(label == 1, probabilities[:, 1])
    for rule, flagged in (answer.flagged or {}).items():
        # Zero where a rule flags all or nothing.
        mcc = float(matthews_corrcoef(anomaly, flagged))
        metrics |= {f"mcc ({rule})": mcc, f"flagged ({rule})": float(flagged.sum())}
    return Result(cell, metrics, answer.fit_seconds, answer.score_seconds, roc, curve, _scatter(data, answer))


def thinned(curve: RocCurve, points: int = _ROC_POINTS) -> RocCurve:
    """Keep at most about `points` points of a ROC curve, denser at its left end, where the steps matter."""
    n = len(curve.false_positive)
    if n <= points:
        return curve
    keep = np.unique(np.round((n - 1) * np.linspace(0.0, 1.0, points) ** 2).astype(int))
    return RocCurve(curve.false_positive[keep], curve.true_positive[keep], curve.auc)


def _scatter(data: Experiment, answer: Answer) -> FloatArray | None:
    if answer.log_evidence is None:
        return None
    rows = np.concatenate([np.flatnonzero(~data.is_anomaly)[:_SCATTER], np.flatnonzero(data.is_anomaly)])
    label = np.where(data.is_anomaly, -1, data.test_label)
    # An evidence of zero has no place on a finite axis; the figure draws it on the edge.
    evidence = np.maximum(answer.log_evidence, -1e9)
    return np.column_stack([evidence[rows], label[rows]])


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _short(array: FloatArray) -> list[float]:
    """Six significant digits: enough for a figure, and files stay small."""
    return [float(f"{value:.6g}") for value in array]

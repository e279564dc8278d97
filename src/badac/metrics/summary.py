"""The numbers of a results table in one call: how well anomalies were found, how well classes were told
apart.

Detection: flag the strangest ``k`` objects and take Matthews' correlation with the truth,

    MCC = (TP TN - FP FN) / sqrt((TP+FP) (TP+FN) (TN+FP) (TN+FN))

beside the area under the ROC curve and the rank-weighted score with ``N = k``. Classification: accuracy,
log-loss and expected calibration error. Use them to compare algorithms on the same objects; the paper's
tables hold these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.metrics.calibration import expected_calibration_error
from badac.metrics.rank_weighted import expected_flag, rank_weighted_score
from badac.metrics.validation import (
    BoolArray,
    FloatArray,
    check_classes,
    check_probabilities,
    check_ranking,
    column_of,
)


@dataclass(frozen=True)
class DetectionSummary:
    """How well anomalies were found: `mcc`, `auc`, `rws`, and the numbers of objects behind them.

    Examples
    --------
    >>> from badac.metrics import detection_summary
    >>> found = detection_summary([True, False, False, False], [0.9, 0.2, 0.1, 0.3], n_flagged=1)
    >>> found.auc
    1.0
    """

    mcc: float
    auc: float
    rws: float
    n_objects: int
    n_anomalies: int
    n_flagged: int


@dataclass(frozen=True)
class ClassificationSummary:
    """How well classes were told apart: `accuracy` (a fraction), `log_loss` (nats), `ece`.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.metrics import classification_summary
    >>> classification_summary(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]])).accuracy
    1.0
    """

    accuracy: float
    log_loss: float
    ece: float
    n_objects: int


def detection_summary(
    is_anomaly: npt.ArrayLike,
    score: npt.ArrayLike,
    *,
    contamination: float | None = None,
    n_flagged: int | None = None,
) -> DetectionSummary:
    """MCC, AUC and RWS of an anomaly score.

    Parameters
    ----------
    is_anomaly : (n,) bool or 0/1
        Which objects are anomalies; at least one is, and at least one is not.
    score : (n,)
        High = strange.
    contamination : float in (0, 1)
        Share of the objects to flag, rounded to whole objects, at least one. The paper flags 0.01.
    n_flagged : int
        Number of objects to flag, instead of `contamination`; give exactly one of the two.

    Returns
    -------
    DetectionSummary
        With ties counted by their expectation over random orders: all three numbers are deterministic.

    Examples
    --------
    >>> from badac.metrics import detection_summary
    >>> summary = detection_summary([1, 0, 1, 0], [4.0, 1.0, 3.0, 2.0], n_flagged=2)
    >>> summary.mcc, summary.auc, summary.rws
    (1.0, 1.0, 1.0)
    """
    from sklearn.metrics import roc_auc_score  # late: importing badac should not pay for it

    flags, values = check_ranking(is_anomaly, score)
    n_anomalies = int(flags.sum())
    if n_anomalies in (0, flags.size):
        raise ValueError(
            f"detection needs anomalies and normal objects: got {n_anomalies} anomalies among "
            f"{flags.size} objects. "
            "Use a test set with both."
        )
    flagged = _number_to_flag(contamination, n_flagged, flags.size)
    # Only the order matters to the AUC; ranks instead of values let infinite scores through scikit-learn's
    # checks.
    rank = np.unique(values, return_inverse=True)[1]
    return DetectionSummary(
        mcc=_matthews_top(flags, values, flagged),
        auc=float(roc_auc_score(flags, rank)),
        rws=rank_weighted_score(flags, values, flagged),
        n_objects=flags.size,
        n_anomalies=n_anomalies,
        n_flagged=flagged,
    )


def classification_summary(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, classes: npt.ArrayLike | None = None
) -> ClassificationSummary:
    """Accuracy, log-loss and expected calibration error of class probabilities.

    Parameters
    ----------
    labels : (n,)
        True labels, each one of `classes`.
    probabilities : (n, k)
        Rows sum to one.
    classes : (k,), optional
        Labels of the columns, in any order; ``0 ... k - 1`` if not given.

    Returns
    -------
    ClassificationSummary
        The log-loss is scikit-learn's: a probability of zero counts as the smallest step of a float64,
        2.2e-16.

    Examples
    --------
    >>> from badac.metrics import classification_summary
    >>> classification_summary(["a", "b"], [[0.5, 0.5], [0.5, 0.5]], ["a", "b"]).log_loss
    0.6931471805599453
    """
    from sklearn.metrics import accuracy_score, log_loss  # late: importing badac should not pay for it

    table = check_probabilities(probabilities)
    names = check_classes(classes, table.shape[1])
    column = column_of(labels, names, len(table))
    # Columns stand for themselves from here on: scikit-learn would sort the class labels.
    columns = np.arange(table.shape[1])
    loss = 0.0 if columns.size == 1 else log_loss(column, table, labels=columns)
    return ClassificationSummary(
        accuracy=float(accuracy_score(column, table.argmax(axis=1))),
        log_loss=float(loss),
        ece=expected_calibration_error(column, table),
        n_objects=len(table),
    )


def _matthews_top(is_anomaly: BoolArray, score: FloatArray, n_flagged: int) -> float:
    """Matthews' correlation of "is among the `n_flagged` strangest"; zero, as in scikit-learn, if all are
    flagged.

    With the number flagged fixed it is linear in the true positives, so the expectation over the orders of
    tied objects is the value at the expected number of true positives.
    """
    n, positives = score.size, int(is_anomaly.sum())
    true_positives = float(expected_flag(score, n_flagged)[is_anomaly].sum())
    scale = np.sqrt(float(n_flagged) * positives * (n - n_flagged) * (n - positives))
    return float((true_positives * n - n_flagged * positives) / scale) if scale > 0.0 else 0.0


def _number_to_flag(contamination: float | None, n_flagged: int | None, n_objects: int) -> int:
    if (contamination is None) == (n_flagged is None):
        raise ValueError(
            "give either `contamination` (a share) or `n_flagged` (a number): got "
            f"contamination={contamination}, n_flagged={n_flagged}."
        )
    if contamination is not None:
        if not 0.0 < contamination < 1.0:
            raise ValueError(f"`contamination` must be a share in (0, 1): got {contamination}.")
        return max(1, round(contamination * n_objects))
    assert n_flagged is not None
    if not 1 <= n_flagged <= n_objects:
        raise ValueError(f"`n_flagged` must be between 1 and the {n_objects} objects: got {n_flagged}.")
    return int(n_flagged)

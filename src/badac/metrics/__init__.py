"""How good is it? The ranking (rank-weighted score), the probabilities (calibration), the table (summary)."""

from badac.metrics.calibration import (
    CalibrationCurve,
    ChanceError,
    calibration_curve,
    calibration_error_by_chance,
    expected_calibration_error,
)
from badac.metrics.rank_weighted import rank_weighted_score
from badac.metrics.summary import (
    ClassificationSummary,
    DetectionSummary,
    classification_summary,
    detection_summary,
)

__all__ = [  # noqa: RUF022  (reading order)
    "rank_weighted_score",
    "CalibrationCurve",
    "calibration_curve",
    "expected_calibration_error",
    "ChanceError",
    "calibration_error_by_chance",
    "DetectionSummary",
    "detection_summary",
    "ClassificationSummary",
    "classification_summary",
]

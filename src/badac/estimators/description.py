"""What a fitted classifier has learned, in words and one table: what `describe` and `print` show."""

from __future__ import annotations

from typing import Any

import numpy as np

from badac.anomalies.deferred import Deferred
from badac.printing import text_table

# Letters: a longer line is not read.
_LONG = 100


def describe(model: Any) -> str:
    """Return a table of the classes, the noise, the calibration, and what the score is, of a fitted `BADACClassifier`."""
    counts = dict(zip(*np.unique(model.training_label_, return_counts=True), strict=True))
    classes = {
        "class": [str(label) for label in model.classes_.tolist()],
        "members": [int(counts.get(label, 0)) for label in model.classes_],
        "prior": np.exp(model.class_log_prior_).tolist(),
        "model": [type(one).__name__.lower() for one in model.class_models_],
    }
    lines = [text_table(classes, most=50), f"Noise: {_short(model.noise_)}."]
    if model.error_scale_ != 1.0:
        lines.append(
            f"Error bars of new objects count as {model.error_scale_:.2f} times as large, by adapt(new)."
        )
    if model.exposure_column_ is not None:
        lines.append(f"Exposure: the column {model.exposure_column_!r}.")
    lines += model.fitted_.calibration.lines(len(model.classes_))
    ensemble = model.fitted_.calibration.ensemble
    if ensemble is not None and ensemble.telling_columns is not None:
        told = ", ".join(_name_of(model, column) for column in ensemble.telling_columns.tolist())
        lines.append(f"Columns that tell the classes apart most: {told}.")
    anomaly = model.fitted_.anomaly_model
    if anomaly is not None:
        named = type(anomaly.anomaly if isinstance(anomaly, Deferred) else anomaly).__name__.lower()
        lines.append(
            f"Anomaly: {named}, expected beforehand of {100 * model.anomaly_prior:g} % of new objects."
        )
    return "\n".join([*lines, f"Score: {model.score_meaning_}"])


def _name_of(model: Any, column: int) -> str:
    """Name of a column of the training, its number where it has none; those beside the points come after them."""
    beside = () if model.beside_ is None else model.beside_.names
    points = model.training_.n_points - len(beside)
    if column >= points:
        return str(beside[column - points])
    return str(getattr(model, "feature_names_in_", range(points))[column])


def _short(part: Any) -> str:
    """A part as it prints, or its name where it holds whole arrays."""
    text = repr(part)
    return text if len(text) < _LONG and "array" not in text else type(part).__name__

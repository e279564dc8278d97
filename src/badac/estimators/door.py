"""The door: whatever the user passes as ``X`` and ``X_err`` becomes a `Measurements`.

Arrays go through scikit-learn's own validation, so that its messages, feature names and ``n_features_in_`` hold. A table
with ``name_err`` columns brings its own errors.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from badac.data.measurements import Measurements
from badac.data.tables import from_astropy, from_frame, has_error_columns, value_columns


class MissingErrorsWarning(UserWarning):
    """A model that was fitted with errors is asked about objects without."""


def to_measurements(estimator: Any, X: Any, X_err: Any, *, reset: bool) -> Measurements:
    """Return what was passed as objects; `reset` on fit sets ``n_features_in_``, else it is checked."""
    if isinstance(X, Measurements):
        if X_err is not None:
            raise ValueError("`X` is a Measurements and has its own errors: `X_err` must not be given too.")
        objects = X
        _check_points(estimator, objects, reset)
    elif hasattr(X, "colnames"):
        if X_err is not None:
            raise ValueError(
                "an astropy table brings its errors as `name_err` columns: `X_err` must not be given too."
            )
        objects = from_astropy(X)
        _check_points(estimator, objects, reset)
    elif hasattr(X, "columns") and has_error_columns(X):
        if X_err is not None:
            raise ValueError(
                "`X` has error columns (`name_err`): `X_err` must not be given too. Drop one of the two."
            )
        objects = from_frame(X)
        names = {str(name): name for name in X.columns}
        validate_data(
            estimator,
            X[[names[name] for name in value_columns(list(names))]],
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
        )
    else:
        values = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        objects = Measurements(values, None if X_err is None else np.asarray(X_err))
    if objects.n_objects == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={objects.shape}) while a minimum of 1 is required."
        )
    return objects


def to_labels(y: Any, objects: Measurements) -> npt.NDArray[Any]:
    """Return the labels (n,), one for every object; text as fixed-width strings, which a model file can hold."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: BADACClassifier learns from labels."
        )
    label = column_or_1d(y, warn=True)
    check_consistent_length(objects, label)
    missing = np.array([value is None or value != value for value in label.tolist()])
    if missing.any():
        raise ValueError(
            f"`y` must have a label for every object (Input y contains NaN): got {label[missing][0]!r} at object "
            f"{int(np.argmax(missing))}. Leave unlabelled objects out."
        )
    assert_all_finite(label, input_name="y")
    check_classification_targets(label)
    if label.dtype.kind == "O":
        label = label.astype(str) if isinstance(label[0], str) else np.array(label.tolist())
    return np.asarray(label)


def _check_points(estimator: Any, objects: Measurements, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = objects.n_points
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif objects.n_points != estimator.n_features_in_ and not objects.own_points:
        raise ValueError(
            f"X has {objects.n_points} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input: the points of new objects must be those of the training."
        )


def check_coordinates(objects: Measurements, training: Measurements) -> None:
    """Refuse objects without coordinates where the classes were learned from objects with points of their own."""
    if training.own_points and objects.at is None:
        raise ValueError(
            "The classes were learned from objects with points of their own (`at` per object), so new ones need `at` too: got "
            f"{objects!r} without. Pass X = badac.Measurements(values, sigma, at=...)."
        )


def warn_if_errors_are_missing(objects: Measurements, fitted_with_errors: bool) -> None:
    """Say loudly that errors were given at fit and are missing now: the probabilities would be overconfident."""
    if fitted_with_errors and not objects.has_errors:
        warnings.warn(
            "The model was fitted with errors, but these objects have none, so their values count as exact. "
            "scikit-learn drops `X_err` in cross_val_score, GridSearchCV, CalibratedClassifierCV and pipelines: "
            "pass X = badac.Measurements(values, sigma) instead. If the values are exact, pass sigma=0.",
            MissingErrorsWarning,
            stacklevel=4,
        )

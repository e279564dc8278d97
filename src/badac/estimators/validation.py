"""Validation: whatever the user passes as ``X`` and ``X_err`` becomes a `Measurements`.

Arrays go through scikit-learn's own validation, so that its messages, feature names and ``n_features_in_`` hold. A table
with ``name_err`` columns brings its own errors.
"""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from badac.classes.model import ClassModel, is_by_column
from badac.data.measurements import Measurements
from badac.data.tables import as_frame, from_astropy, from_frame, has_error_columns, value_columns
from badac.data.validation import as_real, refuse

# Coordinates that differ by less than this share of their range are rounded, not others.
_SAME_POINT = 1e-6


class MissingErrorsWarning(UserWarning):
    """A model that was fitted with errors is asked about objects without."""


def to_measurements(estimator: Any, X: Any, X_err: Any, *, reset: bool) -> Measurements:
    """Return what was passed as objects; `reset` on fit sets ``n_features_in_``, else it is checked."""
    X = as_frame(X)
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
        objects = Measurements(_values(estimator, X, reset), X_err)
    if objects.n_objects == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={objects.shape}) while a minimum of 1 is required."
        )
    return objects


def _values(estimator: Any, X: Any, reset: bool) -> npt.NDArray[np.float64]:
    """Return the values of an array-like, through scikit-learn's own checks."""
    # Neither a mask nor a date survives them.
    if isinstance(X, np.ma.MaskedArray) or (isinstance(X, np.ndarray) and X.dtype.kind in "mM"):
        X = as_real(X, "X")
    try:
        return np.asarray(validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False))
    except (TypeError, ValueError):
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            from_frame(X)  # says which column holds no numbers
        raise


def to_labels(y: Any, objects: Measurements, *, like: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """Return the labels (n,), one for every object; text as fixed-width strings, which a model file can hold.

    Of the kind of earlier labels, `like`: text and numbers do not mix.
    """
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: BADACClassifier learns from labels."
        )
    label = column_or_1d(y, warn=True)
    check_consistent_length(objects, label)
    missing = np.array([_is_missing(value) for value in label.tolist()])
    if missing.any():
        raise ValueError(
            f"`y` must have a label for every object (Input y contains NaN): got {label[missing][0]!r} at object "
            f"{int(np.argmax(missing))}. Leave unlabelled objects out."
        )
    if label.dtype.kind == "O":
        label = _of_one_kind(label)
    assert_all_finite(label, input_name="y")
    check_classification_targets(label)
    if like is not None and (like.dtype.kind == "U") != (label.dtype.kind == "U"):
        raise ValueError(
            f"`y` must have labels of the kind of the earlier ones, such as {like[:1].tolist()[0]!r}: got "
            f"{label[:1].tolist()[0]!r}. Turn one of them into the other."
        )
    return np.asarray(label)


def _is_missing(value: Any) -> bool:
    try:
        return bool(value is None or value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def _of_one_kind(label: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels that came as Python objects as an array of text, of numbers or of truth values."""
    for kind, dtype in ((str, str), (bool | np.bool_, bool), (Number, None)):
        if all(isinstance(value, kind) for value in label):
            return np.array(label.tolist(), dtype=dtype)
    types = [type(value) for value in label]
    other = next((place for place, kind in enumerate(types) if kind is not types[0]), 0)
    raise ValueError(
        f"`y` must have labels of one kind, all text or all numbers: got {label[0]!r} at object 0 and {label[other]!r} at "
        f"object {other}. Turn them into text: [str(label) for label in y]."
    )


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


def check_coordinates(objects: Measurements, training: Measurements, models: tuple[ClassModel, ...]) -> None:
    """Refuse objects whose points are not those that the classes were learned from, unless the models go by coordinates."""
    if training.own_points and objects.at is None:
        raise ValueError(
            "The classes were learned from objects with points of their own (`at` per object), so new ones need `at` too: got "
            f"{objects!r} without. Pass X = badac.Measurements(values, sigma, at=...)."
        )
    if training.own_points and training.band is not None and objects.band is None:
        raise ValueError(
            "The classes were learned from objects with bands, so new ones need `band` too: got "
            f"{objects!r} without. Pass X = badac.Measurements(values, sigma, at=..., band=...)."
        )
    by_column = all(is_by_column(one) for one in models)
    if training.own_points or objects.at is None or not by_column:
        return
    if training.at is None:
        if objects.own_points:
            raise ValueError(
                "The classes were learned from objects with common points, column by column: got objects with points of their "
                "own (`at` per object). Put them on the grid of the training, or fit with `at` per object."
            )
        return
    full = np.broadcast_to(objects.at, objects.shape)
    reach = _SAME_POINT * float(np.ptp(training.at)) if training.at.size else 0.0
    refuse(
        objects.observed & ~(np.abs(full - training.at) <= reach),
        full,
        "`at` must be that of the training, which these classes compare column by column",
        'Put the objects on that grid, or fit with class_model="gp", or with `at` per object.',
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

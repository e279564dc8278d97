"""Validation: whatever the user passes as ``X`` and ``X_err`` becomes a `Measurements`.

Arrays go through scikit-learn's own validation, so that its messages, feature names and ``n_features_in_`` hold. A table
with error columns brings its own errors, by the recogniser that the command line uses.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from badac.classes.model import ClassModel, is_by_column
from badac.data.beside import ColumnsBeside, check_names
from badac.data.catalogue import Catalogue
from badac.data.description import Description
from badac.data.frames import as_frame
from badac.data.layout import Layout
from badac.data.losses import some
from badac.data.measurements import Measurements
from badac.data.reading import from_table, looks_long
from badac.data.rows import row_names
from badac.data.tables import (
    TableWarning,
    from_frame,
    has_error_columns,
    refuse_lonely,
    refuse_strays,
    refuse_without_errors,
)
from badac.data.validation import as_real, refuse
from badac.data.vectors import vector_columns
from badac.data.wide import checked_names, kind_of_columns
from badac.nuisance import Phases, learn_phases
from badac.threads import n_threads

# Coordinates that differ by less than this share of their range are rounded, not others.
_SAME_POINT = 1e-6


class MissingErrorsWarning(UserWarning):
    """A model that was fitted with errors is asked about objects without.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from badac import BADACClassifier, MissingErrorsWarning
    >>> X, y = np.eye(6), [0, 0, 0, 1, 1, 1]
    >>> model = BADACClassifier("template", anomaly="tophat").fit(X, y, X_err=0.1)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     _ = model.predict(X)
    >>> any(issubclass(one.category, MissingErrorsWarning) for one in said)
    True
    """


def to_measurements(estimator: Any, X: Any, X_err: Any, *, reset: bool) -> Measurements:
    """Return what was passed as objects; `reset` on fit sets ``n_features_in_``, else it is checked."""
    return to_objects(estimator, X, X_err, reset=reset)[0]


def to_objects(
    estimator: Any, X: Any, X_err: Any, *, reset: bool, exposure: Any = None
) -> tuple[Measurements, Catalogue | None]:
    """Return what was passed as objects, as the classes see them, and the catalogue that a table made, with what travels."""
    objects, found = as_measured(estimator, X, X_err, reset=reset, exposure=exposure)
    return as_seen(estimator, objects, reset=reset), found


def as_measured(
    estimator: Any, X: Any, X_err: Any, *, reset: bool, exposure: Any = None
) -> tuple[Measurements, Catalogue | None]:
    """Return what was passed as objects, and the catalogue that a table made, with names and what travels.

    A table with error columns is read by the one recogniser (`badac.data.from_table`). On fit how it was read is kept as
    ``layout_``, and new tables are read by that: columns by name, units converted, what is missing or scaled said. An
    `exposure` goes with an array, or a table without errors, of counts.
    """
    X = X if isinstance(X, Catalogue) else as_frame(X)
    found: Catalogue | None = None
    if reset:
        _forget_layout(estimator)
    if exposure is not None:
        _refuse_beside_exposure(estimator, X, X_err, reset)
    if isinstance(X, Measurements):
        if X_err is not None:
            raise ValueError("`X` is a Measurements and has its own errors: `X_err` must not be given too.")
        objects = X
        _check_points(estimator, objects, reset)
    elif isinstance(X, Catalogue) or _brings_errors(estimator, X, X_err, reset):
        if X_err is not None:
            raise ValueError(
                "`X` has error columns (such as `name_err`): `X_err` must not be given too. Drop one of the two."
            )
        found = X if isinstance(X, Catalogue) else _read(estimator, X, reset)
        found = _known(estimator, found, reset, read=not isinstance(X, Catalogue))
        objects = found.objects
        _check_points(estimator, objects, reset)
        if reset and found.features:
            estimator.feature_names_in_ = np.array(found.features, dtype=object)
    else:
        if X_err is None and hasattr(X, "columns") and hasattr(X, "dtypes"):
            refuse_strays(X)
        objects = Measurements(values_of(estimator, X, reset), X_err, exposure=exposure)
        if hasattr(X, "columns") and hasattr(X, "index"):
            ids, index = row_names(X, None)
            found = Catalogue(objects, ids, None, "values without errors", carried=index)
    if objects.n_objects == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={objects.shape}) while a minimum of 1 is required."
        )
    if reset:
        refuse_without_errors(objects)
    return objects, found


def _refuse_beside_exposure(estimator: Any, X: Any, X_err: Any, reset: bool) -> None:
    """Refuse what cannot have an exposure beside it."""
    if isinstance(X, (Measurements, Catalogue)):
        raise ValueError(
            f"`X` is a {type(X).__name__}: its objects bring the exposure, Measurements(counts, exposure=...), and it must not "
            "be given beside them."
        )
    if X_err is not None:
        raise ValueError(
            "`exposure` is for counts, which bring their own width: `X_err` must not be given too."
        )
    if _brings_errors(estimator, X, X_err, reset):
        raise ValueError(
            "`exposure` is for counts, which bring their own width, and the table has errors beside its values. Drop one of "
            "the two."
        )


def as_seen(estimator: Any, objects: Measurements, *, reset: bool) -> Measurements:
    """Return the objects at their phases and with their columns among the points, as in training; on fit it is learned how."""
    if reset:
        # A generator of its own: what is drawn later does not depend on whether there are phases.
        estimator.phases_ = learn_phases(objects, np.random.default_rng(0))
    phases: Phases | None = estimator.phases_
    if phases is not None:
        if not reset and estimator.beside_ is not None:
            check_names(estimator.beside_.names, objects.columns)
        objects = phases.apply(objects, n_threads=n_threads(estimator.n_jobs))
    if reset:
        estimator.beside_ = ColumnsBeside.of(objects)
    beside: ColumnsBeside | None = estimator.beside_
    if beside is not None:
        return beside.joined(objects)
    check_names((), objects.columns)
    return objects.without_columns() if objects.columns else objects


def _brings_errors(estimator: Any, X: Any, X_err: Any, reset: bool) -> bool:
    """Whether a table has errors beside its values, or a model expects it to."""
    if not hasattr(X, "columns"):
        return False
    kept = None if reset else getattr(estimator, "layout_", None)
    if kept is not None:
        return X_err is None
    checked_names(X)
    if looks_long(X) or vector_columns(X):
        return True
    return has_error_columns(X)


def _read(estimator: Any, X: Any, reset: bool) -> Catalogue:
    """Read a table by the layout of the training or, on fit, as it is."""
    kept = None if reset else getattr(estimator, "layout_", None)
    if kept is not None:
        return Layout.from_dict(kept).read(X)
    if looks_long(X):
        raise ValueError(
            "the table has one row per measurement, while `fit` and `predict` take one row per object. Read it first: "
            "curves = badac.data.from_table(table); model.fit(curves, curves.label). "
            f"Columns: {some([str(name) for name in X.columns])}."
        )
    refuse_lonely(X)
    return from_table(X, columns={"label": None}, form="wide")


def _known(estimator: Any, found: Catalogue, reset: bool, *, read: bool) -> Catalogue:
    """Keep how the training was read, or put new objects in its order and units; notes become warnings."""
    kept = getattr(estimator, "layout_", None)
    if reset:
        estimator.layout_ = Layout.of(found).as_dict()
    elif kept is not None and not read:
        found = Layout.from_dict(kept).matched(found)
    if reset or read or kept is not None:
        for loss in found.losses.left_out:
            if loss.what != "columns":
                warnings.warn(str(loss), TableWarning, stacklevel=6)
        for note in found.losses.notes:
            warnings.warn(note, TableWarning, stacklevel=6)
    return found


def _forget_layout(estimator: Any) -> None:
    if hasattr(estimator, "layout_"):
        del estimator.layout_


def values_of(estimator: Any, X: Any, reset: bool) -> npt.NDArray[np.float64]:
    """Return the values of an array-like, through scikit-learn's own checks."""
    # Neither a mask nor a date survives them.
    if isinstance(X, np.ma.MaskedArray) or (isinstance(X, np.ndarray) and X.dtype.kind in "mM"):
        X = as_real(X, "X")
    try:
        return np.asarray(validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False))
    except (TypeError, ValueError):
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            from_frame(X)  # says which column holds no numbers
        text = np.asarray(X)
        if text.ndim == 2 and text.dtype.kind in "OUS":
            refuse_text(text)
        raise


def refuse_text(array: npt.NDArray[Any]) -> None:
    """Refuse the first text of (n, m) that is no number, by its place; nothing where there is none."""
    for (row, column), cell in np.ndenumerate(array):
        if not isinstance(cell, str | bytes):
            continue
        try:
            float(cell)
        except ValueError:
            raise ValueError(
                f"X must hold numbers: got {str(cell)!r} at object {row}, point {column}. Encode that column, leave it out, or "
                "write NaN where a value is missing."
            ) from None


def refuse_words(words: Mapping[str, Any]) -> None:
    """Refuse keywords that `fit` does not take; for the usual ones, say what to do instead."""
    if words.get("sample_weight", False) is None:
        words = {name: value for name, value in words.items() if name != "sample_weight"}
    if "sample_weight" in words:
        raise TypeError(
            "fit takes no `sample_weight`: leave-one-out evidence and calibration count every member once. For classes that "
            "should count more or less, give `priors`; members that you doubt, leave out or give larger error bars (sigma); "
            "measurements that count twice, give sigma / sqrt(2)."
        )
    if words:
        raise TypeError(
            f"fit got an unexpected keyword {next(iter(words))!r}: it takes X, y, X_err and batch."
        )


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
    never = label.dtype.kind in "iubSU"
    missing = np.array([False] if never else [_is_missing(value) for value in label.tolist()])
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
    if training.counted != objects.counted:
        raise ValueError(
            f"The classes were learned from counts {'with' if training.counted else 'without'} an exposure: got {objects!r}. "
            "Give `exposure` to both, Measurements(counts, exposure=...), or to neither."
        )
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
    reach = _SAME_POINT * float(np.ptp(training.at)) if training.at.size else 0.0
    elsewhere = ~(np.abs(objects.at - training.at) <= reach)
    if not elsewhere.any():
        return
    refuse(
        objects.observed & elsewhere,
        np.broadcast_to(objects.at, objects.shape),
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


def describe_objects(estimator: Any, X: Any, found: Description) -> Description:
    """Return what objects that were passed as `X` are: as their table says, or by the names and bands of the training's.

    Parameters
    ----------
    estimator : Any
        Fitted.
    X : Any
        A `Catalogue` describes itself.
    found : Description
        What their form alone tells.
    """
    if isinstance(X, Catalogue):
        return X.about
    layout = getattr(estimator, "layout_", {})
    names = names_of_columns(estimator)
    if found.axis.name or len(names) != estimator.n_features_in_:
        return replace(found, bands=tuple(layout.get("bands", ())))
    kind = kind_of_columns(estimator.training_, names)
    return replace(found, kind=kind, features=names, units=dict(layout.get("units", {})))


def names_of_columns(estimator: Any) -> tuple[str, ...]:
    """Return the names that the training's columns (m,) had, or none."""
    layout = getattr(estimator, "layout_", {})
    names = tuple(layout.get("features", ())) or tuple(getattr(estimator, "feature_names_in_", ()))
    return tuple(map(str, names))

"""What the metrics accept: rankings, probabilities and labels, checked once, with messages to act on."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def check_ranking(is_anomaly: npt.ArrayLike, score: npt.ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Return `is_anomaly` as bool and `score` as float64, both (objects,), or raise a ValueError."""
    flags, values = np.asarray(is_anomaly), np.asarray(score)
    if flags.ndim != 1 or values.ndim != 1 or flags.shape != values.shape:
        raise ValueError(
            f"`is_anomaly` and `score` must be one-dimensional and equally long: "
            f"got shapes {flags.shape} and {values.shape}. Pass one flag and one score per object."
        )
    if flags.size == 0:
        raise ValueError("`is_anomaly` and `score` are empty: a ranking needs at least one object.")
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"`score` must be real numbers: got dtype {values.dtype}. Pass one float per object."
        )
    return _check_binary(flags), _check_not_nan(values.astype(np.float64))


def check_length(n: Any) -> int:
    try:
        length = operator.index(n)
    except TypeError:
        raise ValueError(f"`n` must be a whole number of objects: got {n!r}. Round it first.") from None
    if length < 1:
        raise ValueError(
            f"`n` must be at least 1: got {length}. It is the number of top-ranked objects to look at."
        )
    return length


def _check_binary(flags: npt.NDArray[Any]) -> BoolArray:
    if flags.dtype.kind not in "biuf":
        raise ValueError(
            f"`is_anomaly` must be bool or 0/1: got dtype {flags.dtype}. "
            "Compare first, as in `labels == 'anomaly'`."
        )
    wrong = np.flatnonzero((flags != 0) & (flags != 1))
    if wrong.size:
        raise ValueError(
            f"`is_anomaly` must be bool or 0/1: got {flags[wrong[0]]!r} at object {wrong[0]}. "
            "Compare first, as in `labels == 2`."
        )
    return flags.astype(np.bool_)


def _check_not_nan(score: FloatArray) -> FloatArray:
    wrong = np.flatnonzero(np.isnan(score))
    if wrong.size:
        raise ValueError(
            f"`score` must not be NaN: got NaN at object {wrong[0]} ({wrong.size} in all). "
            "A NaN has no rank; use inf for 'strangest' or -inf for 'most normal'."
        )
    return score


def check_probabilities(probabilities: npt.ArrayLike) -> FloatArray:
    """Return `probabilities` as (n, k) float64 whose rows sum to one, or raise a ValueError."""
    table = np.asarray(probabilities, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"`probabilities` must be (n, k), one column a class: got shape {table.shape}.")
    _check_range(table)
    wrong = np.flatnonzero(np.abs(table.sum(axis=1) - 1.0) > 1e-6)
    if wrong.size:
        raise ValueError(
            f"`probabilities` must sum to 1 over the classes: got {table[wrong[0]].sum():.6g} "
            f"at object {wrong[0]}. Normalise each row; log probabilities need exp first."
        )
    return table


def check_classes(classes: npt.ArrayLike | None, k: int) -> npt.NDArray[Any]:
    """Return the `k` distinct labels of the columns, or raise a ValueError that says why not."""
    names = np.arange(k) if classes is None else np.asarray(classes)
    if names.shape != (k,) or np.unique(names).size != k:
        raise ValueError(
            f"`classes` must hold {k} different labels, one per column of `probabilities`: got {names}."
        )
    return names


def column_of(labels: npt.ArrayLike, classes: npt.NDArray[Any], n: int) -> IntArray:
    """Column of each object's true label, (n,), or a ValueError that names the label that is no class."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise ValueError(f"`labels` must be one label per object, shape ({n},): got shape {labels.shape}.")
    order = np.argsort(classes)
    place = np.clip(np.searchsorted(classes, labels, sorter=order), 0, classes.size - 1)
    column = order[place]
    wrong = np.flatnonzero(classes[column] != labels)
    if wrong.size:
        raise ValueError(
            f"`labels` must be among the classes {classes}: got {labels[wrong[0]]!r} at object {wrong[0]}. "
            "Leave out objects of other classes, such as anomalies."
        )
    return np.asarray(column, dtype=np.int64)


def check_probability(probability: npt.ArrayLike) -> FloatArray:
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"`probability` must be one number per object: got shape {values.shape}.")
    _check_range(values)
    # The rows of a table may exceed one by rounding; here that would be harmless too, but not outside the
    # last bin.
    return np.minimum(values, 1.0)


def _check_range(values: FloatArray) -> None:
    wrong = np.argwhere(~((values >= 0.0) & (values <= 1.0 + 1e-9)))
    if wrong.size:
        place = ", column ".join(str(index) for index in wrong[0])
        raise ValueError(
            f"probabilities must lie in [0, 1]: got {values[tuple(wrong[0])]} at object {place}. "
            "Log probabilities need exp first; scores are no probabilities."
        )


def check_outcome(is_class: npt.ArrayLike, probability: FloatArray) -> FloatArray:
    outcome = np.asarray(is_class)
    if outcome.shape != probability.shape:
        raise ValueError(
            f"outcomes and probabilities must be equally long: "
            f"got shapes {outcome.shape} and {probability.shape}."
        )
    if outcome.dtype.kind not in "biuf" or np.any((outcome != 0) & (outcome != 1)):
        raise ValueError(
            "outcomes must be bool or 0/1, whether the object belongs to the class: got "
            f"{np.unique(outcome)[:5]}. Compare first, as in `labels == 1`."
        )
    return outcome.astype(np.float64)


def check_bins(n_bins: int) -> int:
    if n_bins < 1:
        raise ValueError(f"`n_bins` must be at least 1: got {n_bins}.")
    return n_bins

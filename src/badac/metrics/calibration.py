"""Calibration: does a stated probability of 0.8 come true in 80 % of the cases?

Objects are binned by their probability (uniform bins on [0, 1], closed on the right, 0 in the first). In
each bin the mean probability stands against the fraction that came true. The expected calibration error is
the mean distance,

    ECE = sum_b (n_b / n) | observed_b - mean_probability_b |

Use `calibration_curve` to look, `expected_calibration_error` to compare, and `calibration_error_by_chance`
before believing a difference: the ECE of a perfect model is not zero, because every bin holds finitely many
objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.metrics.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_bins,
    check_classes,
    check_outcome,
    check_probabilities,
    check_probability,
    column_of,
)


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Probability against outcome, one entry per bin that holds an object.

    Attributes
    ----------
    mean_probability : (bins,)
        Mean of the stated probabilities in the bin: the abscissa.
    observed : (bins,)
        Fraction of the bin's objects that came true: the ordinate.
    error : (bins,)
        Poisson error of `observed`: ``sqrt(max(k, 1)) / count`` for ``k`` objects that came true, so that a
        bin with none keeps an error bar.
    count : (bins,) int
        Objects in the bin.

    Examples
    --------
    >>> from badac.metrics import calibration_curve
    >>> curve = calibration_curve([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> curve.mean_probability, curve.observed
    (array([0.15, 0.85]), array([0., 1.]))
    """

    mean_probability: FloatArray
    observed: FloatArray
    error: FloatArray
    count: IntArray


@dataclass(frozen=True)
class ChanceError:
    """Calibration error that a perfect model gets by chance: `mean` and standard deviation `sd`.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.metrics import calibration_error_by_chance
    >>> calibration_error_by_chance(np.tile([0.5, 0.5], (400, 1))).mean < 0.05
    True
    """

    mean: float
    sd: float


def calibration_curve(
    is_class: npt.ArrayLike, probability: npt.ArrayLike, n_bins: int = 10
) -> CalibrationCurve:
    """Calibration curve of one class with Poisson error bars (the paper's calibration figures).

    Parameters
    ----------
    is_class : (n,) bool or 0/1
        Whether the object belongs to the class.
    probability : (n,)
        The stated probability that it does.
    n_bins : int
        Uniform bins on [0, 1]; empty ones are left out of the result.

    Returns
    -------
    CalibrationCurve

    Examples
    --------
    >>> from badac.metrics import calibration_curve
    >>> curve = calibration_curve([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> curve.observed
    array([0., 1.])
    """
    probability = check_probability(probability)
    outcome = check_outcome(is_class, probability)
    bins = _bin_of(probability, check_bins(n_bins))
    count = np.bincount(bins, minlength=n_bins)
    filled = count > 0
    positives = np.bincount(bins, weights=outcome, minlength=n_bins)[filled]
    total = np.bincount(bins, weights=probability, minlength=n_bins)[filled]
    count = count[filled]
    return CalibrationCurve(
        mean_probability=total / count,
        observed=positives / count,
        error=np.sqrt(np.maximum(positives, 1.0)) / count,
        count=count.astype(np.int64),
    )


def expected_calibration_error(
    labels: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    classes: npt.ArrayLike | None = None,
    n_bins: int = 15,
) -> float:
    """Expected calibration error, for one class or for all of them.

    Parameters
    ----------
    labels : (n,)
        With one-dimensional `probabilities`: bool or 0/1, whether the object belongs to the class.
        With two-dimensional ones: the true labels.
    probabilities : (n,) or (n, k)
        One-dimensional: the probability of the class; those are binned. Two-dimensional: the probabilities
        of all classes; the largest is binned and compared with how often it names the right class.
    classes : (k,), optional
        Labels of the columns; ``0 ... k - 1`` if not given. Only for two-dimensional `probabilities`.
    n_bins : int
        Uniform bins on [0, 1].

    Returns
    -------
    float
        In [0, 1]; 0 is calibrated. A perfect model stays above 0 by `calibration_error_by_chance`.

    Examples
    --------
    >>> from badac.metrics import expected_calibration_error
    >>> expected_calibration_error(["a", "b", "b"], [[1, 0], [0, 1], [0.75, 0.25]], ["a", "b"], n_bins=1)
    0.25
    """
    if np.ndim(probabilities) == 2:
        table = check_probabilities(probabilities)
        outcome, probability = _top_class(labels, table, check_classes(classes, table.shape[1]))
    elif classes is not None:
        raise ValueError(
            "`classes` names the columns of two-dimensional `probabilities`: got one-dimensional ones. "
            "Pass (n, k) probabilities or leave `classes` out."
        )
    else:
        outcome, probability = np.asarray(labels), np.asarray(probabilities)
    curve = calibration_curve(outcome, probability, n_bins)
    share = curve.count / curve.count.sum()
    return float(np.sum(share * np.abs(curve.observed - curve.mean_probability)))


def calibration_error_by_chance(probabilities: npt.ArrayLike, n_bins: int = 15) -> ChanceError:
    """Calibration error that these probabilities would get if they were all true: its mean and standard
    deviation.

    In bin ``b`` the number that come true has mean ``l = sum p`` and variance ``v = sum p (1 - p)``. Its
    mean absolute deviation is ``sqrt(2 v / pi)`` for many events and ``2 min(l, n_b - l)`` for few; the
    smaller of the two is taken, which is right within 12 % for every ``l``.

    Parameters
    ----------
    probabilities : (n,) or (n, k)
        As in `expected_calibration_error`: of one class, or of all (the largest counts).
    n_bins : int
        As in `expected_calibration_error`.

    Returns
    -------
    ChanceError

    Examples
    --------
    >>> import numpy as np
    >>> from badac.metrics import calibration_error_by_chance
    >>> few, many = (calibration_error_by_chance(np.tile([0.7, 0.3], (n, 1))).mean for n in (100, 10_000))
    >>> bool(few > many)
    True
    """
    if np.ndim(probabilities) == 2:
        probability = check_probabilities(probabilities).max(axis=1)
    else:
        probability = check_probability(probabilities)
    bins = _bin_of(probability, check_bins(n_bins))
    count = np.bincount(bins, minlength=n_bins)
    expected = np.bincount(bins, weights=probability, minlength=n_bins)
    variance = np.bincount(bins, weights=probability * (1.0 - probability), minlength=n_bins)
    many = np.sqrt(2.0 * variance / np.pi)
    few = 2.0 * np.clip(np.minimum(expected, count - expected), 0.0, None)
    deviation = np.minimum(many, few)
    spread = np.sqrt(np.sum(np.maximum(variance - deviation**2, 0.0)))
    return ChanceError(mean=float(deviation.sum() / probability.size), sd=float(spread / probability.size))


def _top_class(
    labels: npt.ArrayLike, table: FloatArray, classes: npt.NDArray[Any]
) -> tuple[BoolArray, FloatArray]:
    """Whether the most probable class is the true one, and its probability, (n,) each."""
    best = table.argmax(axis=1)
    return column_of(labels, classes, len(table)) == best, table.max(axis=1)


def _bin_of(probability: FloatArray, n_bins: int) -> npt.NDArray[np.intp]:
    inner_edges = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    return np.searchsorted(inner_edges, probability, side="left")

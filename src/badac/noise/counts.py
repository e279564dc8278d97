"""What counts have in common: whole numbers that bring their own width, and an exposure or a number of trials per point.

The amount of looking behind a count (exposure, trials) may be one number, one per point, or one per object and point. The
last travels with the data, ``Measurements(counts, exposure=...)``: ``sigma = 1 / amount`` is the rate (or the probability) that
a single count stands for. Then no looking at all is an infinite sigma, which is a missing point, as it should be.

Where nobody knows how deep each object was looked at, its total is the estimate (`total_exposure`): rates are then shares of
the total. `depths_differ` says whether the training objects ask for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import gammaln

from badac.data.measurements import Measurements
from badac.data.validation import refuse
from badac.noise.model import FloatArray, IntArray, LinkedNoise

FROM_SIGMA = "1/sigma"
FROM_TOTAL = "total"
FROM_OBJECTS = "objects"
# Relative scatter of the totals within a class beyond that of counting, from which on depths differ; and the share of the
# variance of the log totals that the classes may explain, beyond which the total is a clue and not an accident.
_LEAST_SCATTER, _MOST_TOLD = 0.15, 0.3
_LEAST_TOTAL = 0.5  # an object without any counts


@runtime_checkable
class PoissonCounts(Protocol):
    """Counts that may be Poisson around a rate times an exposure and nothing else: the kernels know these."""

    def plain_counts(self, objects: Measurements) -> tuple[FloatArray, FloatArray] | None:
        """Return counts and exposures (n, m), both 0 where missing; None if anything else is counted (a background)."""


def check_amount(amount: Any, name: str, *, allow_zero: bool = False) -> None:
    """Refuse an exposure, background or number of trials that is not a positive number, one row, or "1/sigma"."""
    if isinstance(amount, str):
        words = (FROM_OBJECTS, FROM_TOTAL, FROM_SIGMA) if name == "exposure" else (FROM_SIGMA,)
        if amount not in words:
            known = ", ".join(map(repr, words))
            raise ValueError(f"`{name}` must be a number, one per point, or {known}: got {amount!r}.")
        return
    array = np.asarray(amount, dtype=np.float64)
    good = np.isfinite(array) & ((array >= 0) if allow_zero else (array > 0))
    if array.ndim > 1 or not good.all():
        raise ValueError(
            f"`{name}` must be {'>= 0' if allow_zero else '> 0'} and finite, one number or one per point: got "
            f"{array if array.ndim <= 1 else array.shape}. Where it differs between objects, give "
            f"{name}={FROM_SIGMA!r} and Measurements(counts, exposure={name})."
        )


def amount_of(amount: Any, side: Measurements, name: str) -> FloatArray:
    """Return (n, m) or (1, m): the exposure or the trials behind every count."""
    if isinstance(amount, str):
        if not side.has_errors or side.covariance is not None:
            raise ValueError(
                f"{name}={FROM_SIGMA!r} reads it from sigma, but the objects have none: give "
                f"Measurements(counts, exposure={name})."
            )
        exact = side.observed & (side.sigma == 0)
        refuse(exact, side.sigma, f"`sigma` must be 1/{name} > 0", f"An infinite {name} is not possible.")
        return np.where(side.observed, 1.0 / np.where(side.observed, side.sigma, 1.0), 1.0)
    array = np.asarray(amount, dtype=np.float64)
    if array.ndim == 1 and array.shape != (side.n_points,):
        raise ValueError(f"`{name}` must have one number per point, ({side.n_points},): got {array.shape}.")
    return np.broadcast_to(array, (1, side.n_points))


def total_exposure(side: Measurements, share: FloatArray | None) -> FloatArray:
    """Return (n, m): the total of each object's counts, over the share (m,) that its observed points usually have in it."""
    observed = side.observed
    total = np.where(observed, side.values, 0.0).sum(axis=1)
    usual = np.full(side.n_points, 1.0 / max(side.n_points, 1)) if share is None else share
    seen = observed @ usual
    exposure = np.maximum(total, _LEAST_TOTAL) / np.where(seen > 0, seen, 1.0)
    return np.broadcast_to(exposure[:, None], side.shape)


def log_factorial(count: FloatArray) -> FloatArray:
    """``log count!``, by a table if all are whole and not too many: a few times faster."""
    top = count.max(initial=0.0)
    if top < 1e5:
        whole = count.astype(np.int64)
        if (whole == count).all():
            return np.asarray(gammaln(np.arange(top + 1.0) + 1.0)[whole])
    return np.asarray(gammaln(count + 1.0))


def usual_shares(counts: Measurements) -> FloatArray:
    """Return (m,): the share of each point in the total of all objects, half a count added; they add up to one."""
    sums = np.where(counts.observed, counts.values, 0.0).sum(axis=0)
    seen = counts.observed.sum(axis=0)
    mean = (sums + 0.5) / (seen + 1.0)
    return np.asarray(mean / mean.sum())


def depths_differ(counts: Measurements, label: IntArray) -> bool:
    """Whether totals of the members of a class scatter more than counting does, while telling little of the class.

    Parameters
    ----------
    counts : Measurements
        (n, m)
    label : (n,) int
    """
    if counts.n_points < 2:
        return False
    total = np.maximum(total_exposure(counts, usual_shares(counts))[:, 0], _LEAST_TOTAL)
    log_total = np.log(total)
    size = np.maximum(np.bincount(label), 1)
    within = log_total - (np.bincount(label, weights=log_total) / size)[label]
    degrees = len(label) - np.count_nonzero(np.bincount(label))
    if degrees < 1:
        return False
    variance = float((within**2).sum()) / degrees
    beyond = variance - float(np.mean(1.0 / total))
    told = 1.0 - float((within**2).sum()) / max(float(((log_total - log_total.mean()) ** 2).sum()), 1e-300)
    return bool(beyond > _LEAST_SCATTER**2 and told < _MOST_TOLD)


def check_counts(objects: Measurements, what: str) -> None:
    """Refuse values that are not whole numbers >= 0 where measured."""
    values = np.where(objects.observed, objects.values, 0.0)
    refuse(
        values < 0,
        values,
        f"{what} must be >= 0",
        "Do not subtract the background: give it to the noise model.",
    )
    refuse(
        values != np.round(values),
        values,
        f"{what} must be whole numbers",
        "Give counts, not rates: the exposure (or the trials) is a parameter of the noise model.",
    )


def check_curves(curves: Measurements, what: str) -> None:
    """Refuse negative curves; a curve's filled gap is a class mean and needs not be a whole number."""
    values = np.where(curves.observed, curves.values, 0.0)
    refuse(
        values < 0,
        values,
        f"{what} of a training curve must be >= 0",
        "Give counts before background subtraction.",
    )


def counts_given_truth(
    noise: LinkedNoise, objects: Measurements, truth: FloatArray, link: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return (n, k): log probability of counts at true rates or probabilities (k, m) or (n, k, m), through their link."""
    if (truth < 0).any():
        raise ValueError(
            f"the truth of counts is a rate or a probability and must be >= 0: got {truth.min():.3g}. Let the function of "
            "the class return rates, e.g. the exponential of a log rate."
        )
    n, k = objects.n_objects, truth.shape[-2]
    every = objects[np.repeat(np.arange(n), k)]
    flat = np.broadcast_to(link(truth), (n, k, objects.n_points)).reshape(n * k, -1)
    parts = noise.log_likelihood(every, np.where(every.observed, flat, 0.0))
    return np.asarray(np.where(every.observed, parts, 0.0).sum(axis=1).reshape(n, k))

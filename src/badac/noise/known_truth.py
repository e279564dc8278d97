"""The likelihood: how probable an object is if its true values are known, ``log P(d | y)``.

    log_likelihood = sum_j log P(d_j | y_j),      or  log N(d ; y , C_d)  with correlated errors

A class that is given by a formula (`badac.classes.parametric.parametric`) offers true curves, not noisy members, so only the
object's side of the noise enters. Counts take the truth that their `draw` takes: a rate, a probability. Noise that gets its
width from sigma and does not say its likelihood (`log_given_truth`) is asked for its match with exact curves (sigma 0), which
is the same thing where it allows them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import refuse
from badac.noise.model import FloatArray, KnownTruthNoise, Noise, needs_sigma


def log_likelihood(noise: Noise, objects: Measurements, truth: FloatArray) -> FloatArray:
    """Log density of objects around known true curves.

    Parameters
    ----------
    noise : Noise
        With all parameters known.
    objects : Measurements
        (n, m); a missing point does not count.
    truth : (k, m) or (n, k, m)
        The same curves for all objects, or curves of each object's own.

    Returns
    -------
    (n, k)
    """
    if isinstance(noise, KnownTruthNoise):
        return noise.log_given_truth(objects, truth)
    check_has_likelihood(noise)
    # Exact curves may be a limit that the model does not take: then there is no number, and that is said.
    with np.errstate(all="ignore"):
        found = matches_of_each(noise.log_match, objects, truth)
    if np.isnan(found).any():
        raise ValueError(
            f"{noise!r} has no density around an exact curve (sigma 0): its `log_match` gave NaN. Let it return the limit, or "
            "give it the method `log_given_truth(objects, truth)`."
        )
    return found


def check_has_likelihood(noise: Noise) -> None:
    """Refuse noise that cannot be asked about a known truth: it ignores sigma, so that no curve is exact to it."""
    if not isinstance(noise, KnownTruthNoise) and not needs_sigma(noise):
        raise ValueError(
            f"{noise!r} does not say how probable an object is around known true values: give it the method "
            "`log_given_truth(objects, truth) -> (n, k)`."
        )


def sum_around_truth(
    objects: Measurements,
    truth: FloatArray,
    density: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Return (n, k): the sum of ``density(values, truth, sigma)`` over the points that each object has.

    The density broadcasts over its arguments; missing points come as value 0 with sigma 1 and do not count.
    """
    refuse_exact(objects)
    seen = objects.observed[:, None, :]
    values = np.where(seen, objects.values[:, None, :], 0.0)
    sigma = np.where(seen, objects.sigma[:, None, :], 1.0)
    return np.asarray(np.where(seen, density(values, truth, sigma), 0.0).sum(axis=2))


def refuse_exact(objects: Measurements) -> None:
    """Refuse exact values: around exact curves their density is infinite or nothing."""
    exact = objects.observed & (objects.sigma == 0)
    refuse(exact, objects.sigma, "`sigma` must be > 0 for a class of exact curves", "Give error bars.")


def matches_of_each(
    log_match: Callable[[Measurements, Measurements], FloatArray], objects: Measurements, truth: FloatArray
) -> FloatArray:
    """Return (n, k): matches with exact curves (k, m), or with those (n, k, m) of each object's own."""
    if truth.ndim == 2:
        return np.asarray(log_match(objects, Measurements(truth, 0.0)))
    rows = [
        log_match(objects[row], Measurements(curves, 0.0))[0]
        for row, curves in enumerate(np.broadcast_to(truth, (objects.n_objects, *truth.shape[1:])))
    ]
    return np.stack(rows) if rows else np.empty((0, truth.shape[1]))

"""How frequent each class is among new objects, from the objects themselves; and whether training supports them at all.

    share_k <- (sum_i P(k | d_i , share) + a_k) / (n + sum a) ,        a = the training frequencies, worth two objects

EM on what stands in the place of the evidence (Saerens, Latinne & Decaestecker 2002), so that a training set whose classes
are not as frequent as on the sky (a spectroscopic one) gives the right probabilities on it, as long as the members of each
class look alike in both. Whether they do is asked of what a class does not model: noise and number of points (`unlike`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.calibration.coarsening import FloatArray
from badac.calibration.pvalues import noise_level
from badac.data.measurements import Measurements
from badac.latent.mixture import logsumexp_rows
from badac.training import TrainingScales

_WORTH = 2.0  # objects' worth of belief in the training frequencies
_SETTLED, _MOST_STEPS = 1e-7, 2000
# Outside of the training's central 98 % lie 2 % of objects like it; five times as many are others.
_TAIL, _MOST_OUTSIDE = 0.01, 0.1
_ENOUGH = 20  # objects: of fewer, one in ten is chance


@dataclass(frozen=True, eq=False)
class ClassFrequencies:
    """Shares of the classes among some objects.

    Attributes
    ----------
    share, standard_error : (k,)
    """

    share: FloatArray
    standard_error: FloatArray


def estimate_frequencies(log_match: FloatArray, log_prior: FloatArray) -> ClassFrequencies:
    """Estimate shares from calibrated log evidence (n, k), starting from log priors (k,); a class of prior 0 stays out."""
    possible = np.isfinite(log_prior)
    prior = _WORTH * np.exp(log_prior)
    share = np.exp(log_prior)
    n = len(log_match)
    for _ in range(_MOST_STEPS):
        responsibility = _responsibility(log_match, share)
        before, share = share, (responsibility.sum(axis=0) + prior) / (n + prior.sum())
        if np.abs(share - before).max() < _SETTLED:
            break
    responsibility = _responsibility(log_match, share)
    slope = responsibility[:, possible] / share[possible]
    information = slope.T @ slope + np.diag(prior[possible] / share[possible] ** 2)
    # The shares add up to one: the inverse of the information on that plane.
    k = int(possible.sum())
    bordered = np.block([[information, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    error = np.zeros(len(share))
    error[possible] = np.sqrt(np.maximum(np.diagonal(np.linalg.pinv(bordered))[:k], 0.0))
    return ClassFrequencies(share, error)


def _responsibility(log_match: FloatArray, share: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        joint = log_match + np.log(share)
    return np.asarray(np.exp(joint - logsumexp_rows(joint)[:, None]))


def unlike(training: Measurements, objects: Measurements, scales: TrainingScales) -> list[str]:
    """Return what of new objects lies outside of what training had, in words: noise, number of points."""
    if objects.n_objects < _ENOUGH:
        return []
    asked = {"number of points": [one.observed.sum(axis=1).astype(np.float64) for one in (training, objects)]}
    if (
        training.has_errors
        and objects.has_errors
        and training.covariance is None
        and objects.covariance is None
    ):
        asked["noise"] = [noise_level(one, scales) for one in (training, objects)]
    said = []
    for name, (known, new) in asked.items():
        low, high = np.quantile(known, [_TAIL, 1.0 - _TAIL])
        outside = {"below": float((new < low).mean()), "above": float((new > high).mean())}
        side = max(outside, key=lambda key: outside[key])
        if outside[side] > _MOST_OUTSIDE:
            edge = low if side == "below" else high
            said.append(
                f"{name}: {outside[side]:.0%} of the new objects are {side} {edge:.3g}, where training has {_TAIL:.0%}"
            )
    return said

"""Is there a gap between two groups of a class, or do its members lead from one to the other?

Two components of a latent mixture, ``N(v_a, S_a)`` and ``N(v_b, S_b)``, may be two kinds of curves, or two pieces of one kind
that varies continuously. Along the line between them stand narrow components ``N(v_a + t (v_b - v_a), S')``, and their
weights are learned twice from the members of both, each member with its own noise and its place integrated out:

    gap = log P(members | any weights) - log P(members | weights that rise to one peak and fall)

in nats. Members in between leave nothing to gain; a gap that is really empty gains a nat or more for each member. Both
hypotheses have the same components, so a class that bends between the two costs both the same. Held by monotone
regression, the single peak may be as flat or as skewed as the members like.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from badac.classes.model import FloatArray
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, logsumexp_rows

_WIDEST, _NARROWEST = 0.15, 0.06  # steps of the bridge: seven to seventeen stand between the two
_BEYOND = 3.0  # standard deviations of the two groups
# Of the EM for the weights: at most, and nats of all members together; a gap counts from 15.
_STEPS = 60
_SETTLED = 0.01


def bridge(mixture: Mixture, a: int, b: int) -> Mixture:
    """Return narrow components on the line through the means of two components, weighted alike.

    ``S'`` is the pooled covariance, with its width along the line replaced by the distance between neighbours.
    """
    share = mixture.weights[a] / (mixture.weights[a] + mixture.weights[b])
    pooled = share * mixture.covariances[a] + (1.0 - share) * mixture.covariances[b]
    line = mixture.means[b] - mixture.means[a]
    distance = max(float(np.sqrt(line @ np.linalg.solve(pooled, line))), 1e-3)
    step = float(np.clip(1.0 / distance, _NARROWEST, _WIDEST))
    # Two components in one place have no line between them; a few steps beyond either are enough.
    reach = min(_BEYOND / distance, 20.0 * step)
    place = np.arange(-reach, 1.0 + reach + step, step)
    narrow = pooled + (step**2 - 1.0 / distance**2) * np.outer(line, line)
    return Mixture(
        np.full(place.size, 1.0 / place.size),
        mixture.means[a] + place[:, None] * line,
        np.repeat(narrow[None], place.size, axis=0),
    )


def gap_evidence(latent: LatentLikelihood, mixture: Mixture, a: int, b: int) -> float:
    """Return how many nats the members of two components gain if there may be a gap between them.

    Parameters
    ----------
    latent : LatentLikelihood
        Of the members of the two components only.
    mixture : Mixture
    a, b : int
        The components.
    """
    if len(latent) < 2:
        return 0.0
    match = bridge(mixture, a, b).log_match(latent)
    return max(_log_evidence(match, peaked=False) - _log_evidence(match, peaked=True), 0.0)


def _log_evidence(match: FloatArray, *, peaked: bool) -> float:
    """Log evidence of members with matches (n, g) under the best weights, by EM; with a single peak if asked."""
    weights = np.full(match.shape[1], 1.0 / match.shape[1])
    last = -np.inf
    for _ in range(_STEPS):
        joint = match + np.log(np.maximum(weights, 1e-300))
        evidence = logsumexp_rows(joint)
        total = float(evidence.sum())
        if total - last < _SETTLED:
            break
        last = total
        count = np.exp(joint - evidence[:, None]).sum(axis=0)
        weights = single_peak(count) if peaked else count / count.sum()
    return max(total, last)


def single_peak(count: FloatArray) -> FloatArray:
    """Return the most probable weights (g,) that rise to one peak and fall, for counts (g,) in neighbouring places."""
    # The peak of the best fit is a peak of the counts.
    padded = np.concatenate([[-np.inf], count, [-np.inf]])
    peaks = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] >= padded[2:]))
    best, best_fit = count, -np.inf
    for peak in peaks:
        rise = isotonic_regression(count[: peak + 1]).x
        fall = isotonic_regression(count[peak:], increasing=False).x
        weights = np.concatenate([rise[:-1], [max(rise[-1], fall[0])], fall[1:]])
        weights = weights / weights.sum()
        fit = float(count @ np.log(np.maximum(weights, 1e-300)))
        if fit > best_fit:
            best, best_fit = weights, fit
    return np.asarray(best)

"""How frequent each class is among new objects, from the objects themselves; and whether training supports them at all.

    log P(share | new) = w sum_i log sum_k share_k P(d_i | k) + sum_k A p_k log share_k + constant

with the training frequencies ``p`` as the mean of a Dirichlet prior of concentration ``A``, and what stands in the place of the
evidence (label shift; maximum likelihood: Saerens, Latinne & Decaestecker 2002), so that a training set whose classes are not
as frequent as on the sky (a spectroscopic one) gives the right probabilities on it, as long as the members of each class look
alike in both. How many objects the training frequencies are worth, ``A``, the new objects say themselves: shares are averaged
over values from two objects to as many as were learned from, by their evidence (Laplace's integral over the shares); the
latter, with which nothing changed but by chance, is as likely as all others together. So a rare class among overlapping ones,
whose share hardly any object tells, keeps what is known of it, and a sky unlike the training set is found.

    w = 1 / (1 + n_new / n_training)

However many new objects there are, they speak through classes that the training objects taught, and together tell no more than
those do: where a class is not quite as its model says, many objects are wrong about it together.

Whether the members do look alike is asked of what a class does not model: noise and number of points (`unlike`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from badac.calibration.coarsening import FloatArray
from badac.calibration.pvalues import noise_level
from badac.data.measurements import Measurements
from badac.training import TrainingScales

# Objects' worth of belief in the training frequencies at least, and steps from there to all that were learned from.
_LEAST_WORTH, _STEPS = 2.0, 9
# A training set that is not at hand counts as so many times the new objects.
_UNKNOWN_WORTH = 10.0
# Relative change of the shares at which Newton's method ends, and its steps at most.
_SETTLED, _MOST_STEPS = 1e-8, 100
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


def estimate_frequencies(
    log_match: FloatArray, log_prior: FloatArray, n_known: int | None = None
) -> ClassFrequencies:
    """Estimate shares from calibrated log evidence of new objects; a class of prior 0 stays out.

    Parameters
    ----------
    log_match : (n, k)
        Calibrated log evidence.
    log_prior : (k,)
        The frequencies that are expected.
    n_known : int, optional
        Number of objects that told them.
    """
    possible = np.isfinite(log_prior)
    share, variance = np.where(possible, np.exp(log_prior), 0.0), np.zeros(len(log_prior))
    best = log_match[:, possible].max(axis=1, initial=-np.inf)
    # What no class explains tells nothing of their shares.
    told = np.isfinite(best)
    if told.any() and possible.sum() > 1:
        match = np.exp(log_match[told][:, possible] - best[told, None])
        known = max(_UNKNOWN_WORTH * len(match) if n_known is None else n_known, _LEAST_WORTH)
        new = _Evidence(match, 1.0 / (1.0 + len(match) / known))
        worth = np.geomspace(known, _LEAST_WORTH, _STEPS)
        found = [_Shares.most_probable(new, share[possible] / share[possible].sum(), worth[0])]
        for less in worth[1:]:
            found.append(found[-1].with_less_worth(new, less))
        log_weight = np.array([each.log_evidence for each in found])
        log_weight[0] += np.log(_STEPS - 1.0)
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        shares = np.stack([each.share for each in found])
        share[possible] = weight @ shares
        spread = np.stack([each.variance for each in found]) + (shares - share[possible]) ** 2
        variance[possible] = weight @ spread
    return ClassFrequencies(share, np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What new objects tell of the shares.

    Attributes
    ----------
    match : (n, k)
        Evidence relative to that of each object's best class.
    counts_as : float
        What an object counts as, 1 for a whole one.
    """

    match: FloatArray
    counts_as: float

    @property
    def count(self) -> float:
        """What all of them count as."""
        return self.counts_as * len(self.match)

    def log_joint(self, share: FloatArray, belief: FloatArray) -> float:
        """Log likelihood of shares (k,), with a belief in some that is worth so many objects of each class."""
        return self.counts_as * float(np.log(self.match @ share).sum()) + float(belief @ np.log(share))

    def told(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objects (k,) of each class, and minus the second derivative (k, k), both by the logarithms of the shares."""
        responsibility = self.match * share
        responsibility /= responsibility.sum(axis=1, keepdims=True)
        return self.counts_as * responsibility.sum(axis=0), self.counts_as * (
            responsibility.T @ responsibility
        )


@dataclass(frozen=True, eq=False)
class _Shares:
    """The most probable shares, for one belief in those expected.

    Attributes
    ----------
    expected, worth : (k,), float
    share, variance : (k,)
    log_evidence : float
        Of the new objects, the shares integrated out by Laplace's method in their logarithms.
    """

    expected: FloatArray
    worth: float
    share: FloatArray
    variance: FloatArray
    log_evidence: float

    @classmethod
    def most_probable(
        cls, new: _Evidence, expected: FloatArray, worth: float, start: FloatArray | None = None
    ) -> _Shares:
        """Find them by Newton's method: there is one maximum."""
        belief = worth * expected
        share = expected if start is None else start
        value = new.log_joint(share, belief)
        for _ in range(_MOST_STEPS):
            told, curvature = new.told(share)
            # Relative changes of the shares, which go on adding up to one.
            plane = _on_the_plane(curvature + np.diag(belief), share)
            step = np.linalg.solve(plane, np.append(told + belief, 0.0))[:-1]
            # No share may fall to less than a tenth at once.
            length = min(1.0, 0.9 / max(-step.min(), 0.9))
            while True:
                tried = share * (1.0 + length * step)
                tried /= tried.sum()
                found = new.log_joint(tried, belief)
                if found >= value - 1e-12 * abs(value) or length < 1e-10:
                    break
                length /= 2.0
            share, value = tried, found
            if length * np.abs(step).max() < _SETTLED:
                break
        curvature = new.told(share)[1] + np.diag(belief)
        covariance = np.linalg.pinv(_on_the_plane(curvature, share))[:-1, :-1]
        bent = curvature - (new.count + worth) * np.outer(share, share)
        log_evidence = (
            value
            + float(gammaln(worth) - gammaln(belief).sum())
            + 0.5 * (len(share) - 1) * np.log(2.0 * np.pi)
            - 0.5 * float(np.linalg.slogdet(bent[:-1, :-1])[1])
        )
        variance = share**2 * np.maximum(np.diagonal(covariance), 0.0)
        return cls(expected, worth, share, variance, log_evidence)

    def with_less_worth(self, new: _Evidence, worth: float) -> _Shares:
        """Find those of a weaker belief, from these."""
        return self.most_probable(new, self.expected, worth, self.share)


def _on_the_plane(curvature: FloatArray, share: FloatArray) -> FloatArray:
    """Return (k + 1, k + 1): the curvature bordered by what keeps the sum of the shares."""
    return np.block([[curvature, share[:, None]], [share[None, :], np.zeros((1, 1))]])


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

"""A first factor model from moments, and how many factors it needs.

The covariance of the members, each weighted by how little noise it has, less the noise that their error bars announce, is
``factors factors' + diag psi``. Its leading eigenvectors, in units of noise plus psi, start the EM. They are nested, so
the models of every rank come from one decomposition, and the rank is the one under which members that were held out have the
largest evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from badac.classes.factor import Factor, drawn_together, with_prior_member
from badac.classes.latent import project
from badac.classes.model import FloatArray, Surroundings
from badac.data.measurements import Measurements

MAX_RANK = 30
_PATIENCE = 3


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (m,), noise-free covariance (m, m), typical noise variance (m,) and effective count (m,) of a class."""

    mean: FloatArray
    covariance: FloatArray
    noise: FloatArray
    count: FloatArray


def moments(members: Measurements, around: Surroundings) -> Moments:
    """Mean and covariance of the true values, the members' noise removed.

    A value counts by ``v / (v + sigma^2)``, with ``v`` a first guess of the population's variance at the point: a member
    with hopeless error bars hardly counts, and among good ones all count alike.
    """
    observed = members.observed
    variance = np.where(observed, members.sigma, 0.0) ** 2
    values = np.where(observed, members.values, 0.0)
    number = np.maximum(observed.sum(axis=0), 1)
    weight = observed / (variance + around.scale**2)
    mean, spread = _weighted(values, variance, weight)
    guess = np.maximum(spread, 0.01 * variance.sum(axis=0) / number) + 1e-6 * around.scale**2
    weight = observed * (guess / (guess + variance))
    total = weight.sum(axis=0)
    mean = np.where(total > 0, (weight * values).sum(axis=0) / np.maximum(total, 1e-300), around.centre)
    residual = weight * (values - mean)
    pairs = weight.T @ weight
    # One pair of members is the least that says something of two points together.
    covariance = residual.T @ residual / np.maximum(pairs, 0.5)
    squared = np.maximum((weight**2).sum(axis=0), 1e-300)
    noise = (weight**2 * variance).sum(axis=0) / squared
    count = total**2 / squared
    # The mean was estimated from the same members.
    covariance *= np.sqrt(np.outer(*(2 * [count / np.maximum(count - 1.0, 0.5)])))
    np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance) - noise, 0.0))
    return Moments(mean, covariance, noise, count)


def _weighted(values: FloatArray, variance: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = np.maximum(weight.sum(axis=0), 1e-300)
    mean = (weight * values).sum(axis=0) / total
    excess = (weight * ((values - mean) ** 2 - variance)).sum(axis=0) / total
    return mean, np.maximum(excess, 0.0)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Nested factor models of all ranks from one eigen-decomposition of the class's moments."""

    moments: Moments
    factors: FloatArray
    around: Surroundings

    @classmethod
    def of(cls, members: Measurements, around: Surroundings, max_rank: int) -> Spectrum:
        found = moments(members, around)
        variance = np.diagonal(found.covariance)
        psi = 0.2 * variance + 1e-9 * around.scale**2
        m = members.n_points
        top = max(min(max_rank, m), 1)
        factors = np.zeros((m, top))
        for _ in range(3):
            unit = np.sqrt(found.noise + psi)
            # What is common to the points is in the off-diagonal elements: psi leaves the diagonal before the
            # eigenvectors are taken (principal factors).
            common = found.covariance - np.diag(np.minimum(psi, variance))
            values, vectors = eigh(common / np.outer(unit, unit), subset_by_index=[m - top, m - 1])
            factors = unit[:, None] * vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
            strong = max(int((values > 2.0 * np.sqrt(m / max(found.count.max(), 1.0))).sum()), 1)
            left = np.maximum(variance - (factors[:, :strong] ** 2).sum(axis=1), 0.0)
            psi = 0.5 * (psi + left) + 1e-9 * around.scale**2
        return cls(found, factors, around)

    def factor(self, rank: int) -> Factor:
        """Return the factor model with the `rank` strongest factors; rank 0 keeps one factor of zeros."""
        kept = self.factors[:, : max(rank, 1)] * (rank > 0)
        found = self.moments
        left = np.diagonal(found.covariance) - (kept**2).sum(axis=1)
        unit = found.noise + np.maximum(left, 0.0) + 1e-12 * self.around.scale**2
        seen = found.count > 0
        share = drawn_together((left / unit)[seen], 2.0 / np.maximum(found.count[seen], 1.0))
        psi = np.zeros_like(left)
        psi[seen] = np.maximum(share, 0.0) * unit[seen]
        return Factor(found.mean, kept, with_prior_member(psi, found.count, self.around))


def choose_rank(
    members: Measurements, around: Surroundings, rng: np.random.Generator
) -> tuple[int, FloatArray]:
    """Grow the rank while members that were held out gain evidence, beyond the standard error of the gain.

    Returns
    -------
    rank : int
    gains : (ranks tried,)
        Mean held-out log evidence per member at rank 0, 1, 2, ...
    """
    n = members.n_objects
    limit = min(MAX_RANK, members.n_points - 1, n // 3)
    if limit < 1:
        return 0, np.zeros(1)
    fold = folds(n, rng)
    spectra = [Spectrum.of(members[fold != k], around, limit) for k in range(int(fold.max()) + 1)]
    # Large classes are split once: the second part would say the same.
    spectra = spectra[:1] if n > 500 else spectra
    held_out = [members[fold == k] for k in range(len(spectra))]
    means: list[float] = []
    chosen, best = 0, np.empty(0)
    for rank in range(limit + 1):
        parts = []
        for spectrum, objects in zip(spectra, held_out, strict=True):
            factor = spectrum.factor(rank)
            parts.append(project(objects, factor.mean, factor.factors, factor.psi).gaussian_log_evidence())
        evidence = np.concatenate(parts)
        means.append(float(evidence.mean()))
        # One more factor must gain more than the standard error of its gain.
        if rank == 0 or (evidence - best).mean() > (evidence - best).std() / np.sqrt(len(best)):
            chosen, best = rank, evidence
        elif rank - chosen >= _PATIENCE:
            break
    return chosen, np.array(means)


def folds(n: int, rng: np.random.Generator) -> FloatArray:
    """Return (n,): the fold of each member; five for small classes, three for large ones."""
    count = 5 if n <= 500 else 3
    return np.asarray(rng.permutation(n) % min(count, n))

"""What Gaussian objects miss of objects that are not: put back by importance sampling over the latent position.

An object under other than Gaussian noise stands as a Gaussian one, a `badac.latent.LatentLikelihood` ``g(z)``, near
its exact likelihood ``P(d | z)``. Under a density ``p(z)`` of the class

    P(d) / integral g p dz = sum_k [ P(d | z_k) / g(z_k)^t ] / sum_k [ g(z_k) / g(z_k)^t ] ,      z_k ~ g^t p

is exact for any ``g`` as the number of draws grows, and with a good ``g`` a few are enough. The draws come from the
posterior under the class's own density, not under ``N(0, I)``: a population that is bent or thin puts the object elsewhere.
A power ``t`` below one keeps the draws at least as broad as the exact posterior. They are the same every time (quasi-random
and in pairs of opposite sign), so that evidence has no noise of its own. Where the exact posterior is next to Gaussian a single
position is enough, the posterior mean, with ``t = 1`` (Laplace's approximation):

    P(d) / integral g p dz = P(d | z) / g(z)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.stats import norm, qmc

from badac._kernels import latent_draws
from badac._kernels.latent import unpack
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, logsumexp_rows
from badac.training import FloatArray

# tests/latent/test_importance_correction.py says what error they leave.
DRAWS = 16
_POWER = 0.8

LogLikelihood = Callable[[FloatArray], FloatArray]


def importance_correction(
    latent: LatentLikelihood,
    density: Mixture,
    log_likelihood: LogLikelihood,
    *,
    draws: int = DRAWS,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n,): exact log evidence of objects less that of the Gaussian ones that stand for them.

    Parameters
    ----------
    latent : LatentLikelihood
        The Gaussian objects.
    density : Mixture
        Of the latent positions.
    log_likelihood : callable
        From positions (n, K, r) of the n objects to their exact log likelihoods (n, K).
    draws : int
        ``K``, even, or one: the posterior mean.
    """
    if draws == 1:
        mean = density.position(latent)[:, None, :]
        return np.asarray((log_likelihood(mean) - _log_gaussian(latent, mean))[:, 0])
    broad = LatentLikelihood(_POWER * latent.precision, _POWER * latent.shift, _POWER * latent.offset)
    match = density.log_match(broad, n_threads=n_threads)
    responsibility = np.exp(match - logsumexp_rows(match)[:, None])
    points = standard_points(broad.rank, draws)
    drawn = posterior_draws(broad, density, responsibility, points, n_threads=n_threads)
    gaussian, exact = _log_gaussian(latent, drawn), log_likelihood(drawn)
    # The same draws on both sides: an object that is Gaussian misses nothing, however few they are.
    return logsumexp_rows(exact - _POWER * gaussian) - logsumexp_rows((1.0 - _POWER) * gaussian)


def _log_gaussian(latent: LatentLikelihood, positions: FloatArray) -> FloatArray:
    """Log of ``g`` (n, K) at positions (n, K, r)."""
    moved = (positions @ unpack(latent.precision)) * positions
    pulled = (positions @ latent.shift[..., None])[..., 0]
    return np.asarray(pulled - 0.5 * (moved.sum(axis=2) + latent.offset[:, None]))


def posterior_draws(
    latent: LatentLikelihood,
    density: Mixture,
    responsibility: FloatArray,
    points: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n, K, r): positions that stand for each object's posterior, components in proportion to responsibility.

    Parameters
    ----------
    latent : LatentLikelihood
        Of n objects.
    density : Mixture
    responsibility : (n, k)
        Of each component for each object.
    points : (K, r)
        Standard normal points.
    """
    return latent_draws(
        latent.precision, latent.shift, density.components(), responsibility, points, n_threads=n_threads
    )


@lru_cache
def standard_points(rank: int, count: int = DRAWS) -> FloatArray:
    """Return (count, rank): points that stand for N(0, I), the same every time, neighbours of opposite sign; read-only."""
    half = qmc.Sobol(rank, scramble=True, rng=np.random.default_rng(0)).random(count // 2)
    points = norm.ppf(np.clip(half, 1e-6, 1 - 1e-6))
    both = np.stack([points, -points], axis=1).reshape(count, rank)
    # Scaled so that the variance along every axis is one.
    scaled = np.asarray(both / np.sqrt((both**2).mean(axis=0)))
    scaled.setflags(write=False)
    return scaled

"""What Gaussian objects miss, against integrals over the latent position taken by brute force."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from badac._kernels.latent import pack
from badac.latent.importance_correction import importance_correction, posterior_draws, standard_points
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture

# Two thin groups: the posterior under N(0, 1) is not where the class is.
GROUPS = Mixture(np.array([0.7, 0.3]), np.array([[-1.5], [1.0]]), np.array([[[0.01]], [[0.04]]]))


def objects(n, rank, rng):
    """Gaussian likelihoods of middling precision."""
    root = rng.standard_normal((n, rank, rank + 2))
    precision = root @ root.transpose(0, 2, 1)
    return LatentLikelihood(pack(precision), 2.0 * rng.standard_normal((n, rank)), rng.standard_normal(n))


def gaussian_log_likelihood(latent, positions):
    squared = latent.precision[:, :1] * positions[..., 0] ** 2
    return latent.shift * positions[..., 0] - 0.5 * (squared + latent.offset[:, None])


@pytest.mark.parametrize("draws", [16, 1])
def test_gaussian_objects_miss_nothing(draws):
    latent = objects(20, 1, np.random.default_rng(0))
    found = importance_correction(
        latent, GROUPS, lambda positions: gaussian_log_likelihood(latent, positions), draws=draws
    )
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


def test_evidence_under_the_density_is_the_integral():
    latent = objects(50, 1, np.random.default_rng(1))

    def exact(positions):
        # Heavier tails than the Gaussian that stands for it.
        return -2.0 * np.log1p(np.exp(-0.5 * gaussian_log_likelihood(latent, positions)))

    grid = np.linspace(-4.0, 4.0, 8001)
    log_prior = logsumexp(
        [
            np.log(weight) + norm.logpdf(grid, mean[0], np.sqrt(covariance[0, 0]))
            for weight, mean, covariance in zip(GROUPS.weights, GROUPS.means, GROUPS.covariances, strict=True)
        ],
        axis=0,
    )
    values = exact(np.broadcast_to(grid[:, None], (50, len(grid), 1)))
    expected = logsumexp(values + log_prior, axis=1) + np.log(grid[1] - grid[0])
    found = GROUPS.log_evidence(latent) + importance_correction(latent, GROUPS, exact)
    # The draws stand for groups of sd 0.1 and 0.2, over which the ratio changes by a few tenths of a nat.
    assert np.abs(found - expected).mean() < 0.02
    assert np.abs(found - expected).max() < 0.2


def test_one_position_is_enough_for_many_points():
    """Laplace's approximation: a likelihood of a hundred points that each are far from Gaussian is next to it."""
    rng = np.random.default_rng(2)
    latent = LatentLikelihood(np.full((30, 1), 100.0), 100.0 * rng.uniform(-1.0, 1.0, (30, 1)), np.zeros(30))

    def exact(positions):
        # A hundred logistic points, with the curvature of the Gaussian where that has its top.
        away = positions[..., 0] - latent.position
        return -400.0 * np.log(np.cosh(0.5 * away))

    grid = np.linspace(-6.0, 6.0, 20001)
    values = exact(np.broadcast_to(grid[:, None], (30, len(grid), 1))) + norm.logpdf(grid)
    expected = logsumexp(values, axis=1) + np.log(grid[1] - grid[0])
    wide = Mixture.standard(1)
    found = wide.log_evidence(latent) + importance_correction(latent, wide, exact, draws=1)
    assert np.abs(found - expected).max() < 0.01


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_draws_have_the_moments_of_the_posterior(rank):
    latent = objects(5, rank, np.random.default_rng(2))
    draws = posterior_draws(latent, Mixture.standard(rank), np.ones((5, 1)), standard_points(rank, 256))
    mean, covariance = latent.posterior
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=1e-9)
    away = draws - mean[:, None]
    # 256 quasi-random points know a covariance to a few percent.
    np.testing.assert_allclose(away.transpose(0, 2, 1) @ away / 256, covariance, atol=0.08)

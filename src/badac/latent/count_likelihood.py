"""Counts seen through a factor model of their link: log rates of Poisson counts, logits of binomial ones.

    link = mean + factors z + eps ,    z ~ population,    eps ~ N(0, diag psi),    P(count | link) exact

Around the link's posterior mean each count acts as a Gaussian measurement of the link (its gradient and curvature there,
averaged over the posterior: a Laplace step with variational averages, Opper & Archambeau 2009), so that the population of
`badac.latent.factor` is learned as from any noisy values. What the Gaussian misses is put back as a constant per object by
importance sampling over the latent position (`badac.latent.importance_correction`), with the exact likelihood of the
counts, eps integrated by Gauss-Hermite quadrature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from badac._kernels import poisson_log_likelihood, poisson_posterior
from badac._kernels.counts import CountedPoints, LaplaceSteps, LinkModel, Quadrature, laplace
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.noise.counts import PoissonCounts, log_factorial
from badac.noise.model import LinkedNoise
from badac.training import FloatArray

# At most 12 steps: an object stops when it has settled. What is no step any more, the longest one and the width of a point that
# says nothing are in units of the population's own width, whatever the link is.
_STEPS = LaplaceSteps(most=12, settled=1e-3, largest=3.0, widest=1e3)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)  # exact up to the ninth power of eps
_HERMITE = Quadrature(_NODES, np.log(_WEIGHTS / _WEIGHTS.sum()))


def linked_block(
    objects: Measurements, factor: Factor, noise: LinkedNoise, *, to_learn: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the Gaussian values (n, m) and their sigma (n, m) that stand for counts.

    Parameters
    ----------
    objects : Measurements
        (n, m), counts.
    factor : Factor
        Of the links.
    noise : LinkedNoise
    to_learn : bool
        Whether a factor model is learned from them: then no value is beyond what the count itself says (`_within_reach`).
    """
    observed, points = objects.observed, counted_points(objects, factor, noise)
    if points is not None:
        value, sigma2, link = poisson_posterior(points, _STEPS)
    else:
        model = LinkModel(factor.mean, factor.factors, factor.psi)
        value, sigma2, link = laplace(
            observed, model, lambda some, *at: noise.working(objects[some], *at), _STEPS
        )
    if to_learn:
        value, sigma2 = _within_reach(value, sigma2, link, noise.first_guess(objects).values)
    return np.where(observed, value, np.nan), np.where(observed, np.sqrt(sigma2), np.inf)


def counted_points(objects: Measurements, factor: Factor, noise: LinkedNoise) -> CountedPoints | None:
    """Return the objects as the kernels of Poisson counts take them; None if they are counts of another kind."""
    plain = noise.plain_counts(objects) if isinstance(noise, PoissonCounts) else None
    return None if plain is None else CountedPoints(*plain, factor.mean, factor.factors, factor.psi)


def _within_reach(
    value: FloatArray, sigma2: FloatArray, link: FloatArray, own: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw stand-ins back to what the counts themselves say, `own`, with the pull that they have at the link (a secant).

    The tangent at a low rate sends a single count far beyond its own estimate (Newton's step for ``c - e^x`` from below), with
    next to no weight. A sum of such values may send the mean of its column anywhere. All arrays are (n, m).
    """
    step, reach = value - link, own - link
    beyond = (step * reach > 0.0) & (np.abs(step) > np.abs(reach))
    ratio = np.divide(reach, step, out=np.ones_like(step), where=beyond)
    return np.where(beyond, own, value), sigma2 * ratio


def linked_log_likelihood(
    objects: Measurements, factor: Factor, noise: LinkedNoise, *, n_threads: int = 1
) -> Callable[[FloatArray], FloatArray]:
    """Return the exact log likelihood of counts as a function of latent positions, (n, K, r) -> (n, K).

    The integral over eps is taken by Gauss-Hermite quadrature at every point.
    """
    observed, points = objects.observed, counted_points(objects, factor, noise)
    if points is not None:
        # The kernel leaves out what the counts alone say.
        alone = xlogy(points.counts, points.exposure) - log_factorial(points.counts)
        constant = alone.sum(axis=1)[:, None]
        return lambda positions: (
            constant + poisson_log_likelihood(points, positions, _HERMITE, n_threads=n_threads)
        )
    of_centre = node_by_node(objects, noise, np.sqrt(factor.psi), *_HERMITE)

    def log_likelihood(positions: FloatArray) -> FloatArray:
        out = np.empty(positions.shape[:2])
        for k in range(positions.shape[1]):
            exact = of_centre(factor.mean + positions[:, k] @ factor.factors.T)
            out[:, k] = np.where(observed, exact, 0.0).sum(axis=1)
        return out

    return log_likelihood


def node_by_node(
    objects: Measurements, noise: LinkedNoise, spread: FloatArray, nodes: FloatArray, log_weights: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return the log likelihood of counts, averaged over nodes, as a function of the link's centre: (n, m) -> (n, m)."""

    def log_likelihood(centre: FloatArray) -> FloatArray:
        parts = [
            weight + noise.log_likelihood(objects, centre + node * spread)
            for node, weight in zip(nodes, log_weights, strict=True)
        ]
        top = np.maximum.reduce(parts)
        return np.asarray(top + np.log(np.add.reduce([np.exp(part - top) for part in parts])))

    return log_likelihood

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

from badac._kernels.latent import unpack
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.likelihood import products
from badac.noise.counts import AveragedCounts
from badac.noise.model import LinkedNoise
from badac.training import FloatArray

_STEPS = 12  # at most: an object stops when it has settled
# In units of the population's own width: what is no step any more, the longest (Newton's may overshoot at a count of zero), and
# the width of a point that says nothing.
_SETTLED = 1e-3
_LARGEST_STEP = 3.0
_WIDEST = 1e3
_HERMITE = np.polynomial.hermite_e.hermegauss(5)  # exact up to the ninth power of eps


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
    observed = objects.observed
    outer = products(factor.factors)
    rows, columns = np.triu_indices(factor.rank)
    twice = np.where(rows == columns, 1.0, 2.0)
    n, rank = objects.n_objects, factor.rank
    # Each count starts from what the population says of it, not from itself: no counts are no reason for an infinite log.
    link = np.broadcast_to(factor.mean, objects.shape).copy()
    variance = np.broadcast_to((factor.factors**2).sum(axis=1) + factor.psi, objects.shape).copy()
    value, sigma2 = link.copy(), np.full(objects.shape, np.inf)
    # What is a large step, a small one or a wide point: in units of the population's own width, whatever the link is.
    unit = np.sqrt(variance[:1]) if n else np.ones((1, objects.n_points))
    active = np.arange(n)
    for _ in range(_STEPS):
        seen, some = observed[active], objects[active]
        gradient, curvature = noise.working(some, link[active], variance[active])
        width = 1.0 / np.maximum(curvature, 1.0 / (_WIDEST * unit) ** 2)
        working = link[active] + gradient * width
        weight = np.where(seen, 1.0 / (factor.psi + width), 0.0)
        residual = np.where(seen, working - factor.mean, 0.0)
        inverse = np.linalg.inv(unpack(weight @ outer) + np.eye(rank))
        moved = (inverse @ ((weight * residual) @ factor.factors)[..., None])[..., 0]
        spread = (inverse[:, rows, columns] * twice) @ outer.T
        smooth = factor.mean + moved @ factor.factors.T
        # The link's own posterior: the factors' part, drawn to the count as far as psi allows.
        own = np.where(seen, factor.psi * weight, 0.0)
        step = smooth + own * (np.where(seen, working, 0.0) - smooth) - link[active]
        step = np.clip(step, -_LARGEST_STEP * unit, _LARGEST_STEP * unit)
        value[active], sigma2[active] = working, width
        link[active] += step
        variance[active] = spread * (1.0 - own) ** 2 + own * np.where(seen, width, 0.0)
        # Each object goes on until it has settled, whatever the others in its block do.
        active = active[np.abs(step / unit).max(axis=1, initial=0.0) >= _SETTLED]
        if not active.size:
            break
    if to_learn:
        value, sigma2 = _within_reach(value, sigma2, link, noise.first_guess(objects).values)
    return np.where(observed, value, np.nan), np.where(observed, np.sqrt(sigma2), np.inf)


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
    objects: Measurements, factor: Factor, noise: LinkedNoise
) -> Callable[[FloatArray], FloatArray]:
    """Return the exact log likelihood of counts as a function of latent positions, (n, K, r) -> (n, K).

    The integral over eps is taken by Gauss-Hermite quadrature at every point.
    """
    node, weight = _HERMITE
    log_weight = np.log(weight / weight.sum())
    spread = np.sqrt(factor.psi)
    observed = objects.observed
    averaged = None
    if isinstance(noise, AveragedCounts):
        averaged = noise.averaged_log_likelihood(objects, spread, node, log_weight)
    if averaged is None:
        averaged = node_by_node(objects, noise, spread, node, log_weight)
    of_centre = averaged

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

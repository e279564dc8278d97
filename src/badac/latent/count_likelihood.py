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
from dataclasses import dataclass
from weakref import ref

import numpy as np
from scipy.special import xlogy

from badac._kernels import poisson_log_likelihood, poisson_posterior
from badac._kernels.counts import CountedPoints, LaplaceSteps, LinkModel, Quadrature, laplace
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.factor import Factor
from badac.noise.counts import PoissonCounts, log_factorial
from badac.noise.model import LinkedNoise, check_values
from badac.training import FloatArray

# At most 12 steps: an object stops when it has settled. What is no step any more, the longest one and the width of a point that
# says nothing are in units of the population's own width, whatever the link is.
_STEPS = LaplaceSteps(most=12, settled=1e-3, largest=3.0, widest=1e3)
# Any Gaussian near the posterior will do where the exact likelihood corrects it: in three steps the log-loss of the cells of
# `benchmarks/default.py` (seeds 520 to 523, the same models) is the same to .0004.
_STEPS_TO_CORRECT = _STEPS._replace(most=3, settled=0.1)
_MOST_IN_TABLE = 20_000  # counts; and no more than objects would be worth on their own
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)  # exact up to the ninth power of eps
_HERMITE = Quadrature(_NODES, np.log(_WEIGHTS / _WEIGHTS.sum()))


@dataclass(frozen=True, eq=False)
class PlainCounts:
    """Poisson counts of a rate times an exposure, for whoever asks about them class after class.

    Attributes
    ----------
    counts, exposure : (n, m)
        Both 0 where missing.
    constant : (n,)
        What the counts alone say, whatever the rates: ``sum_j c_j log E_j - log c_j!``.
    """

    counts: FloatArray
    exposure: FloatArray
    constant: FloatArray

    @classmethod
    def of(cls, objects: Measurements, noise: LinkedNoise) -> PlainCounts | None:
        """Return the counts of objects, checked; None if they are of another kind. What was found last is kept."""
        global _LAST
        kept = _LAST
        if kept is not None and kept[0]() is objects and kept[1] is noise:
            return kept[2]
        check_values(noise, objects)
        plain = noise.plain_counts(objects) if isinstance(noise, PoissonCounts) else None
        found = None
        if plain is not None:
            found = cls(*plain, (xlogy(*plain) - log_factorial(plain[0])).sum(axis=1))
        _LAST = (ref(objects), noise, found)
        return found

    @cached_property
    def places(self) -> IntArray | None:
        """Return (n, m): where each count stands in a table (count, m) of all counts up to the largest; None if too large."""
        most, m = self.counts.max(initial=0.0), self.counts.shape[1]
        if most > min(_MOST_IN_TABLE, 4 * len(self.counts)) or (self.counts != np.rint(self.counts)).any():
            return None
        return np.asarray(self.counts.astype(np.int64) * m + np.arange(m))

    def under(self, factor: Factor, rows: slice = slice(None)) -> CountedPoints:
        """Return some of the objects as the kernels take them, with a factor model of their log rates."""
        return CountedPoints(self.counts[rows], self.exposure[rows], factor.mean, factor.factors, factor.psi)


# What was asked for last: classes are asked one after the other about the same objects.
_LAST: tuple[ref[Measurements], LinkedNoise, PlainCounts | None] | None = None


def linked_block(
    objects: Measurements,
    factor: Factor,
    noise: LinkedNoise,
    rows: slice = slice(None),
    *,
    to_learn: bool = False,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return the Gaussian values (n, m) and their sigma (n, m) that stand for the counts of some objects.

    Parameters
    ----------
    objects : Measurements
        (n, m), counts.
    factor : Factor
        Of the links.
    noise : LinkedNoise
    rows : slice
        Which of the objects.
    to_learn : bool
        Whether a factor model is learned from them: then no value is beyond what the count itself says (`_within_reach`).
    """
    plain, some = PlainCounts.of(objects, noise), objects[rows]
    observed = some.observed
    if plain is not None:
        steps = _STEPS if to_learn else _STEPS_TO_CORRECT
        value, sigma2, link = poisson_posterior(plain.under(factor, rows), steps, n_threads=n_threads)
    else:
        model = LinkModel(factor.mean, factor.factors, factor.psi)
        value, sigma2, link = laplace(
            observed, model, lambda part, *at: noise.working(some[part], *at), _STEPS
        )
    if to_learn:
        value, sigma2 = _within_reach(value, sigma2, link, noise.first_guess(some).values)
    if some.complete:
        return value, np.sqrt(sigma2)
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
    objects: Measurements,
    factor: Factor,
    noise: LinkedNoise,
    rows: slice = slice(None),
    *,
    n_threads: int = 1,
) -> Callable[[FloatArray], FloatArray]:
    """Return the exact log likelihood of the counts of some objects as a function of latent positions, (n, K, r) -> (n, K).

    The integral over eps is taken by Gauss-Hermite quadrature at every point.
    """
    plain = PlainCounts.of(objects, noise)
    if plain is not None:
        # The kernel leaves out what the counts alone say.
        constant, points = plain.constant[rows, None], plain.under(factor, rows)
        return lambda positions: (
            constant + poisson_log_likelihood(points, positions, _HERMITE, n_threads=n_threads)
        )
    objects = objects[rows]
    observed = objects.observed
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

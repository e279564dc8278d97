"""Counts of log rates that follow a factor model: the definition in slow and clear NumPy.

    count_j ~ Poisson(exposure_j e^(x_j)) ,     x = mean + factors z + eps ,     z ~ N(0, I) ,     eps ~ N(0, diag psi)

`laplace` finds the Gaussian values that stand for counts under any link (Newton's steps for the mode of the link's posterior,
gradient and curvature averaged over it), `poisson_posterior` those of Poisson counts. `poisson_log_likelihood` is the exact
likelihood at latent positions, eps integrated by quadrature at every point:

    log P(counts | z) = sum_j log sum_q w_q Poisson(count_j ; exposure_j e^(x_j(z) + u_q sqrt(psi_j))) ,    in which
    log Poisson(c | x + u s) = log Poisson(c | x) + c u s - exposure e^x (e^(u s) - 1)

so that one exponential of ``x`` serves all nodes. What depends on the counts alone, ``c log exposure - log c!``, is left out.
Log rates beyond 50 count as 50.

Shapes: ``n`` objects, ``m`` points, ``r`` latent dimensions, ``K`` positions, ``q`` nodes. A point without exposure is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.latent import unpack

_FARTHEST = 50.0

Working = Callable[[IntArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


class CountedPoints(NamedTuple):
    """Counts of some objects, and the factor model of their log rates.

    Attributes
    ----------
    counts, exposure : (n, m)
        Both 0 where missing.
    mean, factors, psi : (m,), (m, r), (m,)
    """

    counts: FloatArray
    exposure: FloatArray
    mean: FloatArray
    factors: FloatArray
    psi: FloatArray


class LinkModel(NamedTuple):
    """A factor model of links: mean (m,), factors (m, r), psi (m,)."""

    mean: FloatArray
    factors: FloatArray
    psi: FloatArray


class LaplaceSteps(NamedTuple):
    """How links are searched for, in units of the population's own width at each point.

    Attributes
    ----------
    most : int
        Steps.
    settled : float
        An object has settled when no link moves by more.
    largest : float
        Step: Newton's may overshoot at a count of zero.
    widest : float
        Width of a point that says nothing.
    """

    most: int
    settled: float
    largest: float
    widest: float


class Quadrature(NamedTuple):
    """Nodes (q,) in units of the spread, and the logs of their weights (q,), which add up to one."""

    nodes: FloatArray
    log_weights: FloatArray


def laplace(
    observed: npt.NDArray[np.bool_],
    model: LinkModel,
    working: Working,
    steps: LaplaceSteps,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Gaussian values that stand for counts, their variances, and the links' posterior means, all (n, m).

    Parameters
    ----------
    observed : (n, m) bool
    model : LinkModel
    working : callable
        From rows, and the links' means and variances of these, to gradient and curvature of the log likelihood there.
    steps : LaplaceSteps
    start : (n, m), (n, m), optional
        Links and their variances to start from; those of the population if not given.
    """
    mean, factors, psi = model
    n, rank = len(observed), factors.shape[1]
    rows, columns = np.triu_indices(rank)
    outer = factors[:, rows] * factors[:, columns]
    twice = np.where(rows == columns, 1.0, 2.0)
    if start is None:
        start = mean, (factors**2).sum(axis=1) + psi
    link, variance = (np.broadcast_to(part, observed.shape).copy() for part in start)
    value, sigma2 = link.copy(), np.full(observed.shape, np.inf)
    unit = np.sqrt((factors**2).sum(axis=1) + psi)
    active = np.arange(n)
    for _ in range(steps.most):
        seen = observed[active]
        gradient, curvature = working(active, link[active], variance[active])
        width = 1.0 / np.maximum(curvature, 1.0 / (steps.widest * unit) ** 2)
        moving = link[active] + gradient * width
        weight = np.where(seen, 1.0 / (psi + width), 0.0)
        residual = np.where(seen, moving - mean, 0.0)
        inverse = np.linalg.inv(unpack(weight @ outer) + np.eye(rank))
        moved = (inverse @ ((weight * residual) @ factors)[..., None])[..., 0]
        spread = (inverse[:, rows, columns] * twice) @ outer.T
        smooth = mean + moved @ factors.T
        # The link's own posterior: the factors' part, drawn to the count as far as psi allows.
        own = np.where(seen, psi * weight, 0.0)
        step = smooth + own * (np.where(seen, moving, 0.0) - smooth) - link[active]
        step = np.clip(step, -steps.largest * unit, steps.largest * unit)
        value[active], sigma2[active] = moving, width
        link[active] += step
        variance[active] = spread * (1.0 - own) ** 2 + own * np.where(seen, width, 0.0)
        # Each object goes on until it has settled, whatever the others do.
        active = active[np.abs(step / unit).max(axis=1, initial=0.0) >= steps.settled]
        if not active.size:
            break
    return value, sigma2, link


def poisson_posterior(
    points: CountedPoints, steps: LaplaceSteps, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return `laplace` of Poisson counts: values, variances and links (n, m); at missing points anything."""
    checked_threads(n_threads)
    counts, exposure, *model = points

    def working(some: IntArray, link: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The mean of exp(link) over its uncertainty, not exp of its mean: low counts leave the link wide.
        rate = exposure[some] * np.exp(np.clip(link + 0.5 * variance, -_FARTHEST, _FARTHEST))
        return counts[some] - rate, rate

    mean, factors, psi = model
    # Each count starts between itself and what the population says of it; none is no reason for an infinite log.
    known = 1.0 / ((factors**2).sum(axis=1) + psi)
    variance = 1.0 / (known + counts)
    own = np.log(np.maximum(counts, 1.0) / np.where(exposure > 0.0, exposure, 1.0))
    start = (known * mean + counts * own) * variance, variance
    return laplace(exposure > 0.0, LinkModel(*model), working, steps, start)


def poisson_log_likelihood(
    points: CountedPoints, positions: FloatArray, quadrature: Quadrature, *, n_threads: int = 1
) -> FloatArray:
    """Return (n, K): log likelihood of each object's counts at each of its own positions (n, K, r), as above."""
    checked_threads(n_threads)
    counts, exposure, mean, factors, psi = points
    spread, observed = np.sqrt(psi), exposure > 0.0
    tilts = [counts * (node * spread) + weight for node, weight in zip(*quadrature, strict=True)]
    excesses = [np.expm1(node * spread) for node in quadrature.nodes]
    out = np.empty(positions.shape[:2])
    for k in range(positions.shape[1]):
        centre = np.clip(mean + positions[:, k] @ factors.T, -_FARTHEST, _FARTHEST)
        rate = exposure * np.exp(centre)
        parts = [tilt - rate * excess for tilt, excess in zip(tilts, excesses, strict=True)]
        top = np.maximum.reduce(parts)
        total = np.add.reduce([np.exp(part - top) for part in parts])
        exact = counts * centre - rate + top + np.log(total)
        out[:, k] = np.where(observed, exact, 0.0).sum(axis=1)
    return out

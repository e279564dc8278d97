"""Integrals over a few unknown numbers, for many objects at once: quasi-Monte Carlo, refined by importance sampling.

    P(d) = integral P(d | z) N(z ; 0 , I) dz = mean over points of  P(d | z) N(z) / q(z),    z in p dimensions

First, points of the prior itself (Sobol's, the same for all objects). Where the likelihood is so narrow that few of them
count, each object gets Gaussian proposals of its own: damped Newton steps from the best point find a top and its width
(`badac.classes.parametric.climb`), then the points of that Gaussian improve it, with the likelihood raised to a power small
enough that enough of them count until the power is one (population Monte Carlo with tempering). Points of the prior that count
although they are far from the proposal start another one. The last points are drawn from the proposals, half of them twice as
wide, and all of them, the prior's included, are weighed by the mixture that they come from (the balance heuristic), so that
what the proposals miss still counts with its prior points. The effective sample size ``(sum w)^2 / sum w^2`` says how far to
trust it.

Any prior with a quantile function becomes ``N(0, I)`` by ``theta = quantile(Phi(z))``, so nothing else is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm, qmc

from badac.classes.model import FloatArray
from badac.classes.parametric.climb import LOG_2PI, LogLikelihood, climb, log_normal
from badac.data.validation import IntArray
from badac.threads import over_blocks

_ROUNDS = 12  # of tempering at most: each object stops by itself
# Of the last points, in units of the proposal: a little wider than it, and twice so for what is not Gaussian.
_WIDTHS = (1.1, 2.2)
_FAR = 1e4  # no prior puts anything beyond
# Another peak: a thousandth of the evidence further than five widths (squared: _NEAR) from all proposals.
_PEAKS = 4
_MISSED = 1e-3
_NEAR = 25.0
_WIDE = 3.0  # times the prior: where some points look for peaks that its own points miss


@dataclass(frozen=True, eq=False)
class Integral:
    """Log integrals (n,), their effective sample sizes (n,), and mean (n, p) and covariance (n, p, p) of z a posteriori."""

    log_evidence: FloatArray
    effective_size: FloatArray
    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False)
class Proposals:
    """The k Gaussian proposals of each of n objects: centres (n, k, p) and Cholesky factors (n, k, p, p)."""

    centres: FloatArray
    roots: FloatArray

    def __len__(self) -> int:
        return int(self.centres.shape[1])

    def __iter__(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        for k in range(len(self)):
            yield self.centres[:, k], self.roots[:, k]

    def and_also(self, centre: FloatArray, root: FloatArray) -> Proposals:
        """Add another one for each object, centre (n, p) and root (n, p, p)."""
        return Proposals(
            np.concatenate([self.centres, centre[:, None]], axis=1),
            np.concatenate([self.roots, root[:, None]], axis=1),
        )

    def of(self, rows: IntArray) -> Proposals:
        """Return those of some of the objects."""
        return Proposals(self.centres[rows], self.roots[rows])


def integrate(
    log_likelihood: LogLikelihood,
    shape: tuple[int, int],
    *,
    n_prior: int,
    n_refined: int,
    block: int,
    n_threads: int = 1,
) -> Integral:
    """Integrate the likelihoods of n objects over ``z ~ N(0, I)``.

    Parameters
    ----------
    log_likelihood : callable
        Of indices (r,) and points (s, p) or (r, s, p); returns (r, s), -inf where impossible.
    shape : (n, p)
        Numbers of objects and of dimensions.
    n_prior, n_refined : int
        Points of the prior, and of each object's own proposal.
    block : int
        Objects at a time.
    n_threads : int
        From how many threads `log_likelihood` is called.
    """
    n, p = shape
    out = Integral(np.zeros(n), np.zeros(n), np.zeros((n, p)), np.zeros((n, p, p)))
    points = normal_points(p, n_prior)

    def work(start: int, _: int) -> None:
        rows = np.arange(start, min(start + block, n))
        found = log_likelihood(rows, points)
        weight = _weights(found)
        size = 1.0 / (weight**2).sum(axis=1)
        mean, covariance = _moments(weight, points)
        out.log_evidence[rows] = _log_mean(found)
        out.effective_size[rows], out.mean[rows], out.covariance[rows] = size, mean, covariance
        # Where half of the prior's points count there is nothing to refine; where none is possible, nothing to find.
        todo = np.flatnonzero((size < 0.5 * n_prior) & np.isfinite(found).any(axis=1))
        if todo.size:
            part = _refine(log_likelihood, rows[todo], points, found[todo], n_refined)
            for name in vars(part):
                getattr(out, name)[rows[todo]] = getattr(part, name)

    over_blocks(work, range(0, n, block), n_threads)
    return out


@lru_cache(maxsize=16)
def normal_points(p: int, count: int) -> FloatArray:
    """Return (count, p): Sobol's points for N(0, I), the same every time; count should be a power of two."""
    uniform = qmc.Sobol(p, scramble=True, rng=np.random.default_rng(0)).random(count)
    points = np.asarray(norm.ppf(np.clip(uniform, 1e-9, 1.0 - 1e-9)))
    points.flags.writeable = False
    return points


def _refine(
    log_likelihood: LogLikelihood, rows: IntArray, prior: FloatArray, found: FloatArray, n_refined: int
) -> Integral:
    n, (n_prior, p) = len(rows), prior.shape
    # A narrow peak may lie where no point of the prior does: some wider ones look for it.
    wide = _WIDE * prior[: n_prior // 4]
    search = np.concatenate([prior, wide])
    values = np.concatenate([found, log_likelihood(rows, wide)], axis=1)
    log_prior = log_normal(search)
    log_share = np.full(len(search), -np.log(n_prior))
    log_share[n_prior:] = (
        log_prior[n_prior:] - log_normal(prior[: len(wide)]) + p * np.log(_WIDE) - np.log(len(wide))
    )
    start = (values + log_prior).argmax(axis=1)
    proposals = Proposals(np.empty((n, 0, p)), np.empty((n, 0, p, p)))
    out = Integral(np.empty(n), np.empty(n), np.empty((n, p)), np.empty((n, p, p)))
    todo = np.arange(n)
    for _ in range(_PEAKS):
        top = climb(log_likelihood, rows[todo], search[start])
        proposals = proposals.and_also(*settle(log_likelihood, rows[todo], *top))
        part = _balanced(log_likelihood, rows[todo], prior, found[todo], proposals, n_refined)
        for name in vars(part):
            getattr(out, name)[todo] = getattr(part, name)
        # Points that count although no proposal is near them: another peak.
        near = [_distance(search, *one) < _NEAR for one in proposals]
        missed = np.where(np.any(near, axis=0), -np.inf, values[todo])
        with np.errstate(divide="ignore"):
            parts = [logsumexp(one, axis=1) for one in np.split(missed + log_share, [n_prior], axis=1)]
        left = np.flatnonzero(np.maximum(*parts) - part.log_evidence > np.log(_MISSED))
        if not left.size:
            break
        start = (missed[left] + log_prior).argmax(axis=1)
        todo, proposals = todo[left], proposals.of(left)
    return out


def settle(
    log_likelihood: LogLikelihood, rows: IntArray, centre: FloatArray, root: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Improve each object's Gaussian proposal, centre (n, p) and root (n, p, p), by the points that it gives."""
    p = centre.shape[1]
    steps = normal_points(p, max(64, 1 << int(np.ceil(np.log2(20 * p)))))
    power = np.zeros(len(rows))
    active = np.arange(len(rows))
    for _ in range(_ROUNDS):
        points = np.clip(centre[active, None] + steps @ root[active].transpose(0, 2, 1), -_FAR, _FAR)
        values = log_likelihood(rows[active], points)
        log_ratio = log_normal(points) - _log_gaussian(points, centre[active], root[active])
        reached, size = _power(values, log_ratio)
        made = _proposal(values, points, log_ratio, reached)
        possible = np.isfinite(values).any(axis=1)
        centre[active[possible]], root[active[possible]] = made[0][possible], made[1][possible]
        # Once more after the power of one is just reached: the proposal that reached it was still too wide.
        settled = (power[active] >= 1.0) | ((reached >= 1.0) & (size > 0.5 * len(steps)))
        power[active] = reached
        active = active[~settled & possible]
        if not active.size:
            break
    return centre, root


def _balanced(
    log_likelihood: LogLikelihood,
    rows: IntArray,
    prior: FloatArray,
    found: FloatArray,
    proposals: Proposals,
    n_refined: int,
) -> Integral:
    """Weigh the prior's points and those of the proposals all by the mixture that they come from."""
    n, (n_prior, p) = len(rows), prior.shape
    each = n_refined // len(_WIDTHS)
    own = np.concatenate([width * normal_points(p, each) for width in _WIDTHS])
    points, values = [np.broadcast_to(prior, (n, n_prior, p))], [found]
    for centre, root in proposals:
        points.append(np.clip(centre[:, None] + own @ root.transpose(0, 2, 1), -_FAR, _FAR))
        values.append(log_likelihood(rows, points[-1]))
    every, total = np.concatenate(points, axis=1), n_prior + n_refined * len(proposals)
    log_prior = log_normal(every)
    parts = [log_prior + np.log(n_prior / total)]
    for centre, root in proposals:
        distance = _distance(every, centre, root)
        log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)[:, None]
        for width in _WIDTHS:
            height = np.log(each / total) - p * (0.5 * LOG_2PI + np.log(width)) - log_det
            parts.append(height - 0.5 * distance / width**2)
    terms = np.concatenate(values, axis=1) + log_prior - logsumexp(parts, axis=0)
    weight = _weights(terms)
    mean, covariance = _moments(weight, every)
    return Integral(_log_mean(terms), 1.0 / (weight**2).sum(axis=1), mean, covariance)


def _power(values: FloatArray, log_ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the largest power (n,) of the likelihood, at most 1, under which enough points count; how many do at 1."""
    enough = min(25.0, 0.3 * values.shape[1])
    low, high = np.zeros(len(values)), np.ones(len(values))
    top = values.max(axis=1, keepdims=True)
    relative = np.where(np.isfinite(top), values - np.where(np.isfinite(top), top, 0.0), 0.0)

    def size(power: FloatArray) -> FloatArray:
        weight = _weights(power[:, None] * relative + log_ratio)
        return np.asarray(1.0 / (weight**2).sum(axis=1))

    at_one = size(high)
    if (at_one >= enough).all():
        return high, at_one
    for _ in range(12):
        middle = 0.5 * (low + high)
        good = size(middle) >= enough
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.where(at_one >= enough, 1.0, np.maximum(low, 1e-6)), at_one


def _proposal(
    values: FloatArray, points: FloatArray, log_ratio: FloatArray, power: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Centre (n, p) and Cholesky factor (n, p, p): moments of the points, weighed by the likelihood to the power."""
    weight = _weights(power[:, None] * values + log_ratio)
    mean, covariance = _moments(weight, points)
    # A direction in which all points that count agree by chance must not become a plane.
    floor = 1e-3 * np.trace(covariance, axis1=1, axis2=2) / points.shape[-1] + 1e-20
    return mean, np.linalg.cholesky(covariance + floor[:, None, None] * np.eye(points.shape[-1]))


def _weights(log_terms: FloatArray) -> FloatArray:
    """Normalised weights (n, s) of log terms (n, s); equal where all are -inf."""
    top = log_terms.max(axis=1, keepdims=True)
    weight = np.exp(log_terms - np.where(np.isfinite(top), top, 0.0))
    total = weight.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, weight / np.where(total > 0, total, 1.0), 1.0 / weight.shape[1]))


def _moments(weight: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean (n, p) and covariance (n, p, p) of points (s, p) or (n, s, p) under weights (n, s)."""
    if points.ndim == 2:
        points = np.broadcast_to(points, (len(weight), *points.shape))
    mean = np.einsum("ns,nsp->np", weight, points)
    away = points - mean[:, None]
    return mean, np.asarray((weight[..., None] * away).transpose(0, 2, 1) @ away)


def _log_mean(log_terms: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_terms, axis=1) - np.log(log_terms.shape[1]))


def _distance(points: FloatArray, centre: FloatArray, root: FloatArray) -> FloatArray:
    """Squared distance (n, s) of points (s, p) or (n, s, p) from each object's centre, in units of its root."""
    white = (points - centre[:, None]) @ np.linalg.inv(root).transpose(0, 2, 1)
    return np.asarray((white**2).sum(axis=-1))


def _log_gaussian(points: FloatArray, centre: FloatArray, root: FloatArray) -> FloatArray:
    """Log density (n, s) of points (n, s, p) under ``N(centre, root root')`` of each object."""
    half_log_det = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    distance = _distance(points, centre, root)
    return np.asarray(-0.5 * (distance + points.shape[-1] * LOG_2PI) - half_log_det[:, None])

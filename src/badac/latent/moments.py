"""A first factor model from moments: where the EM of `badac.latent.factor` starts.

    covariance of the members, weighted, less their noise  =  factors factors' + diag psi

Each member counts by how little noise it has, and what its error bars announce is taken off the diagonal. The leading
eigenvectors, in units of noise plus psi, are the factors (principal factors). They are nested, so the models of every rank
come from one decomposition (`Spectrum`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from badac._kernels import population_variance as spread_of
from badac._kernels import weighted_moments
from badac._kernels.eigen import eigh
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray
from badac.latent.factor import Factor, drawn_together, with_prior_member
from badac.latent.likelihood import blocks
from badac.threads import in_order, one_thread_in_blas
from badac.training import FloatArray, TrainingScales

_SCORING_STEPS = 5  # a variance of half the noise's is then known to 1e-4 of itself, a larger one better
_FOR_A_GUESS = 600  # members tell a variance to sqrt(2 / 600) = 6 %: enough for a weight
# Points up to which all eigenvectors are taken, by cost: LAPACK's grow as the cube, the block iteration as the square.
_FULL = 128
_STEPS, _STEPS_FROM_NEAR = 6, 2  # of the block iteration
_SPARE = 10  # directions more than are asked for
_ROUNDS = 3  # of psi and eigenvectors in turn
_LAST_STEPS = 3  # of the block iteration for few factors of 100 points, begun near: in a third of the time of all eigenvectors
_ROUGH, _ROUGH_FROM = (
    20,
    64,
)  # directions of rounds but the last, and points from which on they are quicker than all


# Where a covariance is kept as the members' residuals, by cost: of fewer members for each point, or of more points than these
# where the residuals are not too large to be kept.
_FEW_MEMBERS, _MANY_POINTS, _MOST_KEPT = 1.0 / 3.0, 512, 20_000_000
# How far the weights of pairs of points may then be from products of one number a point: a covariance of a third as many
# members as points is not known to a tenth, one of more members better by the root of their number. And points whose pairs are
# asked.
_APART, _ASKED = 0.1, 64


@dataclass(frozen=True, eq=False)
class Gram:
    """A symmetric matrix ``rows' rows + diag(diagonal)`` (m, m) of few rows (n, m), never written out."""

    rows: FloatArray
    diagonal: FloatArray

    def __len__(self) -> int:
        return len(self.diagonal)

    def __matmul__(self, block: FloatArray) -> FloatArray:
        return np.asarray(self.rows.T @ (self.rows @ block) + self.diagonal[:, None] * block)


@dataclass(frozen=True, eq=False)
class Moments:
    """First and second moments of a class.

    Attributes
    ----------
    mean : (m,)
    variance : (m,)
        Of the true values.
    residuals : (n, m) or None
        Of few members at many points: their covariance is ``residuals' residuals`` away from the diagonal.
    covariance : (m, m) or None
        Of the true values, where there are no `residuals`.
    noise : (m,)
        Typical noise variance.
    count : (m,)
        Effective.
    """

    mean: FloatArray
    variance: FloatArray
    residuals: FloatArray | None
    covariance: FloatArray | None
    noise: FloatArray
    count: FloatArray

    def common(self, psi: FloatArray, unit: FloatArray) -> FloatArray | Gram:
        """Return the covariance (m, m) in units of `unit` (m,), `psi` (m,) taken off its diagonal."""
        left = self.variance - np.minimum(psi, self.variance)
        if self.residuals is not None:
            rows = self.residuals / unit
            return Gram(rows, left / unit**2 - np.einsum("ij,ij->j", rows, rows))
        assert self.covariance is not None
        common = self.covariance / unit
        common /= unit[:, None]
        np.einsum("jj->j", common)[:] = left / unit**2
        return np.asarray(common)


def moments(members: Measurements, scales: TrainingScales) -> Moments:
    """Mean and covariance of the true values, the members' noise removed.

    A value counts by ``v / (v + sigma^2)``, with ``v`` a first guess of the population's variance at the point: a member
    with hopeless error bars hardly counts, and among good ones all count alike.
    """
    n, m = members.shape
    # A spread that only serves as a weight need not be known better than some of the members tell.
    some = members[:: max(1, n // _FOR_A_GUESS)]
    complete = members.complete
    guess = population_variance(*_plain(some, complete), some.observed, scales)

    few = (m > _FULL and n < _FEW_MEMBERS * m) or (m > _MANY_POINTS and n * m <= _MOST_KEPT)
    kept = _kept_residuals(members, guess) if few else None
    if kept is None:
        total, mean, noise, covariance, together = weighted_moments(members.values, members.sigma, guess)
        pairs, squares = together.diagonal().copy(), covariance.diagonal().copy()
    else:
        total, mean, noise = kept.total, kept.mean, kept.noise
        pairs = np.einsum("ij,ij->j", kept.weight, kept.weight)
        squares = np.einsum("ij,ij->j", kept.residual, kept.residual)
    mean = np.where(total > 0, mean, scales.centre)
    squared = np.maximum(pairs, 1e-300)
    count = total**2 / squared
    noise = noise / squared
    # The mean was estimated from the same members.
    grown = np.sqrt(count / np.maximum(count - 1.0, 0.5))
    # One pair of members is the least that says something of two points together.
    own = np.maximum(squares / np.maximum(pairs, 0.5) * grown**2 - noise, 0.0)
    if kept is not None:
        # As above for a point and a typical other one.
        sizes = np.maximum(kept.sizes, 0.5 / max(float(np.median(kept.sizes)), 1e-150))
        return Moments(mean, own, kept.residual * (grown / sizes), None, noise, count)
    covariance /= np.maximum(together, 0.5)
    covariance *= grown
    covariance *= grown[:, None]
    return Moments(mean, own, None, covariance, noise, count)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Weights (n, m) of few members and their weighed residuals (n, m), sums as in `WeightedMoments`, and `pair_sizes` (m,)."""

    weight: FloatArray
    residual: FloatArray
    total: FloatArray
    mean: FloatArray
    noise: FloatArray
    sizes: FloatArray


def _kept_residuals(members: Measurements, guess: FloatArray) -> _Kept | None:
    """Return what `weighted_moments` makes products of, block by block; None where products of sizes do not stand for these."""
    complete = members.complete

    def weigh(block: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        values, variance = _plain(members[block], complete)
        weight = guess / (guess + variance)
        if not complete:
            weight *= members[block].observed
        sums = [weight.sum(axis=0), np.einsum("ij,ij->j", weight, values)]
        return weight, values, np.stack([*sums, np.einsum("ij,ij->j", weight**2, variance)])

    parts = list(in_order(weigh, blocks(members)))
    weight = np.concatenate([part[0] for part in parts])
    sizes = pair_sizes(weight)
    if sizes is None:
        return None
    total, sums, noise = reduce(add, [part[2] for part in parts])
    mean = sums / np.maximum(total, 1e-300)
    residual = np.concatenate([(values - mean) * own for own, values, _ in parts])
    return _Kept(weight, residual, total, mean, noise, sizes)


def _plain(members: Measurements, complete: bool) -> tuple[FloatArray, FloatArray]:
    """Values and noise variances (n, m), both 0 where missing."""
    if complete:
        return members.values, members.sigma**2
    observed = members.observed
    return np.where(observed, members.values, 0.0), np.where(observed, members.sigma, 0.0) ** 2


def pair_sizes(weight: FloatArray) -> FloatArray | None:
    """Return a size (m,) of each point, whose products stand for ``sum_i w_ij w_ik`` of two points; None where they do not.

    They do where a member's weights are in proportion to those of the others, and where they differ by chance from point to
    point: the rows of both matrices have the same sums. They do not where some members know one half of the points and others
    the other half. That is asked of some points with all others, to a tenth of each product in the mean.

    Parameters
    ----------
    weight : (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from badac.latent.moments import pair_sizes
    >>> weight = np.random.default_rng(0).uniform(0.5, 1.5, (400, 1000))
    >>> sizes = pair_sizes(weight)
    >>> bool(abs((weight[:, 3] @ weight[:, 8]) / (sizes[3] * sizes[8]) - 1.0) < 0.1)
    True
    >>> weight[:200, :500] = weight[200:, 500:] = 0.0
    >>> pair_sizes(weight) is None
    True
    """
    n, m = weight.shape
    member = weight.sum(axis=1)
    sizes = member @ weight / max(float(np.linalg.norm(member)), 1e-300)
    seen = np.flatnonzero(sizes > 0.0)
    asked = seen[:: max(1, seen.size // _ASKED)]
    expected = np.outer(sizes[asked], sizes)
    beside = weight[:, asked].T @ weight
    # The diagonal has its own sums.
    beside[np.arange(asked.size), asked] = expected[np.arange(asked.size), asked]
    apart = np.divide(beside, expected, out=np.ones_like(beside), where=expected > 0.0) - 1.0
    off = np.sqrt(np.einsum("ij,ij->i", apart, apart) / max(seen.size, 1))
    known = _APART * np.sqrt(min(1.0, _FEW_MEMBERS * m / n))
    return sizes if bool((off <= known).all()) else None


def population_variance(
    values: FloatArray, variance: FloatArray, observed: BoolArray, scales: TrainingScales
) -> FloatArray:
    """Variance (m,) of the true values at each point, from values (n, m) with noise variances (n, m).

    Scoring steps for ``v`` in ``y ~ N(mean, v + sigma^2)`` from below, so that the best measured members decide first.
    """
    known = variance if observed.all() else np.where(observed, variance, np.inf)
    return spread_of(values, known, 1e-6 * scales.scale**2, _SCORING_STEPS)


def seen_clearly(scales: TrainingScales, members: Measurements) -> TrainingScales:
    """Return the scales of all training objects with a scale that hopelessly noisy objects have not blown up.

    The scale of all training objects contains their noise. Where the class's own well measured members say that errors and
    spread are much smaller, ten times what they say is enough. Points with exact members keep the scale as it is.
    """
    members = members[:: max(1, members.n_objects // _FOR_A_GUESS)]
    observed = members.observed
    variance = np.where(observed, members.sigma, 0.0) ** 2
    values = np.where(observed, members.values, 0.0)
    spread = population_variance(values, variance, observed, scales)
    exact = ((variance == 0.0) & observed).any(axis=0) | ~observed.any(axis=0)
    precision = np.divide(observed, variance, out=np.zeros_like(variance), where=variance > 0)
    mean_precision = precision.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    typical = spread + 1.0 / np.where(exact, 1.0, mean_precision)
    scale = np.where(exact, scales.scale, np.minimum(scales.scale, 10.0 * np.sqrt(typical)))
    return replace(scales, scale=scale)


def leading_eigenvectors(
    matrix: FloatArray | Gram, count: int, near: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the `count` largest eigenvalues, largest first, and their eigenvectors (m, count), of a symmetric matrix.

    Hundreds of points have far more directions than are asked for: there by block power iteration, whose error in a
    direction that stands out by a factor f is f to the power minus the steps, those that led to `near` included.

    Parameters
    ----------
    matrix : (m, m)
        A `Gram` of more than 128 points stays one.
    count : int
    near : (m, b), optional
        Directions of a matrix nearly the same, the last that was returned for it.

    Returns
    -------
    values, vectors : (count,), (m, count)
    near : (m, b) or None
        For the next matrix, where that helps.
    """
    m = len(matrix)
    with one_thread_in_blas():
        if m <= _FULL:
            assert isinstance(matrix, np.ndarray)
            values, vectors = eigh(matrix)
            return values[: -count - 1 : -1], vectors[:, : -count - 1 : -1], None
        steps = _STEPS if near is None else _STEPS_FROM_NEAR
        block = near
        if block is None:
            block = np.random.default_rng(0).standard_normal((m, min(count + _SPARE, m)))
        for _ in range(steps):
            block = np.linalg.qr(matrix @ block)[0]
        values, turn = eigh(block.T @ (matrix @ block))
        block = (block @ turn)[:, ::-1]
    return values[: -count - 1 : -1], block[:, :count], block


def strongest_eigenvectors(
    matrix: FloatArray, near: FloatArray | None = None, steps: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return some of the largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors (m, 20).

    By block iteration of the matrix plus one, in a third of the time of all of 100: no eigenvalue is to be below -1, as none of
    a covariance in units of its noise is. One that is f times as far above -1 as the twentieth is known to f to the power -12;
    from directions of a matrix nearly the same (`near`) one step is enough.
    """
    m = len(matrix)
    steps = 3 if near is None else steps
    block = np.random.default_rng(0).standard_normal((m, _ROUGH)) if near is None else near
    with one_thread_in_blas():
        for _ in range(steps):
            once = matrix @ block + block
            block = np.linalg.qr(matrix @ once + once)[0]
        values, turn = eigh(block.T @ (matrix @ block))
        return values[::-1], (block @ turn)[:, ::-1]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Nested factor models of all ranks from one eigen-decomposition of the class's moments.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import TrainingScales
    >>> from badac.latent import Spectrum
    >>> rng = np.random.default_rng(0)
    >>> members = Measurements(rng.normal(size=(50, 1)) * np.ones(6) + 0.1 * rng.standard_normal((50, 6)), 0.1)
    >>> Spectrum.of(members, TrainingScales.of(members), 3).factor(1).factors.shape
    (6, 1)
    """

    moments: Moments
    factors: FloatArray
    scales: TrainingScales

    @classmethod
    def of(
        cls, members: Measurements, scales: TrainingScales, max_rank: int, *, to_begin_with: bool = False
    ) -> Spectrum:
        """Return the factor models of up to `max_rank` factors, 1 at least; of none alone, if that is 0.

        Where an EM begins there (`to_begin_with`), the weakest of few factors need not be known to the last digit.
        """
        found = moments(members, scales)
        variance = found.variance
        if max_rank == 0:
            return cls(found, np.zeros((members.n_points, 1)), scales)
        psi = 0.2 * variance + 1e-9 * scales.scale**2
        m = members.n_points
        top = max(min(max_rank, m), 1)
        factors, near = np.zeros((m, top)), None
        least = 2.0 * np.sqrt(m / max(found.count.max(), 1.0))
        for step in range(_ROUNDS):
            unit = np.sqrt(found.noise + psi)
            # What is common to the points is in the off-diagonal elements: psi leaves the diagonal before the
            # eigenvectors are taken (principal factors).
            common = found.common(psi, unit)
            last = step == _ROUNDS - 1
            rough = _ROUGH_FROM <= m <= _FULL and (not last or (to_begin_with and top <= _ROUGH - _SPARE))
            if rough:
                # Of all but the last round only what the strong factors leave is asked.
                assert isinstance(common, np.ndarray)
                values, near = strongest_eigenvectors(common, near, _LAST_STEPS if last else 1)
                rough = int((values > least).sum()) <= _ROUGH - _SPARE
                values, vectors = values[:top], near[:, :top]
            if not rough:
                values, vectors, near = leading_eigenvectors(common, top, None if m <= _FULL else near)
            factors = unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
            strong = max(int((values > least).sum()), 1)
            left = np.maximum(variance - (factors[:, :strong] ** 2).sum(axis=1), 0.0)
            psi = 0.5 * (psi + left) + 1e-9 * scales.scale**2
        return cls(found, factors, scales)

    @property
    def n_factors(self) -> int:
        """Number of factors that the moments have: beyond them all are zeros."""
        return int(np.count_nonzero(self.factors.any(axis=0)))

    def factor(self, rank: int) -> Factor:
        """Return the factor model with the `rank` strongest factors; rank 0 keeps one factor of zeros."""
        kept = self.factors[:, : max(rank, 1)] * (rank > 0)
        found = self.moments
        left = found.variance - (kept**2).sum(axis=1)
        unit = found.noise + np.maximum(left, 0.0) + 1e-12 * self.scales.scale**2
        seen = found.count > 0
        share = drawn_together((left / unit)[seen], 2.0 / np.maximum(found.count[seen], 1.0))
        psi = np.zeros_like(left)
        psi[seen] = np.maximum(share, 0.0) * unit[seen]
        psi = with_prior_member(psi, found.count, self.scales)
        pooled = self.scales.pooled
        if pooled is not None and rank == 0:
            # Beside factors psi is what they leave, of which the classes' common spread says nothing.
            known, more = found.count + 1.0, np.where(seen, pooled.members, 0.0)
            psi = (known * psi + more * pooled.variance) / (known + more)
        return Factor(found.mean, kept, psi)

"""How many components a mixture has: several numbers at once, weighed by members that were held out.

    p(z) = sum_s a_s p_s(z),     p_s a mixture of s components

The weights ``a`` maximise the evidence of members under mixtures that were learned without them (stacking of densities: Yao
et al. 2018). No single size has to be right, and what chance did to one mixture the others halve. The search ends when two
sizes in a row explain the held-out members worse than the best one by more than the standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, deconvolve, logsumexp_rows, start_mixture
from badac.latent.mixture_weights import best_weights
from badac.registry import registered
from badac.training import FloatArray

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_MEMBERS_PER_COMPONENT = 8  # fewer do not tell a covariance
_FOLDS, _FEW_FOLDS, _FEW = 5, 3, 150  # five for small classes, where a fifth less is felt; three above
_MEMBERS_TO_CHOOSE_WITH = 2400  # by cost
# Members' worth of the average covariance in each component: by the held-out evidence of shapes in 2 to 5 columns
# (benchmarks/default.py, seeds from 100 on).
_POOLING = 2.0
_STEPS, _LAST_STEPS = 25, 40
_STARTS = 3  # of the mixture that is kept: the best of so many
_LEAST_WEIGHT = 0.02  # of a size that is kept


@registered("part", holds={"components": "(s,) > 0", "weights": "(s,) >= 0", "evidence": "(s,)"})
@dataclass(frozen=True, eq=False)
class Sizes:
    """Numbers of components.

    Attributes
    ----------
    components : (s,) int
        Tried.
    weights : (s,)
        Of each in the sum; 0 for those that were dropped.
    evidence : (s,)
        Mean log evidence of held-out members.
    """

    components: FloatArray
    weights: FloatArray
    evidence: FloatArray

    def learn(
        self,
        latent: LatentLikelihood,
        rng: np.random.Generator,
        *,
        more: float = 1.0,
        most: int = SIZES[-1],
        starts: int = 1,
    ) -> Mixture:
        """Return the weighted sum of mixtures of these sizes, times `more`, learned from members."""
        kept = np.flatnonzero(self.weights)
        sizes = [min(round(self.components[s] * more), most, len(latent)) for s in kept]
        parts = [best_of(latent, size, rng, starts=starts) for size in sizes]
        return Mixture(
            np.concatenate([self.weights[s] * part.weights for s, part in zip(kept, parts, strict=True)]),
            np.concatenate([part.means for part in parts]),
            np.concatenate([part.covariances for part in parts]),
        )


def weigh_sizes(
    latent: LatentLikelihood, rng: np.random.Generator, *, most: int
) -> tuple[Sizes, Mixture, FloatArray]:
    """Learn mixtures of several sizes and weigh them.

    Parameters
    ----------
    latent : LatentLikelihood
        Of the n members.
    rng : numpy.random.Generator
    most : int
        Components of a single mixture.

    Returns
    -------
    sizes : Sizes
    mixture : Mixture
        The weighted sum, learned from all members.
    held_out : (n,)
        Log evidence of each member under the sum, learned from others.
    """
    n, r = len(latent), latent.rank
    if n < 2:
        return Sizes(np.ones(1), np.ones(1), np.zeros(1)), Mixture.standard(r), np.full(n, -np.inf)
    some = np.arange(n)
    if n > _MEMBERS_TO_CHOOSE_WITH:
        some = np.sort(rng.choice(n, _MEMBERS_TO_CHOOSE_WITH, replace=False))
    chosen = latent[some]
    tried, held_out = _held_out(chosen, rng, most)
    weights = best_weights(held_out)
    weights[weights < _LEAST_WEIGHT] = 0.0
    weights /= weights.sum()
    sizes = Sizes(np.array(tried, dtype=np.float64), weights, held_out.mean(axis=0))
    # Components grow as the square root of the members that they were not chosen with.
    mixture = sizes.learn(latent, rng, more=float(np.sqrt(n / len(some))), most=most, starts=_STARTS)
    if len(some) < n:
        # A member's part in so large a class is small: first order is enough.
        return sizes, mixture, mixture.leave_one_out(latent)
    with np.errstate(divide="ignore"):
        return sizes, mixture, logsumexp_rows(held_out + np.log(weights))


def _held_out(latent: LatentLikelihood, rng: np.random.Generator, most: int) -> tuple[list[int], FloatArray]:
    """Sizes that were tried, and the log evidence (n, s) of each member under mixtures learned without it."""
    n = len(latent)
    fold = rng.permutation(n) % min(_FOLDS if n <= _FEW else _FEW_FOLDS, n)
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(fold.max()) + 1)]
    least = min(len(rest) for rest, _ in parts)
    tried: list[int] = []
    columns: list[FloatArray] = []
    best, failures = np.empty(0), 0
    for size in SIZES:
        if size > most or (size > 1 and size * max(_MEMBERS_PER_COMPONENT, latent.rank) > least):
            break
        column = np.empty(n)
        for rest, held in parts:
            column[held] = _learn(latent[rest], size, rng, _STEPS).log_evidence(latent[held])
        tried.append(size)
        columns.append(column)
        loss = best - column if best.size else np.zeros(0)
        if not best.size or loss.mean() < 0.0:
            best, failures = column, 0
        elif loss.mean() > loss.std() / np.sqrt(n):
            failures += 1
            if failures == 2:
                break
    return tried, np.column_stack(columns)


def _learn(latent: LatentLikelihood, size: int, rng: np.random.Generator, steps: int) -> Mixture:
    start = start_mixture(latent, size, rng)
    return deconvolve(latent, start, max_steps=steps, tolerance=1e-3, pooling=_POOLING)


def best_of(latent: LatentLikelihood, size: int, rng: np.random.Generator, *, starts: int) -> Mixture:
    """Return the mixture of `size` components with the largest evidence from several starts."""
    found = [_learn(latent, size, rng, _LAST_STEPS) for _ in range(starts if size > 1 else 1)]
    return max(found, key=lambda mixture: float(mixture.log_evidence(latent).sum()))

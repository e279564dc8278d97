"""How many factors a class needs: as many as members that were held out gain evidence by.

The models of every rank are nested (`badac.latent.moments.Spectrum`), so growing the rank costs one projection of the held-out
members each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.moments import Spectrum
from badac.latent.shape import is_better
from badac.training import TrainingScales

MAX_RANK = 30  # by cost: the latent kernels grow as the cube
_MANY = 500  # members that tell in one part what a class needs
# Parts that are held out in turn; of more than so many members, and so many for each column, the fewer say the same (digits, 90
# members in 64 columns, and 67 members in 500 columns lose .01 in log-loss by them: benchmarks/default.py, seeds 500 to 506).
_PARTS, _FEW_PARTS, _IN_FIVE, _PER_COLUMN = 5, 3, 50, 2
PATIENCE = 3  # ranks in a row that gain nothing end the search
_REPEATED = (
    0.1  # of the variance of all training objects: a third of their spread, so that the point still counts
)
# Variances to try, in units of that of all training objects; with so many factors, before their number is known.
_FLOORS = (0.0, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1)
_RANK_OF_FLOOR = 5


def choose_rank(
    members: Measurements,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    once: bool = False,
) -> tuple[int, FloatArray, FloatArray]:
    """Grow the rank while members that were held out gain evidence, beyond the standard error of the gain.

    Parameters
    ----------
    members : Measurements
        (k, m)
    scales : TrainingScales
    rng : numpy.random.Generator
        For the parts.
    once : bool
        Whether one part of the members, held out from the others, is enough.

    Returns
    -------
    rank : int
    floor : (m,)
        Variance added to every point: 0 unless held-out members stray where the others agree, or exact values repeat.
    evidence : (ranks tried,)
        Mean held-out log evidence per member at rank 0, 1, 2, ...
    """
    n = members.n_objects
    limit = min(MAX_RANK, members.n_points - 1, n // 3)
    if limit < 1:
        return 0, repeated(members, scales), np.zeros(1)
    fold = folds(members, rng)
    # Large classes are split once: the second part would say the same.
    parts_used = 1 if once or n > _MANY else int(fold.max()) + 1
    parts = [(Spectrum.of(members[fold != k], scales, limit), members[fold == k]) for k in range(parts_used)]
    return grow_rank(parts, repeated(members, scales), scales, limit)


def grow_rank(
    parts: list[tuple[Spectrum, Measurements]], base: FloatArray, scales: TrainingScales, limit: int
) -> tuple[int, FloatArray, FloatArray]:
    """Grow the rank to `limit` at most, as `choose_rank` does, with parts that were held out already.

    Parameters
    ----------
    parts : list
        Of each part the spectrum of the other members and its own members.
    base : (m,)
        Variance added to every point whatever is found (`repeated`).
    """

    @cache
    def models_of(rank: int) -> list[Factor]:
        return [spectrum.factor(rank) for spectrum, _ in parts]

    def evidence_at(rank: int, floor: FloatArray) -> FloatArray:
        """Return (held out,): the evidence of all parts, each under the model of the other members."""
        widened = [
            (model.widened(floor), part) for model, (_, part) in zip(models_of(rank), parts, strict=True)
        ]
        return np.concatenate([model.project(part).gaussian_log_evidence() for model, part in widened])

    unit = scales.scale**2
    share = _choose_floor(lambda share: evidence_at(min(limit, _RANK_OF_FLOOR), base + share * unit))
    floor = base + share * unit
    means: list[float] = []
    chosen, best = 0, np.empty(0)
    for rank in range(limit + 1):
        evidence = evidence_at(rank, floor)
        means.append(float(evidence.mean()))
        if is_better(evidence, best):
            chosen, best = rank, evidence
        elif rank - chosen >= PATIENCE:
            break
    return chosen, floor, np.array(means)


def _choose_floor(evidence_at: Callable[[float], FloatArray]) -> float:
    """Return the floor under which held-out members have the largest evidence, beyond the standard error of the gain."""
    chosen, best = 0.0, np.empty(0)
    for floor in _FLOORS:
        evidence = evidence_at(floor)
        if is_better(evidence, best):
            chosen, best = floor, evidence
        elif (evidence - best).mean() < 0.0:
            break
    return chosen


def repeated(members: Measurements, scales: TrainingScales) -> FloatArray:
    """Variance (m,) to add where exact values repeat: a tenth of the variance of all training objects.

    A third of the members with one and the same exact value is a sign of rounding or saturation (a dark pixel), not of
    infinite precision; taken at its word, the point would decide over every object that differs there.
    """
    out = np.zeros(members.n_points)
    for point in np.flatnonzero((members.sigma == 0.0).any(axis=0)):
        values = members.values[members.observed[:, point], point]
        count = np.unique(values, return_counts=True)[1].max()
        if count > 1 and count > len(values) / 3:
            out[point] = _REPEATED * scales.scale[point] ** 2
    return out


def folds(members: Measurements, rng: np.random.Generator) -> FloatArray:
    """Return (k,): the fold of each member, of `parts_of` them."""
    return np.asarray(rng.permutation(members.n_objects) % parts_of(members))


def parts_of(members: Measurements, *, few: bool = False) -> int:
    """Return the number of parts that members (k, m) are held out in: three of many, of whom a third less teaches as much.

    `few` says that they need not be many for their columns.
    """
    n = members.n_objects
    enough = n > _MANY or (n > _IN_FIVE and (few or n >= _PER_COLUMN * members.n_points))
    return _FEW_PARTS if enough else min(_PARTS, n)

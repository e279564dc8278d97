"""What a population model is made of, chosen on a part of the members by the evidence of another part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.classes.factor import Factor, expectation_maximisation
from badac.classes.latent import project
from badac.classes.model import FloatArray, Surroundings
from badac.classes.rank import Spectrum, choose_rank
from badac.classes.shape import Shape, choose_shape
from badac.classes.smoothness import choose_penalty, smoothed
from badac.data.measurements import Measurements

_MEMBERS_TO_CHOOSE_WITH = 3000
# A bent population needs directions that a Gaussian one does not miss.
_MORE_FACTORS = 2


@dataclass(frozen=True, eq=False)
class Plan:
    """The choices that define a population model.

    Attributes
    ----------
    rank : int
        Number of factors.
    penalty : float
        Smoothness of mean and factors along the points (`badac.classes.smoothness`); 0 for none.
    shape : Shape
        Density of the latent positions.
    chosen_with : int
        Members that were learned from while choosing.
    rank_evidence : (ranks tried,)
        Mean held-out log evidence of a member at rank 0, 1, 2, ...
    shape_names, shape_evidence : tuple of str, (shapes tried,)
        The same for the shapes.
    """

    rank: int
    penalty: float
    shape: Shape
    chosen_with: int
    rank_evidence: FloatArray
    shape_names: tuple[str, ...]
    shape_evidence: FloatArray


def make_plan(
    members: Measurements,
    around: Surroundings,
    rng: np.random.Generator,
    *,
    rank: int | None = None,
    shape: str = "auto",
) -> Plan:
    """Choose rank, smoothness and shape by the evidence of held-out members.

    Parameters
    ----------
    members : Measurements
        (k, m); of more than 3,000 a random 3,000 are used.
    around : Surroundings
    rng : numpy.random.Generator
    rank : int, optional
        Chosen if not given.
    shape : str
        "auto", or the kind of `Shape` to use.

    Returns
    -------
    Plan
    """
    n = members.n_objects
    if n > _MEMBERS_TO_CHOOSE_WITH:
        members = members[np.sort(rng.choice(n, _MEMBERS_TO_CHOOSE_WITH, replace=False))]
        n = members.n_objects
    evidence = np.zeros(1)
    chosen = rank
    if chosen is None:
        chosen, evidence = choose_rank(members, around, rng)
    if n < 6:
        fixed = Shape("gaussian" if shape == "auto" else shape)
        return Plan(chosen, 0.0, fixed, n, evidence, (), np.zeros(0))
    fold = rng.permutation(n) % 3
    learned, held_out = members[fold > 0], members[fold == 0]
    count = learned.n_objects
    spectrum = Spectrum.of(learned, around, chosen + _MORE_FACTORS)
    noise = spectrum.moments.noise
    penalty = choose_penalty(spectrum.factor(chosen), noise, count, held_out)
    if shape != "auto":
        return Plan(chosen, penalty, Shape(shape), count, evidence, (), np.zeros(0))
    best, tried = Shape("gaussian"), {}
    top = -np.inf
    for more in (0, _MORE_FACTORS) if rank is None else (0,):
        if chosen == 0 or chosen + more >= min(members.n_points, count // 2):
            continue
        factor = _start(learned, spectrum, chosen + more, around, penalty)
        known = project(learned, factor.mean, factor.factors, factor.psi)
        unknown = project(held_out, factor.mean, factor.factors, factor.psi)
        found, at_rank = choose_shape(known, unknown, rng)
        value = at_rank[str(found)]
        # Equal evidence: fewer factors.
        if value > top + 0.01:
            best, top, final = found, value, chosen + more
        tried.update({f"{name}, rank {chosen + more}": value for name, value in at_rank.items()})
    if tried:
        chosen = final
    return Plan(chosen, penalty, best, count, evidence, tuple(tried), np.array(list(tried.values())))


def _start(
    members: Measurements, spectrum: Spectrum, rank: int, around: Surroundings, penalty: float
) -> Factor:
    factor = expectation_maximisation(members, spectrum.factor(rank), around, max_steps=4)
    return smoothed(factor, spectrum.moments.noise, members.n_objects, penalty)

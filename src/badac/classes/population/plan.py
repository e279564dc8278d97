"""What a population model is made of, chosen on a part of the members by the evidence of another part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.classes.model import FloatArray
from badac.classes.population.rank import choose_rank
from badac.classes.population.smoothness import choose_penalty, smoothed
from badac.classes.population.weak_factors import without_weak_factors
from badac.data.measurements import Measurements
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.moments import Spectrum
from badac.latent.shape import Shape, choose_shape
from badac.registry import registered
from badac.training import TrainingScales

# By cost; a third of them is held out.
_MEMBERS_TO_CHOOSE_RANK_WITH = 4000
_MEMBERS_TO_CHOOSE_WITH = 2400
# A bent population needs directions that a Gaussian one does not miss.
_MORE_FACTORS = (0, 2, 4)
_FORGIVEN = 0.02  # nats that a richer model may lose among the few it was chosen with


@registered(
    "part",
    version=2,
    holds={
        "rank": ">= 0",
        "floor": ">= 0",
        "rank_evidence": "any",
        "shape_evidence": "any",
        "shape_names": "(_,)",
    },
)
@dataclass(frozen=True, eq=False)
class Plan:
    """The choices that define a population model.

    Attributes
    ----------
    rank : int
        Number of factors.
    floor : (m,)
        Variance added to every point (`badac.classes.population.rank.choose_rank`).
    penalty : float
        Smoothness of mean and factors along the points (`badac.classes.population.smoothness`); 0 for none.
    shape : Shape
        Density of the latent positions.
    chosen_with : int
        Members that were learned from while choosing.
    rank_evidence : (ranks tried,)
        Mean held-out log evidence of a member at rank 0, 1, 2, ...
    shape_names, shape_evidence : tuple of str, (shapes tried,)
        The same for the shapes.
    all_factors : bool
        Whether factors that no member says anything about stay (`badac.classes.population.weak_factors`): somebody asked for
        their number.
    """

    rank: int
    floor: FloatArray
    penalty: float
    shape: Shape
    chosen_with: int
    rank_evidence: FloatArray
    shape_names: tuple[str, ...]
    shape_evidence: FloatArray
    all_factors: bool


def make_plan(
    members: Measurements,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    rank: int | None = None,
    shape: str = "auto",
    between: tuple[int, float] = (0, np.inf),
) -> Plan:
    """Choose rank, smoothness and shape by the evidence of held-out members.

    Parameters
    ----------
    members : Measurements
        (k, m); the rank is chosen with at most 4,000 of them, the shape with at most 2,400.
    scales : TrainingScales
    rng : numpy.random.Generator
    rank : int, optional
        Chosen if not given.
    shape : str
        "auto", or the kind of `Shape` to use.
    between : (int, float)
        Factors that the members are known to need at least and at most, where noise other than Gaussian hides some.

    Returns
    -------
    Plan
    """
    chosen, total, given = rank, members.n_objects, rank is not None
    members = _some(members, _MEMBERS_TO_CHOOSE_RANK_WITH, rng)
    least, most = between
    found_rank, floor, evidence = choose_rank(members, scales, rng, once=chosen is None and least == most)
    chosen = int(np.clip(found_rank, least, most)) if chosen is None else chosen
    members = _some(members, _MEMBERS_TO_CHOOSE_WITH, rng)
    n = members.n_objects
    if n < 6:
        fixed = Shape("gaussian" if shape == "auto" else shape)
        return Plan(chosen, floor, 0.0, fixed, n, evidence, (), np.zeros(0), given)
    fold = rng.permutation(n) % 3
    learned, held_out = members[fold > 0], members[fold == 0]
    count = learned.n_objects
    spectrum = Spectrum.of(learned, scales, chosen + _MORE_FACTORS[-1])
    noise = spectrum.moments.noise
    penalty = choose_penalty(spectrum.factor(chosen).widened(floor), noise, count, held_out)
    if shape != "auto":
        return Plan(chosen, floor, penalty, Shape(shape), count, evidence, (), np.zeros(0), given)
    best, tried = Shape("gaussian"), {}
    top, asked = -np.inf, 0
    most = max(spectrum.n_factors, chosen)
    for larger in dict.fromkeys(min(chosen + more, most) for more in _MORE_FACTORS if more == 0 or not given):
        if (
            chosen == 0
            or larger >= min(members.n_points, count // 2)
            or (larger > chosen and best.kind == "gaussian")
        ):
            break
        factor = _start(learned, spectrum, larger, scales, penalty).widened(floor)
        if not given:
            factor = without_weak_factors(factor, noise, learned)
            if factor.rank <= asked:
                # Only all members together can tell of more factors: nothing is lost by letting them try these.
                final = larger
                break
        asked = factor.rank
        known = factor.project(learned)
        unknown = factor.project(held_out)
        found, at_rank = choose_shape(known, unknown, rng, least=best.n_components)
        tried.update({f"{name}, rank {larger}": value for name, value in at_rank.items()})
        # What one more factor costs is the error of its estimate, which falls with the members still to come.
        if at_rank[str(found)] < top - _FORGIVEN * (1.0 - count / total):
            break
        best, top, final = found, max(top, at_rank[str(found)]), larger
    if tried:
        chosen = final
    found_evidence = np.array(list(tried.values()))
    return Plan(chosen, floor, penalty, best, count, evidence, tuple(tried), found_evidence, given)


def _some(members: Measurements, count: int, rng: np.random.Generator) -> Measurements:
    if members.n_objects <= count:
        return members
    return members[np.sort(rng.choice(members.n_objects, count, replace=False))]


def _start(
    members: Measurements, spectrum: Spectrum, rank: int, scales: TrainingScales, penalty: float
) -> Factor:
    factor = expectation_maximisation(members, spectrum.factor(rank), scales, max_steps=4)
    return smoothed(factor, spectrum.moments.noise, members.n_objects, penalty)

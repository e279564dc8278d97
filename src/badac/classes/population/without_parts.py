"""A population learned again without each of some parts of its members in turn, all of them for the price of two or three.

    members = three groups, each of some parts
    of each group:        factor model and density learned from the two other groups alone, as `learn` does
    of each part in it:   one step of either EM from there, with the sums of all but the part

Nothing that a part's population starts from has seen a member of the part: what starts at the population of all members keeps
some of what they gain by having been learned from, and is no measure of how strange they are (docs/scale.md). Two thirds of many
members are next to the end of an EM, where a step goes nearly all of the way to what five sixths of them say. What a step needs
of the members are sums, which add up over parts (`badac.latent.factor.FactorSums`, `badac.latent.mixture.shares_of`): every
member is asked once for each group, however many parts there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from badac._kernels.latent import Sums
from badac.classes.model import FloatArray
from badac.classes.population.learn import STEPS, Learned, Start
from badac.classes.population.plan import Plan
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor, FactorSums, all_statistics, expectation_maximisation, maximise
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, improved, shares_of
from badac.training import TrainingScales

# With two groups in place of three lists held .013 +- .006 fewer anomalies (printed 4, 12,000 curves, seeds 900 to 939).
GROUPS = 3
# Members: with two groups lists of classes of 1,500 held .015 +- .007 fewer (printed 1, 3,000 curves, seeds 900 to 921), and few
# members are refitted soon.
FEWEST = 2000


@dataclass(frozen=True, eq=False)
class Beginning:
    """A population that was learned from all groups but one, and what it makes of the members of every part.

    Attributes
    ----------
    start : Start
    climbed : Factor
        Where the EM came to.
    learned : Learned
        From there, with a density of as many components as more members will have.
    like : LatentDensity or None
        That of all members: what few have no numbers for is taken from it, as in `learn`.
    sums : list of FactorSums
        Of each part's members under `climbed`.
    shares : list of Sums or None
        Likewise, what a step of the density asks of them; None where it is no mixture of several components.
    """

    start: Start
    climbed: Factor
    learned: Learned
    like: LatentDensity | None
    sums: list[FactorSums]
    shares: list[Sums] | None

    @classmethod
    def of(
        cls,
        rest: Measurements,
        parts: list[Measurements],
        plan: Plan,
        scales: TrainingScales,
        rng: np.random.Generator,
        like: LatentDensity | None = None,
    ) -> Beginning:
        """Learn from the `rest` of the members, all but one group; `plan` has at least one factor."""
        start = Start.of(rest, scales, plan, rng)
        climbed = expectation_maximisation(rest, start.factor, scales, max_steps=STEPS)
        learned = start.finish(climbed, len(rest), rng, like=like)
        sums, known, shares = [all_statistics(part, climbed) for part in parts], learned.density, None
        if isinstance(known, Mixture) and len(known) > 2:  # one component, and the broad one
            mixture = known.without_broad()
            shares = [shares_of(learned.factor.project(part), mixture) for part in parts]
        return cls(start, climbed, learned, like, sums, shares)

    def without(self, number: int, parts: list[Measurements], rng: np.random.Generator) -> Learned:
        """Return the population without a part of the group."""
        others = [each for each in range(len(parts)) if each != number]
        n, before = sum(len(parts[each]) for each in others), self.learned
        climbed = maximise(reduce(add, [self.sums[each] for each in others]), self.climbed, self.start.scales)
        factor = self.start.finished(climbed, n)
        density: LatentDensity
        if self.shares is None:
            latent = joined([factor.project(parts[each]) for each in others])
            density = before.plan.shape.learn(latent, rng, like=self.like)
        else:
            assert isinstance(before.density, Mixture)
            mixture = improved(before.density.without_broad(), [self.shares[each] for each in others])
            moved = in_coordinates_of(factor, mixture, before.factor, self.start.noise)
            density = moved.with_one_more(n)
        return replace(before, factor=factor, density=density)


def joined(latents: list[LatentLikelihood]) -> LatentLikelihood:
    """Return the latent likelihoods of several groups of objects, one after the other."""
    return LatentLikelihood(
        np.concatenate([each.precision for each in latents]),
        np.concatenate([each.shift for each in latents]),
        np.concatenate([each.offset for each in latents]),
    )


def in_coordinates_of(factor: Factor, mixture: Mixture, before: Factor, noise: FloatArray) -> Mixture:
    """Return a mixture of positions under one factor model as one under another, which is nearly the same.

    Each position goes where the other model's curve comes closest, points in units of their noise (m,) and psi; along factors
    that were not there before it is ``N(0, 1)``.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.classes.population.without_parts import in_coordinates_of
    >>> from badac.latent import Factor, Mixture
    >>> before = Factor(np.zeros(3), np.ones((3, 1)), np.full(3, 0.1))
    >>> half = Factor(np.ones(3), 2.0 * np.ones((3, 1)), np.full(3, 0.1))
    >>> one = Mixture(np.ones(1), np.full((1, 1), 3.0), np.ones((1, 1, 1)))
    >>> in_coordinates_of(half, one, before, np.ones(3)).means.round(6)
    array([[1.]])
    """
    unit = np.sqrt(noise + factor.psi)
    back = np.linalg.pinv(factor.factors / unit[:, None])
    turn = back @ (before.factors / unit[:, None])
    new = np.eye(factor.rank) - turn @ np.linalg.pinv(turn)
    means = mixture.means @ turn.T + back @ ((before.mean - factor.mean) / unit)
    return Mixture(mixture.weights, means, turn @ mixture.covariances @ turn.T + new @ new.T)

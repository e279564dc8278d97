"""A population learned again without each of some parts of its members in turn, for half of the price of as many refits.

    members = half + half, each of some parts
    of each half:         factor model learned from the other half alone, as `learn` does
    of each part in it:   one step of EM from there, with the sums of all but the part;  the density anew, of all but the part

Nothing that a part's population starts from has seen a member of the part: what starts at the population of all members
keeps some of what they gain by having been learned from, and is no measure of how strange they are (docs/scale.md). Half of
many members are next to the end of the EM, where a step goes nearly all of the way to what five sixths of them say. What a step
needs of the members are sums, which add up over parts (`badac.latent.factor.FactorSums`): every member is asked twice, by
either half, however many parts there are.

The density is not continued from that of a half: it keeps more room for the members that it began with, rare ones among the
others stand apart in its place, and members left out come out stranger (lists of printed 4 with 12,000 curves, seeds 900 to
939, four turns each: .013 +- .003 fewer of the anomalies).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from badac.classes.population.learn import MEMBERS_TO_START_FROM, STEPS, Learned, Start
from badac.classes.population.plan import Plan
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor, FactorSums, all_statistics, expectation_maximisation, maximise
from badac.latent.likelihood import LatentLikelihood
from badac.training import TrainingScales

# Members: few are refitted soon, and half of them are farther from the end of an EM.
FEWEST = 2000


@dataclass(frozen=True, eq=False)
class Beginning:
    """A factor model that was learned from a half of the parts, and what it makes of the members of every part.

    Attributes
    ----------
    start : Start
    climbed : Factor
        Where the EM came to.
    sums : list of FactorSums
        Of each part's members under `climbed`.
    like : LatentDensity or None
        That of all members: what few have no numbers for is taken from it, as in `learn`.
    """

    start: Start
    climbed: Factor
    sums: list[FactorSums]
    like: LatentDensity | None

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
        """Learn from the `rest` of the members, those of one half; `plan` has at least one factor."""
        start = Start.of(rest, scales, plan, rng)
        climbed = expectation_maximisation(rest, start.factor, scales, max_steps=STEPS)
        return cls(start, climbed, [all_statistics(part, climbed) for part in parts], like)

    def without(self, number: int, parts: list[Measurements], rng: np.random.Generator) -> Learned:
        """Return the population without a part of the other half."""
        start, others = self.start, [each for each in range(len(parts)) if each != number]
        n = sum(len(parts[each]) for each in others)
        climbed = maximise(reduce(add, [self.sums[each] for each in others]), self.climbed, start.scales)
        factor = start.finished(climbed, n)
        latent = joined([factor.project(parts[each]) for each in others])
        if n > MEMBERS_TO_START_FROM:
            latent = latent[np.sort(rng.choice(n, MEMBERS_TO_START_FROM, replace=False))]
        shape = start.plan.shape.for_members(len(latent), start.plan.chosen_with)
        density = shape.learn(latent, rng, like=self.like, count=n)
        return Learned(factor, density, start.plan, start.scales)


def joined(latents: list[LatentLikelihood]) -> LatentLikelihood:
    """Return the latent likelihoods of several groups of objects, one after the other."""
    return LatentLikelihood(
        np.concatenate([each.precision for each in latents]),
        np.concatenate([each.shift for each in latents]),
        np.concatenate([each.offset for each in latents]),
    )

"""How a population is learned once its plan is made: moments, EM over all members, latent density.

Only the EM looks at all members, and only through its sums (`badac.latent.factor.FactorSums`); so they can be anywhere, in
memory or in the partitions of `badac.dask.fitting`. Moments and density are content with 20,000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.classes.population.plan import Plan
from badac.classes.population.smoothness import smoothed
from badac.classes.population.weak_factors import without_weak_factors
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.moments import Spectrum
from badac.training import TrainingScales

MEMBERS_TO_START_FROM = 20_000  # for moments and density; what one machine holds of each class of a survey
STEPS = 5  # of the EM over all members, which starts from the moments, next to the end


@dataclass(frozen=True, eq=False)
class Learned:
    """A population as it was learned.

    Attributes
    ----------
    factor : Factor
    density : LatentDensity
        Of the latent positions.
    plan : Plan
    scales : TrainingScales
        With which it was learned: to learn it again without some members.
    """

    factor: Factor
    density: LatentDensity
    plan: Plan
    scales: TrainingScales


def learn(
    members: Measurements,
    scales: TrainingScales,
    plan: Plan,
    rng: np.random.Generator,
    *,
    like: LatentDensity | None = None,
) -> Learned:
    """Learn the factor model and the latent density of the members as planned.

    `like` is the density that more members, these among them, have: what it has few numbers for is taken from it.
    """
    start = Start.of(members, scales, plan, rng)
    factor = start.factor
    if plan.rank > 0:
        factor = expectation_maximisation(members, factor, scales, max_steps=STEPS)
    return start.finish(factor, members.n_objects, rng, like=like)


@dataclass(frozen=True, eq=False)
class Start:
    """Where the learning of a large class begins: some of its members, and what their moments say.

    Only the EM between `of` and `finish` looks at all members, and only through its sums; so they can be anywhere.

    Attributes
    ----------
    members : Measurements
        At most 20,000.
    scales : TrainingScales
    plan : Plan
    spectrum : Spectrum
        Of their moments.
    factor : Factor
        The first guess.
    """

    members: Measurements
    scales: TrainingScales
    plan: Plan
    spectrum: Spectrum
    factor: Factor

    @classmethod
    def of(cls, members: Measurements, scales: TrainingScales, plan: Plan, rng: np.random.Generator) -> Start:
        n = members.n_objects
        if n > MEMBERS_TO_START_FROM:
            members = members[np.sort(rng.choice(n, MEMBERS_TO_START_FROM, replace=False))]
        spectrum = Spectrum.of(members, scales, plan.rank, to_begin_with=True)
        factor = spectrum.factor(plan.rank)
        if plan.rank > 0 and not plan.all_factors:
            # Each costs every step of the EM over all members, and none of these would be left after it.
            factor = without_weak_factors(factor, spectrum.moments.noise, members, before_em=True)
        return cls(members, scales, plan, spectrum, factor)

    def finished(self, factor: Factor, n: int) -> Factor:
        """Return the factor model that the EM found for all `n` members, smooth and honest."""
        found, plan = self.spectrum.moments, self.plan
        factor = smoothed(factor, found.noise, n, plan.penalty)
        # The mean is known to its own error only: in a small class that is part of the spread. Where nobody observed the
        # point, psi is the whole spread of all training objects already.
        count = found.count * n / len(self.members)
        error = np.where(count > 0, (found.noise + factor.psi) / np.maximum(count, 1.0), 0.0)
        factor = factor.widened(error + plan.floor)
        if plan.rank > 0 and not plan.all_factors:
            factor = without_weak_factors(factor, found.noise, self.members)
        return factor

    def finish(
        self, factor: Factor, n: int, rng: np.random.Generator, *, like: LatentDensity | None = None
    ) -> Learned:
        """Return the factor model that the EM found for all `n` members, smooth and honest, and their latent density."""
        plan, factor = self.plan, self.finished(factor, n)
        density = plan.shape.for_members(len(self.members), plan.chosen_with).learn(
            factor.project(self.members), rng, like=like, count=n
        )
        return Learned(factor, density, plan, self.scales)

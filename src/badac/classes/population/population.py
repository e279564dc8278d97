"""The population of a class, learned from its noisy members: the default class model.

The paper leaves the prior on the true values flat. Here it is learned (empirical Bayes):

    y_true = mean + factors z + eps,    z ~ the class's density in r dimensions,    eps ~ N(0, diag psi)
    P(d | class) = integral P(d | z) p(z) dz,   closed form: everything is Gaussian or a mixture of Gaussians

``mean, factors, psi`` come from an EM that knows every member's own errors and gaps (`badac.latent.factor`), the
number of factors from held-out evidence (`badac.classes.population.rank`), their smoothness along the points too
(`badac.classes.population.smoothness`), and the density of ``z`` is a Gaussian, a deconvolved mixture or the members' own
positions with a few bandwidths, whichever held-out members prefer (`badac.classes.population.shape`). Each component is a
curve with an error band and a weight: a class is still a weighted set of curves. ``psi`` is what the paper calls sigma_*^2.

Use it whenever members have error bars that matter, and for speed: after one pass over the points an object costs as much as
the few latent dimensions, whatever the number of members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from badac.classes.model import FloatArray, check_noise_taken
from badac.classes.moving import move_columns, nearest
from badac.classes.population.gaussian_members import as_gaussian
from badac.classes.population.gross_outliers import gross_outliers, without
from badac.classes.population.leave_one_out import leave_out_evidence
from badac.classes.population.plan import Plan, make_plan
from badac.classes.population.rank import Spectrum, seen_clearly
from badac.classes.population.rotation import common_axes, with_gaussian_dimensions
from badac.classes.population.smoothness import smoothed
from badac.classes.population.tails import Tails
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian, unit_of
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.gain_offset import factor_log_evidence
from badac.latent.gaussian_approximation import (
    gaussian_approximation,
    is_plain,
    latent_likelihood,
    link_scales,
    with_noise_scale,
)
from badac.latent.kernel_density import KernelDensity
from badac.latent.likelihood import LatentLikelihood, project, sums_of_values
from badac.latent.mixture import Mixture
from badac.latent.reconstruction import reconstruct
from badac.noise.kinds import LATENT_NOISE, NoiseKind
from badac.noise.model import LinkedNoise, Noise
from badac.training import TrainingScales

# A broad component as heavy as one member more: rare, not impossible.
_BROAD_WIDTH = 3.0
MEMBERS_TO_START_FROM = 20_000
# Of the EM over all members.
STEPS = 5


@dataclass(frozen=True, eq=False)
class Population:
    """A class as a population learned through the noise.

    Parameters
    ----------
    rank : int, optional
        Number of factors; by held-out evidence if not given.
    shape : {"auto", "gaussian", "curves"}
        Density of the latent positions; by held-out evidence if "auto".

    Attributes
    ----------
    mean, psi : (m,)
        After `fit`: the class's mean and the variance that the factors leave at each point.
    factors : (m, r)
        Covariance of the true values is ``factors factors' + diag psi``.
    density : Mixture or Curves
        Of the latent positions.
    tails : Tails
        Wider versions of the class for members that stray (`badac.classes.population.tails`).
    plan : Plan
        What was chosen (rank, smoothness, shape), with the held-out evidence of the alternatives.
    member_evidence : (k,)
        Log evidence of each member under the class learned from the others.
    noise : Noise
        Of the objects that it is asked about; `badac.latent.gaussian_approximation` says how other than Gaussian noise works.
    unit : float
        Of mean, factors and the root of psi: 1 unless the squares of the values are beyond a float.
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = LATENT_NOISE
    # A covariance that all members share is learned with the factors, not added.
    learns_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.COVARIANCE})

    rank: int | None = None
    shape: str = "auto"
    mean: FloatArray | None = None
    factors: FloatArray | None = None
    psi: FloatArray | None = None
    density: Mixture | KernelDensity | None = None
    tails: Tails | None = None
    plan: Plan | None = None
    member_evidence: FloatArray | None = None
    noise: Noise | None = None
    unit: float = 1.0

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        check_noise_taken(self, noise, members)
        unit = unit_of(members)
        if unit != 1.0:
            return self._fit_in_units(unit, members, noise, rng)
        # By what the members are, not by where they stand: every choice by chance is then the same in any order.
        order = np.argsort(sums_of_values(members), kind="stable")
        members = members[order]
        outliers = gross_outliers(members) if is_plain(noise) else None
        trusted = without(members, outliers)
        widest = TrainingScales.of(members) if scales is None else scales
        scales = seen_clearly(widest if outliers is None else TrainingScales.of(trusted), trusted)
        scales = link_scales(members, noise, scales)
        # Under noise of several widths each point becomes a Gaussian one of the width it seems to have.
        gaussian, least = as_gaussian(trusted, noise, scales, rng, rank=self.rank)
        axes = common_axes(gaussian, scales)
        if axes is not None:
            gaussian, scales = axes.turn(gaussian), axes.turn_scales(scales)
        plan = make_plan(gaussian, scales, rng, rank=self.rank, shape=self.shape, least=least)
        factor, density = learn(gaussian, scales, plan, rng)
        constant = np.zeros(members.n_objects)
        if not is_plain(noise):
            # The Gaussian members that the constants belong to: as this factor model sees them.
            sites = gaussian_approximation(members, factor, noise, density=density)
            gaussian, constant = sites.objects, sites.log_constant
        evidence, tails = leave_out_evidence(
            gaussian if outliers is None else with_noise_scale(members, noise),
            scales,
            plan,
            factor,
            density,
            rng,
            learn,
            # A count pulls less than the Gaussian that stands for it: its leverage would be overestimated.
            refit=isinstance(noise, LinkedNoise),
            outliers=outliers,
            widest=None if outliers is None else widest,
        )
        if axes is not None:
            factor, density = axes.turn_back(factor, density)
            tails = tails.scaled(axes.scale)
            # The Jacobian of the turn.
            evidence = evidence - np.log(axes.scale).sum()
        evidence = evidence + constant
        return replace(
            self,
            mean=factor.mean,
            factors=factor.factors,
            psi=factor.psi,
            density=density,
            plan=plan,
            tails=tails,
            member_evidence=evidence[np.argsort(order)],
            noise=noise,
        )

    def _fit_in_units(
        self, unit: float, members: Measurements, noise: Noise, rng: np.random.Generator
    ) -> Self:
        """Fit members so large or small that their squares are beyond a float, in units in which they are about one."""
        fitted = self.fit(in_units(members, unit), noise, rng)
        evidence = fitted.leave_one_out() - log_jacobian(members, unit)
        return replace(fitted, unit=unit, member_evidence=evidence)

    def latent(self, objects: Measurements) -> LatentLikelihood:
        """Reduce objects to their likelihoods in the class's latent space."""
        return latent_likelihood(in_units(objects, self.unit), self.factor, self.noise)

    @property
    def factor(self) -> Factor:
        """The Gaussian summary: mean, factors and psi together."""
        assert self.mean is not None and self.factors is not None and self.psi is not None, "fit first"
        return Factor(self.mean, self.factors, self.psi)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.density is not None and self.tails is not None, "fit first"
        widths = self.tails.log_evidence_by_width(
            in_units(objects, self.unit), self.factor, self.density, self.noise, n_threads=n_threads
        )
        evidence = self.tails.combine(widths)
        return evidence if self.unit == 1.0 else evidence - log_jacobian(objects, self.unit)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        del n_threads
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def moved(self, at: FloatArray, by: float) -> Self:
        if by == 0:
            return self
        factor, tails, density = self.factor, self.tails, self.density
        assert tails is not None and density is not None
        moved, missing = move_columns(np.column_stack([factor.mean, factor.factors]), at, by)
        return replace(
            self,
            mean=moved[:, 0],
            factors=np.column_stack([moved[:, 1:], missing]),
            psi=nearest(factor.psi, at, by),
            tails=replace(tails, variances=np.stack([nearest(row, at, by) for row in tails.variances])),
            density=with_gaussian_dimensions(density, 1),
        )

    def columns(self) -> tuple[FloatArray, FloatArray]:
        factor = self.factor
        return np.column_stack([factor.mean, factor.factors]), factor.psi

    def calibrated_log_evidence(self, objects: Measurements, gain: float, offset: float) -> FloatArray:
        assert self.density is not None and self.tails is not None, "fit first"
        own = in_units(objects, self.unit)
        widths = [
            factor_log_evidence(
                own, self.factor.widened(extra), self.density, self.noise, gain, offset / self.unit
            )
            for extra in self.tails.variances
        ]
        evidence = self.tails.combine(np.column_stack(widths))
        return evidence if self.unit == 1.0 else evidence - log_jacobian(objects, self.unit)

    def reconstruct(self, objects: Measurements) -> Measurements:
        """Return what each object should have looked like as a member of the class, without noise: mean and sigma."""
        assert self.density is not None, "fit first"
        found = reconstruct(in_units(objects, self.unit), self.factor, self.density)
        return in_units(found, 1.0 / self.unit)


def learn(
    members: Measurements, scales: TrainingScales, plan: Plan, rng: np.random.Generator
) -> tuple[Factor, Mixture | KernelDensity]:
    """Learn the factor model and the latent density of the members as planned."""
    start = Start.of(members, scales, plan, rng)
    factor = start.factor
    if plan.rank > 0:
        factor = expectation_maximisation(members, factor, scales, max_steps=STEPS)
    return start.finish(factor, members.n_objects, plan, rng)


@dataclass(frozen=True, eq=False)
class Start:
    """Where the learning of a large class begins: some of its members, and what their moments say.

    Only the EM between `of` and `finish` looks at all members, and only through its sums; so they can be anywhere.

    Attributes
    ----------
    members : Measurements
        At most 20,000.
    spectrum : Spectrum
        Of their moments.
    factor : Factor
        The first guess.
    """

    members: Measurements
    spectrum: Spectrum
    factor: Factor

    @classmethod
    def of(cls, members: Measurements, scales: TrainingScales, plan: Plan, rng: np.random.Generator) -> Start:
        n = members.n_objects
        if n > MEMBERS_TO_START_FROM:
            members = members[np.sort(rng.choice(n, MEMBERS_TO_START_FROM, replace=False))]
        spectrum = Spectrum.of(members, scales, plan.rank)
        return cls(members, spectrum, spectrum.factor(plan.rank))

    def finish(
        self, factor: Factor, n: int, plan: Plan, rng: np.random.Generator
    ) -> tuple[Factor, Mixture | KernelDensity]:
        """Return the factor model that the EM found for all `n` members, smooth and honest, and their latent density."""
        found = self.spectrum.moments
        factor = smoothed(factor, found.noise, n, plan.penalty)
        # The mean is known to its own error only: in a small class that is part of the spread. Where nobody observed the
        # point, psi is the surroundings' whole spread already.
        count = found.count * n / len(self.members)
        error = np.where(count > 0, (found.noise + factor.psi) / np.maximum(count, 1.0), 0.0)
        factor = factor.widened(error + plan.floor)
        latent = project(self.members, factor.mean, factor.factors, factor.psi)
        density = plan.shape.for_members(len(self.members), plan.chosen_with).learn(latent, rng)
        if isinstance(density, Mixture):
            density = density.with_broad(1.0 / (n + 2.0), _BROAD_WIDTH)
        return factor, density

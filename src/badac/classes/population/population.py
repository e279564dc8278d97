"""The population of a class, learned from its noisy members: the default class model.

The paper leaves the prior on the true values flat. Here it is learned (empirical Bayes):

    y_true = mean + factors z + eps,    z ~ the class's density in r dimensions,    eps ~ N(0, diag psi)
    P(d | class) = integral P(d | z) p(z) dz,   closed form: everything is Gaussian or a mixture of Gaussians

``mean, factors, psi`` come from an EM that knows every member's own errors and gaps (`badac.latent.factor`), the
number of factors from held-out evidence (`badac.classes.population.rank`), their smoothness along the points too
(`badac.classes.population.smoothness`), and the density of ``z`` is a Gaussian, a deconvolved mixture or the members' own
positions with a few bandwidths, whichever held-out members prefer (`badac.latent.shape`). Each component is a
curve with an error band and a weight: a class is still a weighted set of curves. ``psi`` is what the paper calls sigma_*^2.

Use it whenever members have error bars that matter, and for speed: after one pass over the points an object costs as much as
the few latent dimensions, whatever the number of members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import ClassVar, Self

import numpy as np

from badac.classes.latent_class import LatentClass
from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.classes.moving import move_columns, nearest
from badac.classes.population.gaussian_members import Axes, as_gaussian, common_axes
from badac.classes.population.gross_outliers import gross_outliers, without
from badac.classes.population.learn import Learned, learn
from badac.classes.population.leave_one_out import leave_one_out
from badac.classes.population.plan import Plan, make_plan
from badac.classes.population.tails import Tails
from badac.classes.population.without_parts import FEWEST, Beginning
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian, unit_of
from badac.data.validation import IntArray
from badac.latent.density import LatentDensity
from badac.latent.gain_offset import GainOffset, factor_log_evidence
from badac.latent.gaussian_approximation import (
    gaussian_approximation,
    is_plain,
    latent_likelihood,
    link_scales,
    with_noise_scale,
)
from badac.latent.likelihood import LatentLikelihood, sums_of_values
from badac.latent.moments import seen_clearly
from badac.noise.kinds import LATENT_NOISE, NoiseKind
from badac.noise.model import LinkedNoise, Noise
from badac.registry import registered
from badac.threads import each_apart
from badac.training import TrainingScales


@registered(
    "class_model",
    "population",
    holds={
        "member_evidence": "may be -inf",
        "mean": "(m,)",
        "factors": "(m, r)",
        "psi": "(m,) >= 0",
        "density.rank": "r",
        "unit": "> 0",
    },
)
@dataclass(frozen=True, eq=False)
class Population(LatentClass):
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
    density : LatentDensity
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

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Population
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 12)
    >>> members = Measurements(rng.normal(1, 0.5, (60, 1)) * x + 0.1 * rng.standard_normal((60, 12)), 0.1)
    >>> model = Population(rank=1).fit(members, Gaussian(), rng)
    >>> steep, bent = model.log_evidence(Measurements([1.5 * x, x**3], 0.1))
    >>> bool(steep > bent)  # another slope is of the class, another shape is not
    True
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = LATENT_NOISE
    # A covariance that all members share is learned with the factors, not added.
    learns_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.COVARIANCE})

    rank: int | None = None
    shape: str = "auto"
    mean: FloatArray | None = None
    factors: FloatArray | None = None
    psi: FloatArray | None = None
    density: LatentDensity | None = None
    tails: Tails | None = None
    plan: Plan | None = None
    member_evidence: FloatArray | None = None
    noise: Noise | None = None
    unit: float = 1.0

    # New objects are compared with the class point by point: their coordinates must be those of the members.
    by_column: ClassVar[bool] = True

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        return self._fit(members, noise, rng, scales, leave_out=True)

    def described(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, scales: TrainingScales
    ) -> Self:
        """Return the fitted population without the evidence of left-out members, for whoever only reconstructs with it."""
        return self._fit(members, noise, rng, scales, leave_out=False)

    def _fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None,
        *,
        leave_out: bool,
    ) -> Self:
        refuse_own_points(members, "Population")
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
        counted = isinstance(noise, LinkedNoise)
        # Members that stand for counts were found with all of them: held out, they ask for more factors than new objects do.
        most = least if counted and least > 0 else np.inf
        plan = make_plan(gaussian, scales, rng, rank=self.rank, shape=self.shape, between=(least, most))
        learned = learn(gaussian, scales, plan, rng)
        factor, density = learned.factor, learned.density
        if not leave_out:
            if axes is not None:
                factor, density = axes.turn_back(factor, density)
            bare = replace(self, mean=factor.mean, factors=factor.factors, psi=factor.psi, density=density)
            return replace(bare, plan=plan, tails=Tails.none(members.n_points), noise=noise)
        constant = np.zeros(members.n_objects)
        if not is_plain(noise):
            # The Gaussian members that the constants belong to: as this factor model sees them.
            found = gaussian_approximation(members, factor, noise, density=density)
            gaussian, constant = found.objects, found.log_constant
        evidence, tails = leave_one_out(
            gaussian if outliers is None else with_noise_scale(members, noise),
            learned,
            rng,
            # A count pulls less than the Gaussian that stands for it: its leverage would be overestimated.
            refit=counted,
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

    def refit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self | None:
        """Return the class as other members (k, m) teach it, with the choices of this fit: rank, smoothness, shape, tails."""
        if self.plan is None:
            return None
        if self.unit != 1.0:
            fitted = replace(self, unit=1.0).refit(in_units(members, self.unit), noise, rng)
            return None if fitted is None else replace(fitted, unit=self.unit)
        members = members[np.argsort(sums_of_values(members), kind="stable")]
        outliers = gross_outliers(members) if is_plain(noise) else None
        trusted = without(members, outliers)
        widest = TrainingScales.of(members) if scales is None else scales
        scales = seen_clearly(widest if outliers is None else TrainingScales.of(trusted), trusted)
        scales = link_scales(members, noise, scales)
        gaussian = self._as_gaussian(trusted, noise)
        axes = common_axes(gaussian, scales)
        if axes is not None:
            gaussian, scales = axes.turn(gaussian), axes.turn_scales(scales)
        return self._with(learn(gaussian, scales, self.plan, rng, like=self.density), axes, noise)

    def refit_without_each(
        self,
        members: Measurements,
        part: IntArray,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> list[Self] | None:
        """Return the class without each part of its members (k, m) in turn, together for less than one `refit` after the other.

        None where they are too few for a step from half of them to be enough, or need a look of their own each time.
        """
        plan, n_parts = self.plan, int(part.max(initial=0)) + 1
        if plan is None or plan.rank == 0 or self.unit != 1.0 or len(members) < FEWEST or n_parts < 4:
            return None
        # A half would keep factors that all members together do not bear out.
        plan = replace(plan, rank=min(plan.rank, self.factor.rank))
        order = np.lexsort((sums_of_values(members), part))
        members, part = members[order], part[order]
        if is_plain(noise) and gross_outliers(members) is not None:
            return None
        widest = TrainingScales.of(members) if scales is None else scales
        gaussian = self._as_gaussian(members, noise)

        def learned_without(half: int, rng: np.random.Generator) -> list[Self]:
            """The class without each part of a half, from where the other half leads."""
            held = range(n_parts // 2) if half == 0 else range(n_parts // 2, n_parts)
            rest = np.flatnonzero((part < held.start) | (part >= held.stop))
            seen = link_scales(members[rest], noise, seen_clearly(widest, members[rest]))
            axes, turned = common_axes(gaussian[rest], seen), gaussian
            if axes is not None:
                turned, seen = axes.turn(gaussian), axes.turn_scales(seen)
            ends = np.searchsorted(part, np.arange(n_parts + 1)).tolist()
            parts = [turned[start:end] for start, end in pairwise(ends)]
            begun = Beginning.of(turned[rest], parts, plan, seen, rng, self.density)
            return [self._with(begun.without(number, parts, rng), axes, noise) for number in held]

        return list(chain(*each_apart(learned_without, 2, rng)))

    def _as_gaussian(self, members: Measurements, noise: Noise) -> Measurements:
        """The members with Gaussian errors, as this population sees them."""
        if is_plain(noise):
            return with_noise_scale(members, noise)
        return gaussian_approximation(members, self.factor, noise, density=self.density).objects

    def _with(self, learned: Learned, axes: Axes | None, noise: Noise) -> Self:
        """Return the same class with what was learned along some axes; what its members would say left out is not known."""
        factor, density = learned.factor, learned.density
        if axes is not None:
            factor, density = axes.turn_back(factor, density)
        found = replace(self, mean=factor.mean, factors=factor.factors, psi=factor.psi)
        return replace(found, density=density, member_evidence=None, noise=noise)

    def _fit_in_units(
        self, unit: float, members: Measurements, noise: Noise, rng: np.random.Generator
    ) -> Self:
        """Fit members so large or small that their squares are beyond a float, in units in which they are about one."""
        fitted = self.fit(in_units(members, unit), noise, rng)
        evidence = fitted.leave_one_out() - log_jacobian(members, unit)
        return replace(fitted, unit=unit, member_evidence=evidence)

    def latent(self, objects: Measurements, *, n_threads: int = 1) -> LatentLikelihood:
        """Reduce objects to their likelihoods in the class's latent space."""
        return latent_likelihood(
            in_units(objects, self.unit), self.factor, self.noise, self.density, n_threads=n_threads
        )

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.density is not None and self.tails is not None, "fit first"
        widths = self.tails.log_evidence_by_width(
            in_units(objects, self.unit), self.factor, self.density, self.noise, n_threads=n_threads
        )
        evidence = self.tails.combine(widths)
        return self.in_their_units(evidence, objects)

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
            density=density.with_gaussian_dimensions(1),
        )

    def calibrated_log_evidence(
        self, objects: Measurements, widths: GainOffset, *, n_threads: int = 1
    ) -> FloatArray:
        assert self.density is not None and self.tails is not None, "fit first"
        own, factor = in_units(objects, self.unit), self.factor
        scaled = GainOffset(widths.gain, widths.offset / self.unit)
        columns = [
            factor_log_evidence(
                own, factor.widened(extra), self.density, self.noise, scaled, n_threads=n_threads
            )
            for extra in self.tails.variances
        ]
        evidence = self.tails.combine(np.column_stack(columns))
        return self.in_their_units(evidence, objects)

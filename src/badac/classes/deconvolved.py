"""A class in few columns: a mixture of full-rank Gaussians, deconvolved from the members' noise (extreme deconvolution).

    y_true ~ sum_k w_k N(v_k , T_k),     d | y_true ~ N(y_true , Sigma_d),     T_k any covariance (m, m)

Bovy, Hogg & Roweis (2011). In two to eight columns (colours, say) a class may have any shape, and no direction of it is left
to a remainder as in `badac.classes.population`. The EM is that of `badac.latent.mixture`, from k-means++ starts in
coordinates in which the class is about ``N(0, I)``, so that units and correlations of the columns do not matter.

How many components: mixtures of 1, 2, 3, 4, 6, ... are learned without a part of the members, and those held-out members weigh
them (stacking of densities: Yao et al. 2018). The class is the weighted sum of the sizes, which is a mixture again. Gaps,
error bars, covariances of each object and noise of other kinds are those of `badac.latent`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from badac.classes.latent_class import LatentClass
from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.classes.moving import move_columns, nearest
from badac.classes.population.gaussian_members import as_gaussian
from badac.classes.population.gross_outliers import gross_outliers, without
from badac.classes.population.rank import repeated
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian, unit_of
from badac.latent.component_sizes import Sizes, weigh_sizes
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.gain_offset import GainOffset, factor_log_evidence
from badac.latent.gaussian_approximation import (
    gaussian_approximation,
    is_plain,
    latent_likelihood,
    link_scales,
    with_noise_scale,
)
from badac.latent.likelihood import sums_of_values
from badac.latent.mixture import BROAD_WIDTH, Mixture
from badac.latent.moments import Spectrum, seen_clearly
from badac.noise.kinds import LATENT_NOISE, NoiseKind
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

MOST_COLUMNS = 8  # of a candidate of "auto": full covariances of more ask for more members than classes have
_COLUMNS = 30  # by cost: the latent kernels grow as the cube
_EM_STEPS = 8  # of the Gaussian that gives the coordinates: they need not be exact
_LEAST_WIDTH = (
    1e-3  # of a component, in units of the class's own: what is exact must not become a delta function
)


@registered("class_model", "mixture")
@dataclass(frozen=True, eq=False)
class DeconvolvedMixture(LatentClass):
    """A class as a deconvolved mixture of full-rank Gaussians, for few columns.

    Parameters
    ----------
    most_components : int
        Of a single mixture; their number is chosen by held-out evidence.

    Attributes
    ----------
    mean, psi : (m,)
        After `fit`: where the coordinates of the mixture begin, and the variance of its sharpest component.
    factors : (m, m)
        ``y_true = mean + factors z``.
    density : Mixture
        Of ``z``.
    sizes : Sizes
        Numbers of components that were tried, with their weights and held-out evidence.
    member_evidence : (k,)
        Log evidence of each member under the class learned from others.
    noise : Noise
    unit : float
        Of mean and factors: 1 unless the squares of the values are beyond a float.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import DeconvolvedMixture
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> stars = Measurements(rng.standard_normal((200, 2)) * [1.0, 0.1] + 0.3 * rng.standard_normal((200, 2)), 0.3)
    >>> model = DeconvolvedMixture().fit(stars, Gaussian(), rng)
    >>> inside, outside = model.log_evidence(Measurements([[1.0, 0.0], [0.0, 1.0]], 0.01))
    >>> bool(inside > outside)  # the class is narrow in its second column, though its members scatter by 0.3 there
    True
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = LATENT_NOISE
    # A covariance that all members share is learned with the components, not added.
    learns_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.COVARIANCE})
    by_column: ClassVar[bool] = True

    most_components: int = 32
    mean: FloatArray | None = None
    factors: FloatArray | None = None
    psi: FloatArray | None = None
    density: Mixture | None = None
    sizes: Sizes | None = None
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
        refuse_own_points(members, "DeconvolvedMixture")
        check_noise_taken(self, noise, members)
        if members.n_points > _COLUMNS:
            raise ValueError(
                f"DeconvolvedMixture has full covariances and takes up to {_COLUMNS} columns: got {members.n_points}. "
                'Use class_model="population", which learns the few directions that matter.'
            )
        unit = unit_of(members)
        if unit != 1.0:
            fitted = self.fit(in_units(members, unit), noise, rng)
            evidence = fitted.leave_one_out() - log_jacobian(members, unit)
            return replace(fitted, unit=unit, member_evidence=evidence)
        # By what the members are, not by where they stand: every choice by chance is then the same in any order.
        order = np.argsort(sums_of_values(members), kind="stable")
        members = members[order]
        trusted = without(members, gross_outliers(members) if is_plain(noise) else None)
        scales = TrainingScales.of(members) if scales is None else scales
        scales = link_scales(members, noise, seen_clearly(scales, trusted))
        gaussian = as_gaussian(trusted, noise, scales, rng, rank=members.n_points - 1)[0]
        factor = coordinates(gaussian, scales)
        learned_from = gaussian
        if not is_plain(noise):
            learned_from = gaussian_approximation(members, factor, noise).objects
        sizes, density, held_out = weigh_sizes(factor.project(learned_from), rng, most=self.most_components)
        n = members.n_objects
        density = density.with_one_more(n)
        if is_plain(noise):
            # The same broad component; the members' gross outliers are asked about as they are.
            broad = Mixture.standard(factor.rank).with_broad(1.0, BROAD_WIDTH)
            far = broad.log_evidence(factor.project(with_noise_scale(members, noise)))
            evidence = np.logaddexp(held_out + np.log1p(-1.0 / (n + 2.0)), far - np.log(n + 2.0))
        else:
            found = gaussian_approximation(members, factor, noise, density=density)
            evidence = held_out + found.log_constant
        return replace(
            self,
            mean=factor.mean,
            factors=factor.factors,
            psi=factor.psi,
            density=density,
            sizes=sizes,
            member_evidence=evidence[np.argsort(order)] if n > 1 else np.array([-np.inf]),
            noise=noise,
        )

    def refit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self | None:
        """Return the mixture of other members (k, m) with its sizes as they are."""
        if self.sizes is None or members.n_objects < 2:
            return None
        if self.unit != 1.0:
            fitted = replace(self, unit=1.0).refit(in_units(members, self.unit), noise, rng)
            return None if fitted is None else replace(fitted, unit=self.unit)
        members = members[np.argsort(sums_of_values(members), kind="stable")]
        trusted = without(members, gross_outliers(members) if is_plain(noise) else None)
        scales = TrainingScales.of(members) if scales is None else scales
        scales = link_scales(members, noise, seen_clearly(scales, trusted))
        gaussian = with_noise_scale(trusted, noise)
        if not is_plain(noise):
            gaussian = gaussian_approximation(trusted, self.factor, noise, density=self.density).objects
        factor = coordinates(gaussian, scales)
        density = self.sizes.learn(factor.project(gaussian), rng)
        density = density.with_one_more(members.n_objects)
        found = replace(self, mean=factor.mean, factors=factor.factors, psi=factor.psi)
        return replace(found, density=density, member_evidence=None, noise=noise)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.density is not None, "fit first"
        own = in_units(objects, self.unit)
        latent = latent_likelihood(own, self.factor, self.noise, self.density, n_threads=n_threads)
        evidence = self.density.log_evidence(latent, n_threads=n_threads)
        return self.in_their_units(evidence, objects)

    def moved(self, at: FloatArray, by: float) -> Self:
        if by == 0:
            return self
        factor, density = self.factor, self.density
        assert density is not None
        moved, missing = move_columns(np.column_stack([factor.mean, factor.factors]), at, by)
        return replace(
            self,
            mean=moved[:, 0],
            factors=np.column_stack([moved[:, 1:], missing]),
            psi=nearest(factor.psi, at, by),
            density=density.with_gaussian_dimensions(1),
        )

    def calibrated_log_evidence(
        self, objects: Measurements, widths: GainOffset, *, n_threads: int = 1
    ) -> FloatArray:
        assert self.density is not None, "fit first"
        scaled = GainOffset(widths.gain, widths.offset / self.unit)
        own = in_units(objects, self.unit)
        evidence = factor_log_evidence(
            own, self.factor, self.density, self.noise, scaled, n_threads=n_threads
        )
        return self.in_their_units(evidence, objects)


def coordinates(members: Measurements, scales: TrainingScales) -> Factor:
    """Return the coordinates in which Gaussian members (k, m) are about ``N(0, I)``, their noise removed: full rank.

    A Gaussian is learned through the noise (`badac.latent.factor`), and its covariance becomes the factors.
    """
    m = members.n_points
    rank = min(m - 1, members.n_objects // 3)
    found = Spectrum.of(members, scales, rank).factor(rank)
    if rank > 0:
        found = expectation_maximisation(members, found, scales, max_steps=_EM_STEPS)
    covariance = found.factors @ found.factors.T + np.diag(found.psi)
    factors = np.asarray(np.linalg.cholesky(covariance + np.diag(1e-9 * scales.scale**2)), dtype=np.float64)
    least = _LEAST_WIDTH**2 * np.diagonal(covariance)
    return Factor(found.mean, factors, least + repeated(members, scales))

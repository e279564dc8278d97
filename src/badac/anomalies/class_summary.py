"""What the hypotheses know of each class: a Gaussian factor model and the shape of the population in its latent space.

    y_true = mean + factors z + eps,   z ~ sum_c w_c N(v_c , T_c),   eps ~ N(0, diag psi)

An anomaly is measured against this description, in numerator and denominator alike, so that the object's noise cancels
in the Bayes factor whatever the class model is. A population class model is its own description; for any other class
model (the exact instances, a template, ...) one is learned from the members.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from badac._kernels import latent_log_evidence, latent_log_match, latent_without
from badac._kernels.latent import Components
from badac.anomalies.model import FloatArray
from badac.classes.auto import Auto
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import (
    gaussian_approximation,
    is_plain,
    latent_likelihood,
    with_noise_scale,
)
from badac.latent.likelihood import LatentLikelihood, products, project, weighted_residuals
from badac.latent.mixture import Mixture, deconvolve, logsumexp_rows, start_mixture
from badac.noise.model import Noise
from badac.noise.widths import stand_in
from badac.nuisance.model import active, innermost
from badac.training import TrainingScales

_MEMBERS_PER_COMPONENT = 20
_MOST_COMPONENTS = 16
# A rare member of the class is rare, not impossible.
_BROAD_WIDTH = 3.0


@dataclass(frozen=True, eq=False)
class Described:
    """One class as its factor model and the mixture of its members in the latent space."""

    factor: Factor
    mixture: Mixture
    noise: Noise

    @cached_property
    def components(self) -> Components:
        """The components of the mixture, as the kernels take them."""
        return self.mixture.components()

    def log_match(self, latent: LatentLikelihood) -> FloatArray:
        """Return (n, k): log of weight times match with every component, the offset not included."""
        return latent_log_match(latent.precision, latent.shift, self.components)

    def log_evidence(self, latent: LatentLikelihood) -> FloatArray:
        """Return (n,): log P(d | class) of objects with these latent likelihoods."""
        matched = latent_log_evidence(latent.precision, latent.shift, self.components)
        return np.asarray(matched - 0.5 * latent.offset)


def describe(
    model: ClassModel,
    members: Measurements,
    noise: Noise,
    rng: np.random.Generator,
    scales: TrainingScales,
) -> Described:
    """Take the description from a class model that has one, or learn it from the members.

    Objects of a class with a nuisance may come with one each: the description is learned from members spoiled at random. Noise
    of a form that only its matches know is described by the mixture of widths that comes closest (`badac.noise.widths`).
    """
    noise = stand_in(noise, members)
    at_work = active(model)
    for wrapper in at_work:
        members = wrapper.spoiled(members, rng)
    model = Population() if at_work else innermost(model)
    chosen = model.chosen if isinstance(model, Auto) else model
    population = chosen if isinstance(chosen, Population) else Population()
    if population.density is None:
        population = population.fit(members, noise, rng, scales)
    factor, density = population.factor, population.density
    if not isinstance(density, Mixture):
        density = few_components(members, factor, noise, rng)
    return Described(factor, density, noise)


def few_components(members: Measurements, factor: Factor, noise: Noise, rng: np.random.Generator) -> Mixture:
    """Return a small mixture for a class whose latent density is one curve per member: every hypothesis visits them all."""
    count = min(_MOST_COMPONENTS, members.n_objects // _MEMBERS_PER_COMPONENT)
    latent = latent_likelihood(members, factor, noise)
    mixture = Mixture.standard(factor.rank)
    if count > 1:
        mixture = deconvolve(latent, start_mixture(latent, count, rng))
    return mixture.with_broad(1.0 / (members.n_objects + 2.0), _BROAD_WIDTH)


def gaussian_objects(
    objects: Measurements, factor: Factor, noise: Noise, density: Mixture | None = None
) -> tuple[Measurements, FloatArray]:
    """Return objects with Gaussian errors that stand for these under the factor model, and log constants (n,).

    The constants are right under `density`, as those of the class's own evidence are, so that they cancel in a ratio.
    """
    if is_plain(noise):
        return with_noise_scale(objects, noise), np.zeros(objects.n_objects)
    sites = gaussian_approximation(objects, factor, noise, density=density)
    return sites.objects, sites.log_constant


@dataclass(frozen=True, eq=False)
class View:
    """A block of objects as one class sees them.

    Attributes
    ----------
    objects : Measurements
        (n, m), as they were measured.
    described : Described
        The class.
    log_prior : float
        Of the class among the known ones.
    """

    objects: Measurements
    described: Described
    log_prior: float

    @cached_property
    def gaussian(self) -> tuple[Measurements, FloatArray]:
        """Objects with Gaussian errors that stand for these if they belong to the class, and log constants (n,)."""
        described = self.described
        return gaussian_objects(self.objects, described.factor, described.noise, described.mixture)

    @cached_property
    def weighed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Precision of each point and that times its residual (n, m), both 0 where missing, and offsets (n,)."""
        factor = self.described.factor
        return weighted_residuals(self.gaussian[0], factor.mean, factor.psi)

    @cached_property
    def latent(self) -> LatentLikelihood:
        """Latent likelihoods of the objects under the class alone."""
        factor = self.described.factor
        gaussian, constant = self.gaussian
        if gaussian.covariance is None:
            latent = seen_through(*self.weighed, factor.factors)
        else:
            latent = project(gaussian, factor.mean, factor.factors, factor.psi)
        return LatentLikelihood(latent.precision, latent.shift, latent.offset - 2.0 * constant)

    @cached_property
    def log_match(self) -> FloatArray:
        """(n, components): log of weight times match with every component of the class, the offset not included."""
        return self.described.log_match(self.latent)

    @cached_property
    def log_evidence(self) -> FloatArray:
        """(n,): log P(object | class)."""
        return logsumexp_rows(self.log_match) - 0.5 * self.latent.offset

    def take(self, rows: npt.NDArray[np.int64]) -> View:
        """Return the view of some of the objects, with what is known of them already."""
        part = View(self.objects[rows], self.described, self.log_prior)
        gaussian, constant = self.gaussian
        part.__dict__["gaussian"] = gaussian[rows], constant[rows]
        part.__dict__["latent"], part.__dict__["log_match"] = self.latent[rows], self.log_match[rows]
        if gaussian.covariance is None:
            weight, scaled, offset = self.weighed
            part.__dict__["weighed"] = weight[rows], scaled[rows], offset[rows]
        return part


def seen_through(
    weight: FloatArray, scaled: FloatArray, offset: FloatArray, factors: FloatArray
) -> LatentLikelihood:
    """Latent likelihoods in the factors (m, r), as `badac.latent.likelihood.project`, from `weighted_residuals`.

    For objects that are looked at through several sets of factors with the same mean and psi.
    """
    return LatentLikelihood(weight @ products(factors), scaled @ factors, offset)


def without(latent: LatentLikelihood, amplitude: FloatArray, rest: int = 0) -> LatentLikelihood:
    """Integrate the first q latent dimensions over N(0, diag amplitude^2) and keep the likelihood of the last `rest`.

    Parameters
    ----------
    latent : Latent
        n objects in q + r dimensions or more; those in between are fixed at 0.
    amplitude : (n, q)
        Prior standard deviations of the first q.
    rest : int
        r

    Returns
    -------
    Latent
        In r dimensions.
    """
    chosen = np.concatenate([np.arange(amplitude.shape[1]), np.arange(latent.rank - rest, latent.rank)])
    return LatentLikelihood(*latent_without(latent.precision, latent.shift, latent.offset, amplitude, chosen))

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

from badac._kernels.latent import unpack
from badac.anomalies.model import FloatArray
from badac.classes.auto import Auto
from badac.classes.factor import Factor
from badac.classes.latent import Latent, project
from badac.classes.mixture import Mixture, deconvolve, logsumexp_rows, start_mixture
from badac.classes.model import ClassModel, Surroundings
from badac.classes.population import Population
from badac.classes.sites import believed, gaussian_sites, is_plain, see
from badac.data.measurements import Measurements
from badac.noise.model import Noise

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


def describe(
    model: ClassModel,
    members: Measurements,
    noise: Noise,
    rng: np.random.Generator,
    around: Surroundings,
) -> Described:
    """Take the description from a class model that has one, or learn it from the members."""
    chosen = model.chosen if isinstance(model, Auto) else model
    population = chosen if isinstance(chosen, Population) else Population()
    if population.density is None:
        population = population.fit(members, noise, rng, around)
    factor, density = population.factor, population.density
    if not isinstance(density, Mixture):
        density = few_components(members, factor, noise, rng)
    return Described(factor, density, noise)


def few_components(members: Measurements, factor: Factor, noise: Noise, rng: np.random.Generator) -> Mixture:
    """Return a small mixture for a class whose latent density is one curve per member: every hypothesis visits them all."""
    count = min(_MOST_COMPONENTS, members.n_objects // _MEMBERS_PER_COMPONENT)
    latent = see(members, factor, noise)
    mixture = Mixture.standard(factor.rank)
    if count > 1:
        mixture = deconvolve(latent, start_mixture(latent, count, rng))
    return mixture.with_broad(1.0 / (members.n_objects + 2.0), _BROAD_WIDTH)


def gaussian_objects(objects: Measurements, factor: Factor, noise: Noise) -> tuple[Measurements, FloatArray]:
    """Return objects with Gaussian errors that stand for these under the factor model, and log constants (n,)."""
    if is_plain(noise):
        return believed(objects, noise), np.zeros(objects.n_objects)
    sites = gaussian_sites(objects, factor, noise)
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
        return gaussian_objects(self.objects, self.described.factor, self.described.noise)

    @cached_property
    def latent(self) -> Latent:
        """Latent likelihoods of the objects under the class alone."""
        factor = self.described.factor
        gaussian, constant = self.gaussian
        latent = project(gaussian, factor.mean, factor.factors, factor.psi)
        return Latent(latent.precision, latent.shift, latent.offset - 2.0 * constant)

    @cached_property
    def log_match(self) -> FloatArray:
        """(n, components): log of weight times match with every component of the class, the offset not included."""
        return self.described.mixture.log_match(self.latent)

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
        return part


def without(columns: int, latent: Latent, amplitude: FloatArray) -> Latent:
    """Integrate the first `columns` latent dimensions over N(0, diag amplitude^2) and keep the likelihood of the others.

    Parameters
    ----------
    columns : int
        q, number of dimensions to integrate.
    latent : Latent
        n objects in q + r dimensions.
    amplitude : (n, q) or (q,)
        Prior standard deviations of the first q.

    Returns
    -------
    Latent
        In the other r dimensions; r may be 0.
    """
    full = unpack(latent.precision)
    n, size = latent.shift.shape
    scale = np.ones((n, size))
    scale[:, :columns] = amplitude
    # One Cholesky factor of [[I + P, b], [b', c]] holds everything: its last row is L^-1 b, its last block the Schur
    # complement. Any c that keeps it positive will do; it drops out.
    bordered = np.empty((n, size + 1, size + 1))
    bordered[:, :size, :size] = full * scale[:, :, None] * scale[:, None, :]
    bordered[:, size, :size] = bordered[:, :size, size] = shift = latent.shift * scale
    diagonal = np.arange(size)
    bordered[:, diagonal, diagonal] += 1.0
    bordered[:, size, size] = (shift**2).sum(axis=1) + 1.0
    lower = np.linalg.cholesky(bordered)
    pivots = np.diagonal(lower, axis1=1, axis2=2)[:, :columns]
    offset = latent.offset + 2.0 * np.log(pivots).sum(axis=1) - (lower[:, size, :columns] ** 2).sum(axis=1)
    rest = lower[:, columns:size, columns:size]
    schur = rest @ rest.transpose(0, 2, 1)
    rows, right = np.triu_indices(size - columns)
    precision = schur[:, rows, right] - (rows == right)
    return Latent(precision, (rest @ lower[:, size, columns:size, None])[..., 0], offset)

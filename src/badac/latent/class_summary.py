"""What a class says of itself beyond its evidence: a Gaussian factor model and the shape of its members in the latent space.

    y_true = mean + factors z + eps,   z ~ sum_c w_c N(v_c , T_c),   eps ~ N(0, diag psi)

Whoever needs more of a class than ``P(d | class)`` (the anomaly hypotheses, `badac.explain`, a stream of new classes) takes
this summary: `badac.classes.model.summary_of` asks the class model for it. It is given at the points of the training
objects' common grid; a class that can be asked at any points is a `badac.latent.process_summary.ProcessSummary`.

What an object should have looked like is the posterior of its true values under the class (`reconstruct`),

    E[y_true | d] = mean + factors E[z | d] + psi / (psi + sigma^2) * (d - mean - factors E[z | d])

with the latent position averaged over the components of the density. Where the object has no value the second term is absent
and the class fills the gap, with the larger sigma that this deserves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from badac._kernels import IntArray, latent_log_evidence, latent_log_match, latent_responsible, row_products
from badac._kernels.hypotheses import GridPoints
from badac._kernels.latent import Components, products
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import gaussian_approximation, is_plain, with_noise_scale
from badac.latent.likelihood import LatentLikelihood, blocks, project, weigh, weighted_residuals
from badac.latent.mixture import Mixture
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import FloatArray

# Components of a class that are named as responsible for an object while its evidence is computed.
NAMED = 2


@registered("part", holds={"factor.rank": "r", "density.rank": "r"})
@dataclass(frozen=True, eq=False)
class ClassSummary:
    """One class as its factor model and the density of its members in the latent space.

    Attributes
    ----------
    factor : Factor
        Mean (m,), factors (m, r) and psi (m,).
    density : LatentDensity
        Of the latent positions (r,).
    noise : Noise
        Of the objects that are compared with the class.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.anomalies import ClassSummary
    >>> from badac.latent import Factor, Mixture
    >>> from badac.noise import Gaussian
    >>> factor = Factor(np.zeros(3), np.ones((3, 1)), np.full(3, 0.01))
    >>> summary = ClassSummary(factor, Mixture.standard(1), Gaussian())
    >>> near, far = summary.log_evidence(factor.project(Measurements([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]], 0.1)))
    >>> bool(near > far)
    True
    """

    factor: Factor
    density: LatentDensity
    noise: Noise
    form: ClassVar[Literal["on a grid"]] = "on a grid"

    @cached_property
    def mixture(self) -> Mixture:
        """The density itself, or a mixture of few components near it."""
        return self.density.proposal()

    @cached_property
    def components(self) -> Components:
        """The components of the mixture, as the kernels take them."""
        return self.mixture.components()

    @cached_property
    def products(self) -> FloatArray:
        """(m, p): the packed outer products of the factors, one row a point."""
        return products(self.factor.factors)

    def responsible(
        self, latent: LatentLikelihood, *, n_threads: int = 1
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return (n,) the log of the sum of the matches, and which components (n, `NAMED` or fewer) match best, how well."""
        return latent_responsible(latent.precision, latent.shift, self.components, NAMED, n_threads=n_threads)

    def log_match(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n, k): log of weight times match with every component, the offset not included."""
        return latent_log_match(latent.precision, latent.shift, self.components, n_threads=n_threads)

    def log_evidence(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d | class) of objects with these latent likelihoods."""
        matched = latent_log_evidence(latent.precision, latent.shift, self.components, n_threads=n_threads)
        return np.asarray(matched - 0.5 * latent.offset)


def gaussian_objects(
    objects: Measurements, factor: Factor, noise: Noise, density: Mixture | None = None
) -> tuple[Measurements, FloatArray]:
    """Return objects with Gaussian errors that stand for these under the factor model, and log constants (n,).

    The constants are right under `density`, as those of the class's own evidence are, so that they cancel in a ratio.
    """
    if is_plain(noise):
        return with_noise_scale(objects, noise), np.zeros(objects.n_objects)
    under = Mixture.standard(factor.rank) if density is None else density
    found = gaussian_approximation(objects, factor, noise, density=under)
    return found.objects, found.log_constant


@dataclass(frozen=True, eq=False)
class ObjectsUnderClass:
    """A block of objects as one class sees them. What is asked for twice is computed once.

    Attributes
    ----------
    among : Measurements
        (N, m), as they were measured.
    summary : ClassSummary
        The class.
    log_prior : float
        Of the class among the known ones.
    n_threads : int
        For the kernels; changes no number.
    rows : (n,), optional
        Which of them are meant; all if not given.
    whole : ObjectsUnderClass, optional
        All of them under the class, where `rows` are some: what is known of all is not computed again.
    """

    among: Measurements
    summary: ClassSummary
    log_prior: float = 0.0
    n_threads: int = 1
    rows: IntArray | None = None
    whole: ObjectsUnderClass | None = None

    @property
    def _some(self) -> IntArray:
        """Rows of `whole`, where these are some of them."""
        assert self.rows is not None
        return self.rows

    @cached_property
    def objects(self) -> Measurements:
        """(n, m): the objects that are meant; a copy of some is made when it is asked for, which the hypotheses seldom do."""
        return self.among if self.rows is None else self.among[self.rows]

    @cached_property
    def correlated(self) -> bool:
        """Whether the objects' errors are correlated."""
        return (self.whole or self).gaussian[0].covariance is not None

    @cached_property
    def log_constant(self) -> FloatArray:
        """(n,): the constants of `gaussian`."""
        return self.gaussian[1] if self.whole is None else self.whole.gaussian[1].take(self._some)

    @cached_property
    def gaussian(self) -> tuple[Measurements, FloatArray]:
        """Objects with Gaussian errors that stand for these if they belong to the class, and log constants (n,)."""
        if self.whole is not None:
            found, constant = self.whole.gaussian
            return self.objects if found is self.among else found[self._some], constant.take(self._some)
        return gaussian_objects(self.objects, self.summary.factor, self.summary.noise, self.summary.mixture)

    @cached_property
    def weighed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Precision of each point and that times its residual (n, m), both 0 where missing, and offsets (n,)."""
        factor = self.summary.factor
        return weighted_residuals(self.gaussian[0], factor.mean, factor.psi, n_threads=self.n_threads)

    @cached_property
    def points(self) -> GridPoints:
        """The objects around the mean of the class, as the kernels of the hypotheses take them; no copy of some is made."""
        if self.whole is not None:
            return self.whole.points._replace(rows=self._some)
        objects, factor = self.gaussian[0], self.summary.factor
        every = np.arange(objects.n_objects)
        return GridPoints(objects.values, objects.sigma, factor.mean, factor.psi, every)

    def through(self, factors: FloatArray, outer: FloatArray | None = None) -> LatentLikelihood:
        """Return the latent likelihoods in factors (m, q) in place of the class's own, without the constants.

        ``outer``, their packed products (`badac._kernels.latent.products`), is worked out unless it is given.
        """
        if not self.correlated:
            weight, scaled, offset = self.weighed
            return LatentLikelihood(
                row_products(weight, products(factors) if outer is None else outer),
                row_products(scaled, factors),
                offset,
            )
        gaussian, factor = self.gaussian[0], self.summary.factor
        return project(gaussian, factor.mean, factors, factor.psi, n_threads=self.n_threads)

    @cached_property
    def latent(self) -> LatentLikelihood:
        """Latent likelihoods of the objects under the class alone."""
        if self.whole is not None:
            known = self.whole.latent
            return LatentLikelihood(*_taken(self._some, known.precision, known.shift, known.offset))
        factor = self.summary.factor
        if self.correlated or "weighed" in self.__dict__:
            latent = self.through(factor.factors, self.summary.products)
        else:
            latent = factor.project(self.gaussian[0], n_threads=self.n_threads)
        if is_plain(self.summary.noise):
            return latent
        return LatentLikelihood(latent.precision, latent.shift, latent.offset - 2.0 * self.log_constant)

    @cached_property
    def responsible(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """The log of the sum of the matches (n,), which components (n, `NAMED` or fewer) match best, and how well."""
        if self.whole is not None:
            total, which, match = self.whole.responsible
            return total.take(self._some), which.take(self._some, axis=0), match.take(self._some, axis=0)
        return self.summary.responsible(self.latent, n_threads=self.n_threads)

    @cached_property
    def log_match(self) -> FloatArray:
        """(n, components): log of weight times match with every component of the class, the offset not included."""
        return self.summary.log_match(self.latent, n_threads=self.n_threads)

    @cached_property
    def log_evidence(self) -> FloatArray:
        """(n,): log P(object | class)."""
        if self.whole is not None:
            return self.whole.log_evidence.take(self._some)
        return self.responsible[0] - 0.5 * self.latent.offset

    def take(self, rows: npt.NDArray[np.int64]) -> ObjectsUnderClass:
        """Return some of the objects under the class; what is known of all of them is not computed again."""
        all_rows = rows if self.rows is None else self.rows[rows]
        return ObjectsUnderClass(
            self.among, self.summary, self.log_prior, self.n_threads, all_rows, self.whole or self
        )


def _taken(rows: IntArray, *arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Return rows of each array: `take` costs half of an index, of a narrow array an eighth."""
    return tuple(array.take(rows, axis=0) for array in arrays)


def reconstruct(objects: Measurements, factor: Factor, density: LatentDensity) -> Measurements:
    """Return the posterior mean and standard deviation of the objects' true values (n, m) as measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, Mixture, reconstruct
    >>> factor = Factor(np.zeros(3), np.ones((3, 1)), np.full(3, 1e-6))
    >>> found = reconstruct(Measurements([[1.0, 1.0, np.nan]], 0.1), factor, Mixture.standard(1))
    >>> found.values.round(2)  # the missing point is where the others put it
    array([[1., 1., 1.]])
    """
    values, sigma = np.empty(objects.shape), np.empty(objects.shape)
    outer = products(factor.factors) * np.where(np.equal(*np.triu_indices(factor.rank)), 1.0, 2.0)
    rows, columns = np.triu_indices(factor.rank)
    for block in blocks(objects):
        part = objects[block]
        position, covariance = density.posterior(factor.project(part))
        weight, residual = weigh(part, factor.mean, factor.psi)
        common = position @ factor.factors.T
        # With correlated errors the diagonal stands in for the covariance in this last step.
        share = factor.psi * weight
        values[block] = factor.mean + common + share * (residual - common)
        uncertain = covariance[:, rows, columns] @ outer.T
        sigma[block] = np.sqrt(np.maximum((1.0 - share) ** 2 * uncertain + factor.psi * (1.0 - share), 0.0))
    return Measurements(values, sigma, at=objects.at)


def reconstructed_values(objects: Measurements, factor: Factor, density: LatentDensity) -> FloatArray:
    """Return the values (n, m) of `reconstruct`, in half of its time."""
    values = np.empty(objects.shape)
    for block in blocks(objects):
        part = objects[block]
        common = density.position(factor.project(part)) @ factor.factors.T
        weight, residual = weigh(part, factor.mean, factor.psi)
        values[block] = factor.mean + common + factor.psi * weight * (residual - common)
    return values

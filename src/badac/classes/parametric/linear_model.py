"""A class that is linear in its parameters: a design matrix and a Gaussian prior on the coefficients, in closed form.

    y = X(at) c + eps,   c ~ N(mean, covariance),   eps ~ N(0, sigma_*^2)
    P(d | class) = N(d ; X mean , X covariance X' + sigma_*^2 I + Sigma_d)

Polynomials, harmonics of a known period, templates with uncertain amplitudes, any sum of known shapes. It is the parametric
model (`badac.classes.parametric.parametric`) whose integral needs no points: exact, and as fast as the few coefficients.
Outlier noise, Student-t and counts work as in a population (`badac.latent.gaussian_approximation`); for counts the linear
model is one of log rates or logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from badac._kernels.latent import pack
from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.basis import coordinates
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import is_plain, latent_likelihood, with_noise_scale
from badac.latent.likelihood import LatentLikelihood, log_determinant
from badac.noise.correlated import Correlated
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales


@registered("class_model")
@dataclass(frozen=True, eq=False)
class LinearModel:
    """A class as a sum of known shapes with uncertain amplitudes.

    Parameters
    ----------
    design : (m, q) array, or callable
        The shapes at the common points; or a function of the coordinates (..., m) that returns (..., m, q), which also
        works for objects with points of their own.
    mean : (q,)
        Prior mean of the coefficients.
    covariance : (q, q), or (q,) for standard deviations
        Their prior covariance.
    sigma_star : float
        Intra-class standard deviation of every point.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import LinearModel
    >>> from badac.noise import Gaussian
    >>> def line(at):
    ...     return np.stack([np.ones_like(at), at], axis=-1)
    >>> at = np.linspace(0, 1, 20)
    >>> star = Measurements([1 + 2 * at], 0.1, at=at)
    >>> model = LinearModel(line, mean=[0, 0], covariance=[3, 3]).fit(star, Gaussian(), np.random.default_rng(0))
    >>> model.estimate(star).values.round(1)
    array([[1., 2.]])
    """

    design: FloatArray | Callable[[FloatArray], FloatArray]
    mean: Any
    covariance: Any
    sigma_star: float = 0.0
    noise: Noise | None = None
    members: Measurements | None = None

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        """Return a copy that knows the noise; nothing is learned from the members."""
        mean = np.asarray(self.mean, dtype=np.float64)
        covariance = np.asarray(self.covariance, dtype=np.float64)
        if covariance.ndim == 1:
            covariance = np.diag(covariance**2)
        if mean.ndim != 1 or covariance.shape != (mean.size, mean.size):
            raise ValueError(
                f"`mean` must be (q,) and `covariance` (q, q) or (q,) standard deviations: got {mean.shape} and "
                f"{np.shape(self.covariance)}."
            )
        return replace(self, mean=mean, covariance=covariance, noise=noise, members=members)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        del n_threads
        return self.latent(objects).gaussian_log_evidence()

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Return (k,): the log evidence of the members; none of them was learned from."""
        assert self.members is not None, "fit first"
        return self.log_evidence(self.members, n_threads=n_threads)

    def estimate(self, objects: Measurements) -> Measurements:
        """Return (n, q): the coefficients of each object as a member of the class, with their covariance."""
        position, covariance = self.latent(objects).posterior
        root = self._root()
        return Measurements(self.mean + position @ root.T, covariance=root @ covariance @ root.T)

    def latent(self, objects: Measurements) -> LatentLikelihood:
        """Reduce objects to likelihoods of ``z``, with ``c = mean + root z`` and ``z ~ N(0, I)``."""
        assert self.noise is not None, "fit first"
        if isinstance(self.noise, Correlated):
            objects = self.noise.with_covariance(objects)
        if objects.own_points:
            return self._of_own_points(objects)
        shapes = self._shapes(coordinates(objects[:1])[0])
        psi = np.full(objects.n_points, self.sigma_star**2)
        return latent_likelihood(objects, Factor(shapes @ self.mean, shapes @ self._root(), psi), self.noise)

    def _of_own_points(self, objects: Measurements) -> LatentLikelihood:
        assert self.noise is not None
        if objects.covariance is not None or not is_plain(self.noise):
            raise ValueError(
                "a LinearModel of objects with points of their own takes independent Gaussian errors only: got "
                f"{objects!r} with {self.noise!r}. Use badac.classes.Parametric."
            )
        objects = with_noise_scale(objects, self.noise)
        seen = objects.observed
        shapes = self._shapes(np.where(seen, coordinates(objects), 0.0))
        weight = np.where(seen, 1.0 / (np.where(seen, objects.sigma, 1.0) ** 2 + self.sigma_star**2), 0.0)
        residual = np.where(seen, objects.values - shapes @ self.mean, 0.0)
        factors = shapes @ self._root()
        scaled = weight * residual
        precision = np.einsum("nm,nma,nmb->nab", weight, factors, factors, optimize=True)
        offset = np.einsum("nm,nm->n", scaled, residual) + log_determinant(weight)
        return LatentLikelihood(pack(precision), np.einsum("nm,nma->na", scaled, factors), offset)

    def _shapes(self, at: FloatArray) -> FloatArray:
        found = np.asarray(self.design(at) if callable(self.design) else self.design, dtype=np.float64)
        expected = (*at.shape, np.size(self.mean))
        if found.shape != expected:
            raise ValueError(
                f"`design` must give the shapes at the points, {expected}: got {found.shape}. "
                "A function works for any points; an array only for a common grid."
            )
        return found

    def _root(self) -> FloatArray:
        # By eigenvalues: a coefficient may be known exactly.
        values, vectors = np.linalg.eigh(self.covariance)
        if values[0] < -1e-10 * max(values[-1], 0.0) or values[-1] < 0:
            raise ValueError(f"`covariance` must have no negative eigenvalue: got {values[0]:.3g}.")
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

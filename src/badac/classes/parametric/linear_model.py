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
from typing import Any, ClassVar, Self

import numpy as np

from badac._kernels.eigen import eigh
from badac.classes.model import FloatArray, check_noise_taken
from badac.data.measurements import Measurements
from badac.latent.basis import coordinates
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import is_plain, latent_likelihood, with_noise_scale
from badac.latent.likelihood import LatentLikelihood, blocks, project_each
from badac.noise.kinds import LATENT_NOISE, NoiseKind, with_covariance_of
from badac.noise.model import Noise, needs_sigma
from badac.registry import registered
from badac.threads import over_blocks
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

    takes_noise: ClassVar[frozenset[NoiseKind]] = LATENT_NOISE

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
        check_noise_taken(self, noise, members)
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

    @property
    def reads_coordinates(self) -> bool:
        """Whether the shapes are a function of the coordinate, and not columns of a grid."""
        return callable(self.design)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        return self.latent(objects, n_threads=n_threads).gaussian_log_evidence(n_threads=n_threads)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Return (k,): the log evidence of the members; none of them was learned from."""
        assert self.members is not None, "fit first"
        return self.log_evidence(self.members, n_threads=n_threads)

    def estimate(self, objects: Measurements) -> Measurements:
        """Return (n, q): the coefficients of each object as a member of the class, with their covariance."""
        position, covariance = self.latent(objects).posterior
        root = self._root()
        return Measurements(self.mean + position @ root.T, covariance=root @ covariance @ root.T)

    def latent(self, objects: Measurements, *, n_threads: int = 1) -> LatentLikelihood:
        """Reduce objects to likelihoods of ``z``, with ``c = mean + root z`` and ``z ~ N(0, I)``."""
        assert self.noise is not None, "fit first"
        objects = with_covariance_of(self.noise, objects)
        if self.sigma_star == 0.0 and needs_sigma(self.noise) and _has_exact_points(objects):
            raise ValueError(
                "a LinearModel without `sigma_star` cannot weigh values without error bars, which no sum of its shapes meets "
                f"exactly: got {objects!r}. Give error bars above 0, or sigma_star > 0."
            )
        if objects.own_points:
            return self._of_own_points(objects, n_threads)
        shapes = self._shapes(coordinates(objects[:1])[0])
        psi = np.full(objects.n_points, self.sigma_star**2)
        factor = Factor(shapes @ self.mean, shapes @ self._root(), psi)
        return latent_likelihood(objects, factor, self.noise, n_threads=n_threads)

    def _of_own_points(self, objects: Measurements, n_threads: int) -> LatentLikelihood:
        assert self.noise is not None
        if objects.covariance is not None or not is_plain(self.noise):
            raise ValueError(
                "a LinearModel of objects with points of their own takes independent Gaussian errors only: got "
                f"{objects!r} with {self.noise!r}. Use badac.classes.Parametric."
            )
        objects = with_noise_scale(objects, self.noise)
        root, at = self._root(), np.where(objects.observed, coordinates(objects), 0.0)
        out = LatentLikelihood.empty(objects.n_objects, len(root))

        def work(rows: slice, _: int) -> None:
            shapes = self._shapes(at[rows])
            out[rows] = project_each(objects[rows], shapes @ self.mean, shapes @ root, self.sigma_star**2)

        over_blocks(work, blocks(objects), n_threads)
        return out

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
        values, vectors = eigh(self.covariance)
        if values[0] < -1e-10 * max(values[-1], 0.0) or values[-1] < 0:
            raise ValueError(f"`covariance` must have no negative eigenvalue: got {values[0]:.3g}.")
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _has_exact_points(objects: Measurements) -> bool:
    return objects.covariance is None and bool((objects.observed & (objects.sigma == 0.0)).any())

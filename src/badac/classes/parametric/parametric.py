"""A class given by a formula: ``y = f(theta, at)`` with a prior on its parameters.

    P(d | class) = integral P(d | f(theta, at)) P(theta | class) dtheta

(the paper's section on parametric models). Use it where theory says what the class looks like: nothing is learned from the
members, the curves may be at any points, and the likelihood is that of whatever noise the objects have. The integral is by
quasi-Monte Carlo from the prior, refined for each object by importance sampling (`badac.classes.parametric.importance`); an
effective sample size comes with it, and a warning where it is low. A class that is linear in its parameters with a Gaussian
prior is better told as `badac.classes.LinearModel`, in closed form.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from badac.classes.model import FloatArray, check_noise_taken
from badac.classes.parametric.climb import LogLikelihood
from badac.classes.parametric.importance import Integral, integrate
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.basis import coordinates
from badac.latent.gain_offset import GainOffset
from badac.noise.kinds import ANY_NOISE, NoiseKind, kind_of
from badac.noise.known_truth import check_has_likelihood, log_likelihood
from badac.noise.model import Noise
from badac.registry import registered
from badac.threads import over_blocks
from badac.training import TrainingScales

_NUMBERS_PER_BLOCK = 1 << 23  # block size: 64 MiB of doubles
_LEAST_SIZE = 50.0  # effective points: the evidence is then known to 1 / sqrt(50) = 0.14 nats
_DRAWS = 8192  # by cost, and stated in the documentation


class LowSampleSizeWarning(UserWarning):
    """The evidence of some objects rests on few points of the parameter space.

    Examples
    --------
    >>> import warnings
    >>> from badac.classes import LowSampleSizeWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", LowSampleSizeWarning)  # stop rather than go on with a rough integral
    >>> issubclass(LowSampleSizeWarning, UserWarning)
    True
    """


@registered("class_model")
@dataclass(frozen=True, eq=False)
class Parametric:
    """A class as a function of parameters with known priors.

    Parameters
    ----------
    function : callable
        ``function(theta, at)``: true values. `theta` unpacks into the p parameters, each an array that broadcasts against
        the coordinates `at`, so that ``a, b = theta; return a * np.sin(b * at)`` is all that is needed. Objects without
        coordinates have the numbers of their points, 0, 1, ...
    prior : sequence of p frozen `scipy.stats` distributions, or callable
        Independent priors of the parameters. Or a sampler ``prior(n, rng)`` that returns (n, p): for parameters that depend on
        each other; the integral is then plain Monte Carlo over 8,192 draws, which nothing can refine.
    sigma_star : float
        Intra-class standard deviation added to every point, for classes that follow the formula only roughly (Gaussian
        noise).
    n_prior, n_refined : int
        Points of the prior and of each object's own proposal; powers of two.

    Attributes
    ----------
    draws : (s, p) or None
        After `fit` with a sampler: what it drew.
    members : Measurements
        After `fit`: only to say what their evidence is.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from badac import Measurements
    >>> from badac.classes import Parametric
    >>> from badac.noise import Gaussian
    >>> def wave(theta, at):
    ...     (frequency,) = theta
    ...     return np.sin(frequency * at)
    >>> at = np.linspace(0, 1, 50)
    >>> star = Measurements([np.sin(6.2 * at)], 0.1, at=at)
    >>> model = Parametric(wave, [norm(5, 2)]).fit(star, Gaussian(), np.random.default_rng(0))
    >>> found = model.estimate(star)
    >>> print(f"{found.values[0, 0]:.2f} +- {found.sigma[0, 0]:.2f}")
    6.20 +- 0.03
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = ANY_NOISE
    reads_coordinates: ClassVar[bool] = True

    function: Callable[[FloatArray, FloatArray], FloatArray]
    prior: Sequence[Any] | Callable[[int, np.random.Generator], FloatArray]
    sigma_star: float = 0.0
    n_prior: int = 1024
    n_refined: int = 512
    noise: Noise | None = None
    draws: FloatArray | None = None
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
        check_has_likelihood(noise)
        if self.sigma_star and kind_of(noise) is not NoiseKind.GAUSSIAN:
            raise ValueError(
                f"`sigma_star` of a parametric class is for Gaussian noise: got {noise!r}. Make the scatter a parameter of "
                "the function instead."
            )
        draws = None
        if callable(self.prior):
            # A stream of its own: how often the class is fitted must not change what it draws.
            draws = np.asarray(self.prior(_DRAWS, np.random.default_rng(0)), dtype=np.float64)
            if draws.ndim != 2 or len(draws) != _DRAWS or not np.isfinite(draws).all():
                raise ValueError(
                    f"the sampler must return finite parameters of shape ({_DRAWS}, p): got shape {draws.shape}."
                )
        else:
            for number, one in enumerate(self.prior):
                if not hasattr(one, "ppf") or not hasattr(one, "isf"):
                    raise ValueError(
                        f"`prior` must hold frozen scipy.stats distributions, e.g. scipy.stats.norm(5, 2): got {one!r} for "
                        f"parameter {number}. Or give a sampler, prior(n, rng) -> (n, p)."
                    )
        return replace(self, noise=noise, draws=draws, members=members)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        found = self.integral(objects, n_threads=n_threads)
        low = (found.effective_size < _LEAST_SIZE) & np.isfinite(found.log_evidence)
        if low.any():
            warnings.warn(
                f"the evidence of {int(low.sum())} of {len(low)} objects under the parametric class "
                f"{getattr(self.function, '__name__', self.function)!s} rests on fewer than {_LEAST_SIZE:g} effective points "
                f"(smallest: {found.effective_size.min():.1f}). Raise n_prior and n_refined"
                + (", or give distributions in place of the sampler." if self.draws is not None else "."),
                LowSampleSizeWarning,
                stacklevel=2,
            )
        return found.log_evidence

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Return (k,): the log evidence of the members; none of them was learned from."""
        assert self.members is not None, "fit first"
        return self.log_evidence(self.members, n_threads=n_threads)

    def calibrated_log_evidence(
        self, objects: Measurements, widths: GainOffset, *, n_threads: int = 1
    ) -> FloatArray | None:
        """With gain and offset as two more parameters; None with a sampler, which knows no others."""
        if callable(self.prior):
            return None
        function = self.function

        def calibrated(theta: FloatArray, at: FloatArray) -> FloatArray:
            return np.asarray(theta[-2] * function(theta[:-2], at) + theta[-1])

        # A width of zero is a distribution as good as none: a hair instead.
        gain, offset = (max(width, 1e-12) for width in widths)
        prior = (*self.prior, norm(1.0, gain), norm(0.0, offset))
        return replace(self, function=calibrated, prior=prior).log_evidence(objects, n_threads=n_threads)

    def integral(self, objects: Measurements, *, n_threads: int = 1) -> Integral:
        """Return log evidence and effective sample size of each object, and where its ``z`` lies.

        With more threads than one the function is called from several of them.
        """
        assert self.noise is not None, "fit first"
        noise = self.noise
        if self.sigma_star:
            objects = with_scatter(objects, self.sigma_star)
        at = np.where(np.isfinite(coordinates(objects)), coordinates(objects), 0.0)
        # One row where all objects have the same points: their curves are then the same too.
        shared = at[:1] if not objects.own_points else None

        def likelihood(rows: IntArray, points: FloatArray) -> FloatArray:
            theta = self.parameters(points)
            if shared is not None:
                truth = self._curves(theta, shared[0])
            else:
                per_object = theta if theta.ndim == 3 else np.broadcast_to(theta, (len(rows), *theta.shape))
                truth = self._curves(per_object, at[rows][:, None, :])
            return log_likelihood(noise, objects[rows], truth)

        if self.draws is not None:
            return self._over_draws(likelihood, objects, n_threads)
        p = len(self.prior)  # type: ignore[arg-type]
        most = max(self.n_refined, self.n_prior if objects.own_points else 1, 128)
        block = int(np.clip(_NUMBERS_PER_BLOCK // (most * max(objects.n_points, 1)), 1, 1024))
        return integrate(
            likelihood,
            (objects.n_objects, p),
            n_prior=self.n_prior,
            n_refined=self.n_refined,
            block=block,
            n_threads=n_threads,
        )

    def estimate(self, objects: Measurements) -> Measurements:
        """Return (n, p): the parameters of each object as a member of the class, with their covariance.

        Through the priors' quantile functions at first order, so exact for normal priors.
        """
        found = self.integral(objects)
        if self.draws is not None:
            return Measurements(found.mean, covariance=found.covariance)
        step = 0.1 * np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2)) + 1e-9
        upper, lower = self.parameters(found.mean + step), self.parameters(found.mean - step)
        slope = (upper - lower) / (2.0 * step)
        covariance = slope[:, :, None] * found.covariance * slope[:, None, :]
        return Measurements(self.parameters(found.mean), covariance=covariance)

    def parameters(self, z: FloatArray) -> FloatArray:
        """Parameters (..., p) at standard normal numbers (..., p); of a sampler, draws as they are."""
        if callable(self.prior):
            return z
        return np.stack([quantile(one, z[..., k]) for k, one in enumerate(self.prior)], axis=-1)

    def _over_draws(self, likelihood: LogLikelihood, objects: Measurements, n_threads: int) -> Integral:
        draws = self.draws
        assert draws is not None
        n, p = objects.n_objects, draws.shape[1]
        out = Integral(np.zeros(n), np.zeros(n), np.zeros((n, p)), np.zeros((n, p, p)))
        step = max(1, _NUMBERS_PER_BLOCK // (len(draws) * (objects.n_points if objects.own_points else 8)))

        def work(start: int, _: int) -> None:
            rows = np.arange(start, min(start + step, n))
            values = likelihood(rows, draws)
            top = values.max(axis=1, keepdims=True)
            weight = np.exp(values - np.where(np.isfinite(top), top, 0.0))
            total = weight.sum(axis=1)
            with np.errstate(divide="ignore"):
                height = np.log(total / len(draws))
            out.log_evidence[rows] = np.where(np.isfinite(top), top, 0.0)[:, 0] + height
            share = weight / np.where(total > 0, total, 1.0)[:, None]
            out.effective_size[rows] = 1.0 / np.maximum((share**2).sum(axis=1), 1.0 / len(draws))
            out.mean[rows] = share @ draws
            square = np.einsum("ns,sp,sq->npq", share, draws, draws, optimize=True)
            out.covariance[rows] = square - out.mean[rows][:, :, None] * out.mean[rows][:, None, :]

        over_blocks(work, range(0, n, step), n_threads)
        return out

    def _curves(self, theta: FloatArray, at: FloatArray) -> FloatArray:
        """True values (..., s, m) of parameters (..., s, p)."""
        found = np.asarray(self.function(np.moveaxis(theta, -1, 0)[..., None], at), dtype=np.float64)
        expected = (*theta.shape[:-1], at.shape[-1])
        try:
            found = np.broadcast_to(found, expected)
        except ValueError:
            raise ValueError(
                f"the function of a parametric class must broadcast its parameters against `at`: expected shape {expected}, "
                f"got {found.shape}. Use only operations that work on whole arrays."
            ) from None
        if not np.isfinite(found).all():
            place = np.argwhere(~np.isfinite(found))[0]
            raise ValueError(
                f"the function of a parametric class must return finite values: got {found[tuple(place)]} at parameters "
                f"{theta[tuple(place[:-1])]}. Its prior must not reach where it is not defined."
            )
        return found


@lru_cache(maxsize=256)
def _moments(distribution: Any) -> tuple[float, float]:
    """Mean and standard deviation of a frozen distribution, which takes SciPy longer to say than a class to use them."""
    return float(distribution.mean()), float(distribution.std())


def quantile(distribution: Any, z: FloatArray) -> FloatArray:
    """Value of a frozen distribution at a standard normal number: accurate in both tails."""
    family = getattr(getattr(distribution, "dist", None), "name", "")
    if family == "norm":
        mean, deviation = _moments(distribution)
        return np.asarray(mean + deviation * z)
    if family == "uniform":
        low, high = distribution.support()
        return np.asarray(low + (high - low) * ndtr(z))
    lower = z < 0
    # Beyond 37 a double holds no smaller probability.
    tail = ndtr(-np.minimum(np.abs(z), 37.0))
    return np.asarray(np.where(lower, distribution.ppf(tail), distribution.isf(tail)))


def with_scatter(objects: Measurements, sigma_star: float) -> Measurements:
    """Return the objects with the intra-class standard deviation added to their errors."""
    if objects.covariance is not None:
        full = objects.covariance + sigma_star**2 * np.eye(objects.n_points)
        return objects.replaced(objects.values, covariance=full)
    return objects.replaced(objects.values, np.hypot(objects.sigma, sigma_star))

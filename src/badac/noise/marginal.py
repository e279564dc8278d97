"""Noise with an unknown parameter, integrated out on a grid: a covariance of unknown amplitude and length, say.

    P(d | c) = sum_t p_t P(d | c, t)

The parameter is one unknown per pair: an object and the curve it is compared with were taken under the same conditions ``t``.
The grid may be of any noise models; `correlated_grid` builds the usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from badac.data.measurements import Measurements
from badac.noise.correlated import Correlated
from badac.noise.gaussian import Gaussian
from badac.noise.known_truth import log_likelihood
from badac.noise.matches import log_mixture
from badac.noise.model import FloatArray, IntArray, Noise
from badac.registry import registered


@registered("noise", holds={"noises": "(w,)", "log_prior": "(w,) may be -inf"})
@dataclass(frozen=True, eq=False)
class Marginal:
    """A weighted grid of noise models, of which one holds.

    Parameters
    ----------
    noises : tuple of Noise
        The models of the grid.
    log_prior : (T,), optional
        Their log probabilities; equal if not given. Normalised here.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian, Marginal
    >>> noise = Marginal((Gaussian(), Gaussian(scale=3.0)))  # the error bars hold, or are three times too small
    >>> far = noise.log_match(Measurements([[1.0]], 0.1), Measurements([[0.0]], 0.1))
    >>> bool(far[0, 0] > Gaussian().log_match(Measurements([[1.0]], 0.1), Measurements([[0.0]], 0.1))[0, 0])
    True
    """

    noises: tuple[Noise, ...]
    log_prior: FloatArray | None = None

    def __post_init__(self) -> None:
        if not self.noises:
            raise ValueError("`noises` of a Marginal must hold at least one noise model: got none.")
        prior = (
            np.zeros(len(self.noises)) if self.log_prior is None else np.asarray(self.log_prior, np.float64)
        )
        if prior.shape != (len(self.noises),) or np.isnan(prior).any():
            raise ValueError(
                f"`log_prior` must be one number per noise model, ({len(self.noises)},): got {self.log_prior!r}."
            )
        object.__setattr__(self, "noises", tuple(self.noises))
        object.__setattr__(self, "log_prior", prior - logsumexp(prior))

    def by_prior(self) -> tuple[tuple[float, Noise], ...]:
        assert self.log_prior is not None
        return tuple(zip(self.log_prior.tolist(), self.noises, strict=True))

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        parts = [prior + noise.log_match(objects, curves) for prior, noise in self.by_prior()]
        return np.asarray(logsumexp(parts, axis=0))

    def log_mixture(
        self,
        objects: Measurements,
        curves: Measurements,
        *,
        log_weights: FloatArray | None = None,
        skip: IntArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        # The sums over the grid and over the curves may be swapped, so that each model takes its own fast path.
        parts = [
            prior
            + log_mixture(noise, objects, curves, log_weights=log_weights, skip=skip, n_threads=n_threads)
            for prior, noise in self.by_prior()
        ]
        return np.asarray(logsumexp(parts, axis=0))

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        prior = np.exp([log_prior for log_prior, _ in self.by_prior()])
        which = rng.choice(len(self.noises), size=len(truth), p=prior)
        out = np.empty_like(truth)
        for number, noise in enumerate(self.noises):
            rows = which == number
            if rows.any():
                out[rows] = noise.draw(truth[rows], like[rows], rng)
        return out

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        parts = [prior + log_likelihood(noise, objects, truth) for prior, noise in self.by_prior()]
        return np.asarray(logsumexp(parts, axis=0))


def correlated_grid(
    at: FloatArray,
    amplitudes: Sequence[float],
    lengths: Sequence[float],
    kernel: Callable[[FloatArray], FloatArray] | None = None,
) -> Marginal:
    """Correlated noise of unknown amplitude and length, ``V_jk = A^2 kernel(|t_j - t_k| / l)``.

    Parameters
    ----------
    at : (m,)
        Coordinates of the points, shared by all objects.
    amplitudes : standard deviations A >= 0
        A 0 stands for uncorrelated noise.
    lengths : correlation lengths l > 0
    kernel : function of the distance in lengths, optional
        ``exp(-x)`` if not given.

    Returns
    -------
    Marginal
        Equal probability for every amplitude, and within it for every length.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.noise import correlated_grid
    >>> noise = correlated_grid(np.linspace(0, 1, 5), amplitudes=[0.1, 0.3], lengths=[0.2])
    >>> len(noise.noises)
    2
    """
    shape = kernel if kernel is not None else _exponential
    distance = np.abs(np.subtract.outer(at, at))
    noises: list[Noise] = []
    log_prior: list[float] = []
    for amplitude in amplitudes:
        if amplitude == 0:
            noises.append(Gaussian())
            log_prior.append(0.0)
            continue
        for length in lengths:
            noises.append(Correlated(amplitude**2 * shape(distance / length)))
            log_prior.append(-float(np.log(len(lengths))))
    return Marginal(tuple(noises), np.array(log_prior))


def _exponential(distance: FloatArray) -> FloatArray:
    return np.exp(-distance)

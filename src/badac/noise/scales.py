"""Finite mixtures of Gaussian widths: the common form of outlier and heavy-tailed noise.

A point is ``value = truth + s sigma e`` with ``e ~ N(0, 1)`` and an unknown factor ``s``, one of S with shares ``a_s``. An
object and a curve then match, point by point, with the convolution of two such mixtures, which is one of S x S
Gaussians around the curve:

    P(d | c) = sum_st a_s a_t N(d ; c , (s sigma_d)^2 + (t sigma_c)^2)

The sum is over widths that the two points have independently: it is taken point by point, so it costs S^2 densities per
point of a pair, and not S^(2m).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import logsumexp

from badac._kernels import mixture_logsumexp
from badac._kernels.mixture import mixture_log_match
from badac.data.measurements import Measurements
from badac.noise.gaussian import check_not_both_exact, pairs_of
from badac.noise.known_truth import sum_around_truth
from badac.noise.model import FloatArray, IntArray

_LOG_2PI = float(np.log(2.0 * np.pi))


class MixtureOfWidths(ABC):
    """All methods of a noise model from its widths: a subclass says `gaussian_scales` and nothing else."""

    @abstractmethod
    def gaussian_scales(self) -> tuple[FloatArray, FloatArray]:
        """Return (S,) log shares and (S,) factors on sigma; the shares sum to one."""

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        log_share, scale = self.gaussian_scales()
        check_sigma_only(self, objects, curves)
        check_not_both_exact(objects, curves)
        return mixture_log_match(pairs_of(objects, curves), log_share, scale)

    def log_mixture(
        self,
        objects: Measurements,
        curves: Measurements,
        *,
        log_weights: FloatArray | None = None,
        skip: IntArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return (n,): as `badac.noise.model.log_mixture`, through the mixture kernel."""
        log_share, scale = self.gaussian_scales()
        check_sigma_only(self, objects, curves)
        check_not_both_exact(objects, curves)
        pairs = pairs_of(objects, curves).weighed(log_weights, skip)
        return mixture_logsumexp(pairs, log_share, scale, n_threads=n_threads)

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        """Return (n, m): noisy values, each point with a width of its own."""
        log_share, scale = self.gaussian_scales()
        which = rng.choice(len(scale), size=truth.shape, p=np.exp(log_share - logsumexp(log_share)))
        sigma = np.where(like.observed, like.sigma, 0.0)
        noisy = truth + sigma * scale[which] * rng.standard_normal(truth.shape)
        return np.where(like.observed, noisy, np.nan)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        log_share, scale = self.gaussian_scales()
        check_sigma_only(self, objects)
        return sum_around_truth(
            objects, truth, lambda value, centre, sigma: log_density(value - centre, sigma, log_share, scale)
        )


def check_sigma_only(noise: object, objects: Measurements, curves: Measurements | None = None) -> None:
    """Refuse covariances where a noise takes each point's error as independent."""
    for side, role in ((objects, "objects"), (curves, "curves")):
        if side is not None and side.covariance is not None:
            raise ValueError(
                f"{type(noise).__name__} noise takes the errors of the points as independent, but the {role} have a "
                "`covariance`. Give `sigma`, or use noise='gaussian' for correlated errors."
            )


def log_density(
    residual: FloatArray,
    sigma: FloatArray,
    log_share: FloatArray,
    scale: FloatArray,
    extra: FloatArray | float = 0.0,
) -> FloatArray:
    """Log density of residuals (any shape) under the mixture; `extra` is a Gaussian variance common to all widths."""
    variance = (np.asarray(sigma)[..., None] * scale) ** 2 + np.asarray(extra)[..., None]
    parts = log_share - 0.5 * (np.asarray(residual)[..., None] ** 2 / variance + np.log(variance) + _LOG_2PI)
    top = parts.max(axis=-1)
    return np.asarray(top + np.log(np.exp(parts - top[..., None]).sum(axis=-1)))

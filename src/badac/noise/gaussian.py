"""Gaussian errors: the paper's main equation in its closed form.

Independent errors on both sides give ``N(d_j ; y_j , sigma_dj^2 + sigma_yj^2)`` per point; correlated ones
``N(d ; y , C_d + C_y)``. The paper prints the exponent as three terms that cancel (and drops a square in one): at values
around 59,000 with sigma 0.001 that form is wrong by nats per point. It is never evaluated here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac._kernels import pair_log_match, pair_logsumexp
from badac.data.measurements import Measurements
from badac.data.validation import smallest
from badac.noise.correlated import correlated_log_match, correlated_log_mixture, draw_correlated
from badac.noise.model import FloatArray, IntArray
from badac.registry import registered


@registered("noise", "gaussian")
@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise of the stated standard deviations, or covariances where they are given.

    Parameters
    ----------
    scale : float > 0, optional
        Factor on all error bars: 1 takes them as they are, None learns it.
    """

    scale: float | None = 1.0

    def __post_init__(self) -> None:
        if self.scale is not None and not 0 < self.scale < np.inf:
            raise ValueError(f"`scale` of the error bars must be > 0: got {self.scale!r}. None learns it.")

    @property
    def learned(self) -> bool:
        return self.scale is not None

    def gaussian_scales(self) -> tuple[FloatArray, FloatArray]:
        """Return the one width that it has; see `badac.noise.model.ScaleMixture`."""
        if self.scale is None:
            raise ValueError(
                "Gaussian(scale=None) is open: `badac.noise_learning.learn_noise` finds it, or give it."
            )
        return np.zeros(1), np.array([self.scale])

    def scaled(self, side: Measurements) -> Measurements:
        """Return the objects or curves with the error bars that this noise believes in."""
        factor = float(self.gaussian_scales()[1][0])
        if factor == 1.0:
            return side
        covariance = None if side.covariance is None else factor**2 * side.covariance
        return Measurements._trusted(side.values, factor * side.sigma, covariance, side.at, side.has_errors)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        objects, curves = self.scaled(objects), self.scaled(curves)
        if objects.covariance is not None or curves.covariance is not None:
            return correlated_log_match(objects, curves)
        check_not_both_exact(objects, curves)
        return pair_log_match(objects.values, objects.sigma, curves.values, shared_row(curves.sigma))

    def log_mixture(
        self,
        objects: Measurements,
        curves: Measurements,
        *,
        log_weights: FloatArray | None = None,
        skip: IntArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return (n,): as `badac.noise.model.log_mixture`, through the compiled pair kernel."""
        objects, curves = self.scaled(objects), self.scaled(curves)
        if objects.covariance is not None or curves.covariance is not None:
            return correlated_log_mixture(
                objects, curves, log_weights=log_weights, skip=skip, n_threads=n_threads
            )
        check_not_both_exact(objects, curves)
        return pair_logsumexp(
            objects.values,
            objects.sigma,
            curves.values,
            shared_row(curves.sigma),
            log_weights=log_weights,
            skip=skip,
            n_threads=n_threads,
        )

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        like = self.scaled(like)
        if like.covariance is not None:
            return draw_correlated(truth, like, rng)
        noise = np.where(like.observed, like.sigma, 0.0) * rng.standard_normal(truth.shape)
        return np.where(like.observed, truth + noise, np.nan)


def shared_row(sigma: FloatArray) -> FloatArray:
    """Return (1, m) if all curves have the same errors, which takes a much faster path, else sigma as it is."""
    if len(sigma) > 1 and (sigma.strides[0] == 0 or all((row == sigma[0]).all() for row in sigma)):
        return sigma[:1]
    return sigma


def check_not_both_exact(objects: Measurements, curves: Measurements) -> None:
    """Refuse a point that is exact (sigma 0) in an object and in a curve: their match would be a delta function."""
    if not objects.n_objects or smallest(objects.sigma) > 0 or smallest(curves.sigma) > 0:
        return
    exact = (curves.sigma == 0).any(axis=0)
    clash = (objects.sigma == 0) & exact
    if clash.any():
        row, point = (int(index) for index in np.argwhere(clash)[0])
        curve = int(np.argmax(curves.sigma[:, point] == 0))
        raise ValueError(
            f"sigma must not be 0 on both sides of a pair: got 0 at object {row}, point {point}, and at training curve "
            f"{curve} of the class. The match of two exact values is infinite or nothing. Give one side its "
            "measurement error, or a class_model with an intra-class width (Instances(sigma_star=...))."
        )

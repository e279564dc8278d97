"""Gaussian errors: the paper's main equation in its closed form.

Independent errors on both sides give ``N(d_j ; y_j , sigma_dj^2 + sigma_yj^2)`` per point; correlated ones
``N(d ; y , C_d + C_y)``. The paper prints the exponent as three terms that cancel (and drops a square in one): at values
around 59,000 with sigma 0.001 that form is wrong by nats per point. It is never evaluated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, cast

import numpy as np

from badac._kernels import Pairs, pair_log_match, pair_logsumexp
from badac.data.measurements import Measurements
from badac.data.validation import smallest
from badac.noise.correlated import correlated_log_match, correlated_log_mixture, draw_correlated
from badac.noise.known_truth import matches_of_each, refuse_exact
from badac.noise.model import FloatArray, IntArray, Noise, ScaleMixture
from badac.registry import registered

_LOG_2PI = float(np.log(2.0 * np.pi))
_ROWS_COMPARED = 1024  # block size


@registered("noise", "gaussian", holds={"scale": "> 0"})
@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise of the stated standard deviations, or covariances where they are given.

    Parameters
    ----------
    scale : float > 0, optional
        Factor on all error bars: 1 takes them as they are, None learns it.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian
    >>> d, c = Measurements([[0.3]], 0.3), Measurements([[0.0]], 0.4)
    >>> Gaussian().log_match(d, c).round(4)
    array([[-0.4058]])
    >>> float(round(-0.5 * 0.3**2 / 0.5**2 - 0.5 * np.log(2 * np.pi * 0.5**2), 4))
    -0.4058
    """

    scale: float | None = 1.0

    # Without error bars a factor on them says nothing: they stay what they are.
    learned_with_error_bars: ClassVar[bool] = False

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
        return with_one_width(side, self)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        objects, curves = self.scaled(objects), self.scaled(curves)
        if objects.covariance is not None or curves.covariance is not None:
            return correlated_log_match(objects, curves)
        check_not_both_exact(objects, curves)
        return pair_log_match(pairs_of(objects, curves))

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
        return pair_logsumexp(pairs_of(objects, curves).weighed(log_weights, skip), n_threads=n_threads)

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        like = self.scaled(like)
        if like.covariance is not None:
            return draw_correlated(truth, like, rng)
        noise = np.where(like.observed, like.sigma, 0.0) * rng.standard_normal(truth.shape)
        return np.where(like.observed, truth + noise, np.nan)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        objects = self.scaled(objects)
        if objects.covariance is not None:
            return matches_of_each(correlated_log_match, objects, truth)
        refuse_exact(objects)
        if truth.ndim == 2:
            exact = np.zeros((1, objects.n_points))
            return pair_log_match(Pairs.of(objects.values, objects.sigma, truth, exact))
        seen = objects.observed[:, None, :]
        values = np.where(seen, objects.values[:, None, :], 0.0)
        sigma = np.where(seen, objects.sigma[:, None, :], 1.0)
        pull = (truth - values) * np.where(seen, 1.0 / sigma, 0.0)
        constant = np.where(seen, np.log(sigma) + 0.5 * _LOG_2PI, 0.0).sum(axis=2)
        return np.asarray(-0.5 * np.einsum("nkm,nkm->nk", pull, pull) - constant)

    # -- learned by held-out evidence -----------------------------------------------------------------------------

    def pooled(self, learned: Sequence[Self], weight: FloatArray) -> Gaussian:
        scale = float(np.exp(weight @ np.log([each.scale for each in learned if each.scale])))
        return Gaussian(1.0 if abs(scale - 1.0) < 1e-3 else scale)

    def distance(self, other: Self) -> float:
        return float(abs(np.log(other.gaussian_scales()[1][0] / self.gaussian_scales()[1][0])))

    def fallback(self) -> Gaussian:
        return Gaussian()

    def advice(self) -> str:
        scale = float(self.gaussian_scales()[1][0])
        word = "small" if scale > 1 else "large"
        return (
            f"The error bars are too {word} by a factor of {max(scale, 1 / scale):.2f}: "
            f"multiply sigma by {scale:.2f}, or use noise=Gaussian(scale={scale:.2f})."
        )


def with_one_width(side: Measurements, noise: Noise) -> Measurements:
    """Return the objects or curves with error bars times the one factor that the noise has (`gaussian_scales`)."""
    # Who calls knows the noise's kind (`badac.noise.kinds`); asking the protocol again takes as long as a small block.
    factor = float(cast(ScaleMixture, noise).gaussian_scales()[1][0])
    if factor == 1.0:
        return side
    side.refuse_counts()
    covariance = None if side.covariance is None else factor**2 * side.covariance
    return side._changed(sigma=factor * side.sigma, covariance=covariance)


def pairs_of(objects: Measurements, curves: Measurements) -> Pairs:
    """Return objects and curves as the kernels take them; errors that all curves share as one row, which is much faster."""
    sigma = curves.sigma
    if len(sigma) > 1 and (sigma.strides[0] == 0 or _are_alike(sigma)):
        sigma = sigma[:1]
    return Pairs.of(objects.values, objects.sigma, curves.values, sigma)


def _are_alike(rows: FloatArray) -> bool:
    """Whether all rows (k, m) are the first one; two rows tell where they are not, as a rule, and blocks where they are."""
    if not (rows[1] == rows[0]).all():
        return False
    starts = range(0, len(rows), _ROWS_COMPARED)
    return all((rows[start : start + _ROWS_COMPARED] == rows[0]).all() for start in starts)


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

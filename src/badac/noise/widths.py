"""Finite mixtures of Gaussian widths: the common form of outlier and heavy-tailed noise, and a stand-in for other noise.

    P(d | y) = sum_s share_s N(d ; y , (width_s sigma)^2)
    P(d | c) = sum_st share_s share_t N(d ; c , (width_s sigma_d)^2 + (width_t sigma_c)^2)

The widths of an object's and a curve's points are independent, so the sum is taken point by point: S^2 densities per point of
a pair, and not S^(2m). `MixtureOfWidths` has all methods from the widths alone (`badac.noise.outliers`,
`badac.noise.student`); `Widths` has them given.

Any noise that is symmetric and peaks at the truth is close to such a mixture (Laplace errors are one exactly; Andrews &
Mallows 1974). `stand_in` finds it from draws, by EM (Dempster, Laird & Rubin 1977). The evidence of a class under noise of the
user's own is that noise's alone (`badac.noise.kinds`); the stand-in is for those who compare two hypotheses with the same
noise, where what it misses cancels: the anomaly's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from badac._kernels import mixture_logsumexp
from badac._kernels.mixture import mixture_log_match
from badac.data.measurements import Measurements
from badac.noise.gaussian import Gaussian, check_not_both_exact, pairs_of
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.known_truth import sum_around_truth
from badac.noise.model import FloatArray, IntArray, Noise, needs_sigma
from badac.registry import registered

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


# Where the EM begins, in root mean squares of the draws; seven do for Laplace and Student-t (tests/noise/test_widths.py).
_FIRST_WIDTHS = np.geomspace(1.0 / 8.0, 8.0, 7)
_FINEST = 0.05
_DRAWS = 20_000
_STEPS = 500
_BINS = 300
_LEAST_SHARE = 1e-6
# Points whose errors have more in common than this are correlated; 20,000 draws tell it to 0.01.
_CORRELATED = 0.1


@registered("noise", holds={"shares": "(w,) >= 0", "widths": "(w,) > 0"})
@dataclass(frozen=True, eq=False)
class Widths(MixtureOfWidths):
    """Noise of several Gaussian widths.

    Parameters
    ----------
    shares : (S,)
        Probability of each width; they sum to one.
    widths : (S,)
        Factors on sigma.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.noise import Widths
    >>> Widths(shares=np.array([0.9, 0.1]), widths=np.array([1.0, 4.0])).gaussian_scales()[1]
    array([1., 4.])
    """

    shares: FloatArray
    widths: FloatArray

    def __post_init__(self) -> None:
        shares, widths = np.asarray(self.shares, np.float64), np.asarray(self.widths, np.float64)
        good = shares.ndim == 1 and shares.shape == widths.shape and shares.size > 0
        if not good or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-9 or not (widths > 0).all():
            raise ValueError(
                f"`shares` must sum to one and `widths` be > 0, one each: got {self.shares!r} and {self.widths!r}."
            )
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "widths", widths)

    def gaussian_scales(self) -> tuple[FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            return np.log(self.shares), self.widths


def stand_in(noise: Noise, like: Measurements) -> Noise:
    """Return the noise itself if its form is known (`badac.noise.kinds`), else the widths that its draws look like.

    Plain Gaussian noise where nothing can be said of widths: without error bars, or with errors of neighbours that go together,
    which a class learns with what else its members have in common.

    Parameters
    ----------
    noise : Noise
        Of one class, with all parameters known.
    like : Measurements
        (n, m): objects to draw noise for.
    """
    if kind_of(noise) is not NoiseKind.OTHER:
        return noise
    usable = like.observed & (like.sigma > 0) & np.isfinite(like.sigma)
    if not needs_sigma(noise) or like.covariance is not None or not usable.any():
        return Gaussian()
    # A stream of its own: which noise stands in must not change what else is drawn.
    rng = np.random.default_rng(0)
    copies = np.arange(-(-_DRAWS // usable.size) * like.n_objects) % like.n_objects
    truth = np.where(like.observed, like.values, 0.0)[copies]
    drawn, seen = noise.draw(truth, like[copies], rng), usable[copies]
    pull = np.where(seen, drawn - truth, 0.0) / np.where(seen, like.sigma[copies], 1.0)
    return Gaussian() if _go_together(pull) else Widths(*fitted_widths(pull[seen]))


def _go_together(pull: FloatArray) -> bool:
    """Whether neighbouring points (n, m) have errors in common."""
    power = float((pull**2).mean())
    common = float((pull[:, 1:] * pull[:, :-1]).mean()) if pull.shape[1] > 1 else 0.0
    return abs(common) > _CORRELATED * power


def fitted_widths(pull: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (S,) shares and (S,) widths of the mixture of centred Gaussians that residuals (p,) are most likely under.

    The residuals are counted in bins that are fine in the middle and far in the tails: even in the inverse hyperbolic sine.
    """
    unit = max(float(np.sqrt((pull**2).mean())), 1e-12)
    place = np.arcsinh(np.abs(pull) / (_FINEST * unit))
    edges = np.linspace(0.0, max(float(place.max()), 1.0), _BINS + 1)
    count = np.histogram(place, edges)[0] / pull.size
    squared = (_FINEST * unit * np.sinh(0.5 * (edges[1:] + edges[:-1]))) ** 2
    variance, share = (unit * _FIRST_WIDTHS) ** 2, np.full(_FIRST_WIDTHS.size, 1.0 / _FIRST_WIDTHS.size)
    for _ in range(_STEPS):
        joint = np.log(share) - 0.5 * (squared[:, None] / variance + np.log(variance))
        responsibility = count[:, None] * np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        share = np.maximum(responsibility.sum(axis=0), _LEAST_SHARE)
        variance = np.maximum(squared @ responsibility / share, (_FINEST * unit) ** 2)
        share /= share.sum()
    return share, np.sqrt(variance)

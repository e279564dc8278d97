"""Gaussian widths with given shares, and the ones that come closest to a noise of which only draws are known.

    P(d | y) = sum_s share_s N(d ; y , (width_s sigma)^2)

Any noise that is symmetric and peaks at the truth is close to such a mixture (Laplace errors are one exactly; Andrews &
Mallows 1974). `stand_in` finds it from draws, by EM (Dempster, Laird & Rubin 1977). The evidence of a class under noise of the
user's own is that noise's alone (`badac.noise.kinds`); the stand-in is for those who compare two hypotheses with the same
noise, where what it misses cancels: the anomaly's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from badac.data.measurements import Measurements
from badac.noise.gaussian import Gaussian
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.model import FloatArray, Noise, needs_sigma
from badac.noise.scales import MixtureOfWidths
from badac.registry import registered

# Where the EM begins, in root mean squares of the draws; seven do for Laplace and Student-t (tests/noise/test_widths.py).
_FIRST_WIDTHS = np.geomspace(1.0 / 8.0, 8.0, 7)
_FINEST = 0.05
_DRAWS = 20_000
_STEPS = 500
_BINS = 300
_LEAST_SHARE = 1e-6
# Points whose errors have more in common than this are correlated; 20,000 draws tell it to 0.01.
_CORRELATED = 0.1


@registered("noise")
@dataclass(frozen=True, eq=False)
class Widths(MixtureOfWidths):
    """Noise of several Gaussian widths.

    Parameters
    ----------
    shares : (S,)
        Probability of each width; they sum to one.
    widths : (S,)
        Factors on sigma.
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

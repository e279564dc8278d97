"""Good and bad points: most error bars hold, a share of them is too small by a factor.

    P(d | y) = (1 - share) N(d ; y , sigma^2) + share N(d ; y , (width sigma)^2)

Use it where some points are wrecked (cosmic rays, clouds, a glitch) and nobody says which; the paper's Experiment 3 has a
share of 0.2 and a width of 5. Both sides have bad points, so a pair is four Gaussians per point (`badac.noise.widths`).
What is left None is learned from the training data (`badac.noise_learning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from badac.noise.model import FloatArray, Residuals
from badac.noise.widths import MixtureOfWidths
from badac.registry import registered

# Where the EM begins: about half of the paper's bad points, a fifth of all and five times as wide.
_FIRST_SHARE, _FIRST_WIDTH = 0.1, 3.0
_WIDTH_RANGE = (1.0, 1000.0)
_WIDTH_STEPS, _WIDTH_SETTLED = 30, 1e-3  # of the log of the width, as near as the EM asks for


@registered("noise", "outliers", holds={"share": ">= 0, <= 1", "width": "> 0"})
@dataclass(frozen=True)
class Outliers(MixtureOfWidths):
    """Noise with a share of bad points.

    Parameters
    ----------
    share : float in [0, 1], optional
        Probability that a point is bad; learned if None.
    width : float >= 1, optional
        Factor by which a bad point's error bar is too small; learned if None.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.noise import Gaussian, Outliers
    >>> d, c = Measurements([[1.0]], 0.1), Measurements([[0.0]], 0.1)
    >>> noise = Outliers(share=0.2, width=5.0)
    >>> bool(noise.log_match(d, c)[0, 0] > Gaussian().log_match(d, c)[0, 0])  # a bad point costs less
    True
    """

    share: float | None = None
    width: float | None = None

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 1:
            raise ValueError(
                f"`share` of bad points must be between 0 and 1: got {self.share!r}. None learns it."
            )
        if self.width is not None and not 1 <= self.width < np.inf:
            raise ValueError(
                f"`width` of bad points must be a factor >= 1 on sigma: got {self.width!r}. None learns it."
            )

    @property
    def learned(self) -> bool:
        return self.share is not None and self.width is not None

    def gaussian_scales(self) -> tuple[FloatArray, FloatArray]:
        if self.share is None or self.width is None:
            raise ValueError(
                f"{self!r} leaves parameters open: `badac.noise_learning.learn_noise` finds them, or give share and width."
            )
        with np.errstate(divide="ignore"):
            return np.log([1.0 - self.share, self.share]), np.array([1.0, self.width])

    # -- learned by EM --------------------------------------------------------------------------------------------

    def initial(self) -> Outliers:
        return Outliers(
            _FIRST_SHARE if self.share is None else self.share,
            _FIRST_WIDTH if self.width is None else self.width,
        )

    def improved(self, current: Self, residuals: Residuals) -> Outliers:
        """Share by the responsibilities; width by the likelihood of the bad points, each weighted by how bad it is."""
        bad, observed = residuals.responsibility[..., 1], residuals.observed
        share, width = self.share, self.width
        if share is None:
            share = float(np.clip(bad.sum() / max(observed.sum(), 1), 1e-6, 0.999))
        if width is None:
            width = bad_width(
                bad[observed],
                residuals.squared[observed],
                residuals.sigma[observed],
                np.broadcast_to(residuals.psi, observed.shape)[observed],
                current.width,
            )
        return Outliers(share, width)

    def distance(self, other: Self) -> float:
        assert self.share and other.share and self.width and other.width
        return max(abs(other.share / self.share - 1), abs(other.width / self.width - 1))

    def pooled(self, learned: Sequence[Self], weight: FloatArray) -> Outliers:
        share = float(weight @ [each.share for each in learned])
        width = float(np.exp(weight @ np.log([each.width for each in learned if each.width])))
        return Outliers(share, max(width, 1.0))

    def fallback(self) -> Outliers:
        return Outliers(0.0 if self.share is None else self.share, 1.0 if self.width is None else self.width)

    def advice(self) -> str:
        return (
            f"About {100 * (self.share or 0):.0f} % of the points have error bars that are too small by a factor of "
            f'{self.width:.1f}: use noise="outliers", or this noise as it was learned.'
        )


def bad_width(
    bad: FloatArray, squared: FloatArray, sigma: FloatArray, psi: FloatArray, near: float | None = None
) -> float:
    """Width of bad points by their likelihood: responsibilities, squared residuals, sigma and psi of p points, (p,) each.

    By Fisher scoring in the log of the width, from a width `near` it: slope ``sum bad e (1 - squared / v)`` and curvature
    ``2 sum bad e^2`` of half the loss, with the variance ``v = psi + (width sigma)^2`` and ``e = (width sigma)^2 / v``.
    """
    log_width, ends, variance = np.log(_FIRST_WIDTH if near is None else near), np.log(_WIDTH_RANGE), sigma**2
    for _ in range(_WIDTH_STEPS):
        wide = np.exp(2.0 * log_width) * variance
        inverse = 1.0 / (psi + wide)
        own = wide * inverse
        weighed = bad * own
        slope, curvature = weighed.sum() - weighed @ (squared * inverse), 2.0 * float(weighed @ own)
        step = float(np.clip(-slope / max(curvature, 1e-300), -1.0, 1.0))
        log_width = float(np.clip(log_width + step, *ends))
        if abs(step) < _WIDTH_SETTLED:
            break
    return float(np.exp(log_width))

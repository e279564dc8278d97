"""Good and bad points: most error bars hold, a share of them is too small by a factor.

    P(d | y) = (1 - share) N(d ; y , sigma^2) + share N(d ; y , (width sigma)^2)

Use it where some points are wrecked (cosmic rays, clouds, a glitch) and nobody says which; the paper's Experiment 3 has a
share of 0.2 and a width of 5. Both sides have bad points, so a pair is four Gaussians per point (`badac.noise.scales`).
What is left None is learned from the training data (`badac.noise_learning`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.data.measurements import Measurements
from badac.noise.model import FloatArray, IntArray
from badac.noise.scales import draw_scales, scales_log_match, scales_log_mixture
from badac.registry import registered


@registered("noise", "outliers")
@dataclass(frozen=True)
class Outliers:
    """Noise with a share of bad points.

    Parameters
    ----------
    share : float in [0, 1], optional
        Probability that a point is bad; learned if None.
    width : float >= 1, optional
        Factor by which a bad point's error bar is too small; learned if None.
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

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        return scales_log_match(objects, curves, *self.gaussian_scales(), "Outliers")

    def log_mixture(
        self,
        objects: Measurements,
        curves: Measurements,
        *,
        log_weights: FloatArray | None = None,
        skip: IntArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        log_share, scale = self.gaussian_scales()
        return scales_log_mixture(
            objects, curves, log_share, scale, "Outliers",
            log_weights=log_weights, skip=skip, n_threads=n_threads,
        )  # fmt: skip

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        return draw_scales(truth, like, *self.gaussian_scales(), rng)

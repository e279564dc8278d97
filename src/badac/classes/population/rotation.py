"""Members with correlated errors, turned so that their errors are independent.

In the axes ``U`` of the members' mean covariance, each point in units of its scale ``s``, ``x = U' (y / s)``, errors that share
one covariance are independent, and everything that is learned one point at a time holds there as it stands. What was
learned turns back: ``mean = s U mean'``, ``factors = s U factors'``. Of the variance that the factors leave, the part that all
axes have becomes ``psi = s^2 psi'``, since only that looks the same in all axes; what single axes have beyond it are factors
of their own. Covariances that differ between members
keep their own variances along the common axes. Where points are missing there are no common axes: the errors then count as
independent while the class is learned, and as they are when an object is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.training import TrainingScales

_MOST_FACTORS = 12  # by cost: what more axes have beyond the common part stays in psi


@dataclass(frozen=True, eq=False)
class Axes:
    """Directions (m, m), one a column, in which errors are independent, and the scale (m,) of the points."""

    directions: FloatArray
    scale: FloatArray

    def turn(self, members: Measurements) -> Measurements:
        """Return the members along the axes, with independent errors."""
        values = (members.values / self.scale) @ self.directions
        covariance = members.covariance
        assert covariance is not None
        white = covariance / np.outer(self.scale, self.scale)
        variance = np.einsum("ja,...jk,ka->...a", self.directions, white, self.directions, optimize=True)
        return Measurements(values, np.sqrt(np.maximum(variance, 0.0)))

    def turn_scales(self, scales: TrainingScales) -> TrainingScales:
        centre = (scales.centre / self.scale) @ self.directions
        return replace(scales, centre=centre, scale=np.ones_like(self.scale))

    def turn_back(self, factor: Factor, density: LatentDensity) -> tuple[Factor, LatentDensity]:
        """Return what was learned along the axes, at the points."""
        back = self.scale[:, None] * self.directions
        common = float(np.median(factor.psi))
        more = np.maximum(factor.psi - common, 0.0)
        # A tenth more or less along an axis is not worth a factor.
        axes = np.argsort(-more)[:_MOST_FACTORS]
        axes = axes[more[axes] > 0.1 * common]
        extra = back[:, axes] * np.sqrt(more[axes])
        turned = Factor(back @ factor.mean, np.hstack([back @ factor.factors, extra]), common * self.scale**2)
        return turned, density.with_gaussian_dimensions(axes.size)


def common_axes(members: Measurements, scales: TrainingScales) -> Axes | None:
    """Axes of the members' mean covariance; None if their errors are independent or points are missing."""
    if members.covariance is None or not members.complete:
        return None
    covariance = members.covariance if members.covariance.ndim == 2 else members.covariance.mean(axis=0)
    return Axes(np.linalg.eigh(covariance / np.outer(scales.scale, scales.scale))[1], scales.scale)

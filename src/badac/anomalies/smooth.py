"""A known class plus a smooth deviation of unknown size and length.

    P(d | deviation) = sum_k P(k) mean over A and l of  N(d ; class k , Sigma_d + A^2 K_l)

The class enters with the whole shape of its population: the deviation is integrated out of the latent likelihood first, and
what is left meets the mixture as any object does. ``A`` is in units of the object's own noise at a point: a deviation is
sought where it could just be seen, and the score of a normal object does not depend on its error bars. For features without an
order the deviation is one more independent variance at each point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac.anomalies.class_summary import View, seen_through, without
from badac.anomalies.hypothesis import (
    Ground,
    log_mean_exp,
    mean_variance,
    over_classes,
)
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import cosines, spectrum
from badac.data.measurements import Measurements
from badac.latent.likelihood import project
from badac.registry import registered


@registered("hypothesis")
@dataclass(frozen=True, eq=False)
class SmoothDeviation:
    """A known class plus a Gaussian process.

    Parameters
    ----------
    lengths : tuple of float
        In units of the range of the coordinates.
    amplitudes : tuple of float
        In units of the object's noise (and the class's psi) at a point.
    """

    lengths: tuple[float, ...] = (0.05, 0.3)
    amplitudes: tuple[float, ...] = (1.0,)
    ground: Ground | None = None

    def fit(self, ground: Ground) -> Self:
        return replace(self, ground=ground)

    def log_evidence(self, objects: Measurements, views: tuple[View, ...]) -> FloatArray:
        assert self.ground is not None, "fit first"
        where = self.ground.where
        if where is None:
            return over_classes(views, lambda view: _independent(self, view))
        return over_classes(views, lambda view: _smooth(self, view, where))


def _smooth(deviation: SmoothDeviation, view: View, where: FloatArray) -> FloatArray:
    factor = view.described.factor
    powers = [spectrum(length) for length in deviation.lengths]
    waves = cosines(where, max(power.size for power in powers))
    both = np.hstack([waves, factor.factors])
    # Points that are taken for bad ones under the class stay so, as for bumps: the Bayes factor compares like with like.
    gaussian, constant = view.gaussian
    if gaussian.covariance is None:
        latent = seen_through(*view.weighed, both)
    else:
        latent = project(gaussian, factor.mean, both, factor.psi)
    variance = mean_variance(view.weighed[0])
    terms = []
    for power in powers:
        for amplitude in deviation.amplitudes:
            seen = without(latent, amplitude * np.sqrt(variance[:, None] * power), factor.rank)
            terms.append(view.described.log_evidence(seen))
    return log_mean_exp(terms) + constant


def _independent(deviation: SmoothDeviation, view: View) -> FloatArray:
    factor = view.described.factor
    gaussian, constant = view.gaussian
    terms = []
    for amplitude in deviation.amplitudes:
        wider = widened(gaussian, factor.psi, 1.0 + amplitude**2)
        terms.append(view.described.log_evidence(project(wider, factor.mean, factor.factors, factor.psi)))
    return log_mean_exp(terms) + constant


def widened(objects: Measurements, psi: FloatArray, ratio: float) -> Measurements:
    """Return the objects with errors such that noise plus psi (m,) is `ratio` times the variance that it was."""
    sigma = np.sqrt(ratio * objects.sigma**2 + (ratio - 1.0) * psi)
    if objects.covariance is None:
        return Measurements._trusted(objects.values, sigma, at=objects.at)
    extra = (ratio - 1.0) * np.diag(psi)
    return Measurements._trusted(objects.values, sigma, ratio * objects.covariance + extra, objects.at)

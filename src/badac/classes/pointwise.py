"""A class whose points know nothing of each other: at each point the members are the curves, on their own.

    log P(d | class) = sum_j log 1/(n_j + 1) [ sum_i N(d_j ; y_ij , sigma_dj^2 + sigma_ij^2 + h_j^2) + broad_j(d_j) ]

over the ``n_j`` members that were observed at the point, with the width ``h_j`` of a kernel density estimate; a broad prior
member keeps what no member showed from being impossible. Points of one object are not independent, so its probabilities are
far too sure, and it is no class model to use alone. But it is never misled by a Gaussian shape or by a missing neighbour, and
one strange point cannot outvote the others: worth having among several base models (`badac.calibration.stacking.ensemble`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from badac import _kernels
from badac._kernels.pointwise import PointMixtures
from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.data.measurements import Measurements
from badac.noise.gaussian import with_one_width
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.matches import log_mixture
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

_BROAD = 2.0  # times the spread of all training objects: wider than any class


@registered("class_model")
@dataclass(frozen=True, eq=False)
class Pointwise:
    """Each point on its own.

    Parameters
    ----------
    width : float
        Of the kernel, in units of the point's spread in all training objects; it shrinks with the members' number as
        n^(-1/5).

    Attributes
    ----------
    curves : Measurements
        (k + 1, m), after `fit`: the members, widened, and the broad prior member last.
    own : Measurements
        (k, m), the members as they were.
    noise : Noise
    """

    # Noise whose width is sigma's, one point at a time.
    takes_noise: ClassVar[frozenset[NoiseKind]] = frozenset({NoiseKind.GAUSSIAN, NoiseKind.WIDTHS})

    width: float = 0.3
    curves: Measurements | None = None
    own: Measurements | None = None
    noise: Noise | None = None

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        del rng
        refuse_own_points(members, "Pointwise")
        check_noise_taken(self, noise, members)
        if members.covariance is not None:
            raise ValueError(
                "Pointwise takes every point on its own, and these objects have a covariance between points. "
                'Use class_model="population".'
            )
        scales = TrainingScales.of(members) if scales is None else scales
        seen = members.observed
        kernel = self.width * scales.scale * np.maximum(seen.sum(axis=0), 1) ** -0.2
        values = np.vstack([np.where(seen, members.values, scales.centre), scales.centre])
        sigma = np.vstack([np.hypot(np.where(seen, members.sigma, 0.0), kernel), _BROAD * scales.scale])
        return replace(
            self,
            curves=Measurements(values, sigma),
            own=members,
            noise=noise,
        )

    @property
    def mixtures(self) -> PointMixtures:
        """What stands at each point under Gaussian noise: the members that were observed there, and the broad one."""
        assert self.curves is not None and self.own is not None and self.noise is not None, "fit first"
        counts = self._counts
        curves = with_one_width(self.curves, self.noise)
        log_weights = np.where(counts, -np.log(counts.sum(axis=0)), -np.inf)
        return PointMixtures(curves.values.T, (curves.sigma**2).T, log_weights.T)

    @property
    def _counts(self) -> npt.NDArray[np.bool_]:
        """Which of the curves (k + 1, m) count at each point."""
        assert self.own is not None, "fit first"
        return np.vstack([self.own.observed, np.ones((1, self.own.n_points), dtype=np.bool_)])

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.curves is not None and self.own is not None and self.noise is not None, "fit first"
        if kind_of(self.noise) is NoiseKind.GAUSSIAN and objects.covariance is None:
            objects = with_one_width(objects, self.noise)
            seen = objects.observed
            return _kernels.pointwise_logsumexp(
                np.where(seen, objects.values, 0.0),
                np.where(seen, objects.sigma**2, np.inf),
                self.mixtures,
                n_threads=n_threads,
            )
        observed = self._counts
        out = np.zeros(objects.n_objects)
        for point in range(objects.n_points):
            there = self.curves[observed[:, point]].points([point])
            out += log_mixture(self.noise, objects.points([point]), there, n_threads=n_threads)
        return out

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Exact, but for the width of the kernel, which was set with the member."""
        assert self.curves is not None and self.own is not None and self.noise is not None, "fit first"
        out = np.zeros(self.own.n_objects)
        observed = self.own.observed
        for point in range(self.own.n_points):
            rows = np.flatnonzero(observed[:, point])
            place = np.arange(len(rows))
            there = self.curves[np.append(rows, self.own.n_objects)].points([point])
            out[rows] += log_mixture(
                self.noise,
                self.own[rows].points([point]),
                there,
                log_weights=np.full(len(rows) + 1, -np.log(max(len(rows), 1))),
                skip=place,
                n_threads=n_threads,
            )
        return out

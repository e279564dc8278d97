"""Missing points of training curves, sampled: the paper's first way out of gaps, as it is written.

    P(d | class) = 1/R sum_r P(d | class with gaps filled by the r-th draw),    draw_ij ~ N(mean_j, spread_j^2)

with mean and spread of the class's own members at the point (`badac.classes.instances.fill_gaps`). In the mean over draws that
is what `Instances` does in closed form, ``integral N(d ; y, s^2) N(y ; mean, spread^2) dy = N(d ; mean, s^2 + spread^2)``,
without noise of sampling and at 1/R of the cost. Use it to check the closed form, or as the pattern for a prior of your own
that can be drawn from and not integrated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from badac.classes.instances import Instances, fill_gaps
from badac.classes.model import FloatArray, check_noise_taken, refuse_own_points
from badac.data.measurements import Measurements
from badac.noise.kinds import ANY_NOISE, NoiseKind
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales


@registered("class_model")
@dataclass(frozen=True, eq=False)
class Imputed:
    """Instances whose gaps are filled by draws from the class's own prior at each point.

    Parameters
    ----------
    n_draws : int
        How many times all gaps are filled.

    Attributes
    ----------
    completed : tuple of Instances
        After `fit`: one per draw.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Imputed
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> values = 0.1 * rng.standard_normal((10, 4))
    >>> values[0, 2] = np.nan
    >>> model = Imputed(n_draws=5).fit(Measurements(values, 0.1), Gaussian(), rng)
    >>> bool(np.isfinite(model.log_evidence(Measurements([[0.0] * 4], 0.1)))[0])
    True
    """

    takes_noise: ClassVar[frozenset[NoiseKind]] = ANY_NOISE - {NoiseKind.COVARIANCE}

    n_draws: int = 50
    completed: tuple[Instances, ...] = ()

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        refuse_own_points(members, "Imputed")
        check_noise_taken(self, noise, members)
        if not (isinstance(self.n_draws, int) and self.n_draws >= 1):
            raise ValueError(f"`n_draws` must be a whole number >= 1: got {self.n_draws!r}.")
        if members.covariance is not None:
            raise ValueError(
                "Imputed draws every missing point on its own, and these objects have a covariance between points. "
                'Use class_model="instances", which fills gaps in closed form.'
            )
        scales = TrainingScales.of(members) if scales is None else scales
        # Without gaps all draws are the same.
        draws = 1 if members.complete else self.n_draws
        made = [self._complete(members, noise, rng, scales) for _ in range(draws)]
        return replace(self, completed=tuple(made))

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.completed, "fit first"
        return _mean([one.log_evidence(objects, n_threads=n_threads) for one in self.completed])

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.completed, "fit first"
        return _mean([one.leave_one_out(n_threads=n_threads) for one in self.completed])

    def moved(self, at: FloatArray, by: float) -> Self:
        return replace(self, completed=tuple(one.moved(at, by) for one in self.completed))

    def columns(self) -> tuple[FloatArray, FloatArray]:
        assert self.completed, "fit first"
        return self.completed[0].columns()

    def _complete(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, scales: TrainingScales
    ) -> Instances:
        prior, observed = fill_gaps(members, scales), members.observed
        drawn = prior.values + prior.sigma * rng.standard_normal(prior.shape)
        # A drawn value is a true one: it has no error bar.
        curves = members.replaced(
            np.where(observed, members.values, drawn),
            np.where(observed, members.sigma, 0.0) if members.has_errors else None,
        )
        # A member that is left out is an object like any other: its gaps drop out.
        return replace(Instances().fit(curves, noise, rng, scales), own=members)


def _mean(log_evidence: list[FloatArray]) -> FloatArray:
    """Mean over draws of evidences (R arrays of (n,)), in log space."""
    return np.asarray(logsumexp(log_evidence, axis=0) - np.log(len(log_evidence)))

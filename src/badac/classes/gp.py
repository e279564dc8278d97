"""A Gaussian process per class, learned from all of its noisy, irregular members together (the paper's second approach).

    log P(d | class) = log N(d ; mean curve , process + uncertainty of the mean + Sigma_d)   at the object's own points

Needs no common grid: objects have coordinates of their own (`at` per object) and, if they like, several bands. The mean curve,
the kernel's length and amplitude, the covariance between bands and, with `rank`, the class's own ways to deviate are learned by
evidence from the members as they are (see `badac.classes.process` and `badac.classes.hyper`). One process per class is also
the paper's template: its cost does not grow with the number of members.

Use it for light curves and spectra with gaps; use the population model where all objects share a grid and are many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from badac.classes.basis import Basis, coordinates
from badac.classes.hyper import Scales, climb, start
from badac.classes.kernels import KERNELS
from badac.classes.model import FloatArray, Surroundings
from badac.classes.process import Block, Process, blocks, reduce
from badac.data.measurements import Measurements
from badac.noise.model import Noise, ScaleMixture

_KNOTS = 20
_MEMBERS_TO_LEARN_FROM = 1000
_POINTS_TO_LEARN_FROM = 100
_MAX_RANK = 8
_PATIENCE = 1


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """One Gaussian process per class.

    Parameters
    ----------
    kernel : {"matern32", "matern52", "squared_exponential", "periodic"}
        Of what varies beside mean and factors.
    period : float
        Of the periodic kernel, in the coordinate's unit: 1 for phases.
    rank : int or "learn"
        Ways to deviate that are learned as curves: 0 leaves all variety to the kernel, which is the same everywhere;
        "learn" adds them while members that were held out gain evidence.
    n_knots : int
        Of the mean curve and the factors, per band.

    Attributes
    ----------
    process : Process
    origin : float
    coefficients : (q,)
        Of the mean curve, after `fit`; `precision` (q, q) says how well they are known.
    members : Measurements
    """

    kernel: str = "matern32"
    period: float = 1.0
    rank: int | str = "learn"
    n_knots: int = _KNOTS
    process: Process | None = None
    origin: float = 0.0
    coefficients: FloatArray | None = None
    precision: FloatArray | None = None
    members: Measurements | None = None

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        surroundings: Surroundings | None = None,
    ) -> Self:
        self._check(noise)
        around = Surroundings.of(members) if surroundings is None else surroundings
        origin, scales, basis = self._frame(members, around)
        prior_precision = (basis.prior_scale() * scales.value) ** -2.0
        empty = np.zeros((basis.size, 0))
        blank = Process(
            basis, self.kernel, self.period, 1.0, np.eye(basis.n_bands), np.ones(basis.n_bands), empty
        )
        # The members are chosen by what they are, not by where they stand, so that their order does not matter.
        picked = _sample(members, _MEMBERS_TO_LEARN_FROM, rng)
        learner = _Learner(members[picked], basis, origin, prior_precision, scales, rng)
        process = learner.learn(start(blank, scales), self.rank)
        total, coefficients = posterior_mean(members, process, origin, prior_precision)
        return replace(
            self, process=process, origin=origin, coefficients=coefficients, precision=total, members=members
        )

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.process is not None and self.coefficients is not None, "fit first"
        assert self.precision is not None
        out = np.empty(objects.n_objects)
        before = np.linalg.slogdet(self.precision)[1]
        for part in reduce(objects, self.process, self.origin, self.coefficients):
            total = self.precision + part.precision
            moved = np.linalg.solve(total, part.shift[..., None])[..., 0]
            gain = np.einsum("bq,bq->b", part.shift, moved)
            out[part.rows] = 0.5 * (gain - part.offset + before - np.linalg.slogdet(total)[1])
        return out

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Exact in the mean curve, with the hyper-parameters learned from all members."""
        assert self.process is not None and self.coefficients is not None, "fit first"
        assert self.precision is not None and self.members is not None
        out = np.empty(self.members.n_objects)
        after = np.linalg.slogdet(self.precision)[1]
        for part in reduce(self.members, self.process, self.origin, self.coefficients):
            left = self.precision - part.precision
            moved = np.linalg.solve(left, part.shift[..., None])[..., 0]
            loss = np.einsum("bq,bq->b", part.shift, moved)
            out[part.rows] = 0.5 * (np.linalg.slogdet(left)[1] - after - part.offset - loss)
        return out

    def _check(self, noise: Noise) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"`kernel` must be one of {', '.join(KERNELS)}: got {self.kernel!r}.")
        if self.rank != "learn" and not (isinstance(self.rank, int) and self.rank >= 0):
            raise ValueError(f"`rank` must be a whole number >= 0 or 'learn': got {self.rank!r}.")
        if not isinstance(noise, ScaleMixture) or len(noise.gaussian_scales()[0]) != 1:
            raise ValueError(
                f"a Gaussian process needs Gaussian noise: got {type(noise).__name__}. Use noise='gaussian', or another "
                "class_model."
            )

    def _frame(self, members: Measurements, around: Surroundings) -> tuple[float, Scales, Basis]:
        """Origin and scales of the values and of the coordinate, and the basis over the members' coordinates."""
        origin = float(around.centre.mean())
        spread = float(np.sqrt(np.mean(around.scale**2 + (around.centre - origin) ** 2)))
        at = coordinates(members)[members.observed]
        lower, upper = (float(at.min()), float(at.max())) if at.size else (0.0, 1.0)
        periodic = self.kernel == "periodic"
        distinct = len(np.unique(at)) if at.size < 100_000 else self.n_knots
        knots = max(min(self.n_knots, distinct), 1)
        period = self.period if periodic else np.inf
        basis = Basis.over(lower, upper, knots, n_bands=around.n_bands, period=period)
        span = self.period if periodic else (upper - lower if upper > lower else 1.0)
        return origin, Scales(spread, span), basis


@dataclass(frozen=True, eq=False)
class _Learner:
    """The climb with growing rank, on a sample of the members."""

    members: Measurements
    basis: Basis
    origin: float
    prior_precision: FloatArray
    scales: Scales
    rng: np.random.Generator

    def learn(self, process: Process, rank: int | str) -> Process:
        every = self._blocks(self.members)
        n = self.members.n_objects
        if rank != "learn" or n < 8:
            return self._grown(process, every, int(rank) if rank != "learn" else 0)
        held = np.arange(n) % 4 == 3
        train, test = self._blocks(self.members[~held]), self.members[held]
        best, best_evidence, best_rank = process, -np.inf, 0
        here, ask = self._climb(process, train, 40)
        for tried in range(_MAX_RANK + 1):
            gained = self._held_out(here, self.members[~held], test)
            if gained > best_evidence:
                best, best_evidence, best_rank = here, gained, tried
            elif tried - best_rank >= _PATIENCE:
                break
            if 3 * (tried + 1) > n:
                break
            here, ask = self._climb(self._with_factor(here, ask), train, 25)
        return self._climb(best, every, 25)[0]

    def _grown(self, process: Process, every: list[Block], rank: int) -> Process:
        here, ask = self._climb(process, every, 40)
        for _ in range(rank):
            here, ask = self._climb(self._with_factor(here, ask), every, 25)
        return here

    def _blocks(self, members: Measurements) -> list[Block]:
        return list(blocks(members, self.basis, max_points=_POINTS_TO_LEARN_FROM, rng=self.rng))

    def _climb(self, process: Process, members: list[Block], steps: int) -> tuple[Process, FloatArray]:
        return climb(process, members, self.origin, self.prior_precision, self.scales, max_steps=steps)

    def _with_factor(self, process: Process, ask: FloatArray) -> Process:
        _, vectors = np.linalg.eigh(0.5 * (ask + ask.T))
        new = 0.1 * self.scales.value * vectors[:, -1:]
        return replace(process, factors=np.hstack([process.factors, new]))

    def _held_out(self, process: Process, members: Measurements, test: Measurements) -> float:
        total, coefficients = posterior_mean(members, process, self.origin, self.prior_precision)
        model = GaussianProcess(
            process=process, origin=self.origin, coefficients=coefficients, precision=total
        )
        return float(model.log_evidence(test).mean())


def posterior_mean(
    members: Measurements, process: Process, origin: float, prior_precision: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Precision (q, q) and posterior mean (q,) of the mean curve's coefficients, given all members."""
    total = np.diag(prior_precision)
    shift = np.zeros(len(prior_precision))
    for part in reduce(members, process, origin, np.zeros(len(prior_precision))):
        total += part.precision.sum(axis=0)
        shift += part.shift.sum(axis=0)
    return total, np.asarray(np.linalg.solve(total, shift), dtype=np.float64)


def _sample(members: Measurements, most: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """At most `most` members, in an order that depends on their values and not on their place."""
    key = np.nansum(members.values, axis=1)
    order = np.argsort(key, kind="stable")
    if members.n_objects <= most:
        return rng.permutation(order)
    return order[np.sort(rng.choice(members.n_objects, most, replace=False))][rng.permutation(most)]

"""How a process is learned from a class's members: the climb, the number of factors, and honest evidence of the members.

Factors are grown one at a time in the direction that the evidence asks for most, and kept if members that were held out
gain by it (rank growth). The evidence of each member under the class without it is by cross-fitting: a quarter of the
members at a time is left out, hyperparameters, factors and mean curve are learned again from the others, and the quarter is
asked about. At most 400 members are climbed with, so that costs as much for any class as for one of 400. A class of fewer
than eight is not divided: there the mean curve alone is left out, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac._kernels.eigen import eigh
from badac._kernels.latent import unpack
from badac.data.measurements import Measurements
from badac.latent.basis import Basis
from badac.latent.hyperparameters import Extent, climb
from badac.latent.process import Block, Curve, FactorProcess, Process, blocks, scaled
from badac.training import FloatArray

# Members and points of each that hyperparameters are climbed with: a step costs members x points^3, and they are few numbers.
MEMBERS_TO_LEARN_FROM = 400
_POINTS_TO_LEARN_FROM = 50
_MAX_RANK = 8  # by cost: a factor more is a climb more with as many numbers as the basis has
# Eight parts would take twice the time to bring left-out members 0.05 nats nearer to new ones (tests/classes/test_left_out.py).
FOLDS = 4


@dataclass(frozen=True, eq=False)
class Learner:
    """What does not change while a class's process is learned.

    Attributes
    ----------
    basis : Basis
    origin : float
    prior_precision : (q,)
        Of the mean curve's coefficients.
    extent : Extent
    rng : numpy.random.Generator
    """

    basis: Basis
    origin: float
    prior_precision: FloatArray
    extent: Extent
    rng: np.random.Generator

    def learn(self, members: Measurements, process: Process, rank: int | str) -> Process:
        """Climb from `process`; a given rank is grown to, "learn" asks held-out members."""
        n = members.n_objects
        every = self._blocks(members)
        if rank != "learn" or n < 2 * FOLDS:
            here, ask = self._climb(process, every, 30)
            for _ in range(0 if rank == "learn" else int(rank)):
                here, ask = self._climb(self._with_factor(here, ask), every, 15)
            return here
        held = np.arange(n) % FOLDS == 0
        train, test = self._blocks(members[~held]), members[held]
        best, best_evidence = process, -np.inf
        here, ask = self._climb(process, train, 30)
        for tried in range(min(_MAX_RANK, n // 3) + 1):
            curve = self.curve(members[~held], here)
            gained = float(log_evidence(test, here, curve).mean())
            if gained <= best_evidence:
                break
            best, best_evidence = here, gained
            if tried < min(_MAX_RANK, n // 3):
                here, ask = self._climb(self._with_factor(here, ask), train, 15)
        return self._climb(best, every, 15)[0]

    def curve(self, members: Measurements, process: Process, *, n_threads: int = 1) -> Curve:
        """Return the posterior of the mean curve given members and process."""
        total, shift = np.diag(self.prior_precision), np.zeros(self.basis.size)
        around = FactorProcess(process, Curve(self.origin, shift, total))
        for _, part in around.project_blocks(members, n_threads=n_threads):
            total = total + unpack(part.precision.sum(axis=0))
            shift = shift + part.shift.sum(axis=0)
        return Curve(self.origin, np.asarray(np.linalg.solve(total, shift), dtype=np.float64), total)

    def member_evidence(self, members: Measurements, process: Process, widths: Sequence[float]) -> FloatArray:
        """Return (k, widths): log evidence of each member under the class without it, its covariance times each width."""
        n = members.n_objects
        if n < 2 * FOLDS:
            curve = self.curve(members, process)
            return np.column_stack([leave_one_out(members, process, curve, width) for width in widths])
        out = np.empty((n, len(widths)))
        for held, without in self.folds(members, process):
            curve = self.curve(members[~held], without)
            for column, width in enumerate(widths):
                out[held, column] = log_evidence(members[held], scaled(without, width), curve)
        return out

    def folds(
        self, members: Measurements, process: Process
    ) -> Iterator[tuple[npt.NDArray[np.bool_], Process]]:
        """Yield a quarter of the members (k,), True where held out, and the process as the others have it; four times."""
        for fold in range(FOLDS):
            held = np.arange(members.n_objects) % FOLDS == fold
            yield held, self.again(members[~held], process)

    def again(self, members: Measurements, process: Process) -> Process:
        """Climb again, from where all members led, with (at most 400 of) these."""
        return self._climb(process, self._blocks(members[:MEMBERS_TO_LEARN_FROM]), 15)[0]

    def _blocks(self, members: Measurements) -> list[tuple[Block, FloatArray]]:
        packed = blocks(members, self.basis, max_points=_POINTS_TO_LEARN_FROM, rng=self.rng)
        return [(block, block.features(self.basis)) for block in packed]

    def _climb(
        self, process: Process, members: list[tuple[Block, FloatArray]], steps: int
    ) -> tuple[Process, FloatArray]:
        return climb(process, members, self.origin, self.prior_precision, self.extent, max_steps=steps)

    def _with_factor(self, process: Process, ask: FloatArray) -> Process:
        _, vectors = eigh(0.5 * (ask + ask.T))
        new = 0.1 * self.extent.value * vectors[:, -1:]
        return replace(process, factors=np.hstack([process.factors, new]))


def log_evidence(objects: Measurements, process: Process, curve: Curve, *, n_threads: int = 1) -> FloatArray:
    """Return (n,): log density of the objects under the process, the mean curve's uncertainty included."""
    out = np.empty(objects.n_objects)
    for rows, part in FactorProcess(process, curve).project_blocks(objects, n_threads=n_threads):
        out[rows] = part.log_evidence_under(curve.precision)
    return out


def leave_one_out(members: Measurements, process: Process, curve: Curve, width: float = 1.0) -> FloatArray:
    """Return (k,): log density of each member given the others, exact in the mean curve.

    At another `width` than 1 the member is asked with a wider process, while the mean was learned with the process itself.
    """
    out = np.empty(members.n_objects)
    own = FactorProcess(process, curve).project_blocks(members)
    wide = FactorProcess(scaled(process, width), curve).project_blocks(members)
    for (rows, part), (_, asked) in zip(own, wide, strict=True):
        # Without the member, the mean curve's coefficients are N(-back, left^-1) around those learned with it.
        left = curve.precision - unpack(part.precision)
        back = np.asarray(np.linalg.solve(left, part.shift[..., None])[..., 0], dtype=np.float64)
        out[rows] = asked.seen_from(-back).log_evidence_under(left)
    return out


def shuffled(members: Measurements, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return a random order (k,) that goes by what the members are, not by where they stand."""
    return np.asarray(rng.permutation(np.argsort(np.nansum(members.values, axis=1), kind="stable")))

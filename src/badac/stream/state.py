"""New classes in a stream: what is known of them, and what the user may say about them.

A class that the stream found is a mixture in one space of waves (`badac.stream.new_class_prior`): of few members, the sum of
their messages; grown, a Gaussian population. `badac.stream.step` says how objects found and join them,
`badac.stream.recluster` how they merge and are divided again.

Everything is a pure function of a frozen state, so that an interrupted block leaves the stream as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac._kernels.latent import Components
from badac.cached import cached_property
from badac.classes.model import FloatArray
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.registry import registered
from badac.stream.new_class_prior import ConjugateClass

IntArray = npt.NDArray[np.int64]

FIRST_REVIEW = 40
MOST_CLASSES = 32
_MOST_REVIEWED = 1500


@registered("part")
@dataclass(frozen=True, eq=False)
class NewClass:
    """A class that the stream found.

    Attributes
    ----------
    code : int
        Its number.
    label : int
        What its members are assigned to: its own code, unless the user said that it is part of another class.
    count : int
        Members so far.
    mixture : Mixture
        What the next member is expected to be, in the space of waves.
    conjugate : ConjugateClass or None
        The sums over its members, until it has grown into a population.
    settled : bool
        The user has decided about it: it is not divided again.
    """

    code: int
    label: int
    count: int
    mixture: Mixture
    conjugate: ConjugateClass | None
    settled: bool = False

    @cached_property
    def components(self) -> Components:
        """Of the mixture, as the kernel takes them: a class that nobody joins is worked out once."""
        return self.mixture.components()


@registered("part", holds={"row": "(n,)", "code": "(n,)", "log_known": "any", "log_found": "any"})
@dataclass(frozen=True, eq=False)
class Pool:
    """The newcomers that a review looks at: their likelihoods in the waves, and what else they could be.

    Attributes
    ----------
    latent : Latent
    row : (p,) int
        Place in the stream.
    code : (p,) int
        New class of each.
    log_known, log_found : (p,)
        Log evidence of all known classes together, and of the anomaly.
    nearest : (p,) int
        The most probable known class.
    """

    latent: LatentLikelihood
    row: IntArray
    code: IntArray
    log_known: FloatArray
    log_found: FloatArray
    nearest: IntArray

    @classmethod
    def empty(cls, q: int) -> Pool:
        nothing, none = np.empty(0), np.empty(0, dtype=np.int64)
        return cls(
            LatentLikelihood(np.empty((0, q * (q + 1) // 2)), np.empty((0, q)), nothing),
            none,
            none,
            nothing,
            nothing,
            none,
        )

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, rows: slice | np.ndarray) -> Pool:
        return Pool(
            self.latent[rows],
            self.row[rows],
            self.code[rows],
            self.log_known[rows],
            self.log_found[rows],
            self.nearest[rows],
        )

    def plus(self, other: Pool) -> Pool:
        """Return both, at most as many as a review looks at: the latest."""
        kept = slice(-_MOST_REVIEWED, None)
        latent = LatentLikelihood(
            np.concatenate([self.latent.precision, other.latent.precision])[kept],
            np.concatenate([self.latent.shift, other.latent.shift])[kept],
            np.concatenate([self.latent.offset, other.latent.offset])[kept],
        )
        rest = (
            np.concatenate([getattr(self, name), getattr(other, name)])[kept]
            for name in ("row", "code", "log_known", "log_found", "nearest")
        )
        return Pool(latent, *rest)


@registered("part")
@dataclass(frozen=True, eq=False)
class StreamState:
    """Where a stream stands.

    Attributes
    ----------
    n_seen : int
    assignment : (n_seen,) int
        Class of every object: the number of a known class, or the code of a new one.
    classes : tuple of NewClass
    pool : Pool
    next_code, next_review : int
        The code of the next class, and the number of newcomers at which they are divided again.
    newcomers : int
        How many objects ever joined or founded a new class.
    """

    n_seen: int
    assignment: IntArray
    classes: tuple[NewClass, ...]
    pool: Pool
    next_code: int
    next_review: int = FIRST_REVIEW
    newcomers: int = 0


def at_most(classes: tuple[NewClass, ...]) -> tuple[NewClass, ...]:
    """Return at most so many classes: the oldest of those with the fewest members keeps them, but is asked no more."""
    if len(classes) <= MOST_CLASSES:
        return classes
    asked = [each for each in classes[:-1] if not each.settled] or list(classes[:-1])
    leaves = min(asked, key=lambda each: (each.count, each.code))
    return tuple(each for each in classes if each is not leaves)


def merged(state: StreamState, code: int, into: int, n_known: int) -> StreamState:
    """Return the state with a new class as part of another one, or of a known class (`into` < `n_known`).

    Each part goes on learning its own kind of curve; they share a label.
    """
    parts = _parts(state, code)
    others = [] if into < n_known else _parts(state, into)
    classes = tuple(
        replace(each, label=into, settled=True) if each in parts or each in others else each
        for each in state.classes
    )
    assignment = np.where(state.assignment == code, into, state.assignment)
    return replace(state, assignment=assignment, classes=classes)


def dismissed(state: StreamState, code: int) -> StreamState:
    """Return the state without a new class: its members go to their nearest known classes."""
    parts = _parts(state, code)
    own = np.isin(state.pool.code, [each.code for each in parts])
    assignment = state.assignment.copy()
    assignment[state.pool.row[own]] = state.pool.nearest[own]
    classes = tuple(each for each in state.classes if each not in parts)
    return replace(state, assignment=assignment, classes=classes, pool=state.pool[~own])


def _parts(state: StreamState, code: int) -> list[NewClass]:
    """The classes whose members are assigned to `code`."""
    found = [each for each in state.classes if each.label == code]
    if not found:
        codes = sorted({each.label for each in state.classes})
        raise ValueError(f"there is no new class {code!r} in the stream: the codes are {codes}.")
    return found

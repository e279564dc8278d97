"""What a nuisance is: something unknown of each new object that says nothing about its class, and is integrated out.

    P(d | class) = integral P(d | class, phi) P(phi) dphi

(the paper's section on calibration and zero points). A nuisance wraps a class model and is a class model: whoever asks for its
evidence does not see the difference. The class is learned from the training objects as they are, unless the nuisance is asked
to prepare them; new objects get the freedom of the prior, so only those that fit no class under any calibration stay strange.
"""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np

from badac.classes.model import ClassModel, FloatArray
from badac.data.measurements import Measurements
from badac.noise.model import Noise
from badac.training import TrainingScales


@runtime_checkable
class Nuisance(Protocol):
    """A wrapper of class models.

    Examples
    --------
    >>> from badac.nuisance import Nuisance, Shift
    >>> isinstance(Shift(0.1), Nuisance)
    True
    """

    @property
    def of(self) -> ClassModel | None:
        """The class model that it wraps."""

    @property
    def idle(self) -> bool:
        """Whether it has no width, so that it changes nothing."""

    def prepared(self, members: Measurements, noise: Noise) -> Measurements:
        """Return the members as the class should learn them: as they are, unless asked otherwise."""

    def wrap(
        self, model: ClassModel, members: Measurements, learned_from: Measurements | None = None
    ) -> Self:
        """Return this nuisance around a fitted class model.

        `members` are the training objects as they were measured, `learned_from` the same as they were prepared.
        """

    def spoiled(self, members: Measurements, rng: np.random.Generator) -> Measurements:
        """Return the members as they might have come with a nuisance of their own each."""

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        """Fit the wrapped class model, and wrap it."""

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(object | class), the nuisance integrated out."""

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Return (k,): the same for the members, each left out."""


def innermost(model: ClassModel) -> ClassModel:
    """Return the class model inside all wrappers.

    Examples
    --------
    >>> from badac.classes import Template
    >>> from badac.nuisance import Shift, innermost
    >>> type(innermost(Shift(0.1, of=Template()))).__name__
    'Template'
    """
    while isinstance(model, Nuisance) and model.of is not None:
        model = model.of
    return model


def active(model: ClassModel) -> tuple[Nuisance, ...]:
    """Return the wrappers around a class model that have a width, the innermost first."""
    found: tuple[Nuisance, ...] = ()
    while isinstance(model, Nuisance) and model.of is not None:
        if not model.idle:
            found = (model, *found)
        model = model.of
    return found


def left_out(
    wrapped: Nuisance, members: Measurements, learned_from: Measurements, *, n_threads: int = 1
) -> FloatArray:
    """Return (k,): evidence of the members under the wrapped class without them.

    What leaving one out costs the class itself, and what the freedom of the nuisance changes, taken one after the other.
    """
    assert wrapped.of is not None
    own = wrapped.of.leave_one_out(n_threads=n_threads)
    if wrapped.idle:
        return own
    kept_in = wrapped.of.log_evidence(learned_from, n_threads=n_threads)
    return own + wrapped.log_evidence(members, n_threads=n_threads) - kept_in

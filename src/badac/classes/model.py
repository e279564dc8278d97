"""What a class model is: a weighted set of curves with error bars, learned from the class's members.

A class model is a frozen dataclass; `fit` returns a fitted copy. Mixtures and wrappers of class models are class models.

It integrates the objects' noise over what it knows of the true values, so it says for which kinds of noise it can
(`takes_noise`, of `badac.noise.NoiseKind`) and refuses the others in `fit` (`check_noise_taken`): noise that nobody uses must
not be dropped in silence. One that says nothing is given whatever noise there is. The other protocols here are abilities
that some class models have besides: to be moved along the coordinate, and to integrate out a gain and an offset.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.latent.class_summary import ClassSummary
from badac.latent.gain_offset import GainOffset
from badac.latent.process_summary import ProcessSummary
from badac.noise.kinds import ANY_NOISE, NoiseKind, kind_of, name_of
from badac.noise.model import Noise
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
# On a common grid, or at any points; `form` says which.
Summary = ClassSummary | ProcessSummary


def refuse_own_points(members: Measurements, model: str) -> None:
    """Refuse members with points of their own, for a model that compares column with column."""
    if members.own_points:
        raise ValueError(
            f"{model} compares objects point by point and needs a common grid, but these objects have points of their own "
            '(`at` per object). Use class_model="gp", or put the curves on one grid and pass `at` of shape (m,).'
        )


def check_noise_taken(model: object, noise: Noise, members: Measurements) -> None:
    """Refuse noise of a kind that the class model does not take, naming those that do.

    Parameters
    ----------
    model : ClassModel
        With `takes_noise`, a set of `badac.noise.NoiseKind`.
    noise : Noise
        Of this class, with all parameters known.
    members : Measurements
    """
    kind = kind_of(noise)
    taken = takes_noise(model)
    if kind in taken:
        return
    name = type(model).__name__
    words = ", ".join(each.value for each in NoiseKind if each in taken)
    if members.own_points:
        raise ValueError(
            f"{name} takes {words} only: got noise {name_of(noise)}. No class model that learns from objects with points of "
            "their own (`at` per object) takes it: use noise='gaussian', or put the curves on one grid, where "
            f"{', '.join(models_that_take(kind))} do. A class given by a formula (Parametric) takes it at any points."
        )
    raise ValueError(
        f"{name} takes {words}: got noise {name_of(noise)}, which it cannot use. Class models that take it: "
        f"{', '.join(models_that_take(kind))}."
    )


def takes_noise(model: object) -> frozenset[NoiseKind]:
    """Return the kinds of noise that a class model, or a class of them, takes: all, if it does not say."""
    return frozenset(getattr(model, "takes_noise", ANY_NOISE))


def models_that_take(kind: NoiseKind) -> tuple[str, ...]:
    """Return the names of the class models of `badac.classes` for a common grid that take noise of a kind."""
    from badac import classes  # they import this module

    found = ((name, getattr(classes, name)) for name in classes.__all__)
    return tuple(name for name, one in found if kind in getattr(one, "takes_noise", ()))


def is_by_column(model: object) -> bool:
    """Whether a class model compares new objects point by point, whatever their coordinates; it says so, `by_column`."""
    return bool(getattr(model, "by_column", False))


def is_exact(model: object) -> bool:
    """Whether the evidence of a class model is meant as it is, not to be tempered; it says so, `exact`."""
    return bool(getattr(model, "exact", False))


@runtime_checkable
class ClassModel(Protocol):
    """A class of objects, as a density over noisy objects.

    Examples
    --------
    >>> from badac.classes import ClassModel, Template
    >>> isinstance(Template(), ClassModel)
    True
    """

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        """Return a copy that has learned from the members (k, m)."""

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(object | class), the objects' own noise included."""

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Return (k,): log P(member | class learned from the other members)."""


@runtime_checkable
class Summarised(Protocol):
    """A class model that can say more of itself than its evidence; not every one can."""

    def summary(self) -> Summary | None:
        """Return the class as factors and a mixture, or as a process at any points; None if it has neither."""


def summary_of(model: object) -> Summary | None:
    """Return the summary that a fitted class model has of itself; None if it has none, or no `summary` at all."""
    return model.summary() if isinstance(model, Summarised) else None


@runtime_checkable
class Refittable(Protocol):
    """A fitted class model that can be learned again from other members without choosing again (rank, shape, sizes).

    At a tenth of the cost of a `fit`, for whatever leaves members out; it has no `leave_one_out` then.
    """

    def refit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self | None:
        """Return a copy that has learned from the members (k, m), with the choices of this one; None if that needs a `fit`."""


@runtime_checkable
class RefittableWithoutParts(Refittable, Protocol):
    """A fitted class model that is learned again without each part of its members for less than by as many refits."""

    def refit_without_each(
        self,
        members: Measurements,
        part: npt.NDArray[np.int64],
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> list[Self] | None:
        """Return a copy for each part that has learned from the members (k, m) of all others; None if that needs `refit`s.

        `part` (k,) numbers them from 0 on. Nothing that a copy says may depend on the members of its part.
        """


def learned_again(
    model: ClassModel,
    members: Measurements,
    noise: Noise,
    rng: np.random.Generator,
    scales: TrainingScales | None = None,
) -> ClassModel:
    """Return a fitted class as other members (k, m) teach it: with its choices kept, if it can (`Refittable`)."""
    again = model.refit(members, noise, rng, scales) if isinstance(model, Refittable) else None
    return model.fit(members, noise, rng, scales) if again is None else again


@runtime_checkable
class MovableClass(Protocol):
    """A class on a grid that can be moved along the coordinate; one that reads the coordinates themselves need not be."""

    def moved(self, at: FloatArray, by: float) -> Self | None:
        """Return the fitted class with all its curves later by `by`, at the same points `at` (m,); None if it cannot."""

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Return (m, q): mean and directions of the class at its points, and (m,) the variance that they leave."""


@runtime_checkable
class CalibratedClass(Protocol):
    """A class that integrates out an unknown gain and offset of each object faster than object by object."""

    def calibrated_log_evidence(
        self, objects: Measurements, widths: GainOffset, *, n_threads: int = 1
    ) -> FloatArray | None:
        """Return (n,): log P(object | class) with ``d = (1 + gain g) y + offset o``, g, o ~ N(0, 1); None if it cannot."""


@runtime_checkable
class GridModel(Protocol):
    """A class model for a common grid that has a twin for members with points of their own."""

    def at_own_points(self) -> ClassModel:
        """Return the twin."""


@runtime_checkable
class ChoosingModel(Protocol):
    """A class model that tries several in `fit`, and is the one that it chose afterwards."""

    @property
    def chosen(self) -> ClassModel | None:
        """The fitted model."""

    @property
    def report(self) -> tuple[Any, ...]:
        """What was tried, the chosen one first (`badac.classes.Candidate`)."""

    @property
    def alternatives(self) -> tuple[tuple[str, ClassModel], ...]:
        """Fitted models that other classes may have too, by the names that they have in the report."""

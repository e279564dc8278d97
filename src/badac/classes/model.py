"""What a class model is: a weighted set of curves with error bars, learned from the class's members.

A class model is a frozen dataclass; `fit` returns a fitted copy. Mixtures and wrappers of class models are class models.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.latent.class_summary import ClassSummary
from badac.latent.process_summary import ProcessSummary
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


def is_by_column(model: object) -> bool:
    """Whether a class model compares new objects point by point, whatever their coordinates; it says so, `by_column`."""
    return bool(getattr(model, "by_column", False))


def is_exact(model: object) -> bool:
    """Whether the evidence of a class model is meant as it is, not to be tempered; it says so, `exact`."""
    return bool(getattr(model, "exact", False))


@runtime_checkable
class ClassModel(Protocol):
    """A class of objects, as a density over noisy objects."""

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

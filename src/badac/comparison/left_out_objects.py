"""Training objects beside the new ones, each under classes that have not learned from it.

A class of a hundred members explains them better than new ones of their kind: beside those, right error bars of new objects
look too small. The objects that are compared are a few of the training's, left out a tenth of them at a time, so that classes
are learned again (`badac.classes.model.learned_again`) from nearly all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac.classes.model import ClassModel, learned_again
from badac.comparison.turns import some_rows
from badac.data.measurements import Measurements
from badac.judge import FittedModel
from badac.nuisance.model import active, innermost

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_FOLDS = 10
# Of which a class is learned again, at least: from fewer it would be another one.
_FEWEST_MEMBERS = 10


@dataclass(frozen=True, eq=False)
class LeftOutObjects:
    """Some training objects, and models that have not learned from them.

    Attributes
    ----------
    parts : tuple of (FittedModel, Measurements)
        Objects in the units of the model.
    """

    parts: tuple[tuple[FittedModel, Measurements], ...]

    def each(self, found: Callable[[FittedModel, Measurements], FloatArray]) -> FloatArray:
        """Return (n, ...): what is found of the objects, each under a model without it."""
        return np.concatenate([found(*part) for part in self.parts])


def leave_out_some(model: FittedModel, most: int) -> LeftOutObjects | None:
    """Leave out so many training objects, a tenth of them at a time; None where classes cannot be learned again.

    That is where the model was sent without its training objects, or a nuisance is integrated out, which is part of what is
    learned.
    """
    if not len(model.training) or any(active(one) for one in model.class_models):
        return None
    known = model.known
    rows = some_rows(len(known.label), most)
    inner = [innermost(one) for one in model.class_models]
    parts = []
    for number in range(min(_FOLDS, len(rows))):
        held = rows[number::_FOLDS]
        classes = tuple(
            _without(held, known.training, known.label, one, index, model) for index, one in enumerate(inner)
        )
        parts.append((replace(model, class_models=classes), known.training[held]))
    return LeftOutObjects(tuple(parts))


def _without(
    held: IntArray, training: Measurements, label: IntArray, one: ClassModel, index: int, model: FittedModel
) -> ClassModel:
    """A class learned without the objects that are held out; as it is where hardly any others are left, or none is held."""
    members = np.flatnonzero(label == index)
    kept = np.setdiff1d(members, held)
    if len(kept) == len(members) or len(kept) < _FEWEST_MEMBERS:
        return one
    return learned_again(one, training[kept], model.noise, np.random.default_rng(0), model.scales)

"""Objects with points of their own on a common grid, where base learners that need columns can take them.

The class models see every point where it is; base learners on a grid (`badac.data.gridding`) are worth stacking where the class
models do not hold (`badac.calibration.stacking.ensemble`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from badac.calibration.stacking.base_models import learn_each
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.gridding import Grid
from badac.registry import registered
from badac.training import TrainingScales, TrainingSet


@registered("part")
@dataclass(frozen=True, eq=False)
class Gridded:
    """A grid and the classes on it.

    Attributes
    ----------
    grid : Grid
    models : k of ClassModel
        Populations.
    scales : TrainingScales
        Of all training objects on the grid.
    """

    grid: Grid
    models: tuple[ClassModel, ...]
    scales: TrainingScales


def on_a_grid(training: TrainingSet) -> tuple[Gridded, TrainingSet]:
    """Return a grid for the training objects (n, m) with the classes on it, and the objects there (n, cells)."""
    grid = Grid.of(training.objects)
    objects = grid.apply(training.objects)
    there = replace(training, objects=objects, scales=TrainingScales.of(objects))
    models = tuple(learn_each([Population()] * training.n_classes, there))
    return Gridded(grid, models, there.scales), there

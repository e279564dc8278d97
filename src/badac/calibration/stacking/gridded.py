"""Objects with points of their own on a common grid, where models that need columns can be asked about them.

The class models see every point where it is; what others say on a grid (`badac.data.gridding`) is worth hearing where the class
models do not hold (`badac.calibration.stacking.ensemble`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.calibration.coarsening import IntArray
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.gridding import Grid
from badac.data.measurements import Measurements
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales


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


def on_a_grid(
    training: Measurements, label: IntArray, n_classes: int, noise: Noise, rng: np.random.Generator
) -> tuple[Gridded, Measurements]:
    """Return a grid for the training objects (n, m), the classes on it, and the objects on it (n, cells)."""
    grid = Grid.of(training)
    objects = grid.apply(training)
    scales = TrainingScales.of(objects)
    models = tuple(
        Population().fit(objects[label == number], noise, rng, scales) for number in range(n_classes)
    )
    return Gridded(grid, models, scales), objects

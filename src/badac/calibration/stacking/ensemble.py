"""The stack: base models of several kinds, weighed by objects that none of them had seen (stacking, Wolpert 1992).

On data that follow the class models nothing is better than their posterior. Real classes do not follow them, and then each kind
of model sees something that the others miss: the population sees through noise, the members themselves (`Instances`, widened
by a fraction of each point's spread) keep whatever shape a class has, the `Pointwise` density needs no correlations, and
trees (`badac.calibration.stacking.trees`) describe no class at all, only what tells them apart. The base models
(`badac.calibration.stacking.base_models`) are

    the class models, instances of two widths, pointwise, trees, and the gaps (where `badac.calibration.missingness` uses them)

Probabilities follow the stack if, and only if, left-out objects gain by it; the score of an anomaly is a rank among the same
left-out objects (`badac.calibration.null_distribution`) wherever there is a stack. Objects with points of their own are brought
to a common grid for it (`Gridded`, `badac.data.gridding`). ``log_evidence`` stays what it is, log P(d | class) under the
class models. `badac.calibration.stacking.learning` says when a stack is learned, and how.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from badac.calibration.coarsening import FloatArray, relative_noise
from badac.calibration.null_distribution import Nonconformity
from badac.calibration.stacking.base_models import BaseModels, BaseOutputs, learn_each
from badac.calibration.stacking.weights import Stacking
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.gridding import Grid
from badac.data.measurements import Measurements
from badac.evidence import log_evidence
from badac.registry import registered
from badac.training import TrainingScales, TrainingSet


@registered("part")
@dataclass(frozen=True, eq=False)
class Gridded:
    """A common grid for objects with points of their own, where base models that need columns can take them.

    The class models see every point where it is; the stack has populations on the grid in their place.

    Attributes
    ----------
    grid : Grid
    models : k of ClassModel
        Populations on the grid.
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


@registered("part", version=3)
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Base models of the same classes, and how much each of them counts.

    Attributes
    ----------
    base_models : BaseModels
        Those beside the class models.
    gridded : Gridded or None
        For objects with points of their own: the grid that all base models share.
    stacking : Stacking
        The weights.
    nonconformity : Nonconformity
        What is normal for left-out objects.
    gain, standard_error : float
        Of the log-loss of left-out objects over the coarsened posterior, in nats an object.
    ranks : bool
        Whether the class models do not hold, so that strangeness too is a matter of left-out objects and not of evidence.
    """

    base_models: BaseModels
    gridded: Gridded | None
    stacking: Stacking
    nonconformity: Nonconformity
    gain: float
    standard_error: float
    ranks: bool = True

    @property
    def in_posterior(self) -> bool:
        """Whether probabilities follow the stack: if left-out objects gain more than a standard error."""
        return self.gain > self.standard_error

    @property
    def names(self) -> tuple[str, ...]:
        """Of the base models, the class models first."""
        first = "class models" if self.gridded is None else "populations on a grid"
        return (first, *self.base_models.names[1:])

    def outputs(
        self, objects: Measurements, evidence: FloatArray, scale: FloatArray, *, n_threads: int = 1
    ) -> BaseOutputs:
        """Return what all base models say of objects, and the stack of it.

        Parameters
        ----------
        objects : Measurements
            (n, m)
        evidence : (n, k)
            Theirs under the class models.
        scale : (m,)
            Spread of each point in training.
        """
        if self.gridded is not None:
            objects, scale = self.gridded.grid.apply(objects), self.gridded.scales.scale
            evidence = log_evidence(self.gridded.models, objects, n_threads=n_threads)
        log_evidences = self.base_models.log_evidences(objects, evidence, n_threads=n_threads)
        level = noise_levels(objects, scale)
        stacked = self.stacking.apply(log_evidences, level)
        # Nothing measured, nothing said: not even by a bias.
        stacked[~objects.observed.any(axis=1)] = 0.0
        return BaseOutputs(objects, log_evidences, stacked, level)


def noise_levels(objects: Measurements, scale: FloatArray) -> FloatArray:
    """Return (n,): the noise level of each object; 0 for all where values count as exact."""
    return relative_noise(objects, scale) if objects.has_errors else np.zeros(objects.n_objects)

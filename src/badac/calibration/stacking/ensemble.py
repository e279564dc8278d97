"""The stack: base models of several kinds, weighed by objects that none of them had seen (stacking, Wolpert 1992).

On data that follow the class models nothing is better than their posterior. Real classes do not follow them, and then each kind
of model sees something that the others miss: the population sees through noise, the members themselves (`Instances`, widened
by a fraction of each point's spread) keep whatever shape a class has, the `Pointwise` density needs no correlations, and
trees (`badac.calibration.stacking.trees`) describe no class at all, only what tells them apart. The base models
(`badac.calibration.stacking.base_models`) are

    the class models, instances of two widths, pointwise, trees, and the gaps (where `badac.calibration.missingness` uses them)

and, where few of many columns tell the classes apart, the classes in these (`badac.calibration.stacking.telling_columns`).

Probabilities follow the stack if, and only if, left-out objects gain by it (of objects with points of their own, if they do not
lose: `Ensemble.in_posterior`); the score of an anomaly is a rank among the same
left-out objects (`badac.calibration.null_distribution`) wherever there is a stack. Of objects with points of their own trees
see latent positions, and they and the class models are all there is (`badac.calibration.stacking.at_points`). ``log_evidence``
stays what it is, log P(d | class) under the class models. `badac.calibration.stacking.learning` says when a stack is learned,
and how.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.calibration.coarsening import FloatArray, IntArray, relative_noise
from badac.calibration.null_distribution import Nonconformity
from badac.calibration.stacking.base_models import BaseModels, BaseOutputs
from badac.calibration.stacking.coverage import Coverage
from badac.calibration.stacking.latent_columns import LatentColumns
from badac.calibration.stacking.telling_columns import InColumns
from badac.calibration.stacking.weights import Stacking
from badac.data.measurements import Measurements
from badac.registry import registered


@registered("part", version=6)
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Base models of the same classes, and how much each of them counts.

    Attributes
    ----------
    base_models : BaseModels
        Those beside the class models.
    columns : LatentColumns or None
        For objects with points of their own: what trees see of them.
    stacking : Stacking
        The weights.
    nonconformity : Nonconformity
        What is normal for left-out objects.
    gain, standard_error : float
        Of the log-loss of left-out objects over the coarsened posterior, in nats an object.
    ranks : bool
        Whether the class models do not hold, so that strangeness too is a matter of left-out objects and not of evidence.
    beyond : Stacking or None
        Other weights for probabilities, where new objects are beyond the training's (`beyond_training`).
    coverage : Coverage or None
        For objects with columns beside their points: how much of the stack's evidence counts where training hardly had any.
    """

    base_models: BaseModels
    columns: LatentColumns | None
    stacking: Stacking
    nonconformity: Nonconformity
    gain: float
    standard_error: float
    ranks: bool = True
    beyond: Stacking | None = None
    coverage: Coverage | None = None

    @property
    def in_posterior(self) -> bool:
        """Whether probabilities follow the stack: if left-out objects gain more than a standard error.

        Of objects with points of their own, if they do not lose more than that: a left-out object is asked of the few trees
        that had not seen it, a new one of all, so that the gain is larger than left-out ones say (docs/light_curves.md). A
        stack that has no say in what is strange was kept for the probabilities, by the rule of whoever learned it.
        """
        least = self.standard_error if self.columns is None else -self.standard_error
        return not self.ranks or self.gain > least

    @property
    def names(self) -> tuple[str, ...]:
        """Of the base models, the class models first."""
        return self.base_models.names

    @property
    def telling_columns(self) -> IntArray | None:
        """(c,): the few columns in which classes are base models as well; None without any."""
        return next(
            (own[0].columns for own in self.base_models.models if isinstance(own[0], InColumns)), None
        )

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
        seen = objects if self.columns is None else self.columns.apply(objects, evidence, n_threads=n_threads)
        log_evidences = self.base_models.log_evidences(seen, evidence, n_threads=n_threads)
        level = noise_levels(objects, scale)
        stacked = self.stacking.apply(log_evidences, level)
        # Nothing measured, nothing said: not even by a bias.
        stacked[~objects.observed.any(axis=1)] = 0.0
        return BaseOutputs(objects, log_evidences, stacked, level)

    def believed(self, outputs: BaseOutputs) -> FloatArray:
        """Return (n,): how much of the log odds that training tells counts, 1 but for objects beyond its columns."""
        if self.coverage is None or self.beyond is not None:
            return np.ones(len(outputs.stacked))
        return self.coverage.exponent(outputs.objects)

    def log_match(self, outputs: BaseOutputs) -> FloatArray:
        """Return (n, k): what stands in the place of the log evidence in probabilities."""
        if self.beyond is None:
            return self.believed(outputs)[:, None] * outputs.stacked
        measured = outputs.objects.observed.any(axis=1, keepdims=True)
        return np.where(measured, self.beyond.apply(outputs.log_evidences, outputs.level), 0.0)


def noise_levels(objects: Measurements, scale: FloatArray) -> FloatArray:
    """Return (n,): the noise level of each object; 0 for all where values count as exact."""
    return relative_noise(objects, scale) if objects.has_errors else np.zeros(objects.n_objects)

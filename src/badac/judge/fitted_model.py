"""Everything that was learned, frozen: what judging a new object needs, and nothing of the estimator that learned it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import AnomalyModel, Deviations, Known
from badac.anomalies.deferred import Deferred, as_learned
from badac.cached import cached_property
from badac.calibration.pool import Pool
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import IntArray, LeftOut
from badac.calibration.two_groups import TwoGroups
from badac.calibration.unusual_gaps import Gap, UsualGaps
from badac.classes import ClassModel, ClassReport
from badac.data.error_scale import with_error_scale
from badac.data.measurements import Measurements
from badac.data.units import in_units, within
from badac.identity import identity
from badac.judge.judgement import Judgement
from badac.noise import Noise
from badac.training import TrainingScales
from badac.verdicts import STANDARD, Verdicts

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# Training objects that objects with a gap are compared with: p-values of a thousandth are told, at 0.1 s a kind of gap.
_COMPARED = 2000


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What was learned of ``k`` classes, and all that judging a new object needs.

    Attributes
    ----------
    classes : (k,)
        Labels, sorted.
    class_models : k of ClassModel
    class_report : ClassReport or None
        What was tried for each class.
    log_prior : (k,)
        Of the known classes.
    noise : Noise
    scales : TrainingScales
    units : (1,) or (m,)
        Of the fitted parts, not of `training` and the answers (`badac.data.units`).
    calibration : PosteriorCalibration
        Coarsening, missingness and the stack of base models.
    anomaly_model : AnomalyModel, Deferred or None
        None: ranked by the total evidence of the known classes. Where nobody said what an anomaly is, it is learned when it is
        first asked (`badac.anomalies.deferred`).
    anomaly_prior : float
    may_rank : bool
        Whether nobody said what an anomaly is, so that the score may be a rank among left-out objects.
    training : Measurements
        (n, m), in the units of the data; empty in a model that is sent around (`lean`).
    training_label : (n,)
    left_out : LeftOut or None
        What p-values and the probability of an anomaly need, where it was made ready.
    compared : Measurements or None
        Some training objects, in a model without its training objects that is sent around.
    two_groups : TwoGroups or None
        The probability of an anomaly by p-value, where it was learned from new objects.
    error_scale : float
        Factor on the error bars of new objects, where it was learned from new objects (`badac.estimators.adaptation`).
    """

    classes: npt.NDArray[Any]
    class_models: tuple[ClassModel, ...]
    class_report: ClassReport | None
    log_prior: FloatArray
    noise: Noise
    scales: TrainingScales
    units: FloatArray
    calibration: PosteriorCalibration
    anomaly_model: AnomalyModel | Deferred | None
    anomaly_prior: float
    may_rank: bool
    training: Measurements
    training_label: npt.NDArray[Any]
    left_out: LeftOut | None = None
    compared: Measurements | None = None
    two_groups: TwoGroups | None = None
    error_scale: float = 1.0

    # -- the walk ----------------------------------------------------------------------------------------------------

    def judge(self, objects: Measurements, *, n_threads: int = 1) -> Judgement:
        """Return the walk of some objects (n, m), in the units of the data; nothing is done before it is asked for."""
        return Judgement(self, self.in_units(with_error_scale(objects, self.error_scale)), n_threads)

    def verdicts(
        self, objects: Measurements, asked: Sequence[str] = STANDARD, *, n_threads: int = 1
    ) -> Verdicts:
        """Return the table of what was asked for about some objects (n, m): names of `badac.verdicts`, in one pass."""
        return self.judge(objects, n_threads=n_threads).verdicts(asked)

    def in_units(self, objects: Measurements) -> Measurements:
        """Return objects in the units of the model, values that are absurdly far out brought within reach."""
        return within(in_units(objects, self.units), self.scales.reach)

    # -- what the score is -------------------------------------------------------------------------------------------

    @property
    def ranks_left_out(self) -> bool:
        """Whether score and p-value are ranks among left-out training objects: where there is a stack, by default."""
        ensemble = self.calibration.ensemble
        return ensemble is not None and ensemble.ranks and self.may_rank

    @property
    def score_meaning(self) -> str:
        """What the score of an object is, in words."""
        if self.anomaly_model is None:
            return (
                "minus the log of the total evidence of the known classes: there is no anomaly class "
                '(anomaly="evidence").'
            )
        if not self.ranks_left_out:
            return "posterior log odds of an anomaly against the known classes, from the evidence of both."
        return (
            "posterior log odds of an anomaly from the object's rank among left-out training objects: the classes do not "
            f"follow their models (a coarsened posterior gains {self.calibration.coarsening.gain:.2g} nats an object), so "
            "odds from their evidence would be wrong."
        )

    @property
    def pool(self) -> Pool | None:
        """The known objects that p-values are counted among; None where they were not made ready."""
        ensemble = self.calibration.ensemble
        if ensemble is not None and self.ranks_left_out:
            return ensemble.nonconformity.together.pools[0]
        return None if self.left_out is None else self.left_out.pool

    # -- sent around -------------------------------------------------------------------------------------------------

    def lean(self) -> FittedModel:
        """Return the model without its training objects, but for the few that gaps are compared with: quicker to send."""
        return replace(
            self,
            training=self.training[:0],
            training_label=self.training_label[:0],
            compared=self.some_known,
            anomaly_model=as_learned(self.anomaly_model),
        )

    @property
    def some_known(self) -> Measurements | None:
        """Training objects, at most 2,000, in the units of the data; None where objects have points of their own.

        Where there are left-out ones, those at `LeftOut.some` of them.
        """
        if self.compared is not None or self.training.own_points or not len(self.training):
            return self.compared
        if self.left_out is not None:
            return self.training[self.left_out.rows[self.left_out.some(_COMPARED)]]
        return self.training[np.sort(np.random.default_rng(0).permutation(len(self.training))[:_COMPARED])]

    @property
    def identity(self) -> str:
        """A name that two models share if, and only if, they are fitted alike."""
        # What p-values need is made of the rest, by whoever wants them.
        learned = as_learned(self.anomaly_model)
        return identity(replace(self, anomaly_model=learned, left_out=None, compared=None))

    # -- what else is made of it -------------------------------------------------------------------------------------

    @cached_property
    def known(self) -> Known:
        """The known classes that an anomaly is measured against."""
        label = np.searchsorted(self.classes, self.training_label).astype(np.int64)
        return Known(
            self.in_units(self.training),
            label,
            self.class_models,
            self.log_prior,
            self.anomaly_prior,
            self.noise,
            self.scales,
        )

    @cached_property
    def usual_gaps(self) -> UsualGaps | None:
        """What training objects lack; None where objects have points of their own."""
        known = self.some_known
        return None if known is None else UsualGaps.of(known.observed)

    def left_out_with(self, gap: Gap, n_threads: int) -> tuple[LeftOut, IntArray]:
        """Return some left-out objects as they would be with a gap (`badac.calibration.unusual_gaps`), and which they are.

        Kept beside the others.
        """
        left_out, known = self.left_out, self.some_known
        assert left_out is not None and known is not None
        some = left_out.some(_COMPARED)
        key, known, found = self.log_prior.tobytes(), self.in_units(known), left_out.with_gaps
        if key not in found:
            # Without a gap: what left-out objects lose against those that were learned from.
            whole = Judgement(self, known, n_threads)
            lost = np.maximum(left_out.score[some] - whole.raw_strangeness, 0.0)
            found[key] = left_out.replaced_by(lost, whole.level, whole.predicted)
        if (key, gap) not in found:
            lacking = Judgement(self, gap.applied(known), n_threads)
            score = lacking.raw_strangeness + found[key].score
            found[key, gap] = left_out.replaced_by(score, lacking.level, lacking.predicted)
        return found[key, gap], some

    def compares(self, objects: Measurements) -> bool:
        """Whether score and probability of an anomaly of some objects (n, m) ask for left-out ones."""
        return self.anomaly_model is not None or self.lacks_unusually(objects)

    def lacks_unusually(self, objects: Measurements) -> bool:
        """Whether any of some objects (n, m) may have a gap that training objects do not have."""
        usual = None if objects.complete else self.usual_gaps
        return usual is not None and usual.may_be_unusual(objects.observed)

    def deviations(self) -> Deviations:
        """Return the hypotheses that explanations are made of: the anomaly model, or fitted now if that is another one."""
        learned = as_learned(self.anomaly_model)
        if isinstance(learned, Deviations):
            return learned
        return Deviations().fit(self.known, np.random.default_rng(0))

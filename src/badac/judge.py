"""The judge: everything that was learned, and the one walk from objects to verdicts, whoever asks.

    objects -> evidence -> base outputs (where there is a stack) -> posterior
                        -> odds of an anomaly, or rank among left-out objects -> score -> p-value

A `FittedModel` is frozen, can be pickled, and knows nothing of the estimator that learned it: the estimator, a stream, Dask,
LSDB and the command line all ask the same one. `FittedModel.judge` takes objects and returns a `Judgement`, which does each
step of the walk once, when it is first asked for; `FittedModel.verdicts` returns the steps as a table (`badac.verdicts`).

P-values compare an object with known ones that the model has not seen. Where a stack was learned, objects were left out
already (`badac.calibration.null_distribution`). Otherwise a second model is learned without a part of the training objects, to
compare with those (`HeldOut`): an object that a model has learned from looks less strange than a new one of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import AnomalyModel, Deviations, Known
from badac.calibration.class_frequencies import ClassFrequencies, estimate_frequencies
from badac.calibration.null_distribution import log_odds
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import CalibrationScores, Strata, noise_level
from badac.calibration.stacking.base_models import BaseOutputs
from badac.classes import ClassModel, ClassReport
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian, within
from badac.evidence import log_evidence
from badac.explain import NOTHING, Explanation, explain
from badac.identity import identity
from badac.noise import Noise
from badac.posterior import anomaly_log_odds, log_posterior, log_total, probability
from badac.training import TrainingScales
from badac.verdicts import STANDARD, Verdicts

FloatArray = npt.NDArray[np.float64]


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
    anomaly_model : AnomalyModel or None
        None: ranked by the total evidence of the known classes.
    anomaly_prior : float
    may_rank : bool
        Whether nobody said what an anomaly is, so that the score may be a rank among left-out objects.
    training : Measurements
        (n, m), in the units of the data; empty in a model that is sent around (`lean`).
    training_label : (n,)
    held_out : HeldOut or None
        What p-values need, where it was made ready.
    """

    classes: npt.NDArray[Any]
    class_models: tuple[ClassModel, ...]
    class_report: ClassReport | None
    log_prior: FloatArray
    noise: Noise
    scales: TrainingScales
    units: FloatArray
    calibration: PosteriorCalibration
    anomaly_model: AnomalyModel | None
    anomaly_prior: float
    may_rank: bool
    training: Measurements
    training_label: npt.NDArray[Any]
    held_out: HeldOut | None = None

    # -- the walk ----------------------------------------------------------------------------------------------------

    def judge(self, objects: Measurements, *, n_threads: int = 1) -> Judgement:
        """Return the walk of some objects (n, m), in the units of the data; nothing is done before it is asked for."""
        return Judgement(self, self.in_units(objects), n_threads)

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

    # -- sent around -------------------------------------------------------------------------------------------------

    def lean(self) -> FittedModel:
        """Return the model without its training objects, which only explanations need: quicker to send."""
        held_out = self.held_out
        if held_out is not None:
            held_out = replace(held_out, learned=held_out.learned.lean())
        return replace(
            self, training=self.training[:0], training_label=self.training_label[:0], held_out=held_out
        )

    @property
    def identity(self) -> str:
        """A name that two models share if, and only if, they are fitted alike."""
        # What p-values need is made of the rest, by whoever wants them.
        return identity(replace(self, held_out=None))

    # -- what else is made of it -------------------------------------------------------------------------------------

    @property
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

    def deviations(self) -> Deviations:
        """Return the hypotheses that explanations are made of: the anomaly model, or fitted now if that is another one."""
        if isinstance(self.anomaly_model, Deviations):
            return self.anomaly_model
        return Deviations().fit(self.known, np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class Judgement:
    """The walk of some objects: each step once, when it is first asked for.

    Attributes
    ----------
    model : FittedModel
    objects : Measurements
        (n, m), in the units of the model.
    n_threads : int
    """

    model: FittedModel
    objects: Measurements
    n_threads: int = 1

    @cached_property
    def evidence(self) -> FloatArray:
        """(n, k): log evidence under the class models, in the units of the model."""
        return log_evidence(self.model.class_models, self.objects, n_threads=self.n_threads)

    @property
    def log_evidence(self) -> FloatArray:
        """(n, k): log P(object | class), in the units of the data."""
        return self.evidence - log_jacobian(self.objects, self.model.units)[:, None]

    @property
    def log_total(self) -> FloatArray:
        """(n,): log of the total evidence of the known classes; low = strange."""
        return log_total(self.log_evidence, self.model.log_prior)

    @cached_property
    def outputs(self) -> BaseOutputs:
        """What the base models say, where there is a stack of them."""
        ensemble, scale = self.model.calibration.ensemble, self.model.scales.scale
        assert ensemble is not None
        return ensemble.outputs(self.objects, self.evidence, scale, n_threads=self.n_threads)

    @cached_property
    def calibrated(self) -> FloatArray:
        """(n, k): what stands in the place of the log evidence where probabilities are made."""
        model = self.model
        outputs = self.outputs if model.calibration.stacked else None
        return model.calibration.apply(self.objects, self.evidence, model.scales.scale, outputs)

    @cached_property
    def log_proba(self) -> FloatArray:
        """(n, k): log probabilities of the known classes."""
        return _no_nan("log_proba", log_posterior(self.calibrated, self.model.log_prior))

    def frequencies(self) -> ClassFrequencies:
        """Return how frequent each class is among these objects, with its uncertainty."""
        return estimate_frequencies(self.calibrated, self.model.log_prior)

    def with_frequencies(self, found: ClassFrequencies) -> Judgement:
        """Return the walk of the same objects with other class priors; what does not depend on them is kept."""
        with np.errstate(divide="ignore"):
            other = Judgement(
                replace(self.model, log_prior=np.log(found.share)), self.objects, self.n_threads
            )
        for name in ("evidence", "outputs", "calibrated"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @property
    def proba(self) -> FloatArray:
        """(n, k): probabilities of the known classes."""
        return np.asarray(np.exp(self.log_proba))

    @cached_property
    def log_odds(self) -> FloatArray:
        """(n,): of the anomaly model against the class models; minus the total evidence without an anomaly model."""
        model, known = self.model, log_total(self.evidence, self.model.log_prior)
        if model.anomaly_model is None:
            return _no_nan("log_odds", log_jacobian(self.objects, model.units) - known)
        anomaly = model.anomaly_model.log_evidence(self.objects, self.evidence, n_threads=self.n_threads)
        return _no_nan("log_odds", anomaly_log_odds(anomaly, known, model.anomaly_prior))

    @cached_property
    def score(self) -> FloatArray:
        """(n,), high = strange: what `FittedModel.score_meaning` says."""
        ensemble = self.model.calibration.ensemble
        if ensemble is None or not self.model.ranks_left_out:
            return self.log_odds
        surprise = ensemble.nonconformity.surprise(self.outputs)
        return _no_nan("score", log_odds(surprise, self.model.anomaly_prior))

    @property
    def anomaly_proba(self) -> FloatArray:
        """(n,): posterior probability that the object belongs to no known class."""
        if self.model.anomaly_model is None:
            raise ValueError(
                'anomaly="evidence" ranks by the evidence of the known classes and has no anomaly class, so no '
                "probability. Use anomaly_score, or fit with another `anomaly`."
            )
        return probability(self.score)

    @cached_property
    def pvalue(self) -> FloatArray:
        """(n,): share of known objects that are at least as strange."""
        ensemble = self.model.calibration.ensemble
        if ensemble is not None and self.model.ranks_left_out:
            return _no_nan("pvalue", ensemble.nonconformity.pvalue(self.outputs))
        if self.model.held_out is None:
            raise ValueError(
                "p-values compare with known objects that the model has not seen, and none were kept back yet: call "
                "prepare_pvalues() of the BADACClassifier first."
            )
        return _no_nan("pvalue", self.model.held_out.pvalues(self.objects, n_threads=self.n_threads))

    def verdicts(self, asked: Sequence[str] = STANDARD) -> Verdicts:
        """Return the table of what was asked for; without an anomaly class there is no ``anomaly_proba`` in it."""
        names = [name for name in asked if name != "anomaly_proba" or self.model.anomaly_model is not None]
        return Verdicts(self.model.classes, {name: getattr(self, name) for name in names})

    def explain(self, deviations: Deviations) -> Explanation:
        """Say why the objects are strange, by the hypotheses of `FittedModel.deviations`."""
        model, ensemble = self.model, self.model.calibration.ensemble
        found = explain(self.objects, deviations, model.known, model.classes, n_threads=self.n_threads)
        if ensemble is not None and model.ranks_left_out:
            # What no hypothesis about anomalies finds strange may be so among left-out objects.
            reason = ensemble.nonconformity.reason(self.outputs)
            unexplained = (found.hypothesis == NOTHING) & (reason != "")
            found = replace(found, hypothesis=np.where(unexplained, reason, found.hypothesis))
        return found.in_units(1.0 / model.units)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A model and known objects that it has not seen.

    Attributes
    ----------
    learned : FittedModel
        Without a part of the training objects.
    calibration : CalibrationScores
        Score, noise level and log posterior of that part.
    """

    learned: FittedModel
    calibration: CalibrationScores

    @classmethod
    def of(cls, learned: FittedModel, kept: Measurements, *, n_threads: int = 1) -> HeldOut:
        """Keep the scores of objects (c, m) that a model has not learned from."""
        label = np.searchsorted(learned.classes, learned.training_label).astype(np.int64)
        level = noise_level(learned.training, learned.scales)
        strata = Strata.of(level, label, kept.n_objects, len(learned.classes))
        return cls(learned, CalibrationScores.of(*_compared(Judgement(learned, kept, n_threads)), strata))

    def pvalues(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): the share of kept-back objects of the same class and noise that look at least as strange.

        1 where nothing was measured: the odds of such an object are the prior's, which is more than known objects keep, but
        nothing about it is strange.
        """
        found = self.calibration.pvalues(*_compared(Judgement(self.learned, objects, n_threads)))
        return np.where(objects.observed.any(axis=1), found, 1.0)


def _no_nan(name: str, found: FloatArray) -> FloatArray:
    """Return what was found, or raise: a number that is none is no answer."""
    bad = np.isnan(found)
    if not bad.any():
        return found
    rows = np.flatnonzero(bad.reshape(len(found), -1).any(axis=1))
    raise ValueError(
        f"`{name}` of object {rows[0]} is not a number ({len(rows)} of {len(found)} objects). "
        "The values or errors of the object are beyond what can be computed with, or the model's parameters are: leave the "
        "object out, or fit again; if both look right, please report it."
    )


def _compared(judged: Judgement) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log odds (n,), noise level (n,) and log posterior (n, k) of each object: what p-values are made of."""
    model = judged.model
    level = noise_level(judged.objects, model.scales)
    return judged.log_odds, level, log_posterior(judged.evidence, model.log_prior)

"""The judge: everything that was learned, and the one walk from objects to verdicts, whoever asks.

    objects -> evidence -> base outputs (where there is a stack) -> posterior
                        -> odds of an anomaly, or rank among left-out objects -> score -> p-value

A `FittedModel` is frozen, can be pickled, and knows nothing of the estimator that learned it: the estimator, a stream, Dask,
LSDB and the command line all ask the same one. `FittedModel.judge` takes objects and returns a `Judgement`, which does each
step of the walk once, when it is first asked for; `FittedModel.verdicts` returns the steps as a table (`badac.verdicts`).

P-values compare an object with known ones that the model has not seen. Where a stack was learned, objects were left out
already (`badac.calibration.null_distribution`). Otherwise every training object is scored once by a model that was learned
without it (`badac.calibration.pvalues.LeftOut`): an object that a model has learned from looks less strange than a new one of
its kind. The same scores say how far the odds of an anomaly can be believed (`badac.calibration.caution`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import AnomalyModel, Deviations, Known
from badac.anomalies.deferred import Deferred, as_learned
from badac.calibration.caution import believed_log_bayes_factor
from badac.calibration.class_frequencies import ClassFrequencies, estimate_frequencies
from badac.calibration.null_distribution import log_odds
from badac.calibration.pool import Pool
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import LeftOut, noise_level
from badac.calibration.stacking.base_models import BaseOutputs
from badac.calibration.two_groups import FEWEST, TwoGroups
from badac.calibration.unusual_gaps import (
    carried_over,
    missing_share,
    patterns,
    unusual_gaps,
    without_columns,
)
from badac.classes import ClassModel, ClassReport
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian, within
from badac.evidence import log_evidence
from badac.explain import NOTHING, Explanation, explain
from badac.identity import identity
from badac.noise import Noise
from badac.posterior import anomaly_log_odds, log_posterior, log_total, prior_log_odds, probability
from badac.training import TrainingScales
from badac.verdicts import STANDARD, Verdicts

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_COMPARED = 1000  # training objects that tell what a gap does to scores: quantiles to a few per cent


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
        """Training objects, at most 1,000, in the units of the data; None where objects have points of their own."""
        if self.compared is not None or self.training.own_points or not len(self.training):
            return self.compared
        n = len(self.training)
        return self.training[np.sort(np.random.default_rng(0).permutation(n)[:_COMPARED])]

    @property
    def identity(self) -> str:
        """A name that two models share if, and only if, they are fitted alike."""
        # What p-values need is made of the rest, by whoever wants them.
        learned = as_learned(self.anomaly_model)
        return identity(replace(self, anomaly_model=learned, left_out=None, compared=None))

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

    @cached_property
    def missing_share(self) -> FloatArray | None:
        """(m,): share of training objects that lack each column; None where objects have points of their own."""
        known = self.some_known
        return None if known is None else missing_share(known.observed)

    def deviations(self) -> Deviations:
        """Return the hypotheses that explanations are made of: the anomaly model, or fitted now if that is another one."""
        learned = as_learned(self.anomaly_model)
        if isinstance(learned, Deviations):
            return learned
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
        found = log_evidence(self.model.class_models, self.objects, n_threads=self.n_threads)
        return _no_nan("log_evidence", found)

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
        learned = as_learned(model.anomaly_model)
        if learned is None:
            return _no_nan("log_odds", log_jacobian(self.objects, model.units) - known)
        anomaly = learned.log_evidence(self.objects, self.evidence, n_threads=self.n_threads)
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
        """(n,): posterior probability that the object belongs to no known class.

        By the score, but no surer than left-out members of the known classes and drawn anomalies allow
        (`badac.calibration.caution`); by the p-value, where new objects have told what it means
        (`badac.calibration.two_groups`).
        """
        model = self.model
        if model.anomaly_model is None:
            raise ValueError(
                'anomaly="evidence" ranks by the evidence of the known classes and has no anomaly class, so no '
                "probability. Use anomaly_score, or fit with another `anomaly`."
            )
        if model.two_groups is not None:
            learned = model.two_groups.anomaly_proba(self.pvalue)
            return np.asarray(np.where(self.measured, learned, model.anomaly_prior))
        if model.left_out is None or model.ranks_left_out:
            return probability(self.score)
        believed = believed_log_bayes_factor(self.strangeness, self._raw_pvalue, model.left_out)
        # Nothing measured, nothing learned: the prior stays.
        believed = np.where(self.measured, believed, self.strangeness)
        return probability(believed + prior_log_odds(model.anomaly_prior))

    def learned_groups(self) -> TwoGroups:
        """Return the probability of an anomaly by p-value, as these objects say it; at least 1,000 of them."""
        if self.model.anomaly_model is None:
            raise ValueError(
                'anomaly="evidence" has no anomaly class, so no probability to learn. Fit with another `anomaly`.'
            )
        pvalue = self.pvalue[self.measured]
        if len(pvalue) < FEWEST:
            raise ValueError(
                f"how strange anomalies are is told by {FEWEST:,} new objects or more: got {len(pvalue):,} with a measured "
                "value. Use adapt(new) without `anomalies`."
            )
        return TwoGroups.learn(pvalue, self.model.anomaly_prior)

    @cached_property
    def strangeness(self) -> FloatArray:
        """(n,): what p-values are counted by: the log Bayes factor of the anomaly, or nonconformity where there is a stack."""
        ensemble, model = self.model.calibration.ensemble, self.model
        if ensemble is not None and model.ranks_left_out:
            return ensemble.nonconformity.number(self.outputs)
        if model.anomaly_model is None:
            return self.log_odds
        return self.log_odds - prior_log_odds(model.anomaly_prior)

    @property
    def pvalue(self) -> FloatArray:
        """(n,): share of known objects that are at least as strange; 1 where nothing was measured."""
        return self._compared[0]

    @property
    def extrapolated(self) -> BoolArray:
        """(n,): whether a p-value is beyond what the known objects can tell by their number."""
        return self._compared[1]

    @cached_property
    def predicted(self) -> npt.NDArray[np.int64]:
        """(n,): the most probable class by the evidence alone."""
        return np.asarray(log_posterior(self.evidence, self.model.log_prior).argmax(axis=1))

    @cached_property
    def level(self) -> FloatArray:
        """(n,): noise level of each object (`badac.calibration.pvalues.noise_level`)."""
        return noise_level(self.objects, self.model.scales)

    @cached_property
    def measured(self) -> BoolArray:
        """(n,): whether any point of an object was measured."""
        if self.objects.complete:
            return np.ones(len(self.objects), dtype=np.bool_)
        return np.asarray(self.objects.observed.any(axis=1))

    @cached_property
    def _raw_pvalue(self) -> FloatArray:
        """(n,): share of left-out objects at least as strange, by the numbers as they are."""
        assert self.model.left_out is not None
        return self.model.left_out.raw_pool.pvalue(self.strangeness)

    @cached_property
    def _compared(self) -> tuple[FloatArray, BoolArray]:
        model, ensemble, left_out = self.model, self.model.calibration.ensemble, self.model.left_out
        strangeness = self._like_with_like()
        if ensemble is not None and model.ranks_left_out:
            pvalue, extrapolated = ensemble.nonconformity.compare(strangeness, self.outputs)
        elif left_out is not None and left_out.one_scale and strangeness is self.strangeness:
            pvalue, extrapolated = self._raw_pvalue, left_out.raw_pool.extrapolated(strangeness)
        elif left_out is not None:
            pvalue, extrapolated = left_out.compare(strangeness, self.level, self.predicted)
        else:
            raise ValueError(
                "p-values compare with known objects that were left out while learning, and none were left out yet: call "
                "prepare_pvalues() of the BADACClassifier first."
            )
        # The odds of an object without any point are the prior's, which is more than known objects keep, but nothing
        # about it is strange.
        return _no_nan("pvalue", np.where(self.measured, pvalue, 1.0)), extrapolated & self.measured

    def _like_with_like(self) -> FloatArray:
        """Strangeness (n,) as it would be without gaps that training objects do not have (`badac.calibration.unusual_gaps`)."""
        model, found = self.model, self.strangeness
        if model.missing_share is None or self.objects.complete:
            return found
        gaps = unusual_gaps(self.objects.observed, model.missing_share)
        known = model.some_known
        if known is None or not gaps.any():
            return found
        found = found.copy()
        known = model.in_units(known)
        without = Judgement(model, known, self.n_threads).strangeness
        for rows, columns in patterns(gaps):
            lacking = Judgement(model, without_columns(known, columns), self.n_threads)
            found[rows] = carried_over(found[rows], lacking.strangeness, without)
        return found

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

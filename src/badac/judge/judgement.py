"""The walk of some objects: evidence, posterior, odds, score, p-value; each step once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from badac._kernels.spare_threads import sparing
from badac.anomalies import Deviations
from badac.anomalies.deferred import as_learned
from badac.cached import cached_property
from badac.calibration.caution import believed_log_bayes_factor
from badac.calibration.class_frequencies import ClassFrequencies, estimate_frequencies
from badac.calibration.null_distribution import log_odds
from badac.calibration.pvalues import IntArray, noise_level
from badac.calibration.stacking.base_models import BaseOutputs
from badac.calibration.two_groups import FEWEST, TwoGroups
from badac.calibration.unusual_gaps import Gap, carried_over
from badac.data.measurements import Measurements
from badac.data.units import log_jacobian
from badac.evidence import log_evidence
from badac.explain import NOTHING, Explanation, explain
from badac.judge.in_parts import arrays_found, found_in_parts
from badac.posterior import anomaly_log_odds, log_posterior, log_total, prior_log_odds, probability
from badac.verdicts import STANDARD, Verdicts

if TYPE_CHECKING:
    from badac.judge.fitted_model import FittedModel

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Judgement:
    """The walk of some objects: each step once, when it is first asked for.

    Attributes
    ----------
    model : FittedModel
    objects : Measurements
        (n, m), in the units of the model.
    n_threads : int
    first : int
        Number of the first of them among all that were asked about, for messages.
    """

    model: FittedModel
    objects: Measurements
    n_threads: int = 1
    first: int = 0

    @cached_property
    def evidence(self) -> FloatArray:
        """(n, k): log evidence under the class models, in the units of the model."""
        found = log_evidence(self.model.class_models, self.objects, n_threads=self.n_threads)
        return self._no_nan("log_evidence", found)

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
    def deviating(self) -> BaseOutputs:
        """What the base models say, with what the anomaly hypotheses do where strangeness asks for it."""
        ensemble = self.model.calibration.ensemble
        if ensemble is None or ensemble.nonconformity.deviating is None:
            return self.outputs
        found = self.model.deviations().log_bayes_factor(self.objects, n_threads=self.n_threads)
        return replace(self.outputs, deviation=found)

    @cached_property
    def calibrated(self) -> FloatArray:
        """(n, k): what stands in the place of the log evidence where probabilities are made."""
        model = self.model
        outputs = self.outputs if model.calibration.stacked else None
        with sparing(self.n_threads):
            return model.calibration.apply(self.objects, self.evidence, model.scales.scale, outputs)

    @cached_property
    def log_proba(self) -> FloatArray:
        """(n, k): log probabilities of the known classes."""
        model, log_prior = self.model, self.model.log_prior
        ensemble = model.calibration.ensemble
        if ensemble is not None and model.calibration.stacked:
            log_prior = ensemble.believed(self.outputs)[:, None] * log_prior
        return self._no_nan("log_proba", log_posterior(self.calibrated, log_prior))

    def frequencies(self) -> ClassFrequencies:
        """Return how frequent each class is among these objects, with its uncertainty."""
        known = len(self.model.training_label) or None
        return estimate_frequencies(self.calibrated, self.model.log_prior, known)

    def with_frequencies(self, found: ClassFrequencies) -> Judgement:
        """Return the walk of the same objects with other class priors; what does not depend on them is kept."""
        with np.errstate(divide="ignore"):
            other = Judgement(
                replace(self.model, log_prior=np.log(found.share)), self.objects, self.n_threads
            )
        for name in ("evidence", "outputs", "deviating", "calibrated"):
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
            return self._no_nan("log_odds", log_jacobian(self.objects, model.units) - known)
        anomaly = learned.log_evidence(self.objects, self.evidence, n_threads=self.n_threads)
        return self._no_nan("log_odds", anomaly_log_odds(anomaly, known, model.anomaly_prior))

    @cached_property
    def score(self) -> FloatArray:
        """(n,), high = strange: what `FittedModel.score_meaning` says."""
        model, ensemble = self.model, self.model.calibration.ensemble
        if ensemble is not None and model.ranks_left_out:
            surprise = ensemble.nonconformity.surprise(self.strangeness, self.deviating)
            return self._no_nan("score", log_odds(surprise, model.anomaly_prior))
        if self.strangeness is self.raw_strangeness:
            return self.log_odds
        # Of an object with an unusual gap: as strange as a whole one that is as rare.
        prior = 0.0 if model.anomaly_model is None else prior_log_odds(model.anomaly_prior)
        return self._no_nan(
            "score",
            np.where(self.strangeness == self.raw_strangeness, self.log_odds, self.strangeness + prior),
        )

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
        pool, left_out = self.model.pool, self.model.left_out
        assert pool is not None
        if left_out is not None and left_out.one_scale:
            score, known = self.strangeness[self.measured], pool.score
        else:
            # P-values of several pools, by noise level or class: on their own scale.
            score, known = -np.log(pvalue), -np.log(pool.pvalue(pool.score))
        return TwoGroups.averaged(pvalue, score, known, self.model.anomaly_prior, np.random.default_rng(0))

    @cached_property
    def strangeness(self) -> FloatArray:
        """(n,): what score, p-value and probability of an anomaly are made of, so that none of them contradicts another.

        `raw_strangeness`; of objects with gaps that training objects do not have, as it would be without
        (`badac.calibration.unusual_gaps`), where left-out objects can tell.
        """
        return self._carried[0]

    @cached_property
    def _carried(self) -> tuple[FloatArray, BoolArray]:
        """`strangeness`, and where more than the number of left-out objects with the gap was needed to tell it."""
        model, raw = self.model, self.raw_strangeness
        beyond = np.zeros(len(raw), dtype=np.bool_)
        if not self._gaps or not (model.ranks_left_out or model.left_out is not None):
            return raw, beyond
        found = raw.copy()
        if model.ranks_left_out:
            known = self._of_known_with_gaps
            for rows, gap in self._gaps:
                found[rows] = carried_over(raw[rows], known[gap], known[Gap()])
            return found, beyond
        assert model.left_out is not None
        for rows, gap in self._gaps:
            alike, some = model.left_out_with(gap, self.n_threads)
            about = raw[rows], self.level[rows], self.predicted[rows]
            found[rows], beyond[rows] = model.left_out.carried_over(alike, some, *about)
        return found, beyond

    @property
    def _of_known_with_gaps(self) -> dict[Gap, FloatArray]:
        """Raw strangeness (s,) of some training objects without, and with each kind of gap that these objects have."""
        model, ensemble, known = self.model, self.model.calibration.ensemble, self.model.some_known
        assert known is not None and ensemble is not None
        known, kept = model.in_units(known), ensemble.nonconformity.with_gaps
        for gap in (Gap(), *(gap for _, gap in self._gaps)):
            if gap not in kept:
                kept[gap] = Judgement(model, gap.applied(known), self.n_threads).raw_strangeness
        return kept

    @cached_property
    def raw_strangeness(self) -> FloatArray:
        """(n,): the log Bayes factor of the anomaly, or nonconformity where there is a stack; with the gaps that there are."""
        ensemble, model = self.model.calibration.ensemble, self.model
        if ensemble is not None and model.ranks_left_out:
            return ensemble.nonconformity.number(self.deviating)
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
    def _gaps(self) -> tuple[tuple[IntArray, Gap], ...]:
        """Rows with gaps that training objects do not have, by their kind."""
        usual = None if self.objects.complete else self.model.usual_gaps
        return () if usual is None else tuple(usual.kinds(self.objects.observed))

    @cached_property
    def _compared(self) -> tuple[FloatArray, BoolArray]:
        model, ensemble, left_out = self.model, self.model.calibration.ensemble, self.model.left_out
        if ensemble is not None and model.ranks_left_out:
            pvalue, extrapolated = ensemble.nonconformity.compare(self.strangeness, self.deviating)
        elif left_out is not None and left_out.one_scale:
            pvalue, extrapolated = self._raw_pvalue, left_out.raw_pool.extrapolated(self.strangeness)
        elif left_out is not None:
            pvalue, extrapolated = left_out.compare(self.strangeness, self.level, self.predicted)
        else:
            raise ValueError(
                "p-values compare with known objects that were left out while learning, and none were left out yet: call "
                "prepare_pvalues() of the BADACClassifier first."
            )
        # The odds of an object without any point are the prior's, which is more than known objects keep, but nothing
        # about it is strange.
        return self._no_nan("pvalue", np.where(self.measured, pvalue, 1.0)), (
            extrapolated | self._carried[1]
        ) & self.measured

    def verdicts(self, asked: Sequence[str] = STANDARD) -> Verdicts:
        """Return the table of what was asked for; without an anomaly class there is no ``anomaly_proba`` in it."""
        names = [name for name in asked if name != "anomaly_proba" or self.model.anomaly_model is not None]
        found = found_in_parts(self, names)
        if found is None:
            found = {name: getattr(self, name) for name in names}
        return Verdicts(self.model.classes, found)

    @property
    def takes_parts(self) -> bool:
        """Whether the walk of all objects is that of some after the other, and leaves no more than arrays behind.

        Not where there is a stack, nor where objects with gaps are compared with others that are made to have them.
        """
        return self.model.calibration.ensemble is None and not self._gaps

    def part(self, rows: slice) -> Judgement:
        """Return the walk of some of the objects, on one thread, as far as it has come."""
        found = Judgement(self.model, self.objects[rows], first=self.first + rows.start)
        found.__dict__.update({name: column[rows] for name, column in arrays_found(self).items()})
        return found

    def explain(self, deviations: Deviations) -> Explanation:
        """Say why the objects are strange, by the hypotheses of `FittedModel.deviations`."""
        model, ensemble = self.model, self.model.calibration.ensemble
        found = explain(self.objects, deviations, model.known, model.classes, n_threads=self.n_threads)
        if ensemble is not None and model.ranks_left_out:
            # What no hypothesis about anomalies finds strange may be so among left-out objects.
            reason = ensemble.nonconformity.reason(self.pvalue, self.deviating)
            unexplained = (found.hypothesis == NOTHING) & (reason != "")
            found = replace(found, hypothesis=np.where(unexplained, reason, found.hypothesis))
        return found.in_units(1.0 / model.units)

    def _no_nan(self, name: str, found: FloatArray) -> FloatArray:
        """Return what was found, or raise: a number that is none is no answer."""
        bad = np.isnan(found)
        if not bad.any():
            return found
        rows = np.flatnonzero(bad.reshape(len(found), -1).any(axis=1))
        raise ValueError(
            f"`{name}` of object {self.first + rows[0]} is not a number ({len(rows)} of {len(found)} objects). "
            "The values or errors of the object are beyond what can be computed with, or the model's parameters are: leave the "
            "object out, or fit again; if both look right, please report it."
        )

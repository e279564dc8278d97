"""What a fitted model says of some objects: each step of the walk once, whoever asks for it.

evidence  ->  other opinions, where they are asked  ->  posterior, odds of an anomaly, p-value
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from badac.calibration.null_distribution import log_odds
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.stacking.base_outputs import BaseOutputs
from badac.data.measurements import Measurements
from badac.data.units import log_jacobian
from badac.evidence import log_evidence
from badac.explain import NOTHING, Explanation
from badac.posterior import anomaly_log_odds, log_posterior, log_total
from badac.threads import n_threads

if TYPE_CHECKING:
    from badac.estimators.classifier import BADACClassifier

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Of objects (n, m), in the units of the model."""

    model: BADACClassifier
    objects: Measurements

    @cached_property
    def evidence(self) -> FloatArray:
        """(n, k), under the class models."""
        return log_evidence(self.model.class_models_, self.objects, n_threads=self._n_threads)

    @cached_property
    def outputs(self) -> BaseOutputs | None:
        """What other models say, where they are asked."""
        asked, scale = self.model.ensemble_, self.model.scales_.scale
        if asked is None:
            return None
        return asked.hear(self.objects, self.evidence, scale, n_threads=self._n_threads)

    @property
    def log_posterior(self) -> FloatArray:
        """(n, k), of the known classes."""
        model = self.model
        trust = PosteriorCalibration(model.coarsening_, model.missingness_, model.ensemble_)
        outputs = self.outputs if model.ensemble_ is not None and model.ensemble_.count else None
        told = trust.apply(self.objects, self.evidence, model.scales_.scale, outputs)
        return log_posterior(told, model.class_log_prior_)

    @property
    def log_odds(self) -> FloatArray:
        """(n,), of the anomaly model against the class models, whoever else is asked."""
        model, known = self.model, log_total(self.evidence, self.model.class_log_prior_)
        if model.anomaly_model_ is None:
            return log_jacobian(self.objects, model.units_) - known
        anomaly = model.anomaly_model_.log_evidence(self.objects, self.evidence, n_threads=self._n_threads)
        return anomaly_log_odds(anomaly, known, model.anomaly_prior)

    @property
    def score(self) -> FloatArray:
        """(n,), high = strange: the odds, or what left-out objects say where the class models do not hold."""
        if not compares_with_left_out(self.model):
            return self.log_odds
        assert self.model.ensemble_ is not None and self.outputs is not None
        return log_odds(self.model.ensemble_.surprise(self.outputs), self.model.anomaly_prior)

    @property
    def pvalue(self) -> FloatArray:
        """(n,), share of known objects that are at least as strange."""
        if not compares_with_left_out(self.model):
            return self.model._kept_back().pvalues(self.objects)
        assert self.model.ensemble_ is not None and self.outputs is not None
        return self.model.ensemble_.pvalue(self.outputs)

    def with_reason(self, found: Explanation) -> Explanation:
        """Say why an object is strange that no hypothesis about anomalies finds strange, where left-out objects do."""
        if not compares_with_left_out(self.model):
            return found
        assert self.model.ensemble_ is not None and self.outputs is not None
        reason = self.model.ensemble_.reason(self.outputs)
        unexplained = (found.hypothesis == NOTHING) & (reason != "")
        return replace(found, hypothesis=np.where(unexplained, reason, found.hypothesis))

    @property
    def _n_threads(self) -> int:
        return n_threads(self.model.n_jobs)


def compares_with_left_out(model: BADACClassifier) -> bool:
    """Whether strangeness and p-values come from objects that were left out while learning.

    They do where other models were asked, unless somebody said what an anomaly is.
    """
    return model.ensemble_ is not None and isinstance(model.anomaly, str) and model.anomaly == "auto"

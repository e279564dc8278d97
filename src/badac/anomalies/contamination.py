"""The top-hat whose height flags a given fraction (paper, section "Breaking BADAC").

The anomaly's density is one constant: the total evidence of the object that stands at the given quantile, so that this
fraction of the objects has an anomaly probability above one half. The quantile is taken over the leave-one-out evidence of
the training objects: the model is fixed before it sees new data. Raw evidence is compared, as in the paper, so the objects
should have the same points and similar errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac.anomalies.model import FloatArray, Known
from badac.data.measurements import Measurements
from badac.evidence import training_log_evidence
from badac.posterior import log_total
from badac.registry import registered


@registered(
    "anomaly", "contamination", holds={"fraction": ">= 0, <= 1", "log_height": "may be nan, may be -inf"}
)
@dataclass(frozen=True)
class Contamination:
    """A flat density, of the height at which `fraction` of the training objects would be flagged.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.anomalies import Contamination
    >>> rng = np.random.default_rng(0)
    >>> known = Measurements(0.1 * rng.standard_normal((40, 5)), 0.1)
    >>> model = BADACClassifier("template", anomaly=Contamination(0.05), random_state=0).fit(known, np.repeat([0, 1], 20))
    >>> bool(model.anomaly_proba(Measurements([[2.0] * 5], 0.1))[0] > 0.5)
    True
    """

    fraction: float = 0.01
    log_height: float = np.nan

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        evidence = training_log_evidence(known.models, known.training, known.label)
        prior_odds = np.log(known.anomaly_prior) - np.log1p(-known.anomaly_prior)
        return replace(
            self, log_height=flagging_height(log_total(evidence, known.log_prior), self.fraction) - prior_odds
        )

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        return np.full(objects.n_objects, self.log_height)


def flagging_height(total: FloatArray, fraction: float) -> float:
    """Return the log height below which the given fraction of the total log evidences (n,) lies.

    Applied to the objects to be ranked instead of the training objects, it is the paper's own rule.
    """
    finite = np.where(np.isneginf(total), np.finfo(np.float64).min, total)
    return float(np.quantile(finite, fraction, method="inverted_cdf"))

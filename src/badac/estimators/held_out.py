"""The model that p-values are made with: learned once more without a part of its training objects, to compare with those.

    score, noise level and log posterior of the objects kept back   ->  `badac.calibration.pvalues.Calibration`
    the same of new objects, under the same model                   ->  p-values

An object that the model has learned from looks less strange than a new one of its kind; those kept back do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from badac.calibration.pvalues import CalibrationScores, Strata, keep_back, noise_level
from badac.data.measurements import Measurements
from badac.estimators.choices import generator
from badac.estimators.judgement import Judgement
from badac.estimators.validation import to_measurements
from badac.posterior import log_posterior

if TYPE_CHECKING:
    from badac.estimators.classifier import BADACClassifier

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A model and known objects that it has not seen.

    Attributes
    ----------
    learned : BADACClassifier
        Without a part of the training objects.
    calibration : Calibration
        The scores of that part.
    """

    learned: BADACClassifier
    calibration: CalibrationScores

    @classmethod
    def of(cls, model: BADACClassifier) -> HeldOut:
        """Learn a fitted model once more, without a part of its training objects."""
        rng = generator(model.random_state)
        known = model._known()
        kept = keep_back(known.label, rng)
        learned = clone(model)
        seen = to_measurements(learned, known.training[~kept], None, reset=True)
        # Scores come from the evidence alone: what other models would say of the classes is never asked here.
        learned._learn(seen, model.training_label_[~kept], ask_others=False)
        level = noise_level(learned.training_, learned.scales_)
        strata = Strata.of(level, known.label[~kept], int(kept.sum()), len(model.classes_))
        return cls(learned, CalibrationScores.of(*_compared(learned, known.training[kept]), strata))

    def pvalues(self, objects: Measurements) -> FloatArray:
        """Return (n,): the share of kept-back objects of the same class and noise that look at least as strange.

        1 where nothing was measured: the odds of such an object are the prior's, which is more than known objects keep, but
        nothing about it is strange.
        """
        found = self.calibration.pvalues(*_compared(self.learned, objects))
        return np.where(objects.observed.any(axis=1), found, 1.0)


def _compared(model: BADACClassifier, objects: Measurements) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Score (n,), noise level (n,) and log posterior (n, k) of each object: what p-values are made of."""
    judged = Judgement(model, objects)
    level = noise_level(objects, model.scales_)
    return judged.log_odds, level, log_posterior(judged.evidence, model.class_log_prior_)

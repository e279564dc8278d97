"""The calibrated posterior: what stands in the place of the log evidence where probabilities are made.

    log P(class | d) = calibrated(d, class) + log P(class) + constant

    calibrated = beta(d) log P(d | class) + gaps(d, class)        the coarsened evidence and what gaps say,
    calibrated = the stack of base models                         where left-out objects gain by one

See `badac.calibration.coarsening` for ``beta``, `badac.calibration.missingness` for the gaps and
`badac.calibration.stacking.ensemble` for the stack. All three are learned from training objects left out of their own class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from badac.calibration.coarsening import (
    MOST_OBJECTS,
    Coarsening,
    FloatArray,
    IntArray,
    learn_coarsening,
    relative_noise,
)
from badac.calibration.missingness import Missingness, learn_missingness
from badac.calibration.stacking import of_counts
from badac.calibration.stacking.at_points import Deviating, learn_at_points
from badac.calibration.stacking.base_models import BaseOutputs
from badac.calibration.stacking.ensemble import Ensemble
from badac.calibration.stacking.gate import Gate
from badac.calibration.stacking.learning import (
    MOST_LEARNED,
    can_be_stacked,
    is_wanted,
    learn_ensemble,
    least_gain,
)
from badac.calibration.stacking.samples import objects_to_learn_from
from badac.classes.model import ClassModel, is_exact
from badac.data.measurements import Measurements
from badac.evidence import training_log_evidence
from badac.nuisance import innermost
from badac.training import TrainingSet


@dataclass(frozen=True, eq=False)
class PosteriorCalibration:
    """How evidence is tempered, what gaps say of the class, and the stack of base models where there is one."""

    coarsening: Coarsening
    missingness: Missingness
    ensemble: Ensemble | None

    @classmethod
    def unchanged(cls) -> PosteriorCalibration:
        """Return the calibration that leaves the evidence as it is."""
        return cls(Coarsening(1.0, 1.0, np.inf), Missingness.ignored(), None)

    @property
    def stacked(self) -> bool:
        """Whether probabilities follow the stack."""
        return self.ensemble is not None and self.ensemble.in_posterior

    def lines(self, n_classes: int) -> list[str]:
        """Return how probabilities of so many classes are made of the evidence, in words."""
        if self.ensemble is not None:
            gained = f"{self.ensemble.gain:.2g} +- {self.ensemble.standard_error:.1g} nats an object"
            used = "Posterior: a stack of" if self.stacked else "A stack for the score only:"
            return [f"{used} {', '.join(self.ensemble.names)}; left-out training objects gain {gained}."]
        if self.coarsening.exponent != 1.0:
            return [
                f"Posterior: evidence to the power {self.coarsening.exponent:.2g}, by which left-out training objects gain "
                f"{self.coarsening.gain:.2g} nats an object."
            ]
        if self.coarsening.contaminated > 0.0:
            # Every class is given the share, so that all of them together have it as often as there are classes.
            few = f"{min(n_classes * self.coarsening.contaminated, 1.0):.1g}"
            return [f"Posterior: the evidence as it is, but for a share of {few} that no class may explain."]
        return ["Posterior: the evidence as it is."]

    def apply(
        self,
        objects: Measurements,
        evidence: FloatArray,
        scale: FloatArray,
        outputs: BaseOutputs | None = None,
    ) -> FloatArray:
        """Return (n, k), to be used in place of the log evidence in probabilities.

        Parameters
        ----------
        objects : Measurements
            (n, m)
        evidence : (n, k)
            Theirs under the class models.
        scale : (m,)
            Spread of each point in training.
        outputs : BaseOutputs, optional
            What the base models say of them, if that is known already.
        """
        if self.ensemble is not None and self.ensemble.in_posterior:
            outputs = self.ensemble.outputs(objects, evidence, scale) if outputs is None else outputs
            return self.ensemble.log_match(outputs)
        gaps = self.missingness.log_factor(objects.observed)
        noise = _noise(objects, scale) if self.coarsening.depends_on_noise else None
        return self.coarsening.apply(evidence, noise) + gaps


@dataclass(frozen=True)
class MayTell:
    """What may have a say in the calibration.

    Attributes
    ----------
    gaps, stack : bool
        Whether gaps, and base models of other kinds, may have one at all.
    deviating : Deviating or None
        Where nobody said what an anomaly is: learns what the hypotheses say of curves at their own points.
    """

    gaps: bool = True
    stack: bool = False
    deviating: Deviating | None = None


def learn_calibration(
    training: TrainingSet,
    models: Sequence[ClassModel],
    log_prior: FloatArray,
    may_tell: MayTell | None = None,
    *,
    n_threads: int = 1,
) -> PosteriorCalibration:
    """Learn the calibration from training objects left out of their own class.

    The exact instances are the paper's equation and stay as they are; one class alone has nothing to be confused with.

    Parameters
    ----------
    training : TrainingSet
    models : k fitted class models
    log_prior : (k,)
    may_tell : MayTell, optional
        By default gaps alone.
    """
    may_tell = MayTell() if may_tell is None else may_tell
    if len(models) < 2 or all(is_exact(innermost(model)) for model in models):
        return PosteriorCalibration.unchanged()
    objects, label, scale, rng = training.objects, training.label, training.scales.scale, training.rng
    rows = np.arange(len(training))
    if len(rows) > MOST_OBJECTS:
        rows = np.sort(rng.choice(rows, MOST_OBJECTS, replace=False))
    evidence = training_log_evidence(models, objects, label, rows=rows, n_threads=n_threads)
    asked = training.take(rows)
    level = _noise(asked.objects, scale)
    coarsening = learn_coarsening(evidence, label[rows], log_prior, level)
    missingness = Missingness.ignored()
    if may_tell.gaps and not objects.own_points and not objects.complete:
        tempered = coarsening.apply(evidence, level)
        missingness = learn_missingness(objects.observed, label, rows, tempered, log_prior)
    ensemble = None
    if may_tell.stack:
        # A generator of its own: whether a stack is learned must not change what is drawn later.
        own = training.with_generator(rng.spawn(1)[0])
        if objects.own_points:
            ensemble = learn_at_points(own, models, coarsening, rows, may_tell.deviating, n_threads=n_threads)
            return PosteriorCalibration(coarsening, missingness, ensemble)
        if of_counts.can_be_stacked(own):
            ensemble = of_counts.learn_of_counts(own, evidence, rows, coarsening)
            return PosteriorCalibration(coarsening, missingness, ensemble)
        calibrated = coarsening.apply(evidence, level) + missingness.log_factor(asked.objects.observed)
        told = np.zeros(len(label), dtype=np.bool_)
        told[rows] = True
        some = objects_to_learn_from(own, _more(rows, len(own), own.rng))
        columns, invited = None, False
        if can_be_stacked(own):
            gate = Gate.of(asked.with_generator(own.rng), calibrated + log_prior, least_gain(len(rows)))
            columns = None if gate is None else gate.telling_columns()
            # Nobody asks whether trees tell more where a stack is learned whatever they tell.
            if gate is not None and not is_wanted(coarsening, len(some)):
                invited = columns is not None or gate.trees_tell_more()
        ensemble = learn_ensemble(
            own.take(some),
            models,
            (coarsening, missingness),
            told[some],
            use_gaps=may_tell.gaps,
            columns=columns,
            invited=invited,
        )
    return PosteriorCalibration(coarsening, missingness, ensemble)


def _more(rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return these rows and others of n, so many as there are or as teach anybody, rising."""
    if len(rows) == n:
        return rows
    others = np.flatnonzero(np.bincount(rows, minlength=n) == 0)
    if n > MOST_LEARNED:
        others = rng.choice(others, MOST_LEARNED - len(rows), replace=False)
    return np.sort(np.concatenate([rows, others]))


def _noise(objects: Measurements, scale: FloatArray) -> FloatArray | None:
    """Noise levels (n,), or None where every value counts as exact."""
    return relative_noise(objects, scale) if objects.has_errors else None

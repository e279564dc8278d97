"""How far the evidence can be trusted, all in one: what stands in its place where probabilities are made.

    log P(class | d) = trusted(d, class) + log P(class) + constant

    trusted = beta(d) log P(d | class) + gaps(d, class)        the coarsened evidence and what gaps say,
    trusted = the weighed opinions                             where other models count

See `badac.calibration.coarsening` for ``beta``, `badac.calibration.missingness` for the gaps and
`badac.calibration.stacking.ensemble` for the others. All three are learned from training objects left out of their own class.
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
from badac.calibration.stacking.base_outputs import BaseOutputs
from badac.calibration.stacking.ensemble import Ensemble, learn_ensemble
from badac.calibration.stacking.weights import log_losses
from badac.classes.instances import Instances
from badac.classes.model import ClassModel
from badac.data.measurements import Measurements
from badac.evidence import training_log_evidence
from badac.noise.model import Noise
from badac.nuisance import innermost
from badac.training import TrainingScales


@dataclass(frozen=True, eq=False)
class PosteriorCalibration:
    """How far the evidence can be trusted, what gaps say, and what other models say where they are heard."""

    coarsening: Coarsening
    missingness: Missingness
    ensemble: Ensemble | None

    @classmethod
    def whole(cls) -> PosteriorCalibration:
        """Return the trust that leaves the evidence as it is."""
        return cls(Coarsening(1.0, 1.0, np.inf), Missingness.ignored(), None)

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
        heard : Heard, optional
            What `opinions` said of them; they are asked if not given.
        """
        if self.ensemble is not None and self.ensemble.count:
            outputs = self.ensemble.hear(objects, evidence, scale) if outputs is None else outputs
            return outputs.stacked
        gaps = self.missingness.log_factor(objects.observed)
        return self.coarsening.apply(evidence, _noise(objects, scale)) + gaps


def learn_calibration(
    training: Measurements,
    label: IntArray,
    models: Sequence[ClassModel],
    log_prior: FloatArray,
    noise: Noise,
    scales: TrainingScales,
    rng: np.random.Generator,
    *,
    use_gaps: bool = True,
    ask_others: bool = False,
    n_threads: int = 1,
) -> PosteriorCalibration:
    """Learn how far the evidence can be trusted from training objects left out of their own class.

    The exact instances are the paper's equation and stay as they are; one class alone has nothing to be confused with.

    Parameters
    ----------
    training : Measurements
        (n, m)
    label : (n,)
    models : k fitted class models
    log_prior : (k,)
    noise, scales
        As in their fit.
    use_gaps, ask_others : bool
        Whether gaps and other models may have a say at all.
    """
    exact = all(isinstance(innermost(model), Instances) for model in models)
    if exact or len(models) < 2:
        return PosteriorCalibration.whole()
    rows = np.arange(training.n_objects)
    if len(rows) > MOST_OBJECTS:
        rows = np.sort(rng.choice(rows, MOST_OBJECTS, replace=False))
    evidence = training_log_evidence(models, training, label, rows=rows, n_threads=n_threads)
    level = _noise(training[rows], scales.scale)
    coarsening = learn_coarsening(evidence, label[rows], log_prior, level)
    missingness = Missingness.ignored()
    if use_gaps and not training.own_points:
        tempered = coarsening.apply(evidence, level)
        missingness = learn_missingness(training.observed, label, rows, tempered, log_prior)
    ensemble = None
    if ask_others:
        # A generator of its own: whether others are asked must not change what is drawn later.
        own = rng.spawn(1)[0]
        told = coarsening.apply(evidence, level) + missingness.log_factor(training.observed[rows])
        loss = np.full(len(label), np.nan)
        loss[rows] = log_losses(told + log_prior, label[rows])
        ensemble = learn_ensemble(
            training,
            label,
            models,
            noise,
            scales,
            coarsening,
            missingness,
            loss,
            own,
            use_gaps=use_gaps,
            n_threads=n_threads,
        )
    return PosteriorCalibration(coarsening, missingness, ensemble)


def _noise(objects: Measurements, scale: FloatArray) -> FloatArray | None:
    """Noise levels (n,), or None where every value counts as exact."""
    return relative_noise(objects, scale) if objects.has_errors else None

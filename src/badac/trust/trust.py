"""How far the evidence can be trusted, all in one: what stands in its place where probabilities are made.

    log P(class | d) = trusted(d, class) + log P(class) + constant

    trusted = beta(d) log P(d | class) + gaps(d, class)        the coarsened evidence and what gaps say,
    trusted = the weighed opinions                             where other models count

See `badac.trust.coarsening` for ``beta``, `badac.trust.missingness` for the gaps and `badac.trust.opinions` for the others.
All three are learned from training objects left out of their own class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from badac.classes.instances import Instances
from badac.classes.model import ClassModel, Surroundings
from badac.data.measurements import Measurements
from badac.evidence import training_log_evidence
from badac.noise.model import Noise
from badac.nuisance import innermost
from badac.trust.coarsening import (
    MOST_OBJECTS,
    Coarsening,
    FloatArray,
    IntArray,
    learn_coarsening,
    relative_noise,
)
from badac.trust.heard import Heard
from badac.trust.missingness import Missingness, learn_missingness
from badac.trust.opinions import Opinions, learn_opinions
from badac.trust.stacking import log_losses


@dataclass(frozen=True, eq=False)
class Trust:
    """How far the evidence can be trusted, what gaps say, and what other models say where they are heard."""

    coarsening: Coarsening
    missingness: Missingness
    opinions: Opinions | None

    @classmethod
    def whole(cls) -> Trust:
        """Return the trust that leaves the evidence as it is."""
        return cls(Coarsening(1.0, 1.0, np.inf), Missingness.ignored(), None)

    def apply(
        self, objects: Measurements, evidence: FloatArray, scale: FloatArray, heard: Heard | None = None
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
        if self.opinions is not None and self.opinions.count:
            heard = self.opinions.hear(objects, evidence, scale) if heard is None else heard
            return heard.weighed
        gaps = self.missingness.log_factor(objects.observed)
        return self.coarsening.apply(evidence, _noise(objects, scale)) + gaps


def learn_trust(
    training: Measurements,
    label: IntArray,
    models: Sequence[ClassModel],
    log_prior: FloatArray,
    noise: Noise,
    around: Surroundings,
    rng: np.random.Generator,
    *,
    use_gaps: bool = True,
    ask_others: bool = False,
    n_threads: int = 1,
) -> Trust:
    """Learn how far the evidence can be trusted from training objects left out of their own class.

    The exact instances are the paper's equation and stay as they are; one class alone has nothing to be confused with.

    Parameters
    ----------
    training : Measurements
        (n, m)
    label : (n,)
    models : k fitted class models
    log_prior : (k,)
    noise, around
        As in their fit.
    use_gaps, ask_others : bool
        Whether gaps and other models may have a say at all.
    """
    exact = all(isinstance(innermost(model), Instances) for model in models)
    if exact or len(models) < 2:
        return Trust.whole()
    rows = np.arange(training.n_objects)
    if len(rows) > MOST_OBJECTS:
        rows = np.sort(rng.choice(rows, MOST_OBJECTS, replace=False))
    evidence = training_log_evidence(models, training, label, rows=rows, n_threads=n_threads)
    level = _noise(training[rows], around.scale)
    coarsening = learn_coarsening(evidence, label[rows], log_prior, level)
    missingness = Missingness.ignored()
    if use_gaps and not training.own_points:
        tempered = coarsening.apply(evidence, level)
        missingness = learn_missingness(training.observed, label, rows, tempered, log_prior)
    opinions = None
    if ask_others:
        # A generator of its own: whether others are asked must not change what is drawn later.
        own = rng.spawn(1)[0]
        told = coarsening.apply(evidence, level) + missingness.log_factor(training.observed[rows])
        loss = np.full(len(label), np.nan)
        loss[rows] = log_losses(told + log_prior, label[rows])
        opinions = learn_opinions(
            training,
            label,
            models,
            noise,
            around,
            coarsening,
            missingness,
            loss,
            own,
            use_gaps=use_gaps,
            n_threads=n_threads,
        )
    return Trust(coarsening, missingness, opinions)


def _noise(objects: Measurements, scale: FloatArray) -> FloatArray | None:
    """Noise levels (n,), or None where every value counts as exact."""
    return relative_noise(objects, scale) if objects.has_errors else None

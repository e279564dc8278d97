"""One kind of class model for all classes, where that tells them apart better than the best kind of each.

`badac.classes.Auto` takes for each class what explains its left-out members best. Far from all members two kinds of models
have different tails, and then the tails decide the class; and a gain in evidence too small to be sure of in any one class may
be plain in how well the classes are told apart. So left-out training objects are asked for their class as well:

    loss(choice) = min_beta  mean_i  -log P(class_i | d_i)^beta ,       each object left out of its own class

The best kind of each class stays unless one kind for all has a smaller loss, by more than its standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.stacking.weights import log_losses
from badac.classes.model import ClassModel
from badac.classes.report import Candidate
from badac.evidence import training_log_evidence
from badac.training import TrainingSet

_OBJECTS = 1500  # tell a loss of 0.3 to 0.01
_EXPONENTS = np.geomspace(0.05, 1.0, 13)
_SURE = 1.0  # standard errors


@dataclass(frozen=True, eq=False)
class Choice:
    """A class as it was chosen.

    Attributes
    ----------
    model : ClassModel
        Fitted.
    report : tuple of Candidate
        What was tried, the chosen one first.
    alternatives : mapping from str to ClassModel
        Other fitted models of the class, by the name that they have in the report.
    """

    model: ClassModel
    report: tuple[Candidate, ...]
    alternatives: Mapping[str, ClassModel]

    @property
    def name(self) -> str:
        """Of the chosen model."""
        return self.report[0].name if self.report else ""

    def instead(self, name: str, why: str) -> Choice:
        """Return the choice of another model, and why."""
        rows = [replace(row, chosen=row.name == name) for row in self.report]
        rows = [
            replace(row, why=f"chosen: {why}") if row.chosen else replace(row, why=_bare(row.why))
            for row in rows
        ]
        return Choice(
            self.alternatives[name], tuple(sorted(rows, key=lambda row: not row.chosen)), self.alternatives
        )


def agree(choices: Sequence[Choice], training: TrainingSet, log_prior: FloatArray) -> list[Choice]:
    """Return the choices of all classes, of one kind if left-out objects are told better by it.

    Parameters
    ----------
    choices : k of Choice
        In the order of the classes.
    training : TrainingSet
    log_prior : (k,)
    """
    chosen = list(choices)
    shared = [name for name in chosen[0].alternatives if all(name in one.alternatives for one in chosen)]
    names = [one.name for one in chosen]
    others = [name for name in shared if set(names) != {name}]
    if len(chosen) < 2 or not others:
        return chosen
    rows = _rows(training)
    label = training.label[rows]

    def losses(models: Sequence[ClassModel]) -> FloatArray:
        evidence = training_log_evidence(models, training.objects, training.label, rows=rows)
        return best_losses(evidence, label, log_prior)

    base = losses([one.model for one in chosen])
    best, top = "", 0.0
    for name in others:
        gain = base - losses([one.alternatives[name] for one in chosen])
        gain = gain[np.isfinite(gain)]
        if gain.size and gain.mean() > max(top, _SURE * float(gain.std()) / np.sqrt(gain.size)):
            best, top = name, float(gain.mean())
    if not best:
        return chosen
    why = f"the {best} of every class tells left-out objects better than the best model of each, by {top:.3f} nats"
    return [one if one.name == best else one.instead(best, why) for one in chosen]


def best_losses(evidence: FloatArray, label: IntArray, log_prior: FloatArray) -> FloatArray:
    """Return (n,): log-losses of log evidence (n, k) under the exponent that makes them least; NaN where nothing is told."""
    own = evidence[np.arange(len(label)), label]
    usable = np.isfinite(own) & ~np.isnan(evidence).any(axis=1)
    out = np.full(len(label), np.nan)
    if not usable.any():
        return out
    relative = np.maximum(evidence[usable] - own[usable, None], -1e6)
    tried = [log_losses(power * relative + log_prior, label[usable]) for power in _EXPONENTS]
    out[usable] = min(tried, key=lambda each: float(each.mean()))
    return out


def _rows(training: TrainingSet) -> IntArray:
    """Return the objects to ask: as many as tell, by a generator of their own, so that nothing drawn later changes."""
    n = len(training)
    if n <= _OBJECTS:
        return np.arange(n, dtype=np.int64)
    rng = np.random.default_rng(n)
    return np.sort(rng.choice(n, _OBJECTS, replace=False)).astype(np.int64)


def _bare(why: str) -> str:
    return why.removeprefix("chosen: ")

"""Cross-fitting: every training object is scored once by a model that was learned without it.

    folds of each class -> classes learned again from the other folds, their choices kept -> anomaly model -> scores of the fold

What was chosen for a class (rank, smoothness, shape: `Refittable.refit`) is kept, what was estimated is estimated again, so a
fold costs a fraction of a fit, and all six together one to two. A large population is learned without each fold by one step
from what half of its members teach, none of them of the fold (`RefittableWithoutParts`). Class models that cannot keep
their choices are learned anew, in two folds. Noise, scales and priors stay: one object among hundreds does not move them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import Deviations
from badac.anomalies.deferred import as_learned
from badac.anomalies.drawn import draw_anomalies
from badac.anomalies.model import AnomalyModel, OfPart, QuicklyRefittable
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import BoolArray, FloatArray, IntArray, LeftOut
from badac.classes.model import ClassModel, Refittable, RefittableWithoutParts, learned_again
from badac.data.measurements import Measurements
from badac.estimators.fitting import Recipe, fit_classes
from badac.judge import FittedModel, Judgement
from badac.noise import Noise
from badac.nuisance.model import innermost
from badac.threads import each_apart, in_order
from badac.training import TrainingScales, TrainingSet

if TYPE_CHECKING:
    from badac.estimators.classifier import BADACClassifier

# A model of two thirds of 12,000 curves sees rare members as stranger than that of all of them does: with three folds lists
# held .57 of the anomalies of printed 4, with five .62, with six and with ten .63, .65 possible (seeds 500 to 507).
_FOLDS, _FOLDS_LEARNED_ANEW = 6, 2
# Anomalies that are drawn: one in a hundred of them, about as weak as a list ends at, is thirty.
_DRAWN = 3000
# A pool of this many tells p-values of a thousandth to a few per cent of themselves; more would only cost.
_MOST_OBJECTS = 40_000


def leave_out(estimator: BADACClassifier, model: FittedModel, rng: np.random.Generator) -> LeftOut:
    """Score every training object (of 40,000 at most) by a model that has not learned from it.

    Parameters
    ----------
    estimator : BADACClassifier
        With the parameters that the model was learned with.
    model : FittedModel
    rng : numpy Generator
    """
    known, recipe = model.known, Recipe.of(estimator)
    if not len(known.label):
        raise ValueError(
            "p-values compare with training objects, and this model was sent without them: call prepare_pvalues() "
            "before it is sent (`badac.partition.lean` does)."
        )
    use = np.arange(len(known.label))
    if use.size > _MOST_OBJECTS:
        use = np.sort(rng.choice(use, _MOST_OBJECTS, replace=False))
    # Members of a class one after another: each fold has them without a copy.
    use = use[np.argsort(known.label[use], kind="stable")]
    training = TrainingSet(
        known.training[use], known.label[use], model.classes, model.noise, model.scales, rng
    )
    inner = [innermost(one) for one in model.class_models]
    cheap = all(isinstance(one, Refittable) for one in inner)
    n = len(training)
    score, level, predicted = np.empty(n), np.empty(n), np.zeros(n, dtype=np.int64)
    scored = np.zeros(n, dtype=np.bool_)
    drawing = rng.spawn(1)[0]
    learned_before = as_learned(model.anomaly_model)
    of_all = learned_before if isinstance(learned_before, QuicklyRefittable) and cheap else None
    everybody = replace(known, training=training.objects, label=training.label)
    asked = None if of_all is None else of_all.asked_of_all(everybody)

    def as_given(some: BoolArray) -> IntArray:
        """Rows of some of the objects (n,), in the order of the training objects."""
        return np.flatnonzero(some)[np.argsort(use[some])]

    left_out = list(folds(training.label, _FOLDS if cheap else _FOLDS_LEARNED_ANEW, rng))
    # Each fold has generators of its own where they go side by side.
    own = [rng.spawn(len(left_out)), drawing.spawn(len(left_out))] if cheap else []
    at_once = {} if recipe.nuisance else _learned_without_each(inner, training, left_out)

    def classes_without(number: int, rest: TrainingSet) -> tuple[ClassModel, ...]:
        """The classes as all objects but those of a fold, the `rest`, teach them."""
        kept = {label: (models[number], ()) for label, models in at_once.items()}
        found = fit_classes([Again(one) for one in inner], rest, recipe.nuisance, kept)
        return tuple(one.model for one in found)

    def learned_without(number: int, rng: np.random.Generator) -> FittedModel:
        """Classes and anomaly model, learned without the objects of a fold."""
        held, anomaly = left_out[number], recipe.anomaly
        if len(at_once) == len(inner) and (of_all is not None or anomaly is None):
            models = tuple(one[number] for one in at_once.values())
        else:
            rest = training.take(~held).with_generator(rng)
            models = classes_without(number, rest)
        learned = replace(
            model,
            class_models=models,
            calibration=PosteriorCalibration.unchanged(),
            anomaly_model=None,
        )
        if anomaly is None:
            return learned
        found: AnomalyModel
        if of_all is None:
            found = anomaly.fit(replace(known, training=rest.objects, label=rest.label, models=models), rng)
        else:
            # Nobody is copied: those that are held out belong to no class.
            others = replace(everybody, label=np.where(held, -1, training.label), models=models)
            found = of_all.refit_without_some(others, asked, rng)
        if isinstance(found, OfPart):
            found = found.as_of_all(1.0 - float(held.mean()))
        return replace(learned, anomaly_model=found)

    def score_fold(number: int, rng: np.random.Generator, drawing: np.random.Generator) -> FloatArray:
        learned, rows = learned_without(number, rng), as_given(left_out[number])
        left = training.objects[rows]
        anomalies = _drawn(learned, left, drawing)
        judged = Judgement(learned, left)
        score[rows], level[rows], predicted[rows] = judged.raw_strangeness, judged.level, judged.predicted
        scored[rows] = True
        if anomalies is None:
            return np.empty(0)
        return Judgement(learned, anomalies).raw_strangeness

    # Models that are learned anew may take as much memory as a fit: one by one.
    if cheap:
        parts = zip(range(len(left_out)), *own, strict=True)
        drawn = list(in_order(lambda fold: score_fold(*fold), parts, recipe.n_threads))
    else:
        drawn = [score_fold(number, rng, drawing) for number in range(len(left_out))]
    one_scale = getattr(recipe.anomaly, "noise_cancels", False)
    rows = as_given(scored)
    about = use[rows], score[rows], level[rows], predicted[rows]
    return LeftOut(*about, len(model.classes), one_scale, np.concatenate([np.empty(0), *drawn]))


def _learned_without_each(
    models: Sequence[ClassModel], training: TrainingSet, left_out: Sequence[BoolArray]
) -> dict[Any, Sequence[ClassModel]]:
    """The classes, by their labels, that can be learned without each of the folds all at once."""
    fold = np.argmax(left_out, axis=0) if left_out else np.empty(0, dtype=np.int64)

    def of_class(number: int, rng: np.random.Generator) -> Sequence[ClassModel] | None:
        model, own = models[number], training.label == number
        if not isinstance(model, RefittableWithoutParts) or not {*range(len(left_out))} <= {
            *fold[own].tolist()
        }:
            return None
        about = training.members(number), fold[own], training.noise_of(number)
        return model.refit_without_each(*about, rng, training.scales)

    found = each_apart(of_class, training.n_classes, training.rng)
    labels = training.classes.tolist()
    return {label: each for label, each in zip(labels, found, strict=True) if each is not None}


def _drawn(model: FittedModel, objects: Measurements, rng: np.random.Generator) -> Measurements | None:
    """Anomalies as the anomaly model of a fold has them, with the noise of its left-out objects; None where it has none."""
    if not isinstance(model.anomaly_model, Deviations):
        return None
    return draw_anomalies(model.anomaly_model, objects, model.noise, _DRAWN // _FOLDS, rng)


def folds(label: IntArray, n_folds: int, rng: np.random.Generator) -> Iterator[BoolArray]:
    """Yield which objects (n,) to leave out, a share of every class each time; an only member is never left out."""
    fold = np.full(len(label), -1)
    for index in np.unique(label):
        members = np.flatnonzero(label == index)
        if members.size > 1:
            fold[members] = (rng.permutation(members.size) + rng.integers(n_folds)) % min(
                n_folds, members.size
            )
    for number in range(n_folds):
        if (fold == number).any():
            yield fold == number


@dataclass(frozen=True, eq=False)
class Again:
    """A fitted class model that is learned again without a fold, with its choices kept where it can keep them."""

    model: ClassModel

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Any:
        return learned_again(self.model, members, noise, rng, scales)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> npt.NDArray[np.float64]:
        return self.model.log_evidence(objects, n_threads=n_threads)

    def leave_one_out(self, *, n_threads: int = 1) -> npt.NDArray[np.float64]:
        return self.model.leave_one_out(n_threads=n_threads)

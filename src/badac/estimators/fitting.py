"""Learning: from the estimator's parameters and labelled objects to a `badac.judge.FittedModel`.

    parameters -> Recipe -> units, scales, noise -> classes -> calibration -> anomaly model

A pure function of parameters, data and generator; the estimator validates before it and holds what comes out. Where nobody said
what an anomaly is, its model is learned when it is first asked for (`badac.anomalies.deferred`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import AnomalyModel, Deviations, Known
from badac.anomalies.deferred import Deferred
from badac.calibration.agreement import Choice, agree
from badac.calibration.posterior import MayTell, learn_calibration
from badac.calibration.stacking.at_points import Deviating
from badac.classes import Candidate, ClassModel, ClassReport
from badac.classes.model import ChoosingModel, GridModel
from badac.classes.population.pooled_spread import with_pooled_spread
from badac.data.measurements import Measurements
from badac.data.units import in_units, reach_of, unit_of, within
from badac.estimators.choices import (
    are_left_to_data,
    check_share,
    choose,
    choose_class_models,
    choose_missingness,
    choose_nuisance,
    is_left_open,
    others_can_tell,
)
from badac.judge import FittedModel
from badac.noise import Gaussian, Noise, is_open
from badac.noise.model import asks_first
from badac.noise_learning import learn_noise
from badac.nuisance import Nuisance, innermost
from badac.posterior import class_log_prior, possible
from badac.progress import stage
from badac.threads import each_apart, lending, n_threads
from badac.training import FloatArray, TrainingScales, TrainingSet

if TYPE_CHECKING:
    from badac.estimators.classifier import BADACClassifier

Fitted = tuple[ClassModel, tuple[Candidate, ...]]
"""A class as it was learned, and what was tried for it."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to learn: the estimator's parameters, checked, with models in place of words.

    Attributes
    ----------
    class_model, priors
        As in `badac.BADACClassifier`: what they mean depends on the labels.
    noise : Noise
    anomaly : AnomalyModel or None
    anomaly_prior : float
    nuisance : tuple of Nuisance
    use_gaps : bool
        Whether gaps may tell the class.
    may_rank : bool
        Whether nobody said what an anomaly is (`badac.judge.FittedModel`).
    n_threads : int
    """

    class_model: Any
    priors: Any
    noise: Noise
    anomaly: AnomalyModel | None
    anomaly_prior: float
    nuisance: tuple[Nuisance, ...]
    use_gaps: bool
    may_rank: bool
    n_threads: int

    @classmethod
    def of(cls, estimator: BADACClassifier) -> Recipe:
        """Check the parameters of an estimator."""
        check_share("anomaly_prior", estimator.anomaly_prior)
        return cls(
            class_model=estimator.class_model,
            priors=estimator.priors,
            use_gaps=choose_missingness(estimator.missingness),
            nuisance=choose_nuisance(estimator.nuisance),
            noise=choose("noise", estimator.noise),
            anomaly=choose("anomaly", estimator.anomaly),
            anomaly_prior=estimator.anomaly_prior,
            may_rank=is_left_open(estimator.anomaly),
            n_threads=n_threads(estimator.n_jobs),
        )

    def learn(
        self,
        objects: Measurements,
        label: npt.NDArray[Any],
        units: FloatArray,
        rng: np.random.Generator,
        *,
        kept: Mapping[Any, Fitted] | None = None,
        stack: bool = True,
    ) -> FittedModel:
        """Learn from labelled objects (n, m).

        Parameters
        ----------
        objects : Measurements
            In the units of the data.
        label : (n,)
        units : (1,) or (m,)
            To learn in.
        rng : numpy Generator
        kept : mapping from label, optional
            Classes that were learned already and stay as they are.
        stack : bool
            Whether base models of other kinds may be stacked beside the class models.

        Every kernel on the way may use the threads; no number depends on how many there are.
        """
        with lending(self.n_threads):
            return self._learned(objects, label, units, rng, kept or {}, stack)

    def _learned(
        self,
        objects: Measurements,
        label: npt.NDArray[Any],
        units: FloatArray,
        rng: np.random.Generator,
        kept: Mapping[Any, Fitted],
        stack: bool,
    ) -> FittedModel:
        classes, index, counts = np.unique(label, return_inverse=True, return_counts=True)
        class_models = choose_class_models(self.class_model, classes.tolist())
        inside = in_units(objects, units)
        inside = within(inside, reach_of(unit_of(inside, beyond=1.0)))
        index = index.astype(np.int64)
        # Whoever names what a class is has said what is integrated over: nothing else is put in the place of the error bars.
        open_noise = (
            Gaussian() if asks_first(self.noise) and not are_left_to_data(class_models) else self.noise
        )
        scales = TrainingScales.of(inside)
        with stage("Learning the noise"):
            noise = learn_noise(open_noise, inside, index, rng, scales=scales)
        training = TrainingSet(inside, index, classes, noise, scales, rng)
        training = replace(training, scales=with_pooled_spread(training))
        log_prior = class_log_prior(self.priors, classes, counts.astype(np.float64))
        if is_open(self.noise):
            kept = {name: one for name, one in kept.items() if _is_under(one[0], training, name)}
        choices = fit_classes(class_models, training, self.nuisance, kept)
        choices = agree(choices, training, possible(log_prior, counts))
        models, tried = tuple(one.model for one in choices), tuple(one.report for one in choices)
        with stage("Calibrating on left-out objects"):
            calibration = learn_calibration(
                training,
                models,
                possible(log_prior, counts),
                MayTell(
                    self.use_gaps,
                    stack and others_can_tell(class_models, self.nuisance),
                    self._deviating(possible(log_prior, counts)),
                ),
                n_threads=self.n_threads,
            )
        known = FittedModel(
            classes=classes,
            class_models=models,
            class_report=ClassReport(tuple(classes.tolist()), tried) if any(tried) else None,
            log_prior=log_prior,
            noise=noise,
            scales=training.scales,
            units=units,
            calibration=calibration,
            anomaly_model=None,
            anomaly_prior=self.anomaly_prior,
            may_rank=self.may_rank,
            training=objects,
            training_label=label,
        )
        if self.anomaly is None:
            return known
        if self.may_rank:
            return replace(known, anomaly_model=Deferred.of(self.anomaly, known.known, rng, self.n_threads))
        with stage("Learning what an anomaly would look like"):
            return replace(known, anomaly_model=self.anomaly.fit(known.known, rng))

    def _deviating(self, log_prior: FloatArray) -> Deviating | None:
        """Return what learns the anomaly hypotheses from other class models, where nobody said what an anomaly is."""
        if not self.may_rank:
            return None

        def learn(models: Sequence[ClassModel], rest: TrainingSet) -> Callable[[Measurements], FloatArray]:
            prior, noise = self.anomaly_prior, rest.noise
            known = Known(rest.objects, rest.label, tuple(models), log_prior, prior, noise, rest.scales)
            # A generator of its own: whether it is learned must not change what is drawn later.
            learned = Deviations().fit(known, np.random.default_rng(0))
            return learned.log_bayes_factor

        return learn


def _is_under(model: ClassModel, training: TrainingSet, label: Any) -> bool:
    """Whether a class was learned under the noise that was found now: one under another cannot be kept."""
    number = training.classes.tolist().index(label)
    noise = training.noise_of(number)
    return bool(getattr(innermost(model), "noise", noise) == noise)


def without_new_members(model: FittedModel, touched: set[Any]) -> dict[Any, Fitted]:
    """Return the classes that learning on leaves as they are: those whose labels are not in `touched`."""
    tried = model.class_report.candidates if model.class_report else ((),) * len(model.classes)
    fitted = zip(model.classes.tolist(), model.class_models, tried, strict=True)
    return {name: (model, candidates) for name, model, candidates in fitted if name not in touched}


def fit_classes(
    class_models: Sequence[ClassModel],
    training: TrainingSet,
    nuisance: Sequence[Nuisance] = (),
    kept: Mapping[Any, Fitted] | None = None,
) -> list[Choice]:
    """Fit each class with its model; classes in `kept` have no new members and stay as they are.

    Wrappers in `nuisance` come around the fitted model, the first one innermost. Classes are learned side by side where
    there are threads to spare.

    Returns
    -------
    list of Choice
        Of a model that chooses (`badac.classes.Auto`) the one that it chose.
    """
    labels = training.classes.tolist()

    def learn(number: int, rng: np.random.Generator) -> Choice:
        label, class_model = labels[number], class_models[number]
        if kept and label in kept:
            return Choice(*kept[label], {})
        if training.objects.own_points and isinstance(class_model, GridModel):
            class_model = class_model.at_own_points()
        members, own_noise = training.members(number), training.noise_of(number)
        learned_from = members
        for wrapper in nuisance:
            learned_from = wrapper.prepared(learned_from, own_noise)
        with stage(f"Learning class {label} from {len(members):,} objects"):
            model = class_model.fit(learned_from, own_noise, rng, training.scales)
        report: tuple[Candidate, ...] = ()
        alternatives: dict[str, ClassModel] = {}
        if isinstance(model, ChoosingModel) and model.chosen is not None:
            report, alternatives, model = model.report, dict(model.alternatives), model.chosen
        for wrapper in nuisance:
            model = wrapper.wrap(model, members, learned_from)
        # What a wrapper does to a class, it would have to do to the alternatives.
        return Choice(model, report, {} if nuisance else alternatives)

    return each_apart(learn, len(labels), training.rng)

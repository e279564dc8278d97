"""The scikit-learn face of the walk: validate, walk, return. No formula lives here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from badac.anomalies import AnomalyModel, Deviations, Known
from badac.calibration.coarsening import Coarsening
from badac.calibration.missingness import Missingness
from badac.calibration.posterior import learn_calibration
from badac.calibration.stacking.ensemble import Ensemble
from badac.classes import ClassModel, ClassReport, TrainingScales, separate_conditions
from badac.data.measurements import Measurements, concatenate
from badac.data.units import in_units, log_jacobian, reach_of, unit_of, within
from badac.diagnostics import Diagnosis, diagnose
from badac.estimators.choices import (
    check_share,
    choose,
    choose_class_models,
    choose_missingness,
    choose_nuisance,
    choose_units,
    generator,
    others_can_tell,
)
from badac.estimators.fitting import Fitted, fit_classes, without_new_members
from badac.estimators.held_out import HeldOut
from badac.estimators.judgement import Judgement
from badac.estimators.validation import (
    check_coordinates,
    to_labels,
    to_measurements,
    warn_if_errors_are_missing,
)
from badac.explain import Explanation, explain
from badac.noise import Noise
from badac.noise_learning import learn_noise
from badac.posterior import class_log_prior, log_total, possible, probability
from badac.ranking import Ranking
from badac.registry import registered
from badac.threads import n_threads

FloatArray = npt.NDArray[np.float64]


@registered("estimator")
class BADACClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Bayesian anomaly detection and classification of noisy objects.

    Every feature of every training and test object may have an uncertainty. The answer is a calibrated probability for
    each known class, and for "none of them".

    Parameters
    ----------
    class_model : {"auto", "population", "instances", "template", "subclasses", "gp"} or ClassModel
        What a class is. "population": a density of true curves learned through the members' noise. "instances": every
        member is a curve, flat prior (the paper's equation). "template": one Gaussian. "subclasses": populations within a
        class, as many as the evidence asks for. "gp": a Gaussian process, for irregular points. "auto": population,
        instances or template for each class, by leave-one-out evidence. A mapping from labels to models gives
        classes models of their own (one parametric, say), "auto" where it says nothing.
    noise : {"gaussian", "auto", "correlated", "outliers", "student", "poisson"} or Noise
        How measurements scatter. What a model leaves open (the share of bad points, say) is learned from the training objects;
        "auto" learns which of them holds, too.
    anomaly : {"auto", "tophat", "broad", "contamination", "evidence"} or AnomalyModel
        What an anomaly is. "auto": something else entirely, or a known class plus a bump or a smooth deviation
        (`badac.anomalies.Deviations`); where the classes do not follow their models, whatever is stranger than left-out
        training objects (`badac.calibration.null_distribution`). "tophat", "broad", "contamination": the paper's. "evidence":
        no anomaly class, rank by the total evidence of the known classes.
    priors : None, "uniform", mapping or sequence
        Prior probabilities of the known classes; the training frequencies by default.
    anomaly_prior : float
        Prior probability that an object belongs to no known class.
    nuisance : None, mapping, or one or several of `badac.nuisance`
        What is unknown of each new object and integrated out: ``{"gain": 0.1, "offset": 0.3, "shift": 0.05}`` gives the
        standard deviations of a factor and of a constant on its values, and the largest shift of its coordinates.
    n_jobs : int, optional
        Threads; None is one, -1 all cores.
    random_state : int, RandomState or None
        Seed of what is drawn at random during fit.
    missingness : {"learn", "ignore"}
        Whether the points that an object lacks may tell its class, as far as left-out training objects say they do. Switch
        it off where new objects go missing for other reasons than training objects.

    Attributes
    ----------
    classes_ : (k,)
        Labels, sorted.
    class_models_ : tuple of ClassModel
        The fitted classes, in the order of `classes_`.
    class_report_ : ClassReport or None
        With ``class_model="auto"``: what was chosen for each class, and why.
    class_log_prior_ : (k,)
    coarsening_ : Coarsening
        The exponent of the evidence in the probabilities: 1 unless left-out training objects ask for less.
    opinions_ : Opinions or None
        With ``class_model="auto"`` and classes that do not follow their models: other kinds of models, which have a say in the
        probabilities where left-out training objects gain by it (`badac.calibration.stacking.ensemble`).
    anomaly_model_ : AnomalyModel or None
    noise_ : Noise
        The noise model, with what it left open learned from the training objects.
    units_ : (1,) or (m,)
        Of the fitted parts, not of `training_` and the answers: 1 unless values are beyond 1e20 (`badac.data.units`).

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat([0, 1], 50)
    >>> curves = Measurements(label[:, None] + 0.2 * rng.standard_normal((100, 5)), sigma=0.2)
    >>> model = BADACClassifier(random_state=0).fit(curves, label)
    >>> new = Measurements([[0.9, 1.1, 0.8, 1.2, 1.0], [0.1, -0.2, 2.0, 0.1, 0.0]], sigma=0.2)
    >>> model.predict(new)
    array([1, 0])
    >>> model.rank(new).objects
    array([1, 0])
    """

    classes_: npt.NDArray[Any]
    class_models_: tuple[ClassModel, ...]
    class_report_: ClassReport | None
    class_log_prior_: FloatArray
    coarsening_: Coarsening
    missingness_: Missingness
    ensemble_: Ensemble | None
    anomaly_model_: AnomalyModel | None
    noise_: Noise
    fitted_with_errors_: bool
    training_: Measurements
    training_label_: npt.NDArray[Any]
    scales_: TrainingScales
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    record_: dict[str, Any]  # of a model that the command line has learned (`badac.job.Record`)
    units_: FloatArray = np.ones(1)  # the data's, where models were learned elsewhere (`badac.dask`)
    _held_out: HeldOut | None = None
    _explaining: Deviations | None = None

    def __init__(
        self,
        class_model: str | ClassModel | Mapping[Any, str | ClassModel] = "auto",
        noise: str | Noise = "gaussian",
        anomaly: str | AnomalyModel = "auto",
        priors: Any = None,
        anomaly_prior: float = 0.01,
        nuisance: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        missingness: str = "learn",
    ) -> None:
        self.class_model = class_model
        self.noise = noise
        self.anomaly = anomaly
        self.priors = priors
        self.anomaly_prior = anomaly_prior
        self.nuisance = nuisance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.missingness = missingness

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, X_err: Any = None, batch: Any = None) -> Self:
        """Learn the classes from labelled noisy objects.

        Parameters
        ----------
        X : Measurements, (n, m) array-like, DataFrame or astropy Table
            A table may have ``name_err`` columns. NaN: missing.
        y : (n,) array-like
            Labels.
        X_err : scalar, (m,) or (n, m) array-like, optional
            One standard deviation of each value of an array `X`.
        batch : (n,) array-like, optional
            The night, plate or run of each object: what the objects of a batch have in common beyond their classes is taken
            for shared conditions and subtracted (`badac.classes.separate_conditions`, with its defaults).
        """
        objects = to_measurements(self, X, X_err, reset=True)
        label = to_labels(y, objects)
        if batch is not None:
            objects = separate_conditions(objects, label, batch).objects
        return self._learn(objects, label)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, X_err: Any = None) -> Self:
        """Add labelled objects; labels not seen before become new classes.

        The classes without new members keep their models as they are. `classes` is accepted for scikit-learn's sake and
        needs not be given.
        """
        if not hasattr(self, "classes_"):
            return self.fit(X, y, X_err=X_err)
        objects = to_measurements(self, X, X_err, reset=False)
        label = to_labels(y, objects, like=self.training_label_)
        if objects.has_errors != self.fitted_with_errors_:
            raise ValueError(
                "partial_fit needs errors exactly if fit had them: got objects "
                f"{'with' if objects.has_errors else 'without'} errors."
            )
        merged = concatenate([self.training_, objects])
        # Models that were learned in other units cannot be kept.
        touched = set(label.tolist()) if np.array_equal(choose_units(self, merged), self.units_) else None
        return self._learn(merged, np.concatenate([self.training_label_, label]), touched)

    def _learn(
        self,
        objects: Measurements,
        label: npt.NDArray[Any],
        touched: set[Any] | None = None,
        *,
        ask_others: bool = True,
    ) -> Self:
        check_share("anomaly_prior", self.anomaly_prior)
        use_gaps = choose_missingness(self.missingness)
        nuisance = choose_nuisance(self.nuisance)
        noise_model = choose("noise", self.noise)
        anomaly = choose("anomaly", self.anomaly)
        rng = generator(self.random_state)
        kept: dict[Any, Fitted] = {}
        units = choose_units(self, objects) if touched is None else self.units_
        if touched is not None:
            kept = without_new_members(self.classes_, self.class_models_, self.class_report_, touched)

        classes, index, counts = np.unique(label, return_inverse=True, return_counts=True)
        index = index.astype(np.int64)
        class_models = choose_class_models(self.class_model, classes.tolist())
        self.training_, self.units_ = objects, units
        objects = in_units(objects, units)
        objects = within(objects, reach_of(unit_of(objects, beyond=1.0)))
        scales = TrainingScales.of(objects)
        noise = learn_noise(noise_model, objects, index, rng)
        fitted = fit_classes(
            class_models, objects, index, classes.tolist(), noise, rng, scales, kept, nuisance
        )
        models, tried = (tuple(column) for column in zip(*fitted, strict=True))
        log_prior = class_log_prior(self.priors, classes, counts.astype(np.float64))
        self.noise_ = noise
        self.classes_ = classes
        self.class_models_ = models
        self.class_report_ = ClassReport(tuple(classes.tolist()), tried) if any(tried) else None
        self.class_log_prior_ = log_prior
        self.scales_ = scales
        self.training_label_, self.fitted_with_errors_ = label, objects.has_errors
        trust = learn_calibration(
            objects,
            index,
            models,
            possible(log_prior, counts),
            noise,
            scales,
            rng,
            use_gaps=use_gaps,
            ask_others=ask_others and others_can_tell(class_models, nuisance),
            n_threads=n_threads(self.n_jobs),
        )
        self.coarsening_, self.missingness_ = trust.coarsening, trust.missingness
        self.ensemble_ = trust.ensemble
        self.anomaly_model_ = None if anomaly is None else anomaly.fit(self._known(), rng)
        self._held_out, self._explaining = None, None
        return self

    # -- the known classes -------------------------------------------------------------------------------------------

    def log_evidence(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n, k): log P(object | class), class priors not included."""
        judged = self._judge(X, X_err)
        return judged.evidence - log_jacobian(judged.objects, self.units_)[:, None]

    def predict_log_proba(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n, k): log probabilities of the known classes."""
        return self._judge(X, X_err).log_posterior

    def predict_proba(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n, k): probabilities of the known classes, columns in the order of `classes_`."""
        return np.asarray(np.exp(self.predict_log_proba(X, X_err=X_err)))

    def predict(self, X: Any, *, X_err: Any = None) -> npt.NDArray[Any]:
        """Return (n,): the most probable known class."""
        best = self.predict_log_proba(X, X_err=X_err).argmax(axis=1)
        return np.asarray(self.classes_[best])

    # -- the anomaly -------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n,): ``log sum_k P(d | k) P(k)``; scikit-learn's sign, low = strange."""
        return log_total(self.log_evidence(X, X_err=X_err), self.class_log_prior_)

    def anomaly_score(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n,): how strange an object is, high = strange; what `rank` sorts by.

        The posterior log odds of the anomaly; with ``anomaly="evidence"`` minus the total log evidence. Where the class
        models do not hold, so that `opinions_` were asked, "auto" takes the odds from a comparison with left-out training
        objects (`badac.calibration.null_distribution`).
        """
        return self._judge(X, X_err).score

    def anomaly_proba(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n,): posterior probability that the object belongs to no known class."""
        judged = self._judge(X, X_err)
        if self.anomaly_model_ is None:
            raise ValueError(
                'anomaly="evidence" ranks by the evidence of the known classes and has no anomaly class, so no '
                "probability. Use anomaly_score, or fit with another `anomaly`."
            )
        return probability(judged.score)

    def anomaly_pvalue(self, X: Any, *, X_err: Any = None) -> FloatArray:
        """Return (n,): share of known objects of the same class and noise that look at least as strange.

        Uniform for objects of the known classes, so a small value means what it says. The first call learns the model once
        more without a part of the training objects, to compare with those; where `opinions_` were asked, objects were left
        out already, and those are compared with.
        """
        return self._judge(X, X_err).pvalue

    def rank(self, X: Any, *, X_err: Any = None, fdr: float | None = None) -> Ranking:
        """Return a table of the objects, strangest first.

        Parameters
        ----------
        X, X_err
            As in `fit`.
        fdr : float in (0, 1), optional
            Return only the objects that can be told from the known classes, with so many that on average at most this
            share of the list is normal after all (Benjamini & Hochberg).
        """
        judged = self._judge(X, X_err)
        score = judged.score
        strange = None if self.anomaly_model_ is None else probability(score)
        table = Ranking.of(score, strange, judged.log_posterior, self.classes_)
        return table if fdr is None else table.discoveries(judged.pvalue, fdr)

    def explain(self, X: Any, *, X_err: Any = None) -> Explanation:
        """Say why objects are strange: which points, which window, and what they should have looked like.

        With an `anomaly` other than "auto" the classes are described for this on the first call.
        """
        objects = self._objects(X, X_err)
        threads = n_threads(self.n_jobs)
        found = explain(objects, self._described(), self._known(), self.classes_, n_threads=threads)
        return Judgement(self, objects).with_reason(found).in_units(1.0 / self.units_)

    def diagnose(self, X: Any, y: Any, *, X_err: Any = None) -> Diagnosis:
        """Say whether the noise model holds for labelled objects: families compared by evidence, residuals, advice.

        Needs no fit, and changes nothing.
        """
        objects = to_measurements(clone(self), X, X_err, reset=True)
        objects = in_units(objects, choose_units(self, objects))
        return diagnose(objects, to_labels(y, objects), generator(self.random_state))

    # -- steps -------------------------------------------------------------------------------------------------------

    def _judge(self, X: Any, X_err: Any) -> Judgement:
        return Judgement(self, self._objects(X, X_err))

    def _objects(self, X: Any, X_err: Any) -> Measurements:
        check_is_fitted(self)
        objects = to_measurements(self, X, X_err, reset=False)
        check_coordinates(objects, self.training_, self.class_models_)
        warn_if_errors_are_missing(objects, self.fitted_with_errors_)
        return self._in_units(objects)

    def _in_units(self, objects: Measurements) -> Measurements:
        return within(in_units(objects, self.units_), self.scales_.reach)

    def _known(self) -> Known:
        label = np.searchsorted(self.classes_, self.training_label_).astype(np.int64)
        models, log_prior, prior = self.class_models_, self.class_log_prior_, self.anomaly_prior
        return Known(
            self._in_units(self.training_), label, models, log_prior, prior, self.noise_, self.scales_
        )

    def _described(self) -> Deviations:
        if isinstance(self.anomaly_model_, Deviations):
            return self.anomaly_model_
        if self._explaining is None:
            self._explaining = Deviations().fit(self._known(), np.random.default_rng(0))
        return self._explaining

    def _kept_back(self) -> HeldOut:
        # Not part of the fitted state: whoever wants no p-values pays nothing, and a loaded model makes it again.
        if self._held_out is None:
            self._held_out = HeldOut.of(self)
        return self._held_out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

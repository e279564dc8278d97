"""The scikit-learn face of the walk: validate, walk, return. No formula lives here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from badac.anomalies import AnomalyModel, Deviations
from badac.anomalies.deferred import held, hold, learned_when_asked
from badac.calibration.class_frequencies import ClassFrequencies
from badac.calibration.coarsening import Coarsening
from badac.calibration.discoveries import check_share
from badac.calibration.missingness import Missingness
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import LeftOut
from badac.calibration.stacking.ensemble import Ensemble
from badac.calibration.two_groups import TwoGroups
from badac.classes import ClassModel, ClassReport, TrainingScales
from badac.comparison import Comparison, ListWarning
from badac.comparison.compare import compare, may_be_too_small
from badac.data.beside import ColumnsBeside
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.data.reach import beyond, said_of_beyond, times_of
from badac.data.rows import is_numbered
from badac.data.units import in_units
from badac.diagnostics import Diagnosis, diagnose
from badac.estimators.adaptation import adapt_to, unsupported, with_wider_error_bars
from badac.estimators.batches import without_batches
from badac.estimators.choices import choose_units, generator, is_left_open
from badac.estimators.cross_fitting import leave_out
from badac.estimators.description import describe
from badac.estimators.exposure import with_exposure
from badac.estimators.fitting import Recipe, without_new_members
from badac.estimators.validation import (
    as_measured,
    as_seen,
    check_coordinates,
    describe_objects,
    names_of_columns,
    refuse_words,
    to_labels,
    to_measurements,
    to_objects,
    warn_if_errors_are_missing,
)
from badac.explain import Explanation
from badac.judge import FittedModel, Judgement
from badac.looked_at import looked_at
from badac.noise import Noise
from badac.nuisance import Phases
from badac.progress import spoken
from badac.ranking import Ranking
from badac.registry import registered
from badac.threads import lending, n_threads
from badac.verdicts import STANDARD, WITH_PVALUES, Verdicts

FloatArray = npt.NDArray[np.float64]


class TrainingSupportWarning(UserWarning):
    """New objects are unlike all training objects in what no class tells: noise, number of points, columns beside curves."""


@registered(
    "estimator",
    version=8,
    holds={
        "classes_": "(k,)",
        "class_models_": "(k,)",
        "class_log_prior_": "(k,) may be -inf",
        "n_features_in_": "> 0",
        "units_": "any",
        "error_scale_": "> 0",
        "priors": "any",
        "training_label_": "any",
        "record_": "any",
    },
)
class BADACClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Bayesian anomaly detection and classification of noisy objects.

    Every feature of every training and test object may have an uncertainty. The answer is a calibrated probability for
    each known class, and for "none of them".

    Parameters
    ----------
    class_model : {"auto", "population", "instances", "template", "mixture", "subclasses", "gp"} or ClassModel
        What a class is. "population": a density of true curves learned through the members' noise. "instances": every
        member is a curve, flat prior (the paper's equation). "template": one Gaussian. "mixture": a deconvolved mixture of
        full rank, for few columns. "subclasses": populations within a
        class, as many as the evidence asks for. "gp": a Gaussian process, for irregular points. "auto": population,
        instances, template or (in up to eight columns) mixture, by leave-one-out evidence and log-loss. A mapping from labels
        to models gives classes models of their own (one parametric, say), "auto" where it says nothing.
    noise : {"checked", "gaussian", "auto", "correlated", "outliers", "student", "poisson"} or Noise
        How measurements scatter. What a model leaves open (the share of bad points, say) is learned from the training objects;
        "auto" learns which of them holds, too. "checked": Gaussian, unless class_model is "auto" and some points of the
        training objects are plainly bad; only then noise with bad points is learned, and believed if held-out objects say so.
    anomaly : {"auto", "tophat", "broad", "contamination", "evidence"} or AnomalyModel
        What an anomaly is. "auto": something else entirely, or a known class plus a bump or a smooth deviation
        (`badac.anomalies.Deviations`); where the classes do not follow their models, whatever is stranger than left-out
        training objects (`badac.calibration.null_distribution`; `score_meaning_` says which). "tophat", "broad",
        "contamination": the paper's. "evidence": no anomaly class, rank by the total evidence of the known classes.
    priors : None, "uniform", "estimate", mapping or sequence
        Prior probabilities of the known classes; the training frequencies by default. "estimate": those of the objects that
        are asked about, by EM on their evidence, anew for every call (`adapt` does it once, and returns a model).
    anomaly_prior : float
        Prior probability that an object belongs to no known class.
    nuisance : None, mapping, or one or several of `badac.nuisance`
        What is unknown of each new object and integrated out: ``{"gain": 0.1, "offset": 0.3, "shift": 0.05}`` gives the
        standard deviations of a factor and of a constant on its values, and the largest shift of its coordinates.
    n_jobs : int, optional
        Threads; None is one, -1 all cores.
    random_state : int, Generator, RandomState or None
        Seed of what is drawn at random during fit.
    missingness : {"learn", "ignore"}
        Whether the points that an object lacks may tell its class, as far as left-out training objects say they do. Switch
        it off where new objects go missing for other reasons than training objects.
    verbose : bool
        Whether to say on standard error which stage of learning is under way, and how long each took.

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
    missingness_ : Missingness
        What gaps say of the class.
    ensemble_ : Ensemble or None
        With ``class_model="auto"`` and classes that do not follow their models: a stack of other kinds of models, which the
        probabilities follow where left-out training objects gain by it (`badac.calibration.stacking.ensemble`).
    anomaly_model_ : AnomalyModel or None
        With ``anomaly="auto"`` it is learned when it is first asked for.
    score_meaning_ : str
        What `anomaly_score` is, in words: log odds by the evidence, or by the rank among left-out training objects.
    noise_ : Noise
        The noise model, with what it left open learned from the training objects.
    units_ : (1,) or (m,)
        Of the fitted parts, not of `training_` and the answers: 1 unless values are beyond 1e20 (`badac.data.units`).
    feature_names_in_ : (m,)
        Names of the columns, where a table was given.
    layout_ : dict
        How the table was read: columns, units, errors, preparation, typical sizes; new tables are read by it
        (`badac.data.Layout`).
    fitted_ : badac.judge.FittedModel
        All of the above as one frozen thing, which judges objects; `judge` and `verdicts` ask it.

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
    anomaly_model_: AnomalyModel | None = learned_when_asked()
    noise_: Noise
    fitted_with_errors_: bool
    training_: Measurements
    training_label_: npt.NDArray[Any]
    scales_: TrainingScales
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    layout_: dict[str, Any]  # how a table was read (`badac.data.Layout`)
    record_: dict[str, Any]  # of a model that the command line has learned (`badac.job.Record`)
    phases_: Phases | None = None  # how times of transients become phases (`badac.nuisance.phase`)
    exposure_column_: str | None = None  # of tables of counts (`badac.estimators.exposure`)
    beside_: ColumnsBeside | None = None  # how columns beside the points become points (`badac.data.beside`)
    units_: FloatArray = np.ones(1)  # the data's, where models were learned elsewhere (`badac.dask`)
    # Made when first asked for, or when the model is saved: whoever only classifies pays nothing.
    left_out_: LeftOut | None = None
    two_groups_: TwoGroups | None = None  # of adapt(new, anomalies=True)
    error_scale_: float = 1.0  # factor on the error bars of what is judged, of adapt(new)
    # Never stored.
    _explaining: Deviations | None = None
    _frequencies: ClassFrequencies | None = None
    _compared: Measurements | None = None

    def __init__(
        self,
        class_model: str | ClassModel | Mapping[Any, str | ClassModel] = "auto",
        noise: str | Noise = "checked",
        anomaly: str | AnomalyModel = "auto",
        priors: Any = None,
        anomaly_prior: float = 0.01,
        nuisance: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        missingness: str = "learn",
        verbose: bool = False,
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
        self.verbose = verbose

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_err: Any = None,
        batch: Any = None,
        exposure: Any = None,
        **words: Any,
    ) -> Self:
        """Learn the classes from labelled noisy objects.

        Parameters
        ----------
        X : Measurements, (n, m) array-like, Catalogue, or a table
            A table (pandas, polars, Arrow, astropy, xarray ...) may have error columns in any of the usual ways of naming
            them; what its names do not tell is said in ``badac.data.from_table(table, pair=..., missing=..., errors=...)``,
            whose `Catalogue` goes in here. New tables are then read alike (``layout_``). NaN: missing.
        y : (n,) array-like
            Labels; by default those of a `Catalogue`.
        X_err : scalar, (m,) or (n, m) array-like, optional
            One standard deviation of each value of an array `X`.
        batch : (n,) array-like, optional
            The night, plate or run of each object: what the objects of a batch have in common beyond their classes is taken
            for shared conditions and subtracted (`badac.classes.separate_conditions`, with its defaults); of counts it is a
            factor on their exposures (`badac.classes.separate_exposures`).
        exposure : scalar, (n,), (m,) or (n, m) array-like, optional
            Of an array or table `X` of counts, with ``noise="poisson"``: how deep each was looked for. New objects bring
            theirs (``predict(X, exposure=...)``). Of a table it may be the name of a column, which is then no feature, and
            is looked for in new tables too; a column named as exposures are (`badac.estimators.exposure`) is found.
        **words
            None: `sample_weight` is refused, saying what to do instead.
        """
        refuse_words(words)
        X, exposure = with_exposure(self, X, exposure, reset=True)
        objects, table = to_objects(self, X, X_err, reset=True, exposure=exposure)
        label = to_labels(table.label if y is None and table is not None else y, objects)
        recipe, rng = Recipe.of(self), generator(self.random_state)
        if batch is not None:
            objects = without_batches(objects, label, batch, recipe.noise)
        with spoken(self.verbose):
            return self.adopt(recipe.learn(objects, label, choose_units(self, objects), rng))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, X_err: Any = None, exposure: Any = None
    ) -> Self:
        """Add labelled objects; labels not seen before become new classes.

        The classes without new members keep their models as they are. `classes` is accepted for scikit-learn's sake and
        needs not be given.
        """
        if not hasattr(self, "classes_"):
            return self.fit(X, y, X_err=X_err, exposure=exposure)
        objects = self._recognised(X, X_err, exposure)[0]
        label = to_labels(y, objects, like=self.training_label_)
        if objects.has_errors != self.fitted_with_errors_:
            raise ValueError(
                "partial_fit needs errors exactly if fit had them: got objects "
                f"{'with' if objects.has_errors else 'without'} errors."
            )
        merged, every = concatenate([self.training_, objects]), np.concatenate([self.training_label_, label])
        units = choose_units(self, merged)
        # Models that were learned in other units cannot be kept.
        same_units = np.array_equal(units, self.units_)
        kept = without_new_members(self.fitted_, set(label.tolist())) if same_units else {}
        recipe, rng = Recipe.of(self), generator(self.random_state)
        return self.adopt(recipe.learn(merged, every, units, rng, kept=kept))

    def adopt(self, model: FittedModel) -> Self:
        """Hold what was learned, here or elsewhere (`badac.dask.fit`): the fitted attributes are its parts."""
        self.classes_, self.class_log_prior_ = model.classes, model.log_prior
        self.class_models_, self.class_report_ = model.class_models, model.class_report
        self.noise_, self.scales_, self.units_ = model.noise, model.scales, model.units
        self.coarsening_, self.missingness_ = model.calibration.coarsening, model.calibration.missingness
        self.ensemble_ = model.calibration.ensemble
        hold(self, "anomaly_model_", model.anomaly_model)
        self.training_, self.training_label_ = model.training, model.training_label
        self.fitted_with_errors_ = model.training.has_errors
        self.left_out_, self._explaining, self._frequencies = model.left_out, None, None
        self._compared, self.two_groups_ = model.compared, model.two_groups
        self.error_scale_ = model.error_scale
        return self

    @property
    def fitted_(self) -> FittedModel:
        """The frozen model that judges: made of the fitted attributes, which are what a model file holds."""
        check_is_fitted(self)
        return FittedModel(
            classes=self.classes_,
            class_models=self.class_models_,
            class_report=self.class_report_,
            log_prior=self.class_log_prior_,
            noise=self.noise_,
            scales=self.scales_,
            units=self.units_,
            calibration=PosteriorCalibration(self.coarsening_, self.missingness_, self.ensemble_),
            anomaly_model=held(self, "anomaly_model_"),
            anomaly_prior=self.anomaly_prior,
            may_rank=is_left_open(self.anomaly),
            training=self.training_,
            training_label=self.training_label_,
            left_out=self.left_out_,
            compared=self._compared,
            two_groups=self.two_groups_,
            error_scale=self.error_scale_,
        )

    @property
    def score_meaning_(self) -> str:
        """What `anomaly_score`, and with it the order of `rank`, is: a sentence."""
        return self.fitted_.score_meaning

    @property
    def pvalues_ready(self) -> bool:
        """Whether p-values cost no more than the score: nothing has to be learned once more (`prepare_pvalues`)."""
        return self.left_out_ is not None or self.fitted_.ranks_left_out

    def prepare_pvalues(self) -> Self:
        """Make ready what p-values and `anomaly_proba` need, before the first object asks: every training object left out once.

        Costs one to two times as much as `fit`, once: it is kept in the model file. Nothing is done where the score is a
        rank among objects that were left out while learning, or if it is done already.
        """
        fitted = self.fitted_
        if self.left_out_ is None and not fitted.ranks_left_out:
            with lending(n_threads(self.n_jobs)):
                self.left_out_ = leave_out(self, fitted, generator(self.random_state))
        return self

    # -- the known classes -------------------------------------------------------------------------------------------

    def log_evidence(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n, k): log P(object | class), class priors not included."""
        return self.judge(X, X_err=X_err, exposure=exposure).log_evidence

    def predict_log_proba(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n, k): log probabilities of the known classes."""
        return self.judge(X, X_err=X_err, exposure=exposure).log_proba

    def predict_proba(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n, k): probabilities of the known classes, columns in the order of `classes_`."""
        return self.judge(X, X_err=X_err, exposure=exposure).proba

    def predict(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> npt.NDArray[Any]:
        """Return (n,): the most probable known class."""
        best = self.judge(X, X_err=X_err, exposure=exposure).log_proba.argmax(axis=1)
        return np.asarray(self.classes_[best])

    # -- the anomaly -------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n,): ``log sum_k P(d | k) P(k)``; scikit-learn's sign, low = strange."""
        return self.judge(X, X_err=X_err, exposure=exposure).log_total

    def anomaly_score(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n,): how strange an object is, high = strange; what `rank` sorts by.

        The posterior log odds of the anomaly; with ``anomaly="evidence"`` minus the total log evidence. Where the classes do
        not follow their models, so that there is an `ensemble_`, "auto" takes the odds from the object's rank among left-out
        training objects (`badac.calibration.null_distribution`). `score_meaning_` says which of them it is. An object with gaps
        that training objects do not have scores as whole ones do that are as rare, by left-out objects with such gaps
        (`prepare_pvalues`), so that no p-value contradicts the order.
        """
        objects = self._recognised(X, X_err, exposure)[0]
        return self._walk(objects, pvalues=self.fitted_.lacks_unusually(objects)).score

    def anomaly_proba(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n,): posterior probability that the object belongs to no known class.

        By how many known objects score so, which left-out ones tell (a class of n members has members unlike all of them), and
        how many anomalies would, drawn as the anomaly model has them (`badac.calibration.caution`). The first call leaves every
        training object out once (`prepare_pvalues`). How strange anomalies are stays a guess of the anomaly model;
        ``adapt(new, anomalies=True)`` learns it from new objects.
        """
        return self.judge(
            X, X_err=X_err, exposure=exposure, pvalues=self.fitted_.anomaly_model is not None
        ).anomaly_proba

    def anomaly_pvalue(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> FloatArray:
        """Return (n,): share of known objects that look at least as strange.

        Uniform for objects of the known classes, so a small value means what it says. Bayes factors of all classes and noise
        levels are compared as they are; other scores with those of the same class and noise (`badac.calibration.score_map`).
        The first call leaves every training object out once, to compare with those (`prepare_pvalues`); where there is an
        `ensemble_`, objects were left out already. Beyond the strangest of them a tail goes on (`badac.calibration.pool`);
        `verdicts` says where.
        """
        return self.judge(X, X_err=X_err, exposure=exposure, pvalues=True).pvalue

    def compare(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> Comparison:
        """Say how new objects differ from the training's: noise, error bars, values, gaps, p-values (`badac.comparison`).

        The promise of a list (`rank` with `fdr`) holds for objects like the training's only.
        """
        return self._comparison(self.judge(X, X_err=X_err, exposure=exposure, pvalues=True))

    def rank(
        self,
        X: Any,
        *,
        X_err: Any = None,
        exposure: Any = None,
        fdr: float | None = None,
        verdicts: Any = None,
    ) -> Ranking:
        """Return a table of the objects, strangest first.

        Parameters
        ----------
        X, X_err
            As in `fit`.
        fdr : float in (0, 1), optional
            Return only the objects that can be told from the known classes, with so many that on average at most this
            share of the list is normal after all (Benjamini & Hochberg). An empty list, or one that cannot keep this
            promise because the objects are not like the training's (`compare`), says `why`, and warns.
        verdicts : mapping from row of X to "known" or "anomaly", optional
            Of objects that somebody has looked at (`badac.looked_at`): known ones join those that are compared with, and
            neither kind is in the table any more.
        """
        if fdr is not None:
            check_share(fdr)
        objects, given = self._recognised(X, X_err, exposure)
        judged = self._walk(objects, pvalues=fdr is not None or self.fitted_.compares(objects))
        rows = np.arange(len(judged.objects))
        if verdicts is not None:
            judged, rows = looked_at(judged, verdicts)
        found = judged.verdicts(STANDARD if fdr is None else WITH_PVALUES)
        table = Ranking.of(_named(found, given, rows))
        table = replace(table, objects=rows[table.objects])
        if fdr is None:
            return table
        listed = table.discoveries(fdr, judged.model.pool, self._comparison(judged).why)
        if listed.why:
            warnings.warn(listed.why, ListWarning, stacklevel=2)
        return listed

    def _comparison(self, judged: Judgement) -> Comparison:
        return compare(judged, names=names_of_columns(self))

    def explain(self, X: Any, *, X_err: Any = None, exposure: Any = None) -> Explanation:
        """Say why objects are strange: which points, which window, and what they should have looked like.

        With an `anomaly` other than "auto" the classes are described for this on the first call.
        """
        check_is_fitted(self)
        X, exposure = with_exposure(self, X, exposure, reset=False)
        measured, table = as_measured(self, X, X_err, reset=False, exposure=exposure)
        judged = self._walk(as_seen(self, measured, reset=False), pvalues=False, warn=False)
        if self._explaining is None:
            self._explaining = judged.model.deviations()
        found = judged.explain(self._explaining)
        if self.beside_ is not None:
            found = found.of_points(-len(self.beside_.names))
        if self.phases_ is not None:
            found = found.at_times(measured, self.phases_.times(measured, found.objects, found.window))
        # In the words of the table, where there is one; otherwise by the names and bands of the training's.
        if table is not None and table.features:
            return found.described(table.about)
        return found.described(describe_objects(self, X, found.about))

    def diagnose(self, X: Any, y: Any, *, X_err: Any = None) -> Diagnosis:
        """Say whether the noise model holds for labelled objects: families compared by evidence, residuals, advice.

        Needs no fit, and changes nothing.
        """
        objects = to_measurements(clone(self), X, X_err, reset=True)
        objects = in_units(objects, choose_units(self, objects))
        return diagnose(objects, to_labels(y, objects), generator(self.random_state))

    # -- everything at once ------------------------------------------------------------------------------------------

    def verdicts(self, X: Any, *, X_err: Any = None, exposure: Any = None, pvalues: bool = False) -> Verdicts:
        """Return everything about each object in one pass, in the order of the data (`badac.verdicts.Verdicts`).

        Parameters
        ----------
        X, X_err
            As in `fit`.
        pvalues : bool
            Whether to compare with known objects too: p-values, and which of them are extrapolated.
        """
        objects, table = self._recognised(X, X_err, exposure)
        judged = self._walk(objects, pvalues=pvalues or self.fitted_.compares(objects))
        return _named(judged.verdicts(WITH_PVALUES if pvalues else STANDARD), table)

    def _recognised(self, X: Any, X_err: Any, exposure: Any) -> tuple[Measurements, Any]:
        check_is_fitted(self)
        X, exposure = with_exposure(self, X, exposure, reset=False)
        return to_objects(self, X, X_err, reset=False, exposure=exposure)

    def judge(
        self, X: Any, *, X_err: Any = None, exposure: Any = None, pvalues: bool = False, warn: bool = True
    ) -> Judgement:
        """Return the walk of some objects, each step of which is done once, when it is asked for (`badac.judge.Judgement`).

        Its objects are checked, and in the units of the model; `pvalues` says whether p-values or
        `anomaly_proba` will be asked for, `warn` whether a `TrainingSupportWarning` names curves beyond the training's times.
        """
        return self._walk(self._recognised(X, X_err, exposure)[0], pvalues=pvalues, warn=warn)

    def _walk(self, objects: Measurements, *, pvalues: bool, warn: bool = True) -> Judgement:
        check_coordinates(objects, self.training_, self.class_models_)
        warn_if_errors_are_missing(objects, self.fitted_with_errors_)
        times = times_of(self.training_) if warn else None
        rows = np.flatnonzero(beyond(objects, times))
        for words in said_of_beyond([f"object {row}" for row in rows.tolist()], times):
            warnings.warn(words, TrainingSupportWarning, stacklevel=4)
        if pvalues:
            self.prepare_pvalues()
        judged = self.fitted_.judge(objects, n_threads=n_threads(self.n_jobs))
        if isinstance(self.priors, str) and self.priors == "estimate" and self._frequencies is None:
            return judged.with_frequencies(judged.frequencies())
        return judged

    def adapt(self, X: Any, *, X_err: Any = None, exposure: Any = None, anomalies: bool = False) -> Self:
        """Return a fitted copy with the class frequencies of new, unlabelled objects, as their evidence has them.

        Class models and anomaly stay as they are. Where the error bars of the new objects, and nothing else, are too small
        beside the training's (`compare`), those of all objects that the copy is asked about count as so many times as large
        (`error_scale_`), and a `TrainingSupportWarning` says it. Where curves have columns beside them (a redshift, the
        brightness) that are distributed otherwise than in any mixture of the training classes, as by a training set of bright
        objects, the stack is weighed by training objects that it was not taught anything like
        (`badac.calibration.stacking.beyond_training`). What training does not support (such columns, noise or a number of
        points outside of what it had) is said in a `TrainingSupportWarning`.

        Parameters
        ----------
        X, X_err
            As in `fit`.
        anomalies : bool
            Whether to learn from the p-values of the new objects, 1,000 or more, how strange anomalies among them are: then
            `anomaly_proba` is right on average for objects like these (`badac.calibration.two_groups`).
        """
        objects = self._recognised(X, X_err, exposure)[0]
        check_coordinates(objects, self.training_, self.class_models_)
        threads = n_threads(self.n_jobs)
        suspicious = may_be_too_small(self.fitted_.judge(objects, n_threads=threads))
        if anomalies or suspicious:
            # Before the copy, so that both keep what was left out.
            self.prepare_pvalues()
        model, rng = self.fitted_, generator(self.random_state)
        if suspicious:
            model = with_wider_error_bars(model, objects, n_threads=threads)
        if model.error_scale != self.error_scale_:
            warnings.warn(
                "the error bars of these objects are too small beside the training's: all that the adapted model is asked "
                f"about is judged with {model.error_scale:.2f} times as large ones (error_scale_).",
                TrainingSupportWarning,
                stacklevel=2,
            )
        judged, found = adapt_to(model, objects, rng, n_threads=threads)
        said = unsupported(model, judged, found, self.beside_)
        if said:
            warnings.warn(
                f"the training set does not support these objects. {'; '.join(said)}. Probabilities there are "
                "extrapolated: train with objects like these, or with noise added (badac.data.add_noise).",
                TrainingSupportWarning,
                stacklevel=2,
            )
        adapted = copy(self)
        adapted.adopt(
            replace(judged.model, two_groups=judged.learned_groups()) if anomalies else judged.model
        )
        adapted._frequencies = found
        return adapted

    @property
    def class_frequencies_(self) -> ClassFrequencies:
        """Shares of the classes among the objects of `adapt`, with their standard errors."""
        if self._frequencies is None:
            raise AttributeError("class_frequencies_ are there after adapt(new) only.")
        return self._frequencies

    def describe(self) -> str:
        """Return what was learned: a table of the classes, the noise, the calibration, and what the score is."""
        return describe(self)

    def __str__(self) -> str:
        return f"{self!r}\n{self.describe()}" if hasattr(self, "classes_") else repr(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _named(found: Verdicts, table: Any, rows: Any = slice(None)) -> Verdicts:
    """Return verdicts on some rows of a table with the names and the carried columns that it gave its objects."""
    if table is None:
        return found
    named = found if is_numbered(table.ids) else found.having(object=table.ids[rows])
    return named.carrying({name: column[rows] for name, column in table.carried.items()})

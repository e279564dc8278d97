"""The algorithms that are compared, each as the paper configures it, on one thread.

    badac-exact   the paper's equation: every training curve, flat prior; ranked by total evidence
    badac         `BADACClassifier()`, as a user meets it
    badac-learned the same with ``noise="auto"``: how the measurements scatter is learned, not assumed
    lof, iforest  scikit-learn, told to expect one percent of outliers
    forest        scikit-learn's random forest, 1000 trees
    kde           a kernel density per class, its bandwidth by cross-validation: BADAC without error bars
    ecod, knn     PyOD's, where it is installed
    limit         Bayes with the true generating model: what no algorithm can beat on average

Only BADAC and the limit see the error bars. All give a score, high = strange, or class probabilities, or both. Times are
CPU seconds of the process, so neither a busy machine nor a second thread can flatter them.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import TopHat
from badac.estimators import BADACClassifier
from badac.posterior import log_posterior, log_total
from badac.simulate import Experiment
from reproduction.density import fit_kernel_densities
from reproduction.limits import generating_log_evidence

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answer:
    """What an algorithm says of the test objects.

    Attributes
    ----------
    score : (n,) or None
        How strange; high = strange. None: it does not look for anomalies.
    probabilities : (n, 2) or None
        Of class 0 and 1. None: it does not classify.
    log_evidence : (n, 2) or None
        Log density of each object under each class, where the algorithm has one.
    flagged : dict of (n,) bool
        Objects called anomalies by a rule of the algorithm's own, by the rule's name.
    fit_seconds, score_seconds : float
        CPU time to learn and to answer.
    """

    score: FloatArray | None = None
    probabilities: FloatArray | None = None
    log_evidence: FloatArray | None = None
    flagged: Mapping[str, BoolArray] | None = None
    fit_seconds: float = 0.0
    score_seconds: float = 0.0


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the comparison.

    Attributes
    ----------
    name : str
        Its name in files and on the command line.
    label : str
        Its name in tables and figures.
    run : callable
        ``run(data, seed, n_trees)`` -> Answer.
    settings : str
        What distinguishes this configuration, in words; part of what a stored result is known by.
    seconds_per_pair, seconds_per_object : float
        Rough cost, for the time left: per pair of a training and a test object, and per object.
    needs : str, optional
        A package that must be installed.
    """

    name: str
    label: str
    run: Callable[[Experiment, int, int], Answer]
    settings: str
    seconds_per_pair: float = 0.0
    seconds_per_object: float = 0.0
    needs: str | None = None

    @property
    def installed(self) -> bool:
        return self.needs is None or importlib.util.find_spec(self.needs) is not None


def _badac_exact(data: Experiment, seed: int, n_trees: int) -> Answer:
    model = BADACClassifier(class_model="instances", anomaly="tophat", random_state=seed)
    start = time.process_time()
    model.fit(data.train, data.train_label)
    fitted = time.process_time()
    # One evaluation of the evidence serves the ranking and the classes: asking the estimator twice would cost twice.
    evidence = model.log_evidence(data.test)
    score = -log_total(evidence, model.class_log_prior_)
    probabilities = np.exp(log_posterior(evidence, model.class_log_prior_))
    done = time.process_time()
    box = model.anomaly_model_
    assert isinstance(box, TopHat)
    per_point = box.log_evidence(data.test, evidence)
    once = np.full(len(score), -np.log(box.upper - box.lower))
    best = evidence.max(axis=1)
    return Answer(
        score,
        probabilities,
        evidence,
        # The paper calls an object an anomaly where the top-hat is the most probable of the three. It writes the
        # top-hat's density as 1/(b-a), which is that of one point; the object has m of them.
        {"top-hat per point": per_point > best, "top-hat once": once > best},
        fitted - start,
        done - fitted,
    )


def _badac(data: Experiment, seed: int, n_trees: int) -> Answer:
    return _walk(BADACClassifier(random_state=seed), data)


def _badac_learned(data: Experiment, seed: int, n_trees: int) -> Answer:
    return _walk(BADACClassifier(noise="auto", random_state=seed), data)


def _walk(model: BADACClassifier, data: Experiment) -> Answer:
    start = time.process_time()
    model.fit(data.train, data.train_label)
    fitted = time.process_time()
    ranking = model.rank(data.test)
    done = time.process_time()
    score = np.empty(len(ranking))
    score[ranking.objects] = ranking.score
    # Not timed: the ranking names each object's best class already. Its complement is asked for only because 1 - p loses
    # what the log-loss needs of very small probabilities.
    probabilities = model.predict_proba(data.test)
    return Answer(score, probabilities, model.log_evidence(data.test), None, fitted - start, done - fitted)


def _detector(
    make: Callable[[int], Any], score: Callable[[Any, FloatArray], FloatArray]
) -> Callable[..., Answer]:
    """An algorithm that ranks and ignores error bars and labels."""

    def run(data: Experiment, seed: int, n_trees: int) -> Answer:
        model = make(seed)
        start = time.process_time()
        model.fit(data.train.values)
        fitted = time.process_time()
        strange = np.asarray(score(model, data.test.values), dtype=np.float64)
        return Answer(strange, fit_seconds=fitted - start, score_seconds=time.process_time() - fitted)

    return run


def _lof(seed: int) -> Any:
    from sklearn.neighbors import LocalOutlierFactor

    return LocalOutlierFactor(novelty=True, contamination=0.01)


def _iforest(seed: int) -> Any:
    from sklearn.ensemble import IsolationForest

    return IsolationForest(contamination=0.01, random_state=seed)


def _ecod(seed: int) -> Any:
    from pyod.models.ecod import ECOD

    return ECOD(contamination=0.01)


def _knn(seed: int) -> Any:
    from pyod.models.knn import KNN

    return KNN(contamination=0.01)


def _forest(data: Experiment, seed: int, n_trees: int) -> Answer:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=n_trees, random_state=seed, n_jobs=1)
    start = time.process_time()
    model.fit(data.train.values, data.train_label)
    fitted = time.process_time()
    probabilities = np.asarray(model.predict_proba(data.test.values))
    return Answer(None, probabilities, None, None, fitted - start, time.process_time() - fitted)


def _kde(data: Experiment, seed: int, n_trees: int) -> Answer:
    start = time.process_time()
    model = fit_kernel_densities(data.train.values, data.train_label, np.random.default_rng(seed))
    fitted = time.process_time()
    evidence = model.log_evidence(data.test.values)
    score = -log_total(evidence, model.log_prior)
    probabilities = np.exp(log_posterior(evidence, model.log_prior))
    return Answer(score, probabilities, evidence, None, fitted - start, time.process_time() - fitted)


def _limit(data: Experiment, seed: int, n_trees: int) -> Answer:
    start = time.process_time()
    evidence = generating_log_evidence(data.test, data.recipe)
    probabilities = np.exp(log_posterior(evidence, np.log([0.5, 0.5])))
    return Answer(None, probabilities, None, None, 0.0, time.process_time() - start)


ALGORITHMS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "badac-exact", "BADAC, exact", _badac_exact, "instances, flat prior, evidence", 1.7e-8, 1e-5
        ),
        Algorithm("badac", "BADAC, default", _badac, "BADACClassifier()", 5e-9, 2e-4),
        Algorithm(
            "badac-learned",
            "BADAC, noise learned",
            _badac_learned,
            'BADACClassifier(noise="auto")',
            2e-8,
            1e-3,
        ),
        Algorithm(
            "lof", "LOF", _detector(_lof, lambda m, x: -m.score_samples(x)), "novelty, 1 %", 1.8e-8, 1e-5
        ),
        Algorithm(
            "iforest",
            "Isolation forest",
            _detector(_iforest, lambda m, x: -m.score_samples(x)),
            "1 %",
            0.0,
            1.5e-5,
        ),
        Algorithm("forest", "Random forest", _forest, "scikit-learn's defaults", 0.0, 4.2e-3),
        Algorithm("kde", "Kernel density", _kde, "bandwidth by 3-fold likelihood, one leaf", 1.3e-7, 1e-4),
        Algorithm(
            "ecod",
            "ECOD (PyOD)",
            _detector(_ecod, lambda m, x: m.decision_function(x)),
            "1 %",
            0.0,
            7e-5,
            "pyod",
        ),
        Algorithm(
            "knn",
            "KNN (PyOD)",
            _detector(_knn, lambda m, x: m.decision_function(x)),
            "1 %",
            1.7e-8,
            1e-5,
            "pyod",
        ),
        Algorithm("limit", "Bayes limit", _limit, "the generating model", 0.0, 2e-4),
    )
}
"""All algorithms by name, in the order of the tables."""

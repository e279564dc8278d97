"""Bayes: log evidence and log prior into probabilities of the known classes and of the anomaly.

The known classes and the anomaly share the prior as ``(1 - a) P(class)`` and ``a``. Probabilities of the known classes are
given that the object is no anomaly; `anomaly_log_odds` says whether it is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from badac.latent.mixture import logsumexp_rows

FloatArray = npt.NDArray[np.float64]


def log_posterior(log_evidence: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Return (n, k): log P(class | object), normalised over the known classes (paper eq. 1); priors (k,), or (n, k).

    An object that no class explains at all (every evidence -inf) gets the prior back: nothing was learned.
    """
    joint = log_evidence + log_prior
    best = joint.max(axis=1, keepdims=True)
    hopeless = np.isneginf(best[:, 0])
    # In two steps: next to a log evidence of -1e20 the logarithm of a sum of two is rounded away.
    with np.errstate(invalid="ignore"):
        out = joint - best
        out = out - logsumexp_rows(out)[:, None]
    if hopeless.any():
        prior = np.broadcast_to(log_prior, joint.shape)[hopeless]
        out[hopeless] = prior - logsumexp_rows(prior)[:, None]
    return np.asarray(out)


def log_total(log_evidence: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Return (n,): ``log sum_k P(d | k) P(k)``, the paper's ranking quantity; low = strange."""
    return logsumexp_rows(log_evidence + log_prior)


def anomaly_log_odds(log_anomaly: FloatArray, log_known: FloatArray, anomaly_prior: float) -> FloatArray:
    """Return (n,): log odds of the anomaly against all known classes together; high = strange."""
    return np.asarray(log_anomaly - log_known + prior_log_odds(anomaly_prior))


def prior_log_odds(anomaly_prior: float) -> float:
    """Return the log odds of an anomaly before anything is measured."""
    return float(np.log(anomaly_prior) - np.log1p(-anomaly_prior))


def probability(log_odds: FloatArray) -> FloatArray:
    """Return the probability that belongs to log odds."""
    return np.asarray(expit(log_odds))


def class_log_prior(priors: Any, classes: npt.NDArray[Any], counts: FloatArray) -> FloatArray:
    """Return (k,) log priors of the known classes.

    Parameters
    ----------
    priors : None, "uniform", "estimate", mapping or sequence
        None: the frequencies of the training set; "estimate" begins there. A mapping has a probability per label, a
        sequence one per class in the
        order of `classes`.
    classes : (k,)
        Labels, sorted.
    counts : (k,)
        Members of each class.
    """
    if priors is None or (isinstance(priors, str) and priors == "estimate"):
        return np.asarray(np.log(counts) - np.log(counts.sum()))
    if isinstance(priors, str):
        if priors != "uniform":
            raise ValueError(
                f'`priors` must be None (training frequencies), "uniform", "estimate", a mapping from label to probability or '
                f"one number per class: got {priors!r}."
            )
        return np.full(len(classes), -np.log(len(classes)))
    if hasattr(priors, "keys"):
        missing = [label for label in classes.tolist() if label not in priors]
        unknown = [label for label in priors if label not in set(classes.tolist())]
        if missing or unknown:
            raise ValueError(
                f"`priors` must name every class and no other: missing {missing}, unknown {unknown}. "
                f"Classes: {classes.tolist()}."
            )
        priors = [priors[label] for label in classes.tolist()]
    try:
        given = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`priors` must be probabilities, one per class in the order {classes.tolist()}: got {priors!r}."
        ) from error
    if given.shape != (len(classes),):
        raise ValueError(
            f"`priors` must have one probability per class, {len(classes)}: got shape {given.shape}. "
            f"Order: {classes.tolist()}."
        )
    if not np.isfinite(given).all() or (given < 0).any() or not np.isclose(given.sum(), 1.0, atol=1e-6):
        raise ValueError(
            f"`priors` must be probabilities that sum to 1: got {given.tolist()} with sum {given.sum():.6g}."
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(given / given.sum()))


def possible(log_prior: FloatArray, counts: npt.NDArray[Any]) -> FloatArray:
    """Return log priors (k,) under which every class is possible: the training's frequencies, if one has the prior 0.

    How far evidence can be trusted is learned from members of all classes, and those of an impossible one say it too.
    """
    return log_prior if np.isfinite(log_prior).all() else np.asarray(np.log(counts / counts.sum()))

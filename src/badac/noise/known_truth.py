"""The likelihood: how probable an object is if its true values are known, ``log P(d | y)``.

    log_likelihood = sum_j log P(d_j | y_j),      or  log N(d ; y , C_d)  with correlated errors

A class that is given by a formula (`badac.classes.parametric.parametric`) offers true curves, not noisy members, so only the
object's side of the noise enters. Counts take the truth that their `draw` takes: a rate, a probability. A noise model that is
not known here is asked for its match with exact curves (sigma 0), which is the same thing where it allows them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logit, logsumexp
from scipy.stats import t as student_t

from badac._kernels import pair_log_match
from badac.data.measurements import Measurements
from badac.data.validation import refuse
from badac.noise.binomial import Binomial
from badac.noise.correlated import Correlated, correlated_log_match
from badac.noise.gaussian import Gaussian
from badac.noise.marginal import Marginal
from badac.noise.model import FloatArray, Noise, ScaleMixture
from badac.noise.numeric import Numeric
from badac.noise.poisson import Poisson
from badac.noise.scales import log_density
from badac.noise.student import Student

_LOG_2PI = float(np.log(2.0 * np.pi))
_TINY = 1e-300


def log_likelihood(noise: Noise, objects: Measurements, truth: FloatArray) -> FloatArray:
    """Log density of objects around known true curves.

    Parameters
    ----------
    noise : Noise
        With all parameters known.
    objects : Measurements
        (n, m); a missing point does not count.
    truth : (k, m) or (n, k, m)
        The same curves for all objects, or curves of each object's own.

    Returns
    -------
    (n, k)
    """
    if isinstance(noise, Marginal):
        assert noise.log_prior is not None
        parts = [
            prior + log_likelihood(one, objects, truth)
            for prior, one in zip(noise.log_prior, noise.noises, strict=True)
        ]
        return np.asarray(logsumexp(parts, axis=0))
    if isinstance(noise, Gaussian):
        objects = noise.scaled(objects)
        noise = Gaussian()
    if isinstance(noise, Correlated):
        return _by_object(correlated_log_match, noise.with_covariance(objects), truth)
    if isinstance(noise, Poisson | Binomial):
        return _of_counts(noise, objects, truth)
    if objects.covariance is not None:
        return _by_object(noise.log_match, objects, truth)
    known = isinstance(noise, Gaussian | Student | Numeric | ScaleMixture)
    if not known:
        return _by_object(noise.log_match, objects, truth)
    exact = objects.observed & (objects.sigma == 0)
    refuse(exact, objects.sigma, "`sigma` must be > 0 for a class of exact curves", "Give error bars.")
    if isinstance(noise, Gaussian) and truth.ndim == 2:
        return pair_log_match(objects.values, objects.sigma, truth, np.zeros((1, objects.n_points)))
    return _by_point(noise, objects, truth)


def _by_point(noise: Noise, objects: Measurements, truth: FloatArray) -> FloatArray:
    seen = objects.observed[:, None, :]
    values = np.where(seen, objects.values[:, None, :], 0.0)
    sigma = np.where(seen, objects.sigma[:, None, :], 1.0)
    if isinstance(noise, Gaussian):
        weight = np.where(seen, 1.0 / sigma, 0.0)
        pull = (truth - values) * weight
        constant = np.where(seen, np.log(sigma) + 0.5 * _LOG_2PI, 0.0).sum(axis=2)
        return np.asarray(-0.5 * np.einsum("nkm,nkm->nk", pull, pull) - constant)
    if isinstance(noise, Student):
        parts = student_t.logpdf((values - truth) / sigma, noise.df) - np.log(sigma)
    elif isinstance(noise, Numeric):
        parts = np.asarray(noise.log_density(values, truth, sigma))
    else:
        assert isinstance(noise, ScaleMixture)
        parts = log_density(values - truth, sigma, *noise.gaussian_scales())
    return np.asarray(np.where(seen, parts, 0.0).sum(axis=2))


def _of_counts(noise: Poisson | Binomial, objects: Measurements, truth: FloatArray) -> FloatArray:
    if (truth < 0).any():
        raise ValueError(
            f"the truth of counts is a rate or a probability and must be >= 0: got {truth.min():.3g}. Let the function of "
            "the class return rates, e.g. the exponential of a log rate."
        )
    if isinstance(noise, Poisson):
        link = np.log(np.maximum(truth, _TINY))
    else:
        link = logit(np.clip(truth, 1e-15, 1.0 - 1e-15))
    n, k = objects.n_objects, truth.shape[-2]
    every = objects[np.repeat(np.arange(n), k)]
    flat = np.broadcast_to(link, (n, k, objects.n_points)).reshape(n * k, -1)
    parts = noise.log_likelihood(every, np.where(every.observed, flat, 0.0))
    return np.asarray(np.where(every.observed, parts, 0.0).sum(axis=1).reshape(n, k))


def _by_object(
    log_match: Callable[[Measurements, Measurements], FloatArray], objects: Measurements, truth: FloatArray
) -> FloatArray:
    if truth.ndim == 2:
        return np.asarray(log_match(objects, Measurements(truth, 0.0)))
    rows = [
        log_match(objects[row], Measurements(curves, 0.0))[0]
        for row, curves in enumerate(np.broadcast_to(truth, (objects.n_objects, *truth.shape[1:])))
    ]
    return np.stack(rows) if rows else np.empty((0, truth.shape[1]))

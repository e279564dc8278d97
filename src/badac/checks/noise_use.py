"""The law between noise and class: a class model uses the noise that it was given.

A class is a density of true values, and noise acts on it point by point. So the evidence of a noisy object is that of exact
ones averaged over the noise,

    P(d | class) = integral P(d | y) p(y | class) dy ,      p(y | class) = P(y measured exactly | class)

whatever the class model and the noise: by brute force over one point. An added covariance must do the same as one that comes
with the data; noise that is one of several, the mean of what these do; counts, for which nothing is exact, must at least not be
taken for Gaussian. A model that declares to learn a kind of noise with the class (`learns_noise`) is excused from adding it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from badac.checks.law import broken, check_close, nodes_of_point, with_values
from badac.classes.model import ClassModel
from badac.classes.parametric.parametric import LowSampleSizeWarning
from badac.data.measurements import Measurements
from badac.noise.gaussian import Gaussian
from badac.noise.kinds import NoiseKind, kind_of, name_of, with_covariance_of
from badac.noise.known_truth import log_likelihood
from badac.noise.model import KnownTruthNoise, Noise, OneOfSeveral, needs_sigma

FloatArray = npt.NDArray[np.float64]

LAW = "the noise that was given is used"
# In error bars of the object: near enough to exact, since variances add up, and far enough from 0 for noise that refuses that.
_EXACT = 0.03
# Where the objects are looked for, in their error bars from the first object's value.
_PROBES = (-5.0, -2.0, 0.0, 1.0, 3.0)
# Of the integral: fine against an error bar, and far out against all objects.
_NODES, _TAIL = 501, 20.0
# Of the log evidence: what Gaussian stand-ins for other noise are known to miss (`badac.latent.gaussian_approximation`).
_AGREE = 0.2


def check_noise_use(
    fit: Callable[[Measurements, Noise], ClassModel],
    members: Measurements,
    objects: Measurements,
    noise: Noise,
) -> None:
    """Raise `LawBroken` if a class model's evidence is not that of the noise.

    Parameters
    ----------
    fit : function of (members, noise)
        Returns the fitted class model, the same for the same arguments.
    members, objects : Measurements
        (k, m) and (n, m).
    noise : Noise

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.checks import check_noise_use
    >>> from badac.classes import Instances
    >>> from badac.noise import Student
    >>> rng = np.random.default_rng(0)
    >>> members = Measurements(0.1 * rng.standard_normal((8, 3)), 0.1)
    >>> objects = Measurements(0.1 * rng.standard_normal((3, 3)), 0.1)
    >>> check_noise_use(lambda curves, noise: Instances().fit(curves, noise, rng), members, objects, Student(4.0))
    """
    fitted = fit(members, noise)
    kind = kind_of(noise)
    if kind in getattr(fitted, "learns_noise", ()):
        return
    if kind is NoiseKind.COVARIANCE:
        inside = fit(with_covariance_of(noise, members), Gaussian())
        expected = inside.log_evidence(with_covariance_of(noise, objects))
        check_close(LAW, fitted.log_evidence(objects), expected, atol=_AGREE)
    elif isinstance(noise, OneOfSeveral):
        # A model that chooses by the noise would choose another one for each of the parts.
        chosen = getattr(fitted, "chosen", None)
        parts = [
            prior
            + (fit(members, one) if chosen is None else replace(chosen, noise=one)).log_evidence(objects)
            for prior, one in noise.by_prior()
        ]
        check_close(LAW, fitted.log_evidence(objects), logsumexp(parts, axis=0), atol=_AGREE)
    elif needs_sigma(noise) and objects.covariance is None and (objects.sigma[objects.observed] > 0).any():
        _check_by_integral(fitted, objects, noise)
    if kind is not NoiseKind.GAUSSIAN and _matters(noise, objects):
        try:
            under = fit(members, Gaussian()).log_evidence(objects)
        except ValueError:
            return  # what Gaussian noise cannot be asked about is not taken for it
        if np.allclose(fitted.log_evidence(objects), under, rtol=1e-9, atol=1e-9):
            raise broken(LAW, f"the evidence of Gaussian noise under {name_of(noise)}", "another one")


def _matters(noise: Noise, objects: Measurements) -> bool:
    """Whether the noise is another than Gaussian on these objects: a mixture of widths may be one of a single width."""
    curves = Measurements(
        np.where(objects.observed, objects.values, 0.0),
        np.where(objects.observed, objects.sigma, 1.0) if objects.has_errors else None,
    )
    if not objects.has_errors:
        return True
    return not np.allclose(noise.log_match(objects, curves), Gaussian().log_match(objects, curves), atol=1e-6)


def _check_by_integral(fitted: ClassModel, objects: Measurements, noise: Noise) -> None:
    row, point = (int(index) for index in np.argwhere(objects.observed & (objects.sigma > 0))[0])
    one = objects[row]
    nodes, weight = nodes_of_point(noise, objects, point, _NODES, _TAIL)
    exact = one.with_sigma(np.where(one.observed, _EXACT * one.sigma, np.inf))
    with warnings.catch_warnings():
        # Of exact values far out a formula has few points of its parameters; they hardly count in the integral.
        warnings.simplefilter("ignore", LowSampleSizeWarning)
        density = fitted.log_evidence(_only(exact, point, nodes))
    probes = _only(one, point, one.values[0, point] + one.sigma[0, point] * np.array(_PROBES))
    truth = np.zeros((len(nodes), one.n_points))
    truth[:, point] = nodes
    if isinstance(noise, KnownTruthNoise):
        likelihood = log_likelihood(noise, probes, truth)
    else:
        likelihood = noise.log_match(probes, Measurements(truth, exact.sigma[0, point], at=_grid(one)))
    expected = logsumexp(likelihood + density, b=weight, axis=1)
    check_close(LAW, fitted.log_evidence(probes), expected, atol=_AGREE)


def _grid(one: Measurements) -> FloatArray | None:
    """Coordinates of one object as those of all; they do not matter to the noise."""
    return None if one.at is None else np.atleast_2d(one.at)[0]


def _only(one: Measurements, point: int, values: FloatArray) -> Measurements:
    """Return objects like `one` with these values (n,) at one point and nothing elsewhere."""
    rows = np.full((len(values), one.n_points), np.nan)
    rows[:, point] = values
    return with_values(one[np.zeros(len(values), dtype=np.int64)], rows)

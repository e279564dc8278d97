"""What a noise model is: how well a noisy object matches a noisy curve, and how noise is drawn.

With ``y`` the unknown true values, flat a priori, an object ``d`` and a curve ``c`` of a class match with

    log_match = log integral P(d | y) P(y | c) dy,        P(y | c) = P(c | y) / integral P(c | y') dy'

(paper eq. 5). For errors that only shift and scale, as Gaussian ones, the last integral is one, and object and curve
play the same role. The evidence of a class is the weighted mean of the matches with its curves,

    log_mixture = logsumexp_i (log w_i + log_match_i).

`Noise` is all that a model needs. The other protocols here are abilities that some models have besides: a faster mixture,
a form as a finite mixture of Gaussian widths, a link, a covariance, a likelihood of a known truth, parameters to be learned,
widths that need no sigma. Which class models take a noise follows from what it offers (`badac.noise.kinds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@runtime_checkable
class Noise(Protocol):
    """A model of the measurement error, on the side of the object and on that of the curve.

    Examples
    --------
    >>> from badac.noise import Gaussian, Noise
    >>> isinstance(Gaussian(), Noise)
    True
    """

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        """Return (n, k): the log density of every object under every curve, true values integrated out."""

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        """Return (n, m): noisy values of the truths (n, m), with the error bars and the gaps of `like`."""


@runtime_checkable
class ScaleMixture(Protocol):
    """Noise that is, point by point, a finite mixture of Gaussians of different widths around the same truth.

    A class model with a Gaussian population works with such noise through one latent width per point.

    Examples
    --------
    >>> from badac.noise import Outliers, ScaleMixture
    >>> noise = Outliers(0.2, 5.0)
    >>> isinstance(noise, ScaleMixture)
    True
    >>> noise.gaussian_scales()[1]
    array([1., 5.])
    """

    def gaussian_scales(self) -> tuple[FloatArray, FloatArray]:
        """Return (S,) log shares and (S,) factors on sigma; the shares sum to one."""


@runtime_checkable
class LinkedNoise(Protocol):
    """Noise of counts, whose truth is any number after a link: a log rate, the logit of a probability.

    A class model with a Gaussian population works with such noise in the space of the link.

    Examples
    --------
    >>> from badac.noise import Gaussian, LinkedNoise, Poisson
    >>> isinstance(Poisson(), LinkedNoise), isinstance(Gaussian(), LinkedNoise)
    (True, False)
    """

    def first_guess(self, objects: Measurements) -> Measurements:
        """Return (n, m): Gaussian values with sigma in the space of the link, each from its own count alone."""

    def working(
        self, objects: Measurements, link: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradient and curvature (n, m) of the log likelihood at link values (n, m), known to a variance (n, m)."""

    def log_likelihood(self, objects: Measurements, link: FloatArray) -> FloatArray:
        """Return (n, m): log P(count | link value) for link values (n, m); anything where missing."""


@runtime_checkable
class ExposedNoise(Protocol):
    """Noise of counts that finds in the training objects how deep each object was looked at."""

    def for_training(self, training: Measurements, label: IntArray) -> Noise:
        """Return the noise with exposures as the training objects (n, m), of classes `label` (n,), have them."""


@runtime_checkable
class CountingNoise(Protocol):
    """Noise that says what is counted on average where a link has some value, for pictures and words."""

    def mean_counts(self, objects: Measurements, link: FloatArray) -> FloatArray:
        """Return (n, m): the mean of each point of the objects at link values (n, m)."""


@runtime_checkable
class AddedCovariance(Protocol):
    """Noise that adds one covariance to everybody's error bars."""

    def with_covariance(self, side: Measurements) -> Measurements:
        """Return the objects or curves with their whole covariance."""


@runtime_checkable
class KnownTruthNoise(Protocol):
    """Noise with a likelihood of its own: ``log P(d | y)`` where the true values ``y`` are known."""

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        """Return (n, k): log density of objects around true curves (k, m), or (n, k, m): of each object's own."""


@runtime_checkable
class OneOfSeveral(Protocol):
    """One of several noise models, the same one for an object and for the curve that it is compared with."""

    def by_prior(self) -> tuple[tuple[float, Noise], ...]:
        """Return the models, each with its log prior probability."""


@runtime_checkable
class CheckedNoise(Protocol):
    """Noise that not all values can come from: whole numbers only, no more successes than trials."""

    def check(self, objects: Measurements) -> None:
        """Raise a ValueError that says which value of which object is impossible."""


@runtime_checkable
class OpenNoise(Protocol):
    """Noise whose parameters may have been left None, to be learned from the scatter within classes
    (`badac.noise_learning`).

    Examples
    --------
    >>> from badac.noise import OpenNoise, Student
    >>> isinstance(Student(), OpenNoise)
    True
    """

    @property
    def learned(self) -> bool:
        """Whether all parameters are known."""


@runtime_checkable
class LearnableNoise(OpenNoise, Protocol):
    """Open noise whose parameters are learned class by class, and pooled.

    One with a single width (a factor on sigma) is learned by held-out evidence; one of several widths by EM, if it has the
    steps of `LearnableWidths` besides (`badac.noise_learning.noise_em`).

    Examples
    --------
    >>> from badac.noise import Gaussian, LearnableNoise
    >>> isinstance(Gaussian(scale=None), LearnableNoise)
    True
    """

    def pooled(self, learned: Sequence[Any], weight: FloatArray) -> Noise:
        """Return one noise for all classes from those of several (K of them), weighted (K,); the weights sum to one."""

    def fallback(self) -> Noise:
        """Return what it is taken for where too few members can teach it: as close to Gaussian as it gets."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """What the points of the members of a class tell of the noise, given a factor model of the class.

    Attributes
    ----------
    observed : (n, m) bool
    sigma : (n, m)
        1 where missing.
    squared : (n, m)
        Expected squared residual of each point.
    responsibility : (n, m, S)
        Probability of each width for each point; 0 where missing.
    psi : (m,)
        Variance that the class itself has at each point beyond its factors.
    """

    observed: npt.NDArray[np.bool_]
    sigma: FloatArray
    squared: FloatArray
    responsibility: FloatArray
    psi: FloatArray


@runtime_checkable
class LearnableWidths(LearnableNoise, ScaleMixture, Protocol):
    """Open noise of several widths, whose parameters an EM finds."""

    def initial(self) -> Self:
        """Return the noise with all parameters known: a first guess where they were open."""

    def improved(self, current: Self, residuals: Residuals) -> Self:
        """Return the M-step: `current` with the parameters that are open here as the residuals ask for."""

    def distance(self, other: Self) -> float:
        """Return how far the parameters of another are from these, relative: the EM has settled below 0.002."""


@runtime_checkable
class OpenFamily(Protocol):
    """Noise whose family is open too."""

    def families(self) -> dict[str, Noise]:
        """Return the families to choose from by name, each with its parameters open; the plain Gaussian is "gaussian"."""


@runtime_checkable
class AdvisingNoise(Protocol):
    """Noise that can say what it means for those who gave the error bars."""

    def advice(self) -> str:
        """Return one sentence on what to do."""


@runtime_checkable
class PerClassNoise(Protocol):
    """Noise that differs between classes.

    Examples
    --------
    >>> from badac.noise import Gaussian, PerClass, PerClassNoise
    >>> isinstance(PerClass((Gaussian(), Gaussian(2.0))), PerClassNoise)
    True
    """

    def for_class(self, index: int | None) -> Noise:
        """Return the noise of the members of a class, and of objects if they belong to it; where no class is named, of None."""


def check_values(noise: object, objects: Measurements) -> None:
    """Refuse objects that cannot have come about under the noise, if the model can tell."""
    if isinstance(noise, CheckedNoise):
        noise.check(objects)


def noise_of_class(noise: Noise, index: int | None) -> Noise:
    """Return the noise that holds for a class, or where none is named (None): the same for all, unless the model says so.

    Examples
    --------
    >>> from badac.noise import Gaussian, PerClass, noise_of_class
    >>> noise_of_class(PerClass((Gaussian(), Gaussian(2.0))), 1)
    Gaussian(scale=2.0)
    >>> noise_of_class(Gaussian(), 1)
    Gaussian(scale=1.0)
    """
    return noise.for_class(index) if isinstance(noise, PerClassNoise) else noise


def is_open(noise: Noise) -> bool:
    """Whether the noise has parameters that must be learned before it can be used.

    Examples
    --------
    >>> from badac.noise import Outliers, is_open
    >>> is_open(Outliers()), is_open(Outliers(0.2, 5.0))
    (True, False)
    """
    return isinstance(noise, OpenNoise) and not noise.learned


def asks_first(noise: Noise) -> bool:
    """Whether open noise is Gaussian unless the training objects show bad points."""
    return bool(getattr(noise, "asks_first", False))


def needs_error_bars(noise: Noise) -> bool:
    """Whether open noise is learned by comparing scatter with error bars, so that nothing stands for it without them."""
    return bool(getattr(noise, "learned_with_error_bars", True))


def needs_sigma(noise: Noise) -> bool:
    """Whether the noise gets its width from sigma: counts bring their own, so they need no intra-class width.

    Examples
    --------
    >>> from badac.noise import Gaussian, Poisson, needs_sigma
    >>> needs_sigma(Gaussian()), needs_sigma(Poisson())
    (True, False)
    """
    return not getattr(noise, "has_own_width", False)

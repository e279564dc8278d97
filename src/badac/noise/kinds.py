"""What kind of noise a class model is given: by what the noise offers, not by its name.

A class model integrates the noise over what it knows of the true values. It can do so for the kinds whose form it knows and
for no others, so it declares them (`takes_noise` of a class model), and refuses the rest in words
(`badac.classes.model.check_noise_taken`):

    kind          what the noise offers                              P(d | y) at a point
    GAUSSIAN      `gaussian_scales` with one width                   N(y , (f sigma)^2), or the covariance of the data
    WIDTHS        `gaussian_scales` with several                     sum_s a_s N(y , (s sigma)^2)
    COVARIANCE    `with_covariance`                                  N(y , diag sigma^2 + V)
    LINKED        `first_guess`, `working`, `log_likelihood`         any function of a link: counts, a density of one's own
    OTHER         `log_match` and `draw` alone                       known to the noise only

A noise that claims a kind must be of that kind: `badac.checks.check_noise` compares what it offers with its `log_match`.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any

from badac.data.measurements import Measurements
from badac.noise.model import (
    AddedCovariance,
    LinkedNoise,
    Noise,
    PerClassNoise,
    ScaleMixture,
    is_open,
)

_LONGEST_NAME = 100


class NoiseKind(Enum):
    """The form of a noise, as far as a class model may know it; the values are the words of messages and tables.

    Examples
    --------
    >>> from badac.noise import Outliers, kind_of
    >>> kind_of(Outliers(0.2, 5.0)).name
    'WIDTHS'
    """

    GAUSSIAN = "Gaussian error bars"
    WIDTHS = "mixtures of Gaussian widths"
    COVARIANCE = "a covariance besides the error bars"
    LINKED = "counts and densities with a link"
    OTHER = "any other noise"


ANY_NOISE = frozenset(NoiseKind)
# What a Gaussian population can be integrated over (`badac.latent.gaussian_approximation`).
LATENT_NOISE = ANY_NOISE - {NoiseKind.OTHER}


def kind_of(noise: Noise) -> NoiseKind:
    """Return the kind of a noise with known parameters.

    Raises
    ------
    ValueError
        If parameters are open, or if the noise differs between classes: then each class has a kind of its own.

    Examples
    --------
    >>> from badac.noise import Gaussian, Poisson, kind_of
    >>> kind_of(Gaussian()).name, kind_of(Poisson()).name
    ('GAUSSIAN', 'LINKED')
    """
    key: Any = noise
    try:
        hash(key)
    except TypeError:
        return _found_kind(noise)
    return _kept_kind(key)


@lru_cache(maxsize=128)
def _kept_kind(noise: Any) -> NoiseKind:
    # Every block of objects asks, and looking through the protocols takes as long as a small block.
    return _found_kind(noise)


def _found_kind(noise: Noise) -> NoiseKind:
    if isinstance(noise, PerClassNoise):
        raise ValueError(
            f"{type(noise).__name__} has a noise for each class: a class model takes that of its own class, "
            "`noise.for_class(index)`."
        )
    if is_open(noise):
        raise ValueError(
            f"{noise!r} leaves parameters open: `badac.noise_learning.learn_noise` finds them, or give them."
        )
    if isinstance(noise, LinkedNoise):
        return NoiseKind.LINKED
    if isinstance(noise, ScaleMixture):
        return NoiseKind.GAUSSIAN if len(noise.gaussian_scales()[1]) == 1 else NoiseKind.WIDTHS
    return NoiseKind.COVARIANCE if isinstance(noise, AddedCovariance) else NoiseKind.OTHER


def name_of(noise: Noise) -> str:
    """Return the noise as messages name it: as it was made, unless that is a page of numbers."""
    full = repr(noise)
    return full if len(full) <= _LONGEST_NAME and "\n" not in full else type(noise).__name__


def with_covariance_of(noise: Noise | None, side: Measurements) -> Measurements:
    """Return the objects or curves with the covariance that the noise adds; as they are if it adds none."""
    return noise.with_covariance(side) if isinstance(noise, AddedCovariance) else side

"""Noise that is not known: a placeholder until `badac.noise_learning.learn_noise` has chosen it from the training data.

The families that it chooses from: Gaussian, Gaussian with error bars that are off by a factor, good and bad points, Student-t,
and correlated errors; each with its parameters learned, the choice by the evidence of held-out members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np

from badac.data.measurements import Measurements
from badac.noise.correlated import Correlated
from badac.noise.gaussian import Gaussian
from badac.noise.model import FloatArray, Noise
from badac.noise.outliers import Outliers
from badac.noise.student import Student
from badac.registry import registered


@registered("noise", "auto")
@dataclass(frozen=True)
class AutoNoise:
    """Learn the noise with its family from the scatter within classes.

    Examples
    --------
    >>> from badac.noise import AutoNoise, is_open
    >>> is_open(AutoNoise())  # `BADACClassifier(noise="auto").fit(...)` learns it, and keeps what it found in `noise_`
    True
    """

    # Without error bars there is one family only: the scatter itself.
    learned_with_error_bars: ClassVar[bool] = False
    # Whether families are learned only where some points seem to be bad (`badac.noise_learning.bad_points`).
    asks_first: ClassVar[bool] = False

    def families(self) -> dict[str, Noise]:
        return {
            "gaussian": Gaussian(),
            "scaled": Gaussian(scale=None),
            "outliers": Outliers(),
            "student": Student(),
            "correlated": Correlated(),
        }

    @property
    def learned(self) -> bool:
        return False

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        self._refuse()

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"{type(self).__name__} is open: `badac.noise_learning.learn_noise(noise, training, label, rng)` learns it."
        )


@registered("noise", "checked")
@dataclass(frozen=True)
class CheckedNoise(AutoNoise):
    """Gaussian noise, unless some points of the training objects are plainly bad: the default.

    Only then a share of bad points is learned, and believed if held-out members say so beyond doubt; what other tails noise may
    have is left to `AutoNoise`, which takes several times as long. Classes of a model that was named
    (``class_model="instances"``, say) keep the Gaussian.

    Examples
    --------
    >>> from badac.noise import CheckedNoise
    >>> sorted(CheckedNoise().families())
    ['gaussian', 'outliers']
    """

    asks_first: ClassVar[bool] = True

    def families(self) -> dict[str, Noise]:
        return {"gaussian": Gaussian(), "outliers": Outliers()}

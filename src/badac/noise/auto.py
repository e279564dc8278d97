"""Noise that is not known: a placeholder until `badac.noise_learning.learn_noise` has chosen it from the training data.

The families that it chooses from: Gaussian, Gaussian with error bars that are off by a factor, good and bad points, Student-t,
and correlated errors; each with its parameters learned, the choice by the evidence of held-out members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from badac.data.measurements import Measurements
from badac.noise.model import FloatArray
from badac.registry import registered


@registered("noise", "auto")
@dataclass(frozen=True)
class AutoNoise:
    """Learn the noise with its family from the scatter within classes."""

    @property
    def learned(self) -> bool:
        return False

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        self._refuse()

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "AutoNoise is open: `badac.noise_learning.learn_noise(noise, training, label, rng)` learns it."
        )

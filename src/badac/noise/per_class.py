"""Noise that differs between classes: an object has the noise of the class that is being asked about it.

    P(d | class k) = (1/n) sum_i integral P_k(d | y) P_k(c_i | y) dy

The paper's Experiment 4 correlates one class only. Where no class is named (an anomaly's own noise, a drawing without a
label) the noise of `other` holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from badac.data.measurements import Measurements
from badac.noise.gaussian import Gaussian
from badac.noise.known_truth import log_likelihood
from badac.noise.model import FloatArray, Noise, check_values
from badac.registry import registered


@registered("noise")
@dataclass(frozen=True, eq=False)
class PerClass:
    """One noise model per class, in the order of the sorted labels.

    Parameters
    ----------
    noises : tuple of Noise
        The noise of class 0, 1, ...
    other : Noise
        Where no class is named.

    Examples
    --------
    >>> from badac.noise import Gaussian, PerClass, Student
    >>> noise = PerClass((Gaussian(), Student(4.0)))
    >>> noise.for_class(1)
    Student(df=4.0, n_widths=16)
    """

    noises: tuple[Noise, ...]
    other: Noise = field(default_factory=Gaussian)

    def for_class(self, index: int | None) -> Noise:
        if index is None:
            return self.other
        if not 0 <= index < len(self.noises):
            raise ValueError(f"PerClass has noise for {len(self.noises)} classes: got class number {index}.")
        return self.noises[index]

    def check(self, objects: Measurements) -> None:
        for noise in (*self.noises, self.other):
            check_values(noise, objects)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        return self.other.log_match(objects, curves)

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        return self.other.draw(truth, like, rng)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        return log_likelihood(self.other, objects, truth)

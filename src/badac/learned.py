"""Learned noise: what a noise model leaves open, found in the scatter of the members within their classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.noise import Noise, is_open

IntArray = npt.NDArray[np.int64]


def learn_noise(noise: Noise, training: Measurements, label: IntArray, rng: np.random.Generator) -> Noise:
    """Return the noise with its open parameters learned; itself if nothing is open."""
    if not is_open(noise):
        return noise
    raise NotImplementedError

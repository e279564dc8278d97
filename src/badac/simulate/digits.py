"""Handwritten digits seen through noise: real classes, known truth, error bars that differ between objects.

Scikit-learn's 1,797 images of 8 x 8 pixels (0 to 16), each with its own noise level:

    d_ij = image_ij + s_i e_ij ,   s_i ~ U(0.5, 6) ,   e_ij ~ N(0, 1)

Use it where the paper's curves are too simple: ten classes, 64 points without an order along one axis, no formula behind
them, and images so noisy that an honest probability matters beside clear ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.simulate.distributions import FloatArray, Uniform
from badac.simulate.noise import gaussian_noise


@dataclass(frozen=True, eq=False)
class NoisyDigits:
    """Images `objects` (n, 64) with their noise level as sigma, `label` (n,) and noiseless `truth` (n, 64).

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import noisy_digits
    >>> noisy_digits(rng=np.random.default_rng(0)).objects.n_points
    64
    """

    objects: Measurements
    label: npt.NDArray[np.int64]
    truth: FloatArray = field(repr=False)


def noisy_digits(level: Uniform = Uniform(0.5, 6.0), *, rng: np.random.Generator) -> NoisyDigits:
    """Scikit-learn's digits with noise of a known level added to each image.

    Parameters
    ----------
    level : Uniform
        Distribution of the noise level of an image, one draw for all its pixels; above zero.
    rng : numpy.random.Generator
        Draws the levels and the noise, and shuffles the images.

    Returns
    -------
    NoisyDigits

    Examples
    --------
    >>> import numpy as np
    >>> from badac.simulate import noisy_digits
    >>> noisy_digits(rng=np.random.default_rng(0)).objects
    Measurements(1797 objects x 64 points, with sigma)
    """
    from sklearn.datasets import load_digits  # late: importing badac should not pay for it

    if level.low < 0.0:
        raise ValueError(f"a noise level cannot be negative: got {level}. Use a range above 0.")
    images, label = load_digits(return_X_y=True)
    order = rng.permutation(len(images))
    truth = np.asarray(images[order], dtype=np.float64)
    sigma = np.repeat(level.draw((len(truth), 1), rng), truth.shape[1], axis=1)
    noisy = truth + gaussian_noise(sigma, rng)
    return NoisyDigits(Measurements(noisy, sigma), np.asarray(label[order], dtype=np.int64), truth)

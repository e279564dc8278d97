"""Cosines and bumps at any points: the definition.

    (1, sqrt(2) cos a, sqrt(2) cos 2a, ...)            exp(-((x - u) / w)^2)

They are what random curves are made of, and what is sought as a bump, at every point of every object
(`badac.anomalies.sequence`).
"""

from __future__ import annotations

import numpy as np

from badac._kernels.arguments import FloatArray, checked_threads


def cosine_rows(angle: FloatArray, count: int, *, n_threads: int = 1) -> FloatArray:
    """Return (n, count): a constant 1 and cosines of 1, 2, ... times the angles (n,), of unit mean square.

    From two of them to the next, ``cos (k + 1) a = 2 cos a cos k a - cos (k - 1) a``: quicker than a cosine, and right to
    some hundred roundings for the few dozen that there are.
    """
    checked_threads(n_threads)
    waves = np.empty((len(angle), count))
    waves[:, 0] = 1.0
    before, last, twice = np.ones_like(angle), np.cos(angle), 2.0 * np.cos(angle)
    for number in range(1, count):
        waves[:, number] = np.sqrt(2.0) * last
        before, last = last, twice * last - before
    return waves


def bump_rows(
    where: FloatArray, places: FloatArray, widths: FloatArray, farthest: float, *, n_threads: int = 1
) -> FloatArray:
    """Return (n, p): bumps at places (p,) with widths (p,), at coordinates (n,); 0 where the exponent is beyond `farthest`."""
    checked_threads(n_threads)
    shapes = np.zeros((len(where), len(places)))
    # Few points are near a bump: an exponential at each of them, and not at all.
    for shape, place, width in zip(shapes.T, places, widths, strict=True):
        square = ((where - place) / width) ** 2
        near = square <= farthest
        shape[near] = np.exp(-square[near])
    return shapes

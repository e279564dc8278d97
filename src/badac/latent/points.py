"""Objects with points of their own, as the kernels take them: all points one after the other, without padding.

Points of an object in one band stand together (a group), objects in their order. What is common to all points of an object
(shapes of the class) and what is common to a group (local shapes of a band) can then be summed in one pass
(`badac._kernels.points`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from badac._kernels import grouped_points
from badac._kernels.points import GroupedPoints
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.basis import coordinates

OBJECTS_PER_BLOCK = 512  # block size: so many objects of a hundred points take a few MB


def grouped(objects: Measurements, n_bands: int) -> GroupedPoints:
    """Return the observed points of objects with independent errors."""
    assert objects.covariance is None
    return grouped_points(objects.values, objects.sigma, coordinates(objects), objects.band, n_bands)


def alone(points: GroupedPoints) -> GroupedPoints:
    """Return the same points with every group an object of its own."""
    return points._replace(group=np.arange(len(points.first), dtype=np.int64))


def owner_of_group(points: GroupedPoints) -> IntArray:
    """Return (g,): the object of each group."""
    return np.repeat(np.arange(len(points.group) - 1), np.diff(points.group))


def group_of_point(points: GroupedPoints) -> IntArray:
    """Return (N,): the group of each point."""
    return np.repeat(np.arange(len(points.band)), np.diff(points.first))


def blocks_of(objects: Measurements) -> Iterator[slice]:
    """Yield slices of the objects, so that only one block of them is taken apart at a time."""
    for start in range(0, objects.n_objects, OBJECTS_PER_BLOCK):
        yield slice(start, min(start + OBJECTS_PER_BLOCK, objects.n_objects))

"""Nearest neighbours of members among themselves, on threads to spare, and those of them that are left without some members.

A tree is walked quicker along its leaves than in the order of the members, whose neighbours are anywhere in memory. Who is near
to whom depends on neither order nor threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from badac._kernels.spare_threads import at_least_spare
from badac.data.validation import BoolArray, FloatArray, IntArray

_WORTH_A_THREAD = 2000  # members: their neighbours take some milliseconds


def nearest_members(place: FloatArray, count: int) -> tuple[FloatArray, IntArray]:
    """Return distances (n, count) and numbers (n, count) of the nearest other members, the nearest first.

    A member at the same place as another may be named as its own neighbour, in place of the other.

    Parameters
    ----------
    place : (n, r)
        Quickest where the first coordinates have the largest spread.
    count : int
        Less than n.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.anomalies.neighbours import nearest_members
    >>> nearest_members(np.array([[0.0], [1.0], [5.0]]), 1)[1].ravel().tolist()
    [1, 0, 1]
    """
    tree = cKDTree(place)
    order = tree.indices
    threads = min(at_least_spare(1), max(1, len(place) // _WORTH_A_THREAD))
    found = tree.query(place[order], count + 1, workers=threads)
    distance, near = np.empty((len(place), count)), np.empty((len(place), count), dtype=np.int64)
    distance[order], near[order] = found[0][:, 1:], found[1][:, 1:]
    return distance, near


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest members of each member, a few more than are asked for: some may be left out.

    Attributes
    ----------
    place : (n, r)
    distance, near : (k, n)
        To the nearest other members, the nearest first, and their numbers.
    """

    place: FloatArray
    distance: FloatArray
    near: IntArray

    @classmethod
    def of(cls, place: FloatArray, count: int) -> Self:
        """Find the neighbours of members at some places (n, r), more of them than `count`."""
        distance, near = nearest_members(place, count)
        return cls(place, np.ascontiguousarray(distance.T), np.ascontiguousarray(near.T))

    def among(self, kept: BoolArray, count: int) -> Self:
        """Return the `count` nearest of each member that is kept (n,) among those that are, in their own numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from badac.anomalies.neighbours import Neighbours
        >>> four = Neighbours.of(np.array([[0.0], [1.0], [3.0], [9.0]]), 2)
        >>> four.among(np.array([True, False, True, True]), 1).near.ravel().tolist()
        [1, 0, 1]
        """
        own = np.flatnonzero(kept)
        place, near = self.place.take(own, axis=0), self.near.take(own, axis=1)
        # The row by which so many were left; they are seldom too few.
        left, row = np.zeros(own.size, dtype=np.int8), np.zeros((count, own.size), dtype=np.int8)
        for others in near:
            left += kept.take(others)
            for each in range(count):
                row[each] += left <= each
        short = np.flatnonzero(left < count)
        row[:, short] = 0
        number, column = np.cumsum(kept) - 1, np.arange(own.size)
        near = number.take(near[row, column])
        distance = self.distance[row, own]
        if short.size:
            away = cdist(place[short], place)
            away[np.arange(short.size), short] = np.inf
            nearest = np.argpartition(away, count - 1, axis=1)[:, :count]
            away = np.take_along_axis(away, nearest, 1)
            order = np.argsort(away, axis=1, kind="stable")
            near[:, short] = np.take_along_axis(nearest, order, 1).T
            distance[:, short] = np.take_along_axis(away, order, 1).T
        return type(self)(place, distance, near)

"""Nearest neighbours of members among themselves, on threads to spare, and those of them that are left without some members.

A tree is walked quicker along its leaves than in the order of the members, whose neighbours are anywhere in memory. Who is near
to whom depends on neither order nor threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial import cKDTree

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
    distance, near : (n, k)
        Of the nearest other members, the nearest first, and their numbers.
    """

    place: FloatArray
    distance: FloatArray
    near: IntArray

    @classmethod
    def of(cls, place: FloatArray, count: int) -> Self:
        """Find the neighbours of members at some places (n, r), more of them than n."""
        return cls(place, *nearest_members(place, count))

    def among(self, kept: BoolArray, count: int) -> tuple[FloatArray, IntArray]:
        """Return what `nearest_members` says of the members that are kept (n,) alone, in their own numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from badac.anomalies.neighbours import Neighbours
        >>> four = Neighbours.of(np.array([[0.0], [1.0], [3.0], [9.0]]), 2)
        >>> four.among(np.array([True, False, True, True]), 1)[1].ravel().tolist()
        [1, 0, 1]
        """
        own, number = np.flatnonzero(kept), np.cumsum(kept) - 1
        distance, near = np.empty((len(own), count)), np.empty((len(own), count), dtype=np.int64)
        found, short = np.zeros(len(own), dtype=np.int64), np.arange(len(own))
        for column in range(self.near.shape[1]):
            other = self.near[own[short], column]
            there = kept[other]
            rows = short[there]
            near[rows, found[rows]] = number[other[there]]
            distance[rows, found[rows]] = self.distance[own[rows], column]
            found[rows] += 1
            short = short[found[short] < count]
        for row in short.tolist():
            away = np.linalg.norm(self.place[own] - self.place[own[row]], axis=1)
            away[row] = np.inf
            near[row] = np.argsort(away, kind="stable")[:count]
            distance[row] = away[near[row]]
        return distance, near

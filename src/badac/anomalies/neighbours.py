"""Nearest neighbours of members among themselves, on threads to spare.

A tree is walked quicker along its leaves than in the order of the members, whose neighbours are anywhere in memory. Who is near
to whom depends on neither order nor threads.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from badac._kernels.spare_threads import at_least_spare
from badac.data.validation import FloatArray, IntArray

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

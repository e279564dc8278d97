"""The times that training curves cover: of a curve that lies wholly elsewhere nothing was learned.

Where objects have points of their own, a class says something of any time: its prior far away, or what it extrapolates. A
curve without a single point between the first and the last time of the training is judged by that alone, which is to be said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from badac.data.losses import counted
from badac.data.measurements import Measurements

BoolArray = npt.NDArray[np.bool_]
Times = tuple[float, float]


def times_of(training: Measurements) -> Times | None:
    """Return the first and the last time of training curves; None where they share their points, or there are none."""
    if not training.own_points or training.at is None or not training.n_objects:
        return None
    seen = np.broadcast_to(training.at, training.values.shape)[training.observed]
    return (float(seen.min()), float(seen.max())) if seen.size else None


def beyond(objects: Measurements, times: Times | None) -> BoolArray:
    """Return (n,) which objects have points, and none of them within the times.

    >>> import numpy as np
    >>> from badac import Measurements
    >>> curves = Measurements(np.ones((2, 2)), 0.1, at=np.array([[0.0, 0.5], [7.0, 8.0]]))
    >>> beyond(curves, (0.0, 1.0))
    array([False,  True])
    """
    if times is None or objects.at is None:
        return np.zeros(objects.n_objects, dtype=bool)
    at = np.broadcast_to(objects.at, objects.values.shape)
    with np.errstate(invalid="ignore"):
        inside = objects.observed & (at >= times[0]) & (at <= times[1])
    return np.asarray(objects.observed.any(axis=1) & ~inside.any(axis=1))


def said_of_beyond(names: Sequence[str], times: Times | None) -> list[str]:
    """Return a sentence about objects beyond the times, by their names; none if there are none."""
    if not names or times is None:
        return []
    return [
        f"{counted(len(names), 'objects have')} no point between {times[0]:g} and {times[1]:g}, the times of the training, so "
        f"that their probabilities are extrapolated, or no more than the prior's: {', '.join(names[:3])}"
        + (", ..." if len(names) > 3 else "")
    ]

"""Evidence: how well each class explains each object, ``log P(d | class)`` for all classes at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from badac.classes.model import ClassModel
from badac.data.measurements import Measurements

FloatArray = npt.NDArray[np.float64]


def log_evidence(models: Sequence[ClassModel], objects: Measurements, *, n_threads: int = 1) -> FloatArray:
    """Return (n, k): the log evidence of every object under every class model, class priors not included."""
    out = np.empty((objects.n_objects, len(models)))
    for column, model in enumerate(models):
        out[:, column] = model.log_evidence(objects, n_threads=n_threads)
    return out


def training_log_evidence(
    models: Sequence[ClassModel],
    training: Measurements,
    label: npt.NDArray[np.int64],
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n, k): the log evidence of the training objects, each left out of its own class.

    Parameters
    ----------
    models : k fitted class models
    training : Measurements
        (n, m), in any order.
    label : (n,)
        Index of each object's class; the members of a class are in the order in which its model was fitted.
    """
    out = np.empty((training.n_objects, len(models)))
    for column, model in enumerate(models):
        own = label == column
        out[own, column] = model.leave_one_out(n_threads=n_threads)
        if not own.all():
            out[~own, column] = model.log_evidence(training[~own], n_threads=n_threads)
    return out

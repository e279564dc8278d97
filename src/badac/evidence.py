"""Evidence: how well each class explains each object, ``log P(d | class)`` for all classes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from badac.classes.model import ClassModel
from badac.data.measurements import Measurements
from badac.threads import one_thread_in_blas

FloatArray = npt.NDArray[np.float64]


class GivesEvidence(Protocol):
    """Whatever says how well a class explains objects."""

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(object | class)."""


@one_thread_in_blas()
def log_evidence(models: Sequence[GivesEvidence], objects: Measurements, *, n_threads: int = 1) -> FloatArray:
    """Return (n, k): the log evidence of every object under every class model, class priors not included."""
    # A kind of class may have something to share among classes of its kind.
    together = getattr(type(models[0]), "log_evidence_of_classes", None) if len(models) else None
    found: FloatArray | None = None if together is None else together(models, objects, n_threads=n_threads)
    if found is not None:
        return found
    out = np.empty((objects.n_objects, len(models)))
    for column, model in enumerate(models):
        out[:, column] = model.log_evidence(objects, n_threads=n_threads)
    return out


def training_log_evidence(
    models: Sequence[ClassModel],
    training: Measurements,
    label: npt.NDArray[np.int64],
    *,
    rows: npt.NDArray[np.int64] | None = None,
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
    rows : (r,), optional
        Only these objects; all if not given.
    """
    rows = np.arange(training.n_objects) if rows is None else rows
    asked, place = label[rows], np.empty(len(label), dtype=np.int64)
    out = np.empty((len(rows), len(models)))
    for column, model in enumerate(models):
        members = np.flatnonzero(label == column)
        place[members] = np.arange(len(members))
        own = asked == column
        out[own, column] = model.leave_one_out(n_threads=n_threads)[place[rows[own]]]
        if not own.all():
            out[~own, column] = model.log_evidence(training[rows[~own]], n_threads=n_threads)
    return out

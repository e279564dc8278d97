"""Many objects judged some at a time, several parts side by side.

Each object is judged on its own, so every step of the walk can go on threads, not only those that have threads of their own:
what NumPy does between two kernels is a tenth of a ranking. The parts are the same for any number of threads, so that no
number depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from badac._kernels.kept_memory import keep_freed_memory
from badac.anomalies.deferred import as_learned
from badac.threads import in_order, one_thread_in_blas

if TYPE_CHECKING:
    from badac.judge.judgement import Judgement

Columns = dict[str, npt.NDArray[Any]]

# Block size: as many as the hypotheses take at a time (`badac.anomalies.on_a_grid`).
_OBJECTS_PER_PART = 2048
# Quantities that ask for no anomaly model.
_OF_KNOWN_CLASSES = ("log_evidence", "log_total", "log_proba", "proba")


def found_in_parts(walk: Judgement, names: Sequence[str]) -> Columns | None:
    """Return the quantities of these names, a row for each object; None where objects are few, or parts will not do.

    What else was found on the way is kept in the walk.
    """
    n = len(walk.objects)
    count = -(-n // _OBJECTS_PER_PART)
    if count < 2 or not walk.takes_parts:
        return None
    if not {*names} <= {*_OF_KNOWN_CLASSES}:
        as_learned(walk.model.anomaly_model)  # once, not by every part
    known = arrays_found(walk).keys()

    def walked(number: int) -> tuple[Columns, Columns]:
        part = walk.part(slice(n * number // count, n * (number + 1) // count))
        asked = {name: getattr(part, name) for name in names}
        return asked, arrays_found(part)

    keep_freed_memory()
    with one_thread_in_blas():
        parts = list(in_order(walked, range(count), walk.n_threads))
    for name in parts[0][1].keys() - known:
        vars(walk)[name] = np.concatenate([beside[name] for _, beside in parts])
    return {name: np.concatenate([asked[name] for asked, _ in parts]) for name in names}


def arrays_found(walk: Judgement) -> Columns:
    """Return what a walk has found already, a row for each object."""
    return {name: found for name, found in vars(walk).items() if isinstance(found, np.ndarray)}

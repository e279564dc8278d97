"""The exposures of counts that come as an array or a table: given beside it, or one of its columns.

    fit(counts, y, exposure=depth)              predict(counts, exposure=depth)
    fit(table, y, exposure="livetime")          predict(table)

A column of exposures is no feature. Where the noise is that of counts it is also found by its name, as tables of photons, of
sequenced cells and of surveys have it; new tables must then have it too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from badac.data.catalogue import Catalogue
from badac.data.frames import as_frame
from badac.data.measurements import Measurements
from badac.estimators.choices import choose
from badac.noise.model import needs_sigma

# Names of columns, in lower case, that hold nothing else.
NAMES = (
    "exposure",
    "exposure_time",
    "exptime",
    "livetime",
    "live_time",
    "library_size",
    "total_counts",
    "n_trials",
)


def with_exposure(estimator: Any, X: Any, exposure: Any, *, reset: bool) -> tuple[Any, Any]:
    """Return what was passed without a column of exposures, and the exposures, or None where there are none.

    Parameters
    ----------
    estimator : BADACClassifier
        On fit (`reset`) the name of a column of exposures is kept in it, and is looked for in new tables.
    X
        As in `fit`.
    exposure : scalar, (n,), (m,) or (n, m) array-like, str or None
        A word is the name of a column of a table.
    """
    if reset:
        estimator.exposure_column_ = None
    if isinstance(X, (Measurements, Catalogue)):
        return X, exposure
    X = as_frame(X)
    name = _column(estimator, X, exposure, reset)
    if reset:
        estimator.exposure_column_ = name
    if name is None:
        return X, exposure
    return X.drop(columns=[name]), np.asarray(X[name], dtype=np.float64)[:, None]


def _column(estimator: Any, X: Any, exposure: Any, reset: bool) -> str | None:
    """The name of the column of exposures, if there is one."""
    names = [name for name in getattr(X, "columns", ()) if isinstance(name, str)]
    if isinstance(exposure, str):
        if exposure not in names:
            raise ValueError(
                f"`exposure` names a column, {exposure!r}, that is not there: got "
                f"{', '.join(names[:8]) or 'no table'}. Give the exposures themselves, or the name of a column."
            )
        return exposure
    if exposure is not None:
        return None
    if not reset:
        kept: str | None = estimator.exposure_column_
        if kept is not None and names and kept not in names:
            raise ValueError(
                f"the classes were learned from counts with the exposures of the column {kept!r}, which is not there: got "
                f"{', '.join(names[:8])}. Add it, or give `exposure`."
            )
        return kept if names else None
    if not _takes_counts(estimator.noise):
        return None
    return next((name for name in names if name.lower() in NAMES), None)


def _takes_counts(noise: Any) -> bool:
    """Whether the noise, as a word or a model, is that of counts."""
    return not needs_sigma(choose("noise", noise))

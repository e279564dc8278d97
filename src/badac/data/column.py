"""A number beside the points of every object: a redshift, a period, the colour of the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from badac.data.validation import FloatArray


class Column(NamedTuple):
    """A number beside the points of every object: values and standard deviations (n,); NaN and infinite where missing."""

    values: FloatArray
    sigma: FloatArray


def checked_column(name: str, given: Any, n: int) -> Column:
    """Values and sigma (n,) of a column, as they are kept: both say where it is missing."""
    values, sigma = given if isinstance(given, tuple) and len(given) == 2 else (given, 0.0)
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError(
            f"column {name!r} must have one value for each of the {n} objects, shape ({n},): got {found.shape}."
        )
    spread = np.asarray(0.0 if sigma is None else sigma, dtype=np.float64)
    if spread.shape not in ((), (n,)):
        raise ValueError(
            f"the sigma of column {name!r} must be a number or one for each object, shape ({n},): got {spread.shape}."
        )
    spread = np.broadcast_to(spread, (n,))
    missing = ~np.isfinite(found) | ~np.isfinite(spread)
    bad = ~missing & (spread < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"the sigma of column {name!r} must be >= 0: got {spread[row]} at object {row}. It is one standard deviation; "
            "NaN says that the value is missing."
        )
    return Column(np.where(missing, np.nan, found), np.where(missing, np.inf, spread))

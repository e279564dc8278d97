"""Whether a new table is in the training's units: typical sizes of its values, compared.

    size = median |value| ,    spread = interquartile range        of each column, or band

A table whose values are 1000 times the training's is in other units, and every object in it would rank as strange. It is told
by size and spread together, so that a shifted class or one bright star is not mistaken for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from badac.data.losses import some
from badac.data.measurements import Measurements
from badac.data.validation import FloatArray, any_nan

MOST_COLUMNS = 30.0
"""Factor in size and spread of most columns: half way, in decades, to the 1000 of a unit's prefix."""
ONE_COLUMN = 300.0
"""Factor of a single column, which has no witnesses: nearer to that 1000."""
_FEWEST = 5
_ENOUGH = 1000
"""So many new objects tell their typical sizes, to a few per cent of the spread."""


@dataclass(frozen=True, eq=False)
class ScaleSummary:
    """Typical size and spread of each column, or of each band of light curves, (k,).

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import ScaleSummary
    >>> ScaleSummary.of(Measurements([[1.0, 10.0], [3.0, 30.0], [2.0, 20.0]], 0.1), ("g", "r")).size
    array([ 2., 20.])
    """

    names: tuple[str, ...]
    size: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, objects: Measurements, names: Sequence[str] = ()) -> ScaleSummary:
        """Summarise objects (n, m).

        Parameters
        ----------
        objects : Measurements
        names : sequence of str
            Features, or bands where every object has points of its own.
        """
        if objects.own_points:
            seen = objects.observed
            band = (
                np.zeros(objects.shape, dtype=np.int64)
                if objects.band is None
                else np.broadcast_to(objects.band, objects.shape)
            )
            k = max(len(names), int(band[seen].max(initial=0)) + 1)
            found = np.array([_scales(objects.values[seen & (band == number)]) for number in range(k)])
        elif objects.values.size and not any_nan(objects.values):
            found = np.stack(_scales(objects.values), axis=1)
        else:
            found = np.array([_scales(column[~np.isnan(column)]) for column in objects.values.T])
        found, k = found.reshape(-1, 2), len(found)
        called = [*names[:k], *(f"point {number}" for number in range(len(names), k))]
        return cls(tuple(str(name) for name in called), found[:, 0], found[:, 1])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that a model file can hold."""
        return {"names": list(self.names), "size": self.size.tolist(), "spread": self.spread.tolist()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ScaleSummary:
        """Return the summary that `as_dict` gave."""
        return cls(tuple(stored["names"]), np.array(stored["size"], float), np.array(stored["spread"], float))


def compare_scales(new: Measurements, training: ScaleSummary) -> tuple[str, ...]:
    """Say where values of new objects (n, m) are many times, or a small part of, the training's; nothing if they are alike.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> values = np.random.default_rng(0).normal(20, 1, (50, 3))
    >>> summary = ScaleSummary.of(Measurements(values, 0.1), ["u", "g", "r"])
    >>> compare_scales(Measurements(1000 * values, 100), summary)[0]
    "values are about 1000 times the training's in 3 of 3 columns (u, g, r): are they in the same units?"
    """
    found = ScaleSummary.of(new[:: max(1, new.n_objects // _ENOUGH)], training.names)
    if len(found.size) != len(training.size) or new.n_objects < _FEWEST:
        return ()
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.log10(found.size / training.size)
        spread = np.log10(found.spread / training.spread)
    spread = np.where(np.isfinite(spread), spread, size)
    factor = np.where(
        np.sign(size) == np.sign(spread), np.sign(size) * np.minimum(np.abs(size), np.abs(spread)), 0.0
    )
    factor = np.where(np.isfinite(size), factor, 0.0)
    for sign in (1.0, -1.0):
        off = sign * factor > np.log10(MOST_COLUMNS)
        if 2 * off.sum() > np.isfinite(size).sum():
            return (_sentence(size[off], [training.names[c] for c in np.flatnonzero(off)], len(size)),)
    alone = np.flatnonzero(np.abs(factor) > np.log10(ONE_COLUMN)).tolist()
    return tuple(_sentence(size[[column]], [training.names[column]], len(size)) for column in alone)


def _sentence(logarithms: FloatArray, names: Sequence[str], of: int) -> str:
    middle = float(np.median(logarithms))
    times = f"{10.0**middle:.2g}" if middle < 0 else f"{float(f'{10.0**middle:.2g}'):g}"
    which = f"in {len(names)} of {of} columns ({some(list(names), 5)})" if of > 1 else f"in {names[0]}"
    return f"values are about {times} times the training's {which}: are they in the same units?"


def _scales(column: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Size and spread of a column (n,), or of each of several (n, m)."""
    if not column.size:
        return np.array(np.nan), np.array(np.nan)
    low, high = np.quantile(column, [0.25, 0.75], axis=0)
    return np.asarray(np.median(np.abs(column), axis=0)), np.asarray(high - low)

"""Objects of several `Measurements` one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from badac.data.column import Column
from badac.data.measurements import Measurements


def concatenate(parts: Sequence[Measurements]) -> Measurements:
    """Put the objects of several `Measurements` with the same points one after the other.

    Objects with points of their own (`own_points`) may be padded to different lengths: the short ones are padded further.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import concatenate
    >>> concatenate([Measurements([[1.0, 2.0]], 0.1), Measurements([[3.0, 4.0]], 0.2)])
    Measurements(2 objects x 2 points, with sigma)
    """
    first = parts[0]
    if all(part.own_points for part in parts):
        parts = _padded_alike(parts)
    for number, part in enumerate(parts):
        if part.n_points != parts[0].n_points:
            raise ValueError(
                f"all parts must have the same points: part {number} has {part.n_points}, part 0 has {first.n_points}."
            )
        same = part.has_errors == first.has_errors and part.counted == first.counted
        if not same or (part.covariance is None) != (first.covariance is None):
            raise ValueError(
                f"all parts must have the same kind of errors: part {number} differs from part 0."
            )
        for name in ("at", "band"):
            if (getattr(part, name) is None) != (getattr(first, name) is None):
                meaning = "coordinates `at`" if name == "at" else "numbers of bands, `band`"
                raise ValueError(
                    f"all parts must have {meaning}, or none: part {number} differs from part 0."
                )
        if set(part.columns) != set(first.columns):
            raise ValueError(
                f"all parts must have the same columns beside their points: part {number} has "
                f"{', '.join(part.columns) or 'none'}, part 0 has {', '.join(first.columns) or 'none'}. Use with_columns."
            )
    counts = [part.n_objects for part in parts]
    joined = Measurements._trusted(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.sigma for part in parts]),
        _join([part.covariance for part in parts], counts, shared_ndim=2),
        _join([part.at for part in parts], counts, shared_ndim=1),
        first.has_errors,
        _join([part.band for part in parts], counts, shared_ndim=1),
        first.counted,
    )
    if not first.columns:
        return joined
    own = [part.columns for part in parts]
    return joined._carrying(
        {
            name: Column(
                *(np.concatenate(pieces) for pieces in zip(*(each[name] for each in own), strict=True))
            )
            for name in first.columns
        }
    )


def _padded_alike(parts: Sequence[Measurements]) -> list[Measurements]:
    """Pad with missing points up to the longest part; a covariance cannot be padded."""
    longest = max(part.n_points for part in parts)
    out = []
    for part in parts:
        extra = ((0, 0), (0, longest - part.n_points))
        if extra[1][1] == 0 or part.covariance is not None:
            out.append(part)
            continue
        band = part.band
        if band is not None:
            band = np.pad(np.broadcast_to(band, part.shape), extra, constant_values=-1)
        assert part.at is not None
        out.append(
            Measurements._trusted(
                np.pad(part.values, extra, constant_values=np.nan),
                np.pad(part.sigma, extra, constant_values=np.inf),
                None,
                np.pad(part.at, extra, constant_values=np.nan),
                part.has_errors,
                band,
                part.counted,
            )._carrying(part.columns)
        )
    return out


def _join(arrays: Sequence[Any], counts: Sequence[int], shared_ndim: int) -> Any:
    """Keep what is shared by all parts shared; otherwise one entry per object."""
    present = [array for array in arrays if array is not None]
    if not present:
        return None
    if all(array.ndim == shared_ndim and np.array_equal(array, present[0]) for array in present):
        return present[0]
    full = [
        array if array.ndim > shared_ndim else np.broadcast_to(array, (count, *array.shape))
        for array, count in zip(present, counts, strict=True)
    ]
    return np.concatenate(full)

"""Sums over an unknown number: as many nodes as the best-informed need, and no more.

The trapezoid rule on a smooth integrand converges exponentially: with a spacing of 1.2 standard deviations of what is left of
the unknown after an object has been seen, the error is 2 exp(-2 pi^2 / 1.2^2), a part in a million. So the number of nodes
follows from how well an object knows the number, and objects go in groups that need the same, by powers of two: which
others are asked about at the same time changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from badac.latent.mixture import logsumexp_rows
from badac.training import FloatArray

IntArray = npt.NDArray[np.int64]

_SPACING = 1.2
_LEAST, _MOST = 16, 1024
_REACH = 5.0


def groups(spans: FloatArray) -> Iterator[tuple[IntArray, int]]:
    """Rows of objects that need the same number of nodes.

    Parameters
    ----------
    spans : (n,)
        Range of the unknown number in units of its standard deviation after the object has been seen.
    """
    needed = np.clip(np.nan_to_num(spans, nan=_LEAST, posinf=_MOST) / _SPACING, _LEAST, _MOST)
    counts = 2 ** np.ceil(np.log2(needed)).astype(np.int64)
    for count in np.unique(counts):
        yield np.flatnonzero(counts == count), int(count)


def normal_nodes(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (count,) for N(0, 1), evenly from -5 to 5, and their log weights, which sum to one."""
    nodes = np.linspace(-_REACH, _REACH, count)
    log_weights = -0.5 * nodes**2
    return nodes, log_weights - np.logaddexp.reduce(log_weights)


def even_nodes(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (count,) for the uniform distribution between -1 and 1, and their log weights: the middles of equal parts."""
    return (2.0 * np.arange(count) + 1.0) / count - 1.0, np.full(count, -np.log(count))


def log_average(terms: list[FloatArray], log_weights: FloatArray) -> FloatArray:
    """Log of the weighted sum of densities whose logs (n,) are given, one per node."""
    return logsumexp_rows(np.stack(terms, axis=1) + log_weights)

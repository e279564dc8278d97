"""What all partitions say together, without bringing them together: sums by a tree.

    strangest k          every partition sends its k strangest, every knot of the tree passes on k of those it got
    cut-off of the list  every partition sends how often it has each p-value up to the wanted share; counts add up

Benjamini and Hochberg's list holds the objects with ``p <= p*``, ``p*`` the largest p-value with ``p <= share C(p) / n``, and
``C(p)`` the number of objects with a p-value of at most ``p``. Only the p-values up to the share matter, and few of them differ
(ranks among the known objects, but for the few beyond all of those), so the tallies stay small whatever the number of objects,
and the cut-off is exactly that of `badac.calibration.discoveries.discoveries` on all of them. Equal scores keep the order of
the data, as in `badac.ranking.strangest_first`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from dask import delayed

from badac.data.files import needs
from badac.ranking import strangest_first

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_WIDTH = 8


def tree(parts: Sequence[Any], combine: Callable[[list[Any]], Any], width: int = _WIDTH) -> Any:
    """Combine neighbours until one is left; `combine` gets lists of at most `width` results, in order."""
    parts = list(parts)
    knot = delayed(combine, pure=True)
    while len(parts) > 1:
        parts = [knot(parts[start : start + width]) for start in range(0, len(parts), width)]
    return parts[0]


def strangest(table: Any, n: int) -> Any:
    """Return the `n` strangest objects of a table of verdicts, strangest first, as a lazy frame of one partition.

    Parameters
    ----------
    table : dask DataFrame
        With a column ``score``.
    n : int

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from badac.dask import strangest
    >>> verdicts = dd.from_pandas(pd.DataFrame({"score": [0.1, 5.0, 0.3, 7.0]}), npartitions=2)
    >>> strangest(verdicts, 2).compute(scheduler="sync").index.tolist()
    [3, 1]
    """
    import dask.dataframe

    first = delayed(strangest_of, pure=True)
    parts = [first([part], n) for part in table.to_delayed()]
    top = tree(parts, Strangest(n))
    return dask.dataframe.from_delayed([delayed(_numbered, pure=True)(top)], meta=_numbered(table._meta))


def cut_off(table: Any, fdr: float) -> Any:
    """Return the largest p-value on the list with the share `fdr` of false alarms (-1: no list), as a lazy number.

    Parameters
    ----------
    table : dask DataFrame
        With a column ``pvalue``.
    fdr : float in (0, 1)

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from badac.dask import cut_off
    >>> frame = pd.DataFrame({"pvalue": [0.8, 0.001, 0.5, 0.0001]})
    >>> cut_off(dd.from_pandas(frame, npartitions=2), 0.1).compute(scheduler="sync")
    0.001
    """
    return delayed(Tally.cut_off, pure=True)(tally(table, fdr), fdr)


def tally(table: Any, fdr: float) -> Any:
    """Return the `Tally` of all partitions, lazily.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from badac.dask import tally
    >>> frame = pd.DataFrame({"pvalue": [0.8, 0.001, 0.5, 0.0001]})
    >>> tally(dd.from_pandas(frame, npartitions=2), 0.1).compute(scheduler="sync").n
    4
    """
    if "pvalue" not in table.columns:
        raise ValueError(
            "the table has no p-values: make it with verdicts(X, pvalues=True). Columns: "
            f"{', '.join(str(name) for name in table.columns)}."
        )
    if not 0.0 < fdr < 1.0:
        raise ValueError(
            f"`fdr` must be a share of false alarms between 0 and 1: got {fdr!r}. Use for example 0.1."
        )
    first = delayed(_tally_of, pure=True)
    return tree([first(part, fdr) for part in table.to_delayed()], _added)


def discoveries(table: Any, fdr: float) -> Any:
    """Return the objects of which on average at most the share `fdr` is normal, strangest first, as a lazy frame.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from badac.dask import discoveries
    >>> frame = pd.DataFrame({"score": [0.1, 5.0, 0.3, 7.0], "pvalue": [0.8, 0.001, 0.5, 0.0001]})
    >>> discoveries(dd.from_pandas(frame, npartitions=2), 0.1).compute(scheduler="sync").index.tolist()
    [3, 1]
    """
    import dask.dataframe

    last = cut_off(table, fdr)
    pick = delayed(_at_most, pure=True)
    parts = [pick(part, last) for part in table.to_delayed()]
    listed = tree(parts, Strangest(None))
    return dask.dataframe.from_delayed(
        [delayed(_numbered, pure=True)(delayed(strangest_of, pure=True)([listed], None))],
        meta=_numbered(table._meta),
    )


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each p-value occurs.

    Attributes
    ----------
    n : int
        All objects.
    pvalue, count : (u,)
        The different p-values up to the wanted share, rising, and how many objects have each.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from badac.dask import tally
    >>> frame = pd.DataFrame({"pvalue": [0.8, 0.001, 0.5, 0.0001]})
    >>> tally(dd.from_pandas(frame, npartitions=2), 0.1).compute(scheduler="sync").cut_off(0.1)
    0.001
    """

    n: int
    pvalue: FloatArray
    count: IntArray

    @classmethod
    def of(cls, pvalue: FloatArray, fdr: float) -> Tally:
        """Count the p-values (n,) of a partition."""
        # A hair more than the share: ``fdr * n / n`` need not be `fdr` to the last bit.
        found, count = np.unique(pvalue[pvalue <= fdr * (1.0 + 1e-12)], return_counts=True)
        return cls(len(pvalue), found, count.astype(np.int64))

    def __add__(self, other: Tally) -> Tally:
        both = np.concatenate([self.pvalue, other.pvalue])
        found, where = np.unique(both, return_inverse=True)
        count = np.zeros(len(found), dtype=np.int64)
        np.add.at(count, where, np.concatenate([self.count, other.count]))
        return Tally(self.n + other.n, found, count)

    def cut_off(self, fdr: float) -> float:
        """Return the largest p-value on the list with the share `fdr` of false alarms; -1 if there is none."""
        below = np.flatnonzero(self.pvalue <= fdr * np.cumsum(self.count) / max(self.n, 1))
        return float(self.pvalue[below[-1]]) if below.size else -1.0

    def listed(self, fdr: float) -> int:
        """Return how many objects are on the list."""
        return int(self.count[self.pvalue <= self.cut_off(fdr)].sum())

    def expected_false_alarms(self, fdr: float) -> float:
        """Return how many normal objects the list is expected to hold at most."""
        return max(self.n * self.cut_off(fdr), 0.0)


@dataclass(frozen=True)
class Strangest:
    """The `n` strangest of some frames; all of them if None."""

    n: int | None

    def __call__(self, frames: list[Any]) -> Any:
        return strangest_of(frames, self.n)


def strangest_of(frames: list[Any], n: int | None) -> Any:
    """Return the `n` strangest rows of some frames (all if None), strangest first; ties keep the order."""
    pandas = needs("pandas", "A table of verdicts")
    filled = [frame for frame in frames if len(frame)]
    whole = pandas.concat(filled) if len(filled) > 1 else (filled or frames)[0]
    return whole.iloc[strangest_first(whole["score"].to_numpy(dtype=np.float64))[:n]]


def _numbered(frame: Any) -> Any:
    """Put the rank in front, as `badac.ranking.Ranking` has it."""
    out = frame.copy(deep=False)
    out.insert(0, "rank", np.arange(1, len(frame) + 1))
    return out


def _tally_of(frame: Any, fdr: float) -> Tally:
    return Tally.of(frame["pvalue"].to_numpy(dtype=np.float64), fdr)


def _added(tallies: list[Tally]) -> Tally:
    total = tallies[0]
    for other in tallies[1:]:
        total = total + other
    return total


def _at_most(frame: Any, last: float) -> Any:
    return frame[frame["pvalue"] <= last]

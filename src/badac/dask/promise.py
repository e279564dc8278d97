"""What a list of lazy objects promises, and whether they are like the training's: as `BADACClassifier.rank` says it.

The promise needs five numbers of the p-values, which add up over partitions (`badac.calibration.promise`). Objects are compared
with the training's by their row alone (`badac.comparison.turns`): every partition sends those whose turn may come, a tree keeps
the first 2,000, and they are the ones that one process would compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from dask import delayed

from badac.calibration.promise import ListCounts, Promise, promise_of
from badac.comparison import Comparison
from badac.comparison.compare import compare
from badac.comparison.turns import MOST, turn_of
from badac.dask.reduction import Tally, tally, tree
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.judge import FittedModel

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Turns:
    """Objects that may be compared, in the order of their turns.

    Attributes
    ----------
    turn : (s,)
    objects : Measurements or None
        (s, m), in the units of the data; None if there are none.
    """

    turn: FloatArray
    objects: Measurements | None

    @classmethod
    def of(cls, objects: Measurements | None, start: int) -> Turns:
        """Take those of a partition whose first row is `start` that may be among the first."""
        if objects is None or not len(objects):
            return cls(np.empty(0), None)
        turn = turn_of(np.arange(start, start + len(objects)))
        first = np.argsort(turn, kind="stable")[:MOST]
        return cls(turn[first], objects[first])

    @classmethod
    def together(cls, parts: Sequence[Turns]) -> Turns:
        """Keep the first of several."""
        some = [part for part in parts if part.objects is not None]
        if not some:
            return cls(np.empty(0), None)
        turn = np.concatenate([part.turn for part in some])
        first = np.argsort(turn, kind="stable")[:MOST]
        return cls(
            turn[first], concatenate([part.objects for part in some if part.objects is not None])[first]
        )


def comparison(parts: Sequence[Any], model: Any, names: Sequence[str]) -> Any:
    """Return the `Comparison` of all objects with the training's, lazily.

    Parameters
    ----------
    parts : sequence of delayed Measurements or None
        The objects of each partition, in order.
    model : delayed FittedModel
        Ready for p-values.
    names : sequence of str
        Of the columns, where they have any.
    """
    length, before = delayed(_length, pure=True), delayed(_starts, pure=True)
    start = before([length(part) for part in parts])
    first = delayed(_turns, pure=True)
    turns = tree([first(part, start, number) for number, part in enumerate(parts)], Turns.together)
    return delayed(_compared, pure=True)(turns, model, tuple(names))


def promise(table: Any, fdr: float, compared: Any, model: Any) -> Any:
    """Return the `Promise` of a list, lazily.

    Parameters
    ----------
    table : dask DataFrame
        Verdicts with a column ``pvalue``.
    fdr : float in (0, 1)
    compared : delayed Comparison
    model : delayed FittedModel
        Ready for p-values.
    """
    least = delayed(_smallest, pure=True)
    smallest = tree([least([part]) for part in table.to_delayed()], _smallest_of)
    return delayed(_promise, pure=True)(tally(table, fdr), smallest, fdr, compared, model)


def _length(part: Measurements | None) -> int:
    return 0 if part is None else len(part)


def _starts(lengths: list[int]) -> list[int]:
    return [int(start) for start in np.concatenate([[0], np.cumsum(lengths)])[:-1]]


def _turns(part: Measurements | None, start: list[int], number: int) -> Turns:
    return Turns.of(part, start[number])


def _compared(turns: Turns, model: FittedModel, names: tuple[str, ...]) -> Comparison:
    if turns.objects is None:
        return Comparison((), np.empty(0), None, 1.0)
    return compare(model.judge(turns.objects), np.arange(len(turns.turn)), names)


def _smallest(parts: list[Any]) -> tuple[float, int]:
    """The smallest p-value of a table, and how many objects have it."""
    pvalue = parts[0]["pvalue"].to_numpy()
    smallest = float(np.min(pvalue, initial=1.0))
    return smallest, int((pvalue == smallest).sum())


def _smallest_of(parts: list[tuple[float, int]]) -> tuple[float, int]:
    smallest = min(value for value, _ in parts)
    return smallest, sum(count for value, count in parts if value == smallest)


def _promise(
    found: Tally, smallest: tuple[float, int], fdr: float, compared: Comparison, model: FittedModel
) -> Promise:
    counts = ListCounts(found.n, found.listed(fdr), max(found.cut_off(fdr), 0.0), *smallest)
    return promise_of(counts, fdr, model.pool, compared.why)

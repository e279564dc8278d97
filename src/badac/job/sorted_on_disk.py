"""A ranking of more objects than memory should hold: runs sorted in memory and kept on disk, then merged.

    batches -> runs of half a million objects, each sorted, in a file -> pieces that hold all ties of their scores -> one file

What comes out is a `badac.ranking.Ranking` like any other, whose columns are mapped from a file without a name, which goes when
they do. Whoever walks over all of it takes some rows at a time and then lets go of what was read (`SortedOnDisk.release`), so
that memory does not grow with the number of objects. Half a million of them or fewer never touch the disk, nor do columns of
Python objects (dates, lists), which no file can be mapped to: a table that carries such stays in memory.
"""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.rows import hashed, more_than_once
from badac.ranking import Ranking, place_of
from badac.verdicts import Verdicts

Array = npt.NDArray[Any]
Columns = dict[tuple[str, str], Array]
"""By the part of a ranking that they belong to, and their names."""

_ROWS_OF_A_RUN = 500_000  # by memory: some 25 MB, and as much again while it is sorted
_ROWS_OF_A_PIECE = 200_000
_SAMPLED = 1000  # every so many places of a run say where to cut
_ALIGNED = 64  # bytes
_RANGES = 8  # of hashes, compared one range after the other: one byte an object at a time
_QUANTITY, _CARRIED, _OWN = "quantity", "carried", "own"
_ROW, _PLACE, _HASH = (_OWN, "row"), (_OWN, "place"), (_OWN, "hash")


@dataclass(frozen=True, eq=False)
class _Type:
    """What a column of a file holds: its type, and the shape of a row."""

    dtype: np.dtype[Any]
    row: tuple[int, ...]

    @classmethod
    def of(cls, column: Array) -> _Type:
        """The type of a column (n,) or (n, k)."""
        dtype = column.dtype
        return cls(dtype if dtype.itemsize else np.dtype(f"{dtype.kind}1"), column.shape[1:])

    @classmethod
    def together(cls, types: list[_Type]) -> _Type:
        """The type of several columns one after the other."""
        return cls.of(np.concatenate([np.empty((0, *one.row), one.dtype) for one in types]))

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.row, dtype=np.int64))


class _File:
    """Columns of `n` rows in a file without a name, written some rows at a time, and then read so or mapped.

    A file that is read here and there is not mapped: the system maps what is around, too, up to megabytes.
    """

    def __init__(self, n: int, types: Mapping[tuple[str, str], _Type], folder: Path | None) -> None:
        self.n, self.types, self._written = n, dict(types), 0
        sizes = [-(-n * one.bytes // _ALIGNED) * _ALIGNED for one in types.values()]
        begins = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self._size, self._begin = begins.pop(), dict(zip(types, begins, strict=True))
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with this, or once it is mapped
        weakref.finalize(self, self._file.close)
        self._file.truncate(max(self._size, 1))
        self._mapped: mmap.mmap | None = None

    def write(self, columns: Columns) -> None:
        """Append the next rows."""
        for name, one in self.types.items():
            self._file.seek(self._begin[name] + self._written * one.bytes)
            self._file.write(columns[name].astype(one.dtype, copy=False).tobytes())
        self._written += len(columns[_ROW])

    def read(self, name: tuple[str, str], rows: slice) -> Array:
        """Return some rows of a column."""
        one = self.types[name]
        self._file.seek(self._begin[name] + rows.start * one.bytes)
        content = self._file.read((rows.stop - rows.start) * one.bytes)
        return np.frombuffer(content, one.dtype).reshape(rows.stop - rows.start, *one.row)

    def mapped(self) -> Columns:
        """Map all rows."""
        self._file.flush()
        self._mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()
        found: Columns = {}
        for name, one in self.types.items():
            count = self.n * int(np.prod(one.row, dtype=np.int64))
            flat = np.frombuffer(self._mapped, one.dtype, count, self._begin[name])
            found[name] = flat.reshape(self.n, *one.row)
        return found

    def release(self) -> None:
        """Let go of the memory of what was read; it is read again where it is asked for."""
        if self._mapped is not None and hasattr(self._mapped, "madvise"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


@dataclass(eq=False)
class SortedOnDisk:
    """Verdicts of batches, to be ranked.

    Parameters
    ----------
    folder : path, optional
        Where files may be; by default that of `tempfile`.

    Attributes
    ----------
    n_batches : int
        That it was given.
    """

    folder: Path | None = None
    _waiting: list[Verdicts] = field(default_factory=list)
    _runs: list[_File] = field(default_factory=list)
    _classes: Array | None = None
    _file: _File | None = None
    _columns: Columns = field(default_factory=dict)
    n_batches: int = 0
    _n: int = 0
    _begun: int = 0

    def add(self, verdicts: Verdicts) -> None:
        """Take the verdicts of the next batch."""
        self._waiting.append(verdicts)
        self.n_batches += 1
        self._n += len(verdicts)
        if self._n - self._begun >= _ROWS_OF_A_RUN and all(map(_can_be_mapped, self._waiting)):
            self._keep_run()

    def ranking(self) -> Ranking:
        """Return all of them, strangest first; ties in the order in which they came."""
        if not self._runs or not all(map(_can_be_mapped, self._waiting)):
            return self._in_memory()
        if self._waiting:
            self._keep_run()
        self._file, self._columns = self._merged()
        self._runs.clear()
        return _as_ranking(self._columns, self._classes)

    def release(self) -> None:
        """Let go of the memory of rows that were read from a ranking on disk."""
        if self._file is not None:
            self._file.release()

    def names_more_than_once(self, ranking: Ranking) -> str:
        """`badac.data.rows.more_than_once` of its names."""
        names = ranking.verdicts["object"]
        if self._file is None:
            return more_than_once(names)
        hashes = self._columns[_HASH]
        twice = _twice(hashes)
        rows = [block.start + np.flatnonzero(np.isin(hashes[block], twice)) for block in _blocks(len(names))]
        self.release()
        return more_than_once(names[np.concatenate(rows)]) if twice.size else ""

    def _in_memory(self) -> Ranking:
        """All in memory: what is on disk already comes back, each run as one batch."""
        parts = [_in_order_of_rows(run.mapped(), self._classes) for run in self._runs]
        parts += self._waiting
        self._runs.clear()
        self._waiting.clear()
        return merged(parts)

    def _keep_run(self) -> None:
        self._classes = self._waiting[0].classes
        columns = _as_columns(merged(self._waiting), self._begun)
        file = _File(len(columns[_ROW]), {name: _Type.of(one) for name, one in columns.items()}, self.folder)
        file.write(columns)
        self._runs.append(file)
        self._begun = self._n

    def _merged(self) -> tuple[_File, Columns]:
        runs = self._runs
        names = [name for name in runs[0].types if all(name in run.types for run in runs)]
        types = {name: _Type.together([run.types[name] for run in runs]) for name in names}
        file = _File(self._n, types, self.folder)
        for rows in _cuts(runs):
            # Runs are in the order of the file, so that a stable sort keeps the order of ties.
            order = np.argsort(_read(runs, _PLACE, rows), kind="stable")
            file.write({name: _read(runs, name, rows)[order] for name in names})
        return file, file.mapped()


def _read(runs: list[_File], name: tuple[str, str], rows: list[slice]) -> Array:
    """Rows of a column of every run, one run after the other."""
    return np.concatenate([run.read(name, some) for run, some in zip(runs, rows, strict=True)])


def merged(parts: list[Verdicts]) -> Ranking:
    """Put verdicts together, strangest first; the list is emptied meanwhile: there is no second copy of the whole."""
    place = place_of(np.concatenate([part.score for part in parts]))
    order = np.argsort(place, kind="stable").astype(np.int64)
    return Ranking(Verdicts.together((parts.pop(0) for _ in range(len(parts))), order), order)


def _can_be_mapped(verdicts: Verdicts) -> bool:
    columns = (*verdicts.quantities.values(), *verdicts.carried.values())
    return not any(column.dtype.hasobject for column in columns)


def _as_columns(run: Ranking, begun: int) -> Columns:
    """The columns of a sorted run whose first row of the file is `begun`, and what merging needs."""
    verdicts = run.verdicts
    columns: Columns = {(_QUANTITY, name): column for name, column in verdicts.quantities.items()}
    columns |= {(_CARRIED, name): column for name, column in verdicts.carried.items()}
    own = {_ROW: run.objects + begun, _PLACE: place_of(run.score), _HASH: hashed(verdicts["object"])}
    return columns | own


def _as_ranking(columns: Columns, classes: Any) -> Ranking:
    quantities = {name: column for (kind, name), column in columns.items() if kind == _QUANTITY}
    carried = {name: column for (kind, name), column in columns.items() if kind == _CARRIED}
    return Ranking(Verdicts(classes, quantities, carried), columns[_ROW])


def _in_order_of_rows(columns: Columns, classes: Any) -> Verdicts:
    ranking = _as_ranking(columns, classes)
    return ranking.verdicts.take(np.argsort(ranking.objects, kind="stable"))


def _cuts(runs: list[_File]) -> Iterator[list[slice]]:
    """Yield rows of every run that together are the next piece: all of some places, in order."""
    sampled = np.sort(np.concatenate([run.read(_PLACE, slice(0, run.n))[::_SAMPLED] for run in runs]))
    step = max(1, _ROWS_OF_A_PIECE // _SAMPLED)
    bounds = np.unique(sampled[step::step])
    ends = [np.searchsorted(run.read(_PLACE, slice(0, run.n)), bounds, side="right").tolist() for run in runs]
    begins = [0] * len(runs)
    for stops in zip(*([*end, run.n] for end, run in zip(ends, runs, strict=True)), strict=True):
        yield [slice(begin, stop) for begin, stop in zip(begins, stops, strict=True)]
        begins = list(stops)


def _twice(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the numbers that come more than once, sorted; a range of them at a time."""
    found = []
    width = 2**64 // _RANGES
    for number in range(_RANGES):
        low, high = np.uint64(number * width), np.uint64((number + 1) * width - 1)
        some = np.sort(np.concatenate([_between(hashes[block], low, high) for block in _blocks(len(hashes))]))
        found.append(np.unique(some[1:][some[1:] == some[:-1]]))
    return np.concatenate(found)


def _between(hashes: npt.NDArray[np.uint64], low: np.uint64, high: np.uint64) -> npt.NDArray[np.uint64]:
    return np.asarray(hashes[(hashes >= low) & (hashes <= high)])


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _ROWS_OF_A_PIECE, n)) for start in range(0, n, _ROWS_OF_A_PIECE))

"""The parts of a run: what is known of each piece of a survey once it is judged, in a file of its own.

A worker writes the verdicts of a piece under a temporary name and renames the file: a part is whole or absent. What a failing
disk damaged all the same is found when a run is taken up again, and redone (`whole_parts`). The folder is
named after model, data and settings, so parts of another run are never mixed in.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from badac.dask.pieces import Piece, bad_rows, refuse
from badac.data import Layout
from badac.data.files import needs
from badac.data.spreadsheets import safe_frame
from badac.estimators import BADACClassifier
from badac.identity import identity
from badac.job.found import Found
from badac.job.ranking import explained_already, out_of_reach, said_of_out_of_reach, score_batch
from badac.locks import locked
from badac.partition import BadRows, identity_of
from badac.verdicts import Verdicts
from badac.writing import remove_dead, sync_folder, whole_file, write_whole

BAD_ROWS = "bad_rows.csv"
_KEY = b"badac"


class DamagedPart(ValueError):
    """A part's file that cannot be read."""


@dataclass(frozen=True)
class Part:
    """A piece that was judged: what its file says of itself.

    Attributes
    ----------
    number, n_objects, n_bad : int
        Of the piece, its judged objects and the rows that were left out.
    recognised : str
    notes : tuple of str
    failure : str
        Why nothing of the piece could be judged, if so.
    """

    number: int
    n_objects: int = 0
    n_bad: int = 0
    recognised: str = ""
    notes: tuple[str, ...] = ()
    failure: str = ""


@dataclass(frozen=True, eq=False)
class Run:
    """What to judge, and how.

    Attributes
    ----------
    layout : Layout
    folder : str
        Of the parts.
    on_error : {"stop", "report"}
        Whether a row that cannot be used ends the run, or is left out and listed.
    n_rows : int, optional
        Rows judged at a time.
    """

    layout: Layout
    folder: str
    on_error: str = "stop"
    n_rows: int | None = None

    def part(self, number: int) -> Path:
        return Path(self.folder) / f"part-{number:06d}.parquet"

    def bad(self, number: int) -> Path:
        return Path(self.folder) / f"bad-{number:06d}.csv"


def judge_piece(model: BADACClassifier, piece: Piece, run: Run) -> Part:
    """Judge one piece and write its part; a pure function but for the files."""
    try:
        return _judge_piece(model, piece, run)
    except BadRows:
        raise
    except Exception as error:
        message = str(error) if str(piece) in str(error) else f"{piece}: {error}"
        if run.on_error == "stop":
            raise RuntimeError(message) from error
        return Part(piece.number, failure=message)


def _judge_piece(model: BADACClassifier, piece: Piece, run: Run) -> Part:
    pandas = needs("pandas", "A table of verdicts")
    verdicts: list[Verdicts] = []
    listed: list[tuple[Any, int, str]] = []
    notes: dict[str, None] = {}
    recognised = ""
    away: list[str] = []
    for frame, batch in piece.batches(run.layout, run.n_rows):
        bad = bad_rows(frame, run.layout)
        if bad:
            if run.on_error == "stop":
                refuse(bad, frame, piece)
            listed += [(batch.ids[row], int(frame.index[row]), reason) for row, reason in bad.items()]
            kept = np.setdiff1d(np.arange(len(frame)), list(bad))
            if not kept.size:
                continue
            batch = batch[kept]
        recognised = recognised or batch.recognised
        if not bad:
            notes |= dict.fromkeys(str(batch.losses).splitlines())
        verdicts.append(score_batch(model, batch))
        away += out_of_reach(model, batch)
    notes.pop("nothing left out", None)
    notes |= dict.fromkeys(said_of_out_of_reach(away, model))
    if listed:
        table = pandas.DataFrame(listed, columns=["object", "row", "reason"])
        table.insert(0, "file", Path(piece.path).name)
        write_whole(run.bad(piece.number), safe_frame(table)[0].to_csv(index=False))
    part = Part(piece.number, sum(map(len, verdicts)), len(listed), recognised, tuple(notes))
    _write_part(verdicts, part, run.part(piece.number))
    return part


def part_at(path: Path, piece: Piece) -> Part | None:
    """Return what a part's file says of itself; None if there is none.

    A file that cannot be read (a disk that filled up, a machine that lost power) raises `DamagedPart`.
    """
    if not path.exists():
        return None
    parquet = needs("pyarrow.parquet", "Parts")
    try:
        with parquet.ParquetFile(path) as file:
            kept = json.loads((file.schema_arrow.metadata or {})[_KEY])
            part = Part(
                piece.number, kept["n_objects"], kept["n_bad"], kept["recognised"], tuple(kept["notes"])
            )
            # Every byte: the footer alone says nothing about the columns before it.
            rows = sum(len(batch) for batch in file.iter_batches()) if part.n_objects else 0
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedPart(f"{path.name} is damaged ({error})") from error
    if rows != part.n_objects:
        raise DamagedPart(f"{path.name} is damaged (it holds {rows} of {part.n_objects} objects)")
    return part


def whole_parts(found: list[Piece], run: Run) -> tuple[dict[int, Part], list[str]]:
    """Return the parts that an earlier run left, by the number of their piece, and words about those that have to be redone."""
    remove_dead(Path(run.folder))
    parts: dict[int, Part] = {}
    said = []
    for piece in found:
        path, bad = run.part(piece.number), run.bad(piece.number)
        try:
            part = part_at(path, piece)
            if part is not None and part.n_bad and not bad.exists():
                raise DamagedPart(f"{bad.name} is missing")
        except DamagedPart as reason:
            said.append(f"{reason} and was judged again: {piece}")
            path.unlink(missing_ok=True)
            continue
        if part is not None:
            parts[piece.number] = part
    return parts, said


def _write_part(verdicts: list[Verdicts], part: Part, path: Path) -> None:
    pyarrow = needs("pyarrow", "Parts")
    parquet = needs("pyarrow.parquet", "Parts")
    columns: dict[str, Any] = {}
    if verdicts:
        whole = Verdicts.together(verdicts)
        columns = whole.columns() | {"row": np.arange(len(whole))}
    kept = {
        "n_objects": part.n_objects,
        "n_bad": part.n_bad,
        "recognised": part.recognised,
        "notes": part.notes,
    }
    table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
    table = table.replace_schema_metadata({_KEY: json.dumps(kept).encode()})
    with whole_file(path) as file:
        parquet.write_table(table, file)


def _read_part(path: str, without: frozenset[str] = frozenset()) -> Any:
    pandas = needs("pandas", "A table of verdicts")
    frame = pandas.read_parquet(path)
    if without:
        frame = frame[~explained_already(frame["object"].to_numpy(), without)]
    frame["piece"] = int(Path(path).stem.split("-")[1])
    return frame


def verdicts_in(run: Run, judged: list[Part], without: frozenset[str] = frozenset()) -> Any:
    """Return the parts as a lazy frame, a partition each, with the number of the piece; without the objects of some names."""
    import dask.dataframe

    paths = [str(run.part(part.number)) for part in judged if part.n_objects]
    read = functools.partial(_read_part, without=without)
    return dask.dataframe.from_map(read, paths, meta=read(paths[0])[:0], enforce_metadata=False)


def parts_folder(
    model: BADACClassifier,
    found: list[Piece],
    layout: Layout,
    on_error: str,
    folder: str | os.PathLike[str],
) -> Path:
    """Return where the parts are kept: beside the results, under a name that tells model, data and settings."""
    data = [(piece, os.path.getsize(piece.path), os.stat(piece.path).st_mtime_ns) for piece in found]
    name = identity((identity_of(model), data, layout, on_error))[:12]
    target = Path(folder).absolute()
    return target.parent / f".{target.name}.parts-{name}"


def list_bad_rows(judged: list[Part], found: list[Piece], run: Run) -> None:
    """Put the bad rows of all pieces into one file; a piece that failed altogether has one line."""
    pandas = needs("pandas", "A list of bad rows")
    tables = [pandas.read_csv(run.bad(part.number)) for part in judged if part.n_bad]
    tables += [
        pandas.DataFrame({"file": [Path(found[part.number].path).name], "reason": [part.failure]})
        for part in judged
        if part.failure
    ]
    if tables:
        whole = pandas.concat(tables)[["file", *(["object", "row"] if "row" in tables[0] else []), "reason"]]
        write_whole(Path(run.folder) / BAD_ROWS, whole.to_csv(index=False))


def keep_parts(found: Found, folder: Path) -> None:
    """Move the complete parts into the folder of the results."""
    with locked(folder):
        _keep(Path(found.parts), folder)


def _keep(parts: Path, folder: Path) -> None:
    if (parts / BAD_ROWS).exists():
        shutil.move(parts / BAD_ROWS, folder / BAD_ROWS)
    for bad in parts.glob("bad-*.csv"):
        bad.unlink()
    shutil.move(parts, folder / "verdicts")
    sync_folder(folder)

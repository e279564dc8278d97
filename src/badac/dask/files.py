"""Files to files on a cluster: judge every piece of a survey, then one ranking of all of them.

Each piece is judged by some worker, which writes the verdicts under a temporary name and renames the file: a part is whole or
absent. A run that was interrupted, for whatever reason, takes up the parts that are there and judges the pieces that lack one;
the parts' folder is named after model, data and settings, so parts of another run are never mixed in. The ranking and the list
of discoveries come from the parts by a tree reduction (`badac.dask.reduction`). Workers and the caller must see the same
folders.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
import joblib
import numpy as np
from dask import delayed

from badac.dask import reduction
from badac.dask.pieces import Piece, bad_rows, pieces, refuse
from badac.data import Catalogue
from badac.data.files import needs
from badac.data.measurements import concatenate
from badac.estimators import BADACClassifier
from badac.job.layout import Layout
from badac.job.ranking import Found
from badac.job.record import Record
from badac.job.scoring import Verdicts, score_batch
from badac.partition import BadRows, identity, lean

ON_ERROR = ("stop", "report")
BAD_ROWS = "bad_rows.csv"
_KEY = b"badac"
_SHOWN = 20
_RANKED = 10_000_000


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
    notes.pop("nothing left out", None)
    if listed:
        table = pandas.DataFrame(listed, columns=["object", "row", "reason"])
        table.insert(0, "file", Path(piece.path).name)
        _whole(run.bad(piece.number), lambda path: table.to_csv(path, index=False))
    part = Part(piece.number, sum(map(len, verdicts)), len(listed), recognised, tuple(notes))
    _write_part(verdicts, model, part, run.part(piece.number))
    return part


def rank_files(
    model: BADACClassifier,
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    client: Any,
    *,
    layout: Layout | None = None,
    fdr: float = 0.1,
    on_error: str = "stop",
    n_rows: int | None = None,
    n_ranked: int = _RANKED,
    n_shown: int = _SHOWN,
    done: Callable[[int], None] = lambda n: None,
    command: str = "",
) -> Found:
    """Judge and rank all objects of a Parquet file or a folder of them.

    Parameters
    ----------
    model : BADACClassifier
        Fitted.
    path : path
        A Parquet file or a folder.
    folder : path
        Where the results will be: the parts are kept beside it until they are complete. See `parts_folder`.
    client : distributed.Client
    layout : Layout, optional
        How to read the files; by default as the training was.
    fdr : float in (0, 1)
        Share of false alarms that the list of discoveries may hold.
    on_error : {"stop", "report"}
        "report": rows that cannot be used are left out and listed, and files that cannot be read too.
    n_rows : int, optional
        Rows judged at a time.
    n_ranked : int
        Objects in the ranking, if there are more; the parts hold all of them.
    n_shown : int
        Of the strangest, the objects themselves are fetched for the report.
    done : callable
        Told the number of objects judged whenever a piece is finished.
    command : str
        What the user typed, for the report.

    Returns
    -------
    Found
        As `badac.job.rank_file` returns it, of the `n_ranked` strangest objects.
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"`on_error` must be one of {', '.join(ON_ERROR)}: got {on_error!r}.")
    record = Record.of(model)
    if layout is None:
        layout = Layout() if record is None else record.layout
    start = perf_counter()
    found = pieces(path, layout)
    parts = parts_folder(model, found, layout, on_error, folder)
    parts.mkdir(parents=True, exist_ok=True)
    run = Run(layout, str(parts), on_error, n_rows)
    judged = _judge_all(lean(model), found, run, client, done)
    if not any(part.n_objects for part in judged):
        raise ValueError(f"no object of {path} could be judged. {judged[0].failure}")
    _list_bad_rows(judged, found, run)
    table, keep = verdicts_in(run, judged), reduction.Strangest(n_ranked)
    tally, top, called = client.gather(
        client.compute(
            [
                reduction.tally(table, fdr),
                reduction.tree([delayed(keep)([part]) for part in table.to_delayed()], keep),
                reduction.tree([delayed(_called)(part) for part in table.to_delayed()], _counted),
            ]
        )
    )
    notes = dict.fromkeys(note for part in judged for note in part.notes)
    n_bad = sum(part.n_bad for part in judged)
    failed = [part.failure for part in judged if part.failure]
    rows = f"{n_bad} row{'s' if n_bad > 1 else ''}"
    said = [f"{rows} could not be used: see {BAD_ROWS}"] if n_bad else []
    if tally.n > len(top):
        said.append(f"the ranking holds the {len(top):,} strangest; all {tally.n:,} objects are in verdicts/")
    verdicts = _verdicts(top, model)
    return Found(
        model=model,
        source=Path(path).name,
        recognised=next(part.recognised for part in judged if part.recognised),
        notes=(*said, *failed[:5], *notes)[:10],
        verdicts=verdicts,
        shown=_reread(top[:n_shown], found, run),
        fdr=fdr,
        n_discoveries=tally.listed(fdr),
        expected_false_alarms=tally.expected_false_alarms(fdr),
        seconds=perf_counter() - start,
        command=command,
        n_judged=tally.n,
        called={str(name): int(called.get(name, 0)) for name in model.classes_.tolist()},
        parts=str(parts),
    )


def parts_folder(
    model: BADACClassifier,
    found: list[Piece],
    layout: Layout,
    on_error: str,
    folder: str | os.PathLike[str],
) -> Path:
    """Return where the parts are kept: beside the results, under a name that tells model, data and settings."""
    data = [(piece, os.path.getsize(piece.path), os.stat(piece.path).st_mtime_ns) for piece in found]
    name = joblib.hash((identity(model), data, layout, on_error))[:12]
    target = Path(folder).absolute()
    return target.parent / f".{target.name}.parts-{name}"


def verdicts_in(run: Run, judged: list[Part]) -> Any:
    """Return the parts as a lazy frame, a partition each, with the number of the piece."""
    import dask.dataframe

    paths = [str(run.part(part.number)) for part in judged if part.n_objects]
    return dask.dataframe.from_map(_read_part, paths, meta=_read_part(paths[0])[:0], enforce_metadata=False)


def keep_parts(found: Found, folder: Path) -> None:
    """Move the complete parts into the folder of the results."""
    parts = Path(found.parts)
    if (parts / BAD_ROWS).exists():
        shutil.move(parts / BAD_ROWS, folder / BAD_ROWS)
    for bad in parts.glob("bad-*.csv"):
        bad.unlink()
    shutil.move(parts, folder / "verdicts")


def _judge_all(
    model: BADACClassifier, found: list[Piece], run: Run, client: Any, done: Callable[[int], None]
) -> list[Part]:
    """Judge the pieces that lack a part; stop at the first error, and leave what is finished."""
    from distributed import as_completed

    judged = {piece.number: part for piece in found if (part := _part_at(run.part(piece.number), piece))}
    done(sum(part.n_objects for part in judged.values()))
    wanted = [piece for piece in found if piece.number not in judged]
    node = delayed(model, name=f"badac-ready-{identity(model)}", traverse=False)
    judge_one = delayed(judge_piece, pure=False)
    # The model is the one large thing in the graph, and is meant to be there.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "2GB"}):
        futures = client.compute([judge_one(node, piece, run) for piece in wanted])
    try:
        for future in as_completed(futures, loop=client.loop):
            part = future.result()
            judged[part.number] = part
            done(part.n_objects)
    finally:
        client.cancel(futures)
    return [judged[piece.number] for piece in found]


def _part_at(path: Path, piece: Piece) -> Part | None:
    """Return what a part's file says of itself; None if there is none."""
    if not path.exists():
        return None
    parquet = needs("pyarrow.parquet", "Parts")
    kept = json.loads(parquet.read_schema(path).metadata[_KEY])
    return Part(piece.number, kept["n_objects"], kept["n_bad"], kept["recognised"], tuple(kept["notes"]))


def _write_part(verdicts: list[Verdicts], model: BADACClassifier, part: Part, path: Path) -> None:
    pyarrow = needs("pyarrow", "Parts")
    parquet = needs("pyarrow.parquet", "Parts")
    columns: dict[str, Any] = {}
    if verdicts:
        names = ("ids", "proba", "anomaly_proba", "pvalue", "score")
        whole = Verdicts(*(np.concatenate([getattr(one, name) for one in verdicts]) for name in names))
        columns = whole.columns(model.classes_)
        columns["row"] = np.arange(len(whole))
        del columns["rank"]
    kept = {
        "n_objects": part.n_objects,
        "n_bad": part.n_bad,
        "recognised": part.recognised,
        "notes": part.notes,
    }
    table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
    table = table.replace_schema_metadata({_KEY: json.dumps(kept).encode()})
    _whole(path, lambda temporary: parquet.write_table(table, temporary))


def _whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under another name, then rename it. Two workers may do the same piece: the names differ by process."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read_part(path: str) -> Any:
    pandas = needs("pandas", "A table of verdicts")
    frame = pandas.read_parquet(path)
    frame["piece"] = int(Path(path).stem.split("-")[1])
    return frame


def _called(frame: Any) -> dict[Any, int]:
    return dict(frame["class"].value_counts().items())


def _counted(parts: list[dict[Any, int]]) -> dict[Any, int]:
    return {
        name: sum(part.get(name, 0) for part in parts) for name in {key for part in parts for key in part}
    }


def _verdicts(top: Any, model: BADACClassifier) -> Verdicts:
    names = [f"proba_{name}" for name in model.classes_.tolist()]
    ids = np.asarray(top["object"])
    return Verdicts(
        ids=ids.astype(str) if ids.dtype == object else ids,
        proba=top[names].to_numpy(dtype=np.float32),
        anomaly_proba=top["anomaly_proba"].to_numpy(),
        pvalue=top["pvalue"].to_numpy(),
        score=top["score"].to_numpy(),
    )


def _reread(top: Any, found: list[Piece], run: Run) -> Catalogue:
    """Fetch the strangest objects themselves from their files, in order."""
    wanted = list(zip(top["piece"].tolist(), top["row"].tolist(), strict=True))
    picked: dict[tuple[int, int], Catalogue] = {}
    for number in sorted({number for number, _ in wanted}):
        row = 0
        for frame, batch in found[number].batches(run.layout, run.n_rows):
            bad = bad_rows(frame, run.layout)
            here = batch[np.setdiff1d(np.arange(len(batch)), list(bad))] if bad else batch
            for which in range(len(here)):
                if (number, row + which) in wanted:
                    picked[number, row + which] = here[[which]]
            row += len(here)
    shown = [picked[key] for key in wanted]
    first = shown[0]
    return Catalogue(
        objects=concatenate([one.objects for one in shown]),
        ids=np.concatenate([one.ids for one in shown]),
        label=None,
        recognised=first.recognised,
        bands=first.bands,
        features=first.features,
    )


def _list_bad_rows(judged: list[Part], found: list[Piece], run: Run) -> None:
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
        _whole(Path(run.folder) / BAD_ROWS, lambda path: whole.to_csv(path, index=False))

"""Files to files on a cluster: judge every piece of a survey, then one ranking of all of them.

Each piece is judged by some worker, which leaves a part (`badac.dask.parts`). A run that was interrupted, for whatever reason,
takes up the parts that are there and judges the pieces that lack one. The ranking and the list of discoveries come from the
parts by a tree reduction (`badac.dask.reduction`). Workers and the caller must see the same folders.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
import numpy as np
import numpy.typing as npt
from dask import delayed

from badac.calibration.promise import ListCounts, promise_of
from badac.comparison.turns import some_rows
from badac.dask import reduction
from badac.dask.parts import (
    BAD_ROWS,
    Part,
    Run,
    judge_piece,
    list_bad_rows,
    parts_folder,
    verdicts_in,
    whole_parts,
)
from badac.dask.pieces import Piece, bad_rows, pieces
from badac.data import Catalogue
from badac.data.rows import names_of
from badac.estimators import BADACClassifier
from badac.job.found import Found
from badac.job.ranking import RankOptions, all_explained, compared
from badac.job.record import layout_of
from badac.locks import locked
from badac.partition import identity_of, lean
from badac.ranking import Ranking
from badac.verdicts import KIND, Verdicts
from badac.writing import clause

IntArray = npt.NDArray[np.int64]
ANSWERS_WITHIN = 10  # seconds that a scheduler has to answer; distributed's own default is 30


@contextmanager
def cluster(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Yield a client of a cluster, and take down what was started for it.

    Parameters
    ----------
    workers : int, optional
        Number of worker processes on this machine, of one thread each.
    scheduler : str, optional
        Address of a running scheduler, such as ``tcp://10.0.0.1:8786``. Its workers need badac and must see the same files.

    Notes
    -----
    What is started here listens on this machine alone (127.0.0.1), the dashboard too, and speaks TLS with a certificate that is
    made for this run, so that other users of the machine cannot send it work. That needs the package ``cryptography``, which
    the extra ``scale`` brings; without it the ports are open to them (`is_private`).

    Examples
    --------
    >>> from badac.dask import cluster
    >>> with cluster(workers=2) as client:  # doctest: +SKIP
    ...     client.dashboard_link
    """
    try:
        import distributed
        from distributed.deploy.spec import close_clusters
    except ImportError as error:
        raise ImportError(
            "several workers need dask and distributed: pip install 'badac[scale]' brings them."
        ) from error
    # Once and for good: what is waited for is let go of after the cluster is gone.
    logging.getLogger("asyncio").addFilter(_is_news)
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=ANSWERS_WITHIN, set_as_default=False)
        except (
            OSError,
            ValueError,
            TypeError,
        ) as error:  # TypeError: it speaks TLS, and we have no certificate
            raise ValueError(
                f"no scheduler answers at {scheduler!r}: {clause(error)}. Start one with `dask scheduler`, and give its "
                "address."
            ) from error
        with client:
            if not client.scheduler_info()["workers"]:
                raise ValueError(
                    f"the scheduler at {scheduler} has no workers: start some with `dask worker {scheduler}`."
                )
            yield client
        return
    try:
        local = distributed.LocalCluster(
            n_workers=workers or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # A port of its own: another cluster may run here.
            dashboard_address="127.0.0.1:0",
            security=distributed.Security.temporary() if is_private() else None,
            protocol="tls://" if is_private() else "tcp://",
            # Tornado's and the nannies' words about lost connections are no news to the user of a command.
            silence_logs=50,
        )
    except BaseException:
        # Dask closes what was half-started when Python ends, and finds that it never began.
        atexit.unregister(close_clusters)
        atexit.register(_close_half_started)
        raise
    with local, distributed.Client(local, set_as_default=False) as client:
        yield client


def _close_half_started() -> None:
    """As Dask does at the end of Python, without a word about workers that never began."""
    from distributed.deploy.spec import close_clusters

    with suppress(AssertionError):
        close_clusters()


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a record of asyncio is more than the end of a run that was stopped while Dask waited for its tasks."""
    return not (record.exc_info and type(record.exc_info[1]).__name__ == "AllExit")


def is_private() -> bool:
    """Whether a cluster that `cluster` starts is for its user alone."""
    return find_spec("cryptography") is not None


def rank_files(
    model: BADACClassifier,
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    client: Any,
    options: RankOptions = RankOptions(),
    *,
    done: Callable[[int], None] = lambda n: None,
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
    options : RankOptions
    done : callable
        Told the number of objects judged whenever a piece is finished.

    Returns
    -------
    Found
        As `badac.job.rank_file` returns it, of the ``n_ranked`` strangest objects.

    Examples
    --------
    >>> import badac
    >>> from badac.dask import cluster, rank_files
    >>> with cluster(workers=8) as client:  # doctest: +SKIP
    ...     rank_files(badac.load("model.badac"), "survey/", "results", client)
    """
    layout, fdr = options.layout or layout_of(model), options.fdr
    start = perf_counter()
    found = pieces(path, layout)
    parts = parts_folder(model, found, layout, options.on_error, folder)
    run = Run(layout, str(parts), options.on_error, options.n_rows)
    with locked(folder):
        parts.mkdir(parents=True, exist_ok=True)
        judged, redone = _judge_all(lean(model), found, run, client, done)
    if not any(part.n_objects for part in judged):
        raise ValueError(f"no object of {path} could be judged. {judged[0].failure}")
    list_bad_rows(judged, found, run)
    table, keep = verdicts_in(run, judged, options.without), reduction.Strangest(options.n_ranked)
    tally, top, called = client.gather(
        client.compute(
            [
                reduction.tally(table, fdr),
                reduction.tree([delayed(keep)([part]) for part in table.to_delayed()], keep),
                reduction.tree([delayed(_called)(part) for part in table.to_delayed()], _counted),
            ]
        )
    )
    if not len(top):
        raise all_explained(path)
    notes = dict.fromkeys(note for part in judged for note in part.notes)
    n_bad = sum(part.n_bad for part in judged)
    failed = [part.failure for part in judged if part.failure]
    rows = f"{n_bad} row{'s' if n_bad > 1 else ''}"
    said = [*redone, *([f"{rows} could not be used: see {BAD_ROWS}"] if n_bad else [])]
    n_judged = sum(part.n_objects for part in judged)
    if tally.n > len(top):
        said.append(
            f"the ranking holds the {len(top):,} strangest; all {n_judged:,} objects are in verdicts/"
        )
    comparison = compared(model, _objects_at(*_turns(judged), found, run, client))
    promise = promise_of(_counts(tally, top, fdr), fdr, model.fitted_.pool, comparison.why)
    return Found(
        model=model,
        source=Path(path).name,
        recognised=next(part.recognised for part in judged if part.recognised),
        notes=(*said, *failed[:5], *notes)[:10],
        ranking=_ranking(top, model),
        shown=_objects_at(*_strangest(top[: options.n_shown]), found, run, client),
        fdr=fdr,
        n_discoveries=tally.listed(fdr),
        expected_false_alarms=promise.expected_false_alarms,
        false_share_bound=promise.false_share_bound,
        why=promise.why,
        comparison=comparison,
        seconds=perf_counter() - start,
        command=options.command,
        n_judged=tally.n,
        called={str(name): int(called.get(name, 0)) for name in model.classes_.tolist()},
        parts=str(parts),
        n_without=n_judged - tally.n,
    )


def _judge_all(
    model: BADACClassifier, found: list[Piece], run: Run, client: Any, done: Callable[[int], None]
) -> tuple[list[Part], list[str]]:
    """Judge the pieces that lack a whole part; stop at the first error, and leave what is finished. Also what was redone."""
    from distributed import as_completed

    judged, redone = whole_parts(found, run)
    done(sum(part.n_objects for part in judged.values()))
    wanted = [piece for piece in found if piece.number not in judged]
    node = delayed(model, name=f"badac-ready-{identity_of(model)}", traverse=False)
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
    return [judged[piece.number] for piece in found], redone


def _called(frame: Any) -> dict[Any, int]:
    return dict(frame["class"].value_counts().items())


def _counted(parts: list[dict[Any, int]]) -> dict[Any, int]:
    return {
        name: sum(part.get(name, 0) for part in parts) for name in {key for part in parts for key in part}
    }


def _ranking(top: Any, model: BADACClassifier) -> Ranking:
    """Return the strangest of all parts as a ranking; they are in order already."""
    ids = np.asarray(top["object"])
    names = [f"proba_{name}" for name in model.classes_.tolist()]
    quantities = {name: top[name].to_numpy() for name in ("score", "anomaly_proba", "pvalue")}
    quantities["extrapolated"] = top[KIND].to_numpy() == "extrapolated"
    quantities["object"] = ids.astype(str) if ids.dtype == object else ids
    quantities["proba"] = top[names].to_numpy(dtype=np.float32)
    known = {*Verdicts(model.classes_, quantities).columns(), "row", "piece"}
    carried = {str(name): names_of(top[name]) for name in top.columns if name not in known}
    return Ranking(Verdicts(model.classes_, quantities, carried), np.arange(len(top)))


def _counts(tally: reduction.Tally, top: Any, fdr: float) -> ListCounts:
    """What the promise of the list is made of; `top` are the strangest of all objects."""
    pvalue = top["pvalue"].to_numpy()
    smallest = float(pvalue.min())
    last = max(tally.cut_off(fdr), 0.0)
    return ListCounts(tally.n, tally.listed(fdr), last, smallest, int((pvalue == smallest).sum()))


def _strangest(top: Any) -> tuple[IntArray, IntArray]:
    """Piece and row of the strangest objects (n,), in order."""
    return top["piece"].to_numpy(), top["row"].to_numpy()


def _turns(judged: list[Part]) -> tuple[IntArray, IntArray]:
    """Piece and row of the objects that are compared with the training's (s,): those of one process, in the same order."""
    ends = np.cumsum([part.n_objects for part in judged])
    rows = some_rows(int(ends[-1]))
    which = np.searchsorted(ends, rows, side="right")
    begins = np.concatenate([[0], ends[:-1]])
    return np.array([part.number for part in judged])[which], rows - begins[which]


def _objects_at(piece: IntArray, row: IntArray, found: list[Piece], run: Run, client: Any) -> Catalogue:
    """Fetch objects themselves from their files, by piece and row (n,), in this order."""
    fetch = delayed(_rows_of, pure=False)
    wanted = np.unique(piece)
    parts = client.gather(
        client.compute([fetch(found[number], run, np.sort(row[piece == number])) for number in wanted])
    )
    order = np.lexsort((row, piece))
    return Catalogue.together(parts)[np.argsort(order)]


def _rows_of(piece: Piece, run: Run, rows: IntArray) -> Catalogue:
    """Read some objects of a piece; `rows` count those that can be used, and rise."""
    picked: list[Catalogue] = []
    start = 0
    for frame, batch in piece.batches(run.layout, run.n_rows):
        bad = bad_rows(frame, run.layout)
        here = batch[np.setdiff1d(np.arange(len(batch)), list(bad))] if bad else batch
        inside = rows[(rows >= start) & (rows < start + len(here))] - start
        if inside.size:
            picked.append(here[inside])
        start += len(here)
    return Catalogue.together(picked)

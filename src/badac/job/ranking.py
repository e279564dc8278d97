"""Rank the objects of a file, whatever its size, and write what was found.

`score_batch` is pure: a model and some objects in, one row an object out, so a batch can be scored anywhere. What the ranking
needs of an object is a handful of numbers; the objects themselves are not kept, but for the strangest few.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.comparison import Comparison
from badac.comparison.compare import compare
from badac.comparison.turns import MOST, turn_of
from badac.data import Catalogue, Layout
from badac.data.reach import beyond, said_of_beyond, times_of
from badac.data.rows import packed
from badac.estimators import BADACClassifier
from badac.estimators.validation import names_of_columns
from badac.job.batches import batches
from badac.job.found import SHOWN, Found
from badac.job.record import layout_of
from badac.job.sorted_on_disk import SortedOnDisk, merged
from badac.ranking import Ranking, strangest_first
from badac.threads import ahead, in_order, n_threads, one_thread_in_blas
from badac.verdicts import WITH_PVALUES, Verdicts

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankOptions:
    """What may be chosen about a ranking of a file; the defaults are right for most.

    Attributes
    ----------
    layout : Layout, optional
        How to read the file; by default as the training was.
    fdr : float in (0, 1)
        Share of false alarms that the list of discoveries may hold.
    n_rows : int, optional
        Rows read at a time.
    n_shown : int
        How many of the strangest objects to keep whole, for the report.
    command : str
        What the user typed, for the report.
    on_error : {"stop", "report"}
        On a cluster. "report": rows that cannot be used are left out and listed, and files that cannot be read too.
    n_ranked : int
        On a cluster: objects in the ranking, if there are more; the parts hold all of them.
    without : frozenset of str
        Names of objects that are judged, but neither ranked nor listed: somebody has explained them.
    scratch : path, optional
        Folder in which more than half a million objects are sorted (`badac.job.sorted_on_disk`), some 60 bytes each; by
        default that of `tempfile` (``TMPDIR``).

    Examples
    --------
    >>> from badac.job import RankOptions
    >>> RankOptions(fdr=0.05, n_shown=10).fdr
    0.05
    """

    layout: Layout | None = None
    fdr: float = 0.1
    n_rows: int | None = None
    n_shown: int = SHOWN
    command: str = ""
    on_error: str = "stop"
    n_ranked: int = 10_000_000
    without: frozenset[str] = frozenset()
    scratch: Path | None = None

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "report"):
            raise ValueError(f"`on_error` must be one of stop, report: got {self.on_error!r}.")


def list_of(
    model: BADACClassifier, ranking: Ranking, fdr: float, comparison: Comparison | None
) -> dict[str, Any]:
    """Return what a `Found` says of its list: that of `badac.BADACClassifier.rank` with `fdr`."""
    doubts = "" if comparison is None else comparison.why
    listed = ranking.discoveries(fdr, model.fitted_.pool, doubts)
    return {
        "n_discoveries": len(listed),
        "expected_false_alarms": listed.expected_false_alarms,
        "false_share_bound": listed.false_share_bound,
        "why": listed.why,
    }


def compared(model: BADACClassifier, some: Catalogue) -> Comparison:
    """Compare objects that were kept for it, in the order of `badac.comparison.turns.turn_of`, with the training's."""
    return compare(
        model.judge(some.objects, pvalues=True, warn=False), np.arange(len(some)), names_of_columns(model)
    )


def score_batch(model: BADACClassifier, batch: Catalogue) -> Verdicts:
    """Judge the objects of one batch, in their order, p-values included. A pure function of both.

    Probabilities of the classes are kept in single precision: there may be a hundred million of them. Without an anomaly class
    its probability is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac import BADACClassifier
    >>> from badac.data import from_table
    >>> from badac.job import score_batch
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"g": np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40), "g_err": 0.1})
    >>> model = BADACClassifier("template", random_state=0).fit(table, np.repeat(["a", "b"], 20))
    >>> len(score_batch(model, from_table(table[:3])))
    3
    """
    # What is out of the training's reach is said once for the whole file.
    found = model.judge(batch.objects, pvalues=True, warn=False).verdicts(WITH_PVALUES)
    if "anomaly_proba" not in found:
        found = found.having(anomaly_proba=np.full(len(batch), np.nan))
    named = found.having(object=batch.ids, proba=found.proba.astype(np.float32))
    return named.carrying(batch.carried)


def score_batches(
    model: BADACClassifier, read: Iterable[Catalogue], heard: Callable[[Catalogue], None]
) -> Iterator[tuple[Catalogue, Verdicts]]:
    """Yield batches with their verdicts, in order: with several threads some are judged at a time, while others are read.

    `heard` is told of each batch before it is judged, on the caller's thread. Batches too few to keep the threads busy are
    judged one after the other, each with all threads. The verdicts are the same, to the last bit.
    """
    threads = n_threads(model.n_jobs)

    def told(batch: Catalogue) -> Catalogue:
        heard(batch)
        return batch

    rest = map(told, ahead(read) if threads > 1 else read)
    few = list(islice(rest, 2 * threads)) if threads > 1 else []
    if len(few) < 2 * threads:
        yield from ((batch, score_batch(model, batch)) for batch in chain(few, rest))
        return
    model.prepare_pvalues()
    alone = copy.copy(model)
    alone.n_jobs = None
    with one_thread_in_blas():
        yield from in_order(lambda batch: (batch, score_batch(alone, batch)), chain(few, rest), threads)


def explained_already(names: npt.NDArray[Any], without: frozenset[str]) -> npt.NDArray[np.bool_]:
    """Return (n,): whether the object of a name is one that somebody has explained."""
    if not without:
        return np.zeros(len(names), dtype=np.bool_)
    return np.isin(np.asarray(names).astype(str), list(without))


def all_explained(path: str | os.PathLike[str]) -> ValueError:
    """Say that nothing is left to rank."""
    return ValueError(
        f"somebody has explained every object of {Path(path).name}: nothing is left to rank. Leave --verdicts out to rank all."
    )


def out_of_reach(model: BADACClassifier, batch: Catalogue) -> list[str]:
    """Return the names of the curves that have no point within the times of the training: nothing is known of them there."""
    return [str(name) for name in batch.ids[beyond(batch.objects, times_of(model.training_))].tolist()]


def said_of_out_of_reach(names: Sequence[str], model: BADACClassifier) -> list[str]:
    """Say what that means, if there are any."""
    return said_of_beyond(names, times_of(model.training_))


def refuse_unmeasured(source: str, n: int, n_measured: int, notes: Iterable[str]) -> None:
    """Raise a ValueError if none of the objects of a file has a value that can be used: all would get the prior."""
    if n and not n_measured:
        raise ValueError(
            f"{source}: none of its {n} objects has a value with a usable error bar, so there is nothing to judge. "
            f"{'; '.join(notes)}. Give one standard deviation for each value (0: exact), or say errors='none' (--errors none) "
            "to take all values as exact."
        )


def merge(parts: Sequence[Verdicts]) -> Ranking:
    """Put the verdicts of all batches together, strangest first; ties keep the order of the file.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac import BADACClassifier
    >>> from badac.data import from_table
    >>> from badac.job import merge, score_batch
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"g": np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40), "g_err": 0.1})
    >>> model = BADACClassifier("template", random_state=0).fit(table, np.repeat(["a", "b"], 20))
    >>> odd = pd.DataFrame({"g": [17.0, 25.0], "g_err": 0.1})
    >>> merge([score_batch(model, from_table(table[:3])), score_batch(model, from_table(odd))]).objects[0]
    np.int64(4)
    """
    return merged(list(parts))


def strangest(
    kept: tuple[Catalogue, FloatArray] | None, batch: Catalogue, score: FloatArray, n: int
) -> tuple[Catalogue, FloatArray]:
    """Return the `n` strangest objects of those kept so far and a batch, whole, with their scores, strangest first."""
    rows = np.arange(len(score))
    if kept is not None and len(kept[1]) >= n:
        # Most of a batch cannot be among them; ties keep the order of the file.
        rows = np.flatnonzero(score > kept[1][-1])
    top = rows[strangest_first(score[rows])[:n]]
    found, scores = batch[top], score[top]
    if kept is not None:
        before, earlier = kept
        if not len(top):
            return before, earlier
        found = Catalogue.together([before, replace(found, label=None)])
        scores = np.concatenate([earlier, scores])
        order = strangest_first(scores)[:n]
        found, scores = found[order], scores[order]
    return replace(found, label=None), scores


def rank_file(
    model: BADACClassifier,
    path: str | os.PathLike[str],
    options: RankOptions = RankOptions(),
    *,
    done: Callable[[int], None] = lambda n: None,
    say: Callable[[str], None] = lambda words: None,
) -> Found:
    """Judge and rank all objects of a file, holding one batch of them in memory, and half a million verdicts.

    Parameters
    ----------
    model : BADACClassifier
        Fitted.
    path : path
    options : RankOptions
    done : callable
        Told the number of objects judged after every batch.
    say : callable
        Told what deserves a word (columns that are missing, other units) before the objects are judged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from badac.job import Settings, learn, rank_file, read_training
    >>> rng = np.random.default_rng(0)
    >>> g = np.repeat([17.0, 18.0], 20) + 0.1 * rng.standard_normal(40)
    >>> table = pd.DataFrame({"g": g, "g_err": 0.1, "class": np.repeat(["a", "b"], 20)})
    >>> table.loc[7, "g"] = 25.0
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "stars.csv"
    ...     table.drop(index=7).to_csv(path, index=False)
    ...     model = learn(read_training(path), Settings("template", folds=2, diagnose=False))
    ...     table.to_csv(path, index=False)
    ...     int(rank_file(model, path).ranking.objects[0])
    7
    """
    layout = options.layout or layout_of(model)
    start = perf_counter()
    verdicts = SortedOnDisk(options.scratch)
    kept: tuple[Catalogue, Any] | None = None
    some_kept: tuple[Catalogue, Any] | None = None
    n = n_measured = 0
    recognised = ""
    notes: dict[str, None] = {}
    away: list[str] = []

    def heard(batch: Catalogue) -> None:
        for note in str(batch.losses).splitlines():
            if note not in notes and note != "nothing left out":
                notes[note] = None
                say(note)

    for batch, verdict in score_batches(model, batches(path, layout, options.n_rows), heard):
        some_kept = strangest(some_kept, batch, -turn_of(np.arange(n, n + len(batch))), MOST)
        n += len(batch)
        n_measured += int(batch.objects.observed.any(axis=1).sum())
        left = np.flatnonzero(~explained_already(verdict["object"], options.without))
        if left.size or not options.without:
            kept = strangest(kept, batch[left], verdict.score[left], options.n_shown)
            # Of millions of objects their names are the largest column.
            verdicts.add(verdict.take(left).having(object=packed(verdict["object"][left])))
        recognised = recognised or batch.recognised
        away += out_of_reach(model, batch)
        done(len(verdict))
    if kept is None:
        raise all_explained(path)
    assert some_kept is not None
    refuse_unmeasured(Path(path).name, n, n_measured, notes)
    for note in said_of_out_of_reach(away, model):
        notes[note] = None
        say(note)
    several, ranking = verdicts.n_batches > 1, verdicts.ranking()
    if several and (again := verdicts.names_more_than_once(ranking)) and again not in notes:
        notes[again] = None
        say(again)
    comparison = compared(model, some_kept[0])
    listed = list_of(model, ranking, options.fdr, comparison)
    verdicts.release()
    return Found(
        model=model,
        source=Path(path).name,
        recognised=recognised,
        notes=tuple(notes)[:10],
        ranking=ranking,
        shown=kept[0],
        fdr=options.fdr,
        seconds=perf_counter() - start,
        command=options.command,
        comparison=comparison,
        n_without=n - len(ranking),
        release=verdicts.release,
        **listed,
    )

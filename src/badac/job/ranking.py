"""Rank the objects of a file, whatever its size, and write what was found.

`score_batch` is pure: a model and some objects in, one row an object out, so a batch can be scored anywhere. What the ranking
needs of an object is a handful of numbers; the objects themselves are not kept, but for the strangest few.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.comparison import MOST, Comparison, compare, turn_of
from badac.data import Catalogue, Layout, write_table
from badac.data.reach import beyond, said_of_beyond, times_of
from badac.data.rows import more_than_once
from badac.data.spreadsheets import safe_frame, said
from badac.estimators import BADACClassifier
from badac.estimators.validation import names_of_columns
from badac.job.batches import batches
from badac.job.record import layout_of
from badac.ranking import Ranking, strangest_first
from badac.threads import ahead, n_threads
from badac.verdicts import WITH_PVALUES, Verdicts

FloatArray = npt.NDArray[np.float64]

_SHOWN = 20
_ROWS_WRITTEN = 100_000
# As the file has them; the columns of each class follow.
_FIRST_COLUMNS = ("rank", "object", "anomaly_proba", "pvalue", "score", "class", "class_proba")


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

    Examples
    --------
    >>> from badac.job import RankOptions
    >>> RankOptions(fdr=0.05, n_shown=10).fdr
    0.05
    """

    layout: Layout | None = None
    fdr: float = 0.1
    n_rows: int | None = None
    n_shown: int = _SHOWN
    command: str = ""
    on_error: str = "stop"
    n_ranked: int = 10_000_000
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "report"):
            raise ValueError(f"`on_error` must be one of stop, report: got {self.on_error!r}.")


@dataclass(frozen=True, eq=False)
class Found:
    """The ranking of a file.

    Attributes
    ----------
    model : BADACClassifier
    source, recognised : str
        The file, and how it was understood.
    notes : tuple of str
        What was left out or deserves a word.
    ranking : Ranking
        Of all objects, with p-values.
    shown : Catalogue
        The strangest objects themselves, in the same order.
    fdr : float
        Share of false alarms that the list of discoveries may hold.
    n_discoveries : int
        Objects that can be told from the known classes at that share.
    expected_false_alarms : float
        NaN where nothing can be promised.
    seconds : float
    command : str
    n_judged : int or None
        Objects that were judged, where the ranking holds only the strangest of them.
    called : dict or None
        How many of those were called what.
    parts : str
        Folder with the verdicts of all of them, a file for each part of the data.
    false_share_bound : float or None
        Share of false alarms that the list does not exceed, at 90 % confidence; 1 where nothing can be promised.
    why : str
        Why the list is empty, or why nothing can be promised of it.
    comparison : Comparison or None
        How the objects differ from the training's.
    n_without : int
        Objects that were left out of the ranking, since somebody has explained them.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "stars.csv"
    ...     table.to_csv(path, index=False)
    ...     found = rank_file(learn(read_training(path), Settings("template", folds=2, diagnose=False)), path)
    >>> found.n_objects
    40
    """

    model: BADACClassifier
    source: str
    recognised: str
    notes: tuple[str, ...]
    ranking: Ranking
    shown: Catalogue
    fdr: float
    n_discoveries: int
    expected_false_alarms: float
    seconds: float
    command: str = ""
    n_judged: int | None = None
    called: dict[str, int] | None = None
    parts: str = ""
    false_share_bound: float | None = None
    why: str = ""
    comparison: Comparison | None = None
    n_without: int = 0

    @property
    def n_objects(self) -> int:
        """How many objects were judged."""
        return len(self.ranking) if self.n_judged is None else self.n_judged

    @property
    def counts(self) -> dict[str, int]:
        """How many objects were called what, by the most probable known class."""
        if self.called is not None:
            return self.called
        best = np.bincount(self.ranking.proba.argmax(axis=1), minlength=len(self.model.classes_))
        return {str(name): int(n) for name, n in zip(self.model.classes_.tolist(), best, strict=True)}

    def columns(self, start: int = 0, stop: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Return some rows of the ranking as the file has them: rank, object, probabilities, p-value, score, class ..."""
        found = self.ranking.take(slice(start, stop)).columns(per_class=True, first_rank=start + 1)
        return {name: found[name] for name in _FIRST_COLUMNS} | found

    def summary(self) -> dict[str, Any]:
        """Return what a script wants to know, as JSON has it."""
        top = self.columns(stop=_SHOWN)
        return {
            "schema": "badac.rank/1",
            "command": self.command,
            "source": self.source,
            "n_objects": self.n_objects,
            "classes": self.counts,
            "score": self.model.score_meaning_,
            "fdr": self.fdr,
            "discoveries": self.n_discoveries,
            "expected_false_alarms": self.expected_false_alarms,
            "false_share_bound": self.false_share_bound,
            "why": self.why,
            "compared": _said_of(self.comparison),
            "seconds": round(self.seconds, 3),
            "notes": list(self.notes),
            "strangest": [
                dict(zip(top, row, strict=True))
                for row in zip(*(np.asarray(column).tolist() for column in top.values()), strict=True)
            ],
        }


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
    """Compare objects that were kept for it, in the order of `badac.comparison.turn_of`, with the training's."""
    return compare(
        model.judge(some.objects, pvalues=True, warn=False), np.arange(len(some)), names_of_columns(model)
    )


def _said_of(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "n_compared": len(comparison.pvalue),
        "known_share": comparison.known_share,
        "error_scale": comparison.error_scale,
        "promise_holds": comparison.promise_holds,
        "differences": [asdict(one) for one in comparison.differences],
    }


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
    order = strangest_first(np.concatenate([part.score for part in parts]))
    return Ranking(Verdicts.together(parts, order), order)


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
    options: RankOptions = RankOptions(),  # noqa: B008
    *,
    done: Callable[[int], None] = lambda n: None,
    say: Callable[[str], None] = lambda words: None,
) -> Found:
    """Judge and rank all objects of a file, holding one batch of them in memory.

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
    parts: list[Verdicts] = []
    kept: tuple[Catalogue, Any] | None = None
    some_kept: tuple[Catalogue, Any] | None = None
    n = n_measured = 0
    recognised = ""
    notes: dict[str, None] = {}
    away: list[str] = []
    read = batches(path, layout, options.n_rows)
    for batch in ahead(read) if n_threads(model.n_jobs) > 1 else read:
        for note in str(batch.losses).splitlines():
            if note not in notes and note != "nothing left out":
                notes[note] = None
                say(note)
        verdict = score_batch(model, batch)
        some_kept = strangest(some_kept, batch, -turn_of(np.arange(n, n + len(batch))), MOST)
        n += len(batch)
        n_measured += int(batch.objects.observed.any(axis=1).sum())
        left = np.flatnonzero(~explained_already(verdict["object"], options.without))
        if left.size or not options.without:
            kept = strangest(kept, batch[left], verdict.score[left], options.n_shown)
            parts.append(verdict.take(left))
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
    ranking, several = merge(parts), len(parts) > 1
    del parts
    if several and (again := more_than_once(ranking.ids)) and again not in notes:
        notes[again] = None
        say(again)
    comparison = compared(model, some_kept[0])
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
        **list_of(model, ranking, options.fdr, comparison),
    )


def write_ranking(found: Found, path: Path) -> list[str]:
    """Write the ranking by the suffix, Parquet and CSV a piece at a time; what is to be said of it."""
    import pandas

    if path.suffix not in (".csv", ".parquet"):
        write_table(found.columns(), path)
        return []
    writer: Any = None
    changed = 0
    try:
        for start in range(0, len(found.ranking), _ROWS_WRITTEN):
            piece = pandas.DataFrame(found.columns(start, start + _ROWS_WRITTEN))
            if path.suffix == ".csv":
                piece, formulas = safe_frame(piece)
                changed += formulas
                piece.to_csv(path, mode="a", header=start == 0, index=False)
                continue
            import pyarrow
            import pyarrow.parquet

            table = pyarrow.Table.from_pandas(piece, preserve_index=False)
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return said(changed, path.name)

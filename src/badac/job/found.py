"""What a ranking of a file found, and the file that it is written to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.comparison import Comparison
from badac.data import Catalogue, write_table
from badac.data.spreadsheets import safe_frame, said
from badac.estimators import BADACClassifier
from badac.ranking import Ranking
from badac.verdicts import KIND

SHOWN = 20
"""Of the strangest objects: so many are kept whole, and stand in the summary."""
_ROWS_WRITTEN = 100_000
# As the file has them; the columns of each class follow.
_FIRST_COLUMNS = ("rank", "object", "anomaly_proba", "pvalue", "score", "class", "class_proba")


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
    release : callable
        Lets go of the memory of rows that were read, where the ranking is on disk (`badac.job.sorted_on_disk`).

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
    release: Callable[[], None] = lambda: None

    @property
    def n_objects(self) -> int:
        """How many objects were judged."""
        return len(self.ranking) if self.n_judged is None else self.n_judged

    @property
    def counts(self) -> dict[str, int]:
        """How many objects were called what, by the most probable known class."""
        if self.called is not None:
            return self.called
        return dict(zip(map(str, self.model.classes_.tolist()), self._calls()[0].tolist(), strict=True))

    @property
    def sure(self) -> list[int]:
        """How many objects of each class were called so with a probability above 0.9."""
        return [int(n) for n in self._calls()[1]]

    @property
    def n_likely(self) -> int:
        """How many objects of the ranking are more probably something new than any known class."""
        return sum(int((piece.verdicts["anomaly_proba"] > 0.5).sum()) for piece in self.pieces())

    def pieces(self) -> Iterator[Ranking]:
        """Yield the ranking some rows at a time, in order; what was read of a ranking on disk is let go of."""
        for start in range(0, len(self.ranking), _ROWS_WRITTEN):
            yield self.ranking.take(slice(start, start + _ROWS_WRITTEN))
            self.release()

    def _calls(self) -> npt.NDArray[np.int64]:
        """(2, k): objects called each class, and those of them with a probability above 0.9."""
        out = np.zeros((2, len(self.model.classes_)), dtype=np.int64)
        for piece in self.pieces():
            called = piece.proba.argmax(axis=1)
            out[0] += np.bincount(called, minlength=out.shape[1])
            out[1] += np.bincount(called[piece.label_proba > 0.9], minlength=out.shape[1])
        return out

    def columns(self, start: int = 0, stop: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Return some rows of the ranking as the file has them: rank, object, probabilities, p-value, score, class ..."""
        found = self.ranking.take(slice(start, stop)).columns(per_class=True, first_rank=start + 1)
        return {name: found[name] for name in _FIRST_COLUMNS} | found

    def summary(self) -> dict[str, Any]:
        """Return what a script wants to know, as JSON has it."""
        top = self.columns(stop=SHOWN)
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


def write_ranking(found: Found, path: Path) -> list[str]:
    """Write the ranking by the suffix, Parquet and CSV a piece at a time; what is to be said of it."""
    if path.suffix not in (".csv", ".parquet"):
        write_table(found.columns(), path)
        return []
    writer: Any = None
    changed = 0
    try:
        for start in range(0, len(found.ranking), _ROWS_WRITTEN):
            columns = found.columns(start, start + _ROWS_WRITTEN)
            if path.suffix == ".csv":
                import pandas

                piece, formulas = safe_frame(pandas.DataFrame(columns))
                changed += formulas
                piece.to_csv(path, mode="a", header=start == 0, index=False)
                found.release()
                continue
            import pyarrow
            import pyarrow.parquet

            table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
            if writer is None:
                # A dictionary of numbers that hardly repeat takes four times as long as the numbers.
                writer = pyarrow.parquet.ParquetWriter(path, table.schema, use_dictionary=["class", KIND])
            writer.write_table(table)
            found.release()
    finally:
        if writer is not None:
            writer.close()
    return said(changed, path.name)

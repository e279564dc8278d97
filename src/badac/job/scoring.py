"""The verdict on each object, batch by batch, and the merge of the batches.

`score_batch` is pure: a model and some objects in, one row an object out, so a batch can be scored anywhere. What the ranking
needs of an object is a handful of numbers; the objects themselves are not kept, but for the strangest few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data import Catalogue
from badac.data.measurements import concatenate
from badac.estimators import BADACClassifier
from badac.ranking import strangest_first

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What was found about ``n`` objects, of ``k`` classes.

    Attributes
    ----------
    ids : (n,)
        Names of the objects.
    proba : (n, k) float32
        Probabilities of the known classes.
    anomaly_proba : (n,)
        Posterior probability that the object belongs to none of them.
    pvalue : (n,)
        Share of known objects of the same class and noise that look at least as strange.
    score : (n,)
        What the ranking sorts by; high = strange.
    """

    ids: npt.NDArray[Any]
    proba: npt.NDArray[np.float32]
    anomaly_proba: FloatArray
    pvalue: FloatArray
    score: FloatArray

    @classmethod
    def together(cls, parts: Sequence[Verdicts]) -> Verdicts:
        """Return all of several, one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: npt.NDArray[np.int64]) -> Verdicts:
        """Return some rows, in the order given."""
        return Verdicts(
            self.ids[rows], self.proba[rows], self.anomaly_proba[rows], self.pvalue[rows], self.score[rows]
        )

    def columns(self, classes: npt.NDArray[Any], first_rank: int = 1) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the ranking's file; the rows must be in order."""
        best = self.proba.argmax(axis=1)
        out: dict[str, npt.NDArray[Any]] = {
            "rank": np.arange(first_rank, first_rank + len(self)),
            "object": self.ids,
            "anomaly_proba": self.anomaly_proba,
            "pvalue": self.pvalue,
            "score": self.score,
            "class": classes[best],
            "class_proba": self.proba[np.arange(len(self)), best],
        }
        return out | {f"proba_{name}": self.proba[:, number] for number, name in enumerate(classes.tolist())}

    def columns_of(self, rows: Any, classes: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of some rows."""
        return self.take(np.asarray(list(rows), dtype=np.int64)).columns(classes)


def prepare(model: BADACClassifier) -> None:
    """Make ready what p-values need before the first batch asks: the model learned once more, without a part of its objects."""
    model.anomaly_pvalue(model.training_[:1])


def score_batch(model: BADACClassifier, batch: Catalogue) -> Verdicts:
    """Judge the objects of one batch, in their order. A pure function of both."""
    ranking = model.rank(batch.objects)
    assert ranking.proba is not None
    place = np.empty(len(batch), dtype=np.int64)
    place[ranking.objects] = np.arange(len(batch))
    strange = ranking.anomaly_proba if ranking.anomaly_proba is not None else np.full(len(batch), np.nan)
    return Verdicts(
        ids=batch.ids,
        proba=ranking.proba[place].astype(np.float32),
        anomaly_proba=strange[place],
        pvalue=model.anomaly_pvalue(batch.objects),
        score=ranking.score[place],
    )


def merge(parts: Sequence[Verdicts]) -> Verdicts:
    """Put the verdicts of all batches together, strangest first; ties keep the order of the file."""
    whole = Verdicts.together(parts)
    return whole.take(strangest_first(whole.score))


def strangest(
    kept: tuple[Catalogue, FloatArray] | None, batch: Catalogue, score: FloatArray, n: int
) -> tuple[Catalogue, FloatArray]:
    """Return the `n` strangest objects of those kept so far and a batch, whole, with their scores, strangest first."""
    top = strangest_first(score)[:n]
    found, scores = batch[top], score[top]
    if kept is not None:
        before, earlier = kept
        found = replace(
            before,
            objects=concatenate([before.objects, found.objects]),
            ids=np.concatenate([before.ids, found.ids]),
        )
        scores = np.concatenate([earlier, scores])
        order = strangest_first(scores)[:n]
        found, scores = found[order], scores[order]
    return replace(found, label=None), scores

"""The verdict on each object, batch by batch, and the merge of the batches.

`score_batch` is pure: a model and some objects in, one row an object out, so a batch can be scored anywhere. What the ranking
needs of an object is a handful of numbers; the objects themselves are not kept, but for the strangest few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from badac.data import Catalogue
from badac.estimators import BADACClassifier
from badac.ranking import Ranking, strangest_first
from badac.verdicts import Verdicts

FloatArray = npt.NDArray[np.float64]


def score_batch(model: BADACClassifier, batch: Catalogue) -> Verdicts:
    """Judge the objects of one batch, in their order, p-values included. A pure function of both.

    Probabilities of the classes are kept in single precision: there may be a hundred million of them. Without an anomaly class
    its probability is NaN.
    """
    found = model.verdicts(batch.objects, pvalues=True)
    if "anomaly_proba" not in found:
        found = found.having(anomaly_proba=np.full(len(batch), np.nan))
    return found.having(object=batch.ids, proba=found.proba.astype(np.float32))


def merge(parts: Sequence[Verdicts]) -> Ranking:
    """Put the verdicts of all batches together, strangest first; ties keep the order of the file."""
    return Ranking.of(Verdicts.together(parts))


def strangest(
    kept: tuple[Catalogue, FloatArray] | None, batch: Catalogue, score: FloatArray, n: int
) -> tuple[Catalogue, FloatArray]:
    """Return the `n` strangest objects of those kept so far and a batch, whole, with their scores, strangest first."""
    top = strangest_first(score)[:n]
    found, scores = batch[top], score[top]
    if kept is not None:
        before, earlier = kept
        found = Catalogue.together([before, replace(found, label=None)])
        scores = np.concatenate([earlier, scores])
        order = strangest_first(scores)[:n]
        found, scores = found[order], scores[order]
    return replace(found, label=None), scores

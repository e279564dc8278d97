"""The verbs of a fitted model, lazily, on dask DataFrames and arrays.

Every verb is a view of one judged pass: a lazy table of verdicts (`badac.verdicts`) with the quantities that the verb is about,
cut as the data are. Frames give frames with the same index, arrays give arrays. Columns, types and shapes are checked while the
graph is built. The model is one node of the graph, named by its content: a worker fetches it once, whatever the number of
partitions, and a lost worker's copy is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed

from badac.dask import reduction
from badac.dask.promise import comparison, promise
from badac.data.files import needs
from badac.data.measurements import Measurements
from badac.estimators import BADACClassifier
from badac.estimators.validation import names_of_columns
from badac.judge import FittedModel
from badac.partition import Columns, asked_of, identity_of, lean, refuse_bad_rows
from badac.verdicts import Verdicts

_STRANGEST = 1000


@dataclass(frozen=True, eq=False)
class LazyClassifier:
    """A fitted model whose verbs take dask collections and answer lazily.

    Parameters
    ----------
    model : BADACClassifier
        Fitted. `badac.partition.lean` takes the training objects out of it, which makes the graph smaller.
    features : sequence of str, optional
        Value columns of the frames, in the order of the training. By default the names that the model remembers, else all
        columns that have an error column beside them.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from badac import BADACClassifier
    >>> from badac.dask import LazyClassifier
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat([0, 1], 50)
    >>> model = BADACClassifier("template", random_state=0)
    >>> model = model.fit(label[:, None] + 0.2 * rng.standard_normal((100, 5)), label, X_err=0.2)
    >>> survey = da.from_array(np.repeat([[0.0], [1.0], [0.5]], 5, axis=1), chunks=(2, 5))
    >>> LazyClassifier(model).predict(survey, X_err=0.2).shape
    (3,)
    >>> LazyClassifier(model).predict(survey, X_err=0.2).compute(scheduler="sync")[:2]
    array([0, 1])
    """

    model: BADACClassifier
    features: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.model, "fitted_"):
            raise TypeError(f"`model` must be a fitted BADACClassifier: got {self.model!r}.")

    # -- the estimator's verbs ---------------------------------------------------------------------------------------

    def log_evidence(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n, k): log P(object | class), class priors not included."""
        return self._view(X, X_err, "log_evidence")

    def predict_log_proba(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n, k): log probabilities of the known classes."""
        return self._view(X, X_err, "log_proba")

    def predict_proba(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n, k): probabilities of the known classes, columns in the order of the model's ``classes_``."""
        return self._view(X, X_err, "proba")

    def predict(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): the most probable known class."""
        return self._view(X, X_err, "proba", "class", "predict")

    def score_samples(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): log of the total evidence; scikit-learn's sign, low = strange."""
        return self._view(X, X_err, "log_total", "log_total", "score_samples")

    def anomaly_score(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): how strange an object is, high = strange; the model's ``score_meaning_`` says how."""
        return self._view(X, X_err, "score", "score", "anomaly_score")

    def anomaly_proba(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): posterior probability that the object belongs to no known class."""
        if self.model.anomaly_model_ is None:
            raise ValueError(
                'anomaly="evidence" has no anomaly class, so no probability. Use anomaly_score, or fit with another `anomaly`.'
            )
        return self._view(X, X_err, "anomaly_proba", "anomaly_proba", "anomaly_proba")

    def anomaly_pvalue(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): share of known objects that look at least as strange."""
        return self._view(X, X_err, "pvalue", "pvalue", "anomaly_pvalue")

    def verdicts(self, X: Any, *, X_err: Any = None, pvalues: bool = True) -> Any:
        """Return everything about each object in one pass, as a lazy frame (`badac.partition.judge`).

        The rows of an array are numbered through all blocks.
        """
        asked = asked_of(self.model, pvalues=pvalues)
        if _is_frame(X):
            return self._judged_frame(X, X_err, asked)
        import dask.dataframe

        parts, rows = self._judged_blocks(X, X_err, asked)
        index = needs("pandas", "A table of verdicts").RangeIndex(0)
        return dask.dataframe.from_delayed(
            parts,
            meta=Verdicts.empty(self.model.classes_, asked).to_frame(index),
            divisions=(*rows[:-1], max(rows[-1] - 1, rows[-2])),
            verify_meta=False,
        )

    def rank(self, X: Any, *, X_err: Any = None, n: int = _STRANGEST, fdr: float | None = None) -> Any:
        """Return the strangest objects, strangest first, as a lazy frame of one partition.

        Parameters
        ----------
        X, X_err
            As in the other verbs.
        n : int
            How many.
        fdr : float in (0, 1), optional
            Return instead all objects that can be told from the known classes, so many that on average at most this share of
            the list is normal after all (Benjamini & Hochberg). What it promises, and why it may be empty, says `promise`.
        """
        if fdr is not None:
            return reduction.discoveries(self.verdicts(X, X_err=X_err, pvalues=True), fdr)
        return reduction.strangest(self.verdicts(X, X_err=X_err, pvalues=False), n)

    def promise(self, X: Any, *, X_err: Any = None, fdr: float = 0.1) -> Any:
        """Return what the list of `rank` with this `fdr` promises, lazily: as `BADACClassifier.rank` says it.

        Computed, it is a `badac.calibration.promise.Promise` with ``expected_false_alarms``, ``false_share_bound`` and
        ``why``: words where the list is empty, or where the objects are not like the training's and nothing can be promised.
        """
        table = self.verdicts(X, X_err=X_err, pvalues=True)
        return promise(table, fdr, self.compare(X, X_err=X_err), self._with_training())

    def compare(self, X: Any, *, X_err: Any = None) -> Any:
        """Return how the objects differ from the training's, lazily: the `badac.comparison.Comparison` of the model itself."""
        if _is_frame(X):
            columns = Columns.of(X._meta, self.model, self.features)
            read = delayed(_read_part, pure=True)
            parts = [read(part, columns, number) for number, part in enumerate(X.to_delayed())]
        else:
            values, sigma = self._blocks(X, X_err)
            every = values.to_delayed()[:, 0]
            errors = sigma.to_delayed()[:, 0] if hasattr(sigma, "to_delayed") else [sigma] * len(every)
            read = delayed(_read_block, pure=True)
            parts = [read(*block) for block in zip(every, errors, strict=True)]
        return comparison(parts, self._with_training(), names_of_columns(self.model))

    # -- the pass, and views of it -----------------------------------------------------------------------------------

    def _view(self, X: Any, X_err: Any, quantity: str, column: str = "", name: str = "") -> Any:
        """Return one column of the pass under the verb's name, or the columns of all classes under their labels."""
        labels = self.model.classes_.tolist()
        wanted: Any = column or [f"{quantity}_{label}" for label in labels]
        if _is_frame(X):
            found = self._judged_frame(X, X_err, (quantity,))[wanted]
            if column:
                return found.rename(name)
            return found.rename(columns=dict(zip(wanted, map(str, labels), strict=True)))
        import dask.array

        dtype = self.model.classes_.dtype if column == "class" else np.dtype(np.float64)
        take, width = delayed(_columns_of, pure=True), () if column else (len(labels),)
        parts, rows = self._judged_blocks(X, X_err, (quantity,))
        return dask.array.concatenate(
            [
                dask.array.from_delayed(take(part, wanted, dtype), (last - first, *width), dtype)
                for part, first, last in zip(parts, rows[:-1], rows[1:], strict=True)
            ]
        )

    def _judged_frame(self, X: Any, X_err: Any, asked: tuple[str, ...]) -> Any:
        """Return a lazy frame of what is asked for about the objects of a frame."""
        if X_err is not None:
            raise ValueError("a frame has its errors in columns (`name_err`): `X_err` must not be given too.")
        columns = Columns.of(X._meta, self.model, self.features)
        meta = Verdicts.empty(self.model.classes_, asked).to_frame(X._meta.index[:0])
        node = self._sent(_needs_left_out(asked))
        return X.map_partitions(_judge_partition, node, columns=columns, asked=asked, meta=meta)

    def _judged_blocks(self, X: Any, X_err: Any, asked: tuple[str, ...]) -> tuple[list[Any], list[int]]:
        """Return what is asked for about the objects of each block of an array, as delayed frames, and where they begin."""
        values, sigma = self._blocks(X, X_err)
        rows = np.concatenate([[0], np.cumsum(values.chunks[0])]).tolist()
        every = values.to_delayed()[:, 0]
        errors = sigma.to_delayed()[:, 0] if hasattr(sigma, "to_delayed") else [sigma] * len(every)
        judge_one, node = delayed(_judge_block, pure=True), self._sent(_needs_left_out(asked))
        parts = [
            judge_one(block, error, node, asked, (number, rows[number]))
            for number, (block, error) in enumerate(zip(every, errors, strict=True))
        ]
        return parts, rows

    def _with_training(self) -> Any:
        """Return what judges as a node of the graph, with its training objects and ready for p-values."""
        name = identity_of(self.model)
        node = delayed(self.model, name=f"badac-model-{name}", traverse=False)
        return delayed(_prepared, pure=True)(node, dask_key_name=f"badac-prepared-{name}")

    def _sent(self, pvalues: bool) -> Any:
        """Return what judges as a node of the graph; where p-values are asked for it is made ready there, once."""
        name = identity_of(self.model)
        node = delayed(self.model, name=f"badac-model-{name}", traverse=False)
        return delayed(_ready, pure=True)(
            node, pvalues=pvalues, dask_key_name=f"badac-{'calibrated' if pvalues else 'lean'}-{name}"
        )

    def _blocks(self, X: Any, X_err: Any) -> tuple[Any, Any]:
        """Return values (n, m) in whole rows and their errors: cut likewise, or shared by all rows."""
        m = self.model.n_features_in_
        if not hasattr(X, "rechunk"):
            raise TypeError(
                f"`X` must be a dask DataFrame or array: got {type(X).__name__}. What fits into memory the model itself takes."
            )
        if X.ndim != 2 or X.shape[1] != m:
            raise ValueError(f"`X` must have shape (n, {m}), the points of the training: got {X.shape}.")
        if np.isnan(X.shape[0]):
            raise ValueError("`X` has blocks of unknown length: call X.compute_chunk_sizes() first.")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"`X` must hold numbers: got {X.dtype}.")
        if self.model.fitted_with_errors_ and X_err is None:
            raise ValueError(
                "the model was fitted with errors: give `X_err`, one standard deviation of each value (0: exact)."
            )
        X = X.rechunk({1: -1})
        if not hasattr(X_err, "rechunk"):
            if X_err is None:
                return X, None
            row = np.asarray(X_err, dtype=np.float64)
            if row.shape not in ((), (m,)):
                raise ValueError(
                    f"`X_err` must be a number, a row of {m}, or a dask array of shape {X.shape}: got an array of {row.shape}."
                )
            return X, np.broadcast_to(row, (1, m))
        if X_err.shape != X.shape:
            raise ValueError(f"`X_err` must have the shape of `X`, {X.shape}: got {X_err.shape}.")
        return X, X_err.rechunk(X.chunks)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions") and hasattr(X, "_meta") and hasattr(X, "columns")


def _needs_left_out(asked: tuple[str, ...]) -> bool:
    # The score asks for them of objects with unusual gaps, which nobody knows of before they are read.
    return bool({"pvalue", "anomaly_proba", "score"} & set(asked))


def _columns_of(frame: Any, wanted: Any, dtype: Any) -> Any:
    return np.asarray(frame[wanted], dtype=dtype)


def _ready(model: BADACClassifier, *, pvalues: bool) -> FittedModel:
    return lean(model, pvalues=pvalues).fitted_


def _prepared(model: BADACClassifier) -> FittedModel:
    return model.prepare_pvalues().fitted_


def _read_part(frame: Any, columns: Columns, number: int) -> Measurements | None:
    return columns.read(frame, f"partition {number}") if len(frame) else None


def _read_block(values: Any, sigma: Any) -> Measurements | None:
    values = np.asarray(values, dtype=np.float64)
    full = None if sigma is None else np.broadcast_to(np.asarray(sigma, dtype=np.float64), values.shape)
    return Measurements(values, full) if len(values) else None


def _judge_partition(
    frame: Any,
    model: FittedModel,
    *,
    columns: Columns,
    asked: tuple[str, ...],
    partition_info: dict[str, Any] | None = None,
) -> Any:
    if not len(frame):
        return Verdicts.empty(model.classes, asked).to_frame(frame.index)
    where = "the table" if partition_info is None else f"partition {partition_info['number']}"
    return model.verdicts(columns.read(frame, where), asked).to_frame(frame.index)


def _judge_block(
    values: Any, sigma: Any, model: FittedModel, asked: tuple[str, ...], place: tuple[int, int]
) -> Any:
    number, start = place
    index = needs("pandas", "A table of verdicts").RangeIndex(start, start + len(values))
    if not len(values):
        return Verdicts.empty(model.classes, asked).to_frame(index)
    values = np.asarray(values, dtype=np.float64)
    full = None if sigma is None else np.broadcast_to(np.asarray(sigma, dtype=np.float64), values.shape)
    refuse_bad_rows(values, full, index, f"block {number}")
    return model.verdicts(Measurements(values, full), asked).to_frame(index)

"""The verbs of a fitted model, lazily, on dask DataFrames and arrays.

Every verb takes what the estimator's takes, cut into partitions, and returns a lazy answer cut likewise: frames give frames
with the same index, arrays give arrays. Columns, types and shapes are checked while the graph is built. The model is one node
of the graph, named by its content: a worker fetches it once, whatever the number of partitions, and a lost worker's copy is
made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from dask import delayed
from sklearn.utils.validation import check_is_fitted

from badac.dask import reduction
from badac.data.files import needs
from badac.data.measurements import Measurements
from badac.estimators import BADACClassifier
from badac.partition import Columns, empty, identity, judge, judged, lean, refuse_bad_rows

_STRANGEST = 1000
_FLOAT = np.dtype(np.float64)


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
    >>> LazyClassifier(model).predict(survey, X_err=0.2)
    dask.array<_verb_of_block, shape=(3,), dtype=int64, chunksize=(2,), chunktype=numpy.ndarray>
    >>> LazyClassifier(model).predict(survey, X_err=0.2).compute(scheduler="sync")[:2]
    array([0, 1])
    """

    model: BADACClassifier
    features: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, BADACClassifier):
            raise TypeError(f"`model` must be a fitted BADACClassifier: got {self.model!r}.")
        check_is_fitted(self.model)

    # -- the estimator's verbs ---------------------------------------------------------------------------------------

    def log_evidence(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n, k): log P(object | class), class priors not included."""
        return self._verb("log_evidence", X, X_err, self._labels)

    def predict_log_proba(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n, k): log probabilities of the known classes."""
        return self._verb("predict_log_proba", X, X_err, self._labels)

    def predict_proba(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n, k): probabilities of the known classes, columns in the order of the model's ``classes_``."""
        return self._verb("predict_proba", X, X_err, self._labels)

    def predict(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): the most probable known class."""
        return self._verb("predict", X, X_err, None, self.model.classes_.dtype)

    def score_samples(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): log of the total evidence; scikit-learn's sign, low = strange."""
        return self._verb("score_samples", X, X_err, None)

    def anomaly_score(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): how strange an object is, high = strange."""
        return self._verb("anomaly_score", X, X_err, None)

    def anomaly_proba(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): posterior probability that the object belongs to no known class."""
        if self.model.anomaly_model_ is None:
            raise ValueError(
                'anomaly="evidence" has no anomaly class, so no probability. Use anomaly_score, or fit with another `anomaly`.'
            )
        return self._verb("anomaly_proba", X, X_err, None)

    def anomaly_pvalue(self, X: Any, *, X_err: Any = None) -> Any:
        """Return (n,): share of known objects of the same class and noise that look at least as strange."""
        return self._verb("anomaly_pvalue", X, X_err, None)

    def verdicts(self, X: Any, *, X_err: Any = None, pvalues: bool = True) -> Any:
        """Return everything about each object in one pass, as a lazy frame (`badac.partition.judge`).

        The rows of an array are numbered through all blocks.
        """
        node = self._sent(pvalues)
        if _is_frame(X):
            Columns.of(X._meta, self.model, self.features)
            return X.map_partitions(
                _judge_partition,
                node,
                features=self.features,
                pvalues=pvalues,
                meta=empty(self.model, X._meta.index, pvalues=pvalues),
            )
        import dask.dataframe

        values, sigma = self._blocks(X, X_err)
        pandas = needs("pandas", "A table of verdicts")
        rows = np.concatenate([[0], np.cumsum(values.chunks[0])]).tolist()
        every = values.to_delayed()[:, 0]
        errors = sigma.to_delayed()[:, 0] if hasattr(sigma, "to_delayed") else [sigma] * len(every)
        judge_one = delayed(_judge_block, pure=True)
        parts = [
            judge_one(block, error, node, number, rows[number], pvalues)
            for number, (block, error) in enumerate(zip(every, errors, strict=True))
        ]
        meta = empty(self.model, pandas.RangeIndex(0), pvalues=pvalues)
        return dask.dataframe.from_delayed(
            parts, meta=meta, divisions=(*rows[:-1], max(rows[-1] - 1, rows[-2])), verify_meta=False
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
            the list is normal after all (Benjamini & Hochberg).
        """
        if fdr is not None:
            return reduction.discoveries(self.verdicts(X, X_err=X_err, pvalues=True), fdr)
        return reduction.strangest(self.verdicts(X, X_err=X_err, pvalues=False), n)

    # -- steps -------------------------------------------------------------------------------------------------------

    @property
    def _labels(self) -> list[str]:
        return [str(name) for name in self.model.classes_.tolist()]

    def _sent(self, pvalues: bool) -> Any:
        """Return the model as a node of the graph; the one for p-values is made ready there, once."""
        name = identity(self.model)
        node = delayed(self.model, name=f"badac-model-{name}", traverse=False)
        return delayed(lean, pure=True)(
            node, pvalues=pvalues, dask_key_name=f"badac-{'calibrated' if pvalues else 'lean'}-{name}"
        )

    def _verb(self, verb: str, X: Any, X_err: Any, names: list[str] | None, dtype: Any = _FLOAT) -> Any:
        node = self._sent(verb == "anomaly_pvalue")
        if _is_frame(X):
            if X_err is not None:
                raise ValueError(
                    "a frame has its errors in columns (`name_err`): `X_err` must not be given too."
                )
            Columns.of(X._meta, self.model, self.features)
            nothing = np.empty((0, len(names)) if names else 0, dtype=dtype)
            return X.map_partitions(
                _verb_of_partition,
                node,
                verb=verb,
                names=names,
                features=self.features,
                dtype=dtype,
                meta=_framed(nothing, X._meta.index[:0], verb, names),
            )
        import dask.array

        values, sigma = self._blocks(X, X_err)
        lazy = hasattr(sigma, "dask")
        shape = {"drop_axis": 1} if names is None else {"chunks": (values.chunks[0], (len(names),))}
        return dask.array.map_blocks(
            _verb_of_block,
            values,
            *([sigma] if lazy else []),
            model=node,
            shared=None if lazy else sigma,
            verb=verb,
            dtype=dtype,
            meta=np.empty((0, 0) if names else 0, dtype=dtype),
            **shape,
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


def _judge_partition(
    frame: Any,
    model: BADACClassifier,
    *,
    features: Sequence[str] | None,
    pvalues: bool,
    partition_info: dict[str, Any] | None = None,
) -> Any:
    return judge(frame, model, features=features, pvalues=pvalues, where=_partition(partition_info))


def _judge_block(
    values: Any, sigma: Any, model: BADACClassifier, number: int, start: int, pvalues: bool
) -> Any:
    pandas = needs("pandas", "A table of verdicts")
    index = pandas.RangeIndex(start, start + len(values))
    if not len(values):
        return empty(model, index, pvalues=pvalues)
    return judged(_objects(values, sigma, number, start), model, index, pvalues=pvalues)


def _verb_of_partition(
    frame: Any,
    model: BADACClassifier,
    *,
    verb: str,
    names: list[str] | None,
    features: Sequence[str] | None,
    dtype: Any,
    partition_info: dict[str, Any] | None = None,
) -> Any:
    if not len(frame):
        return _framed(np.empty((0, len(names)) if names else 0, dtype=dtype), frame.index, verb, names)
    objects = Columns.of(frame, model, features).read(frame, _partition(partition_info))
    return _framed(getattr(model, verb)(objects), frame.index, verb, names)


def _verb_of_block(
    values: npt.NDArray[Any],
    sigma: Any = None,
    *,
    model: BADACClassifier,
    shared: Any,
    verb: str,
    block_info: Any = None,
) -> Any:
    where: Any = block_info[0] if block_info else {"chunk-location": (0,), "array-location": ((0, 0),)}
    number, start = where["chunk-location"][0], where["array-location"][0][0]
    return getattr(model, verb)(_objects(values, shared if sigma is None else sigma, number, start))


def _objects(values: Any, sigma: Any, number: int, start: int) -> Measurements:
    values = np.asarray(values, dtype=np.float64)
    full = None if sigma is None else np.broadcast_to(np.asarray(sigma, dtype=np.float64), values.shape)
    refuse_bad_rows(values, full, range(start, start + len(values)), f"block {number}")
    return Measurements(values, full)


def _framed(answer: npt.NDArray[Any], index: Any, verb: str, names: list[str] | None) -> Any:
    pandas = needs("pandas", "A lazy frame")
    if names is None:
        return pandas.Series(answer, index=index, name=verb)
    return pandas.DataFrame(answer, index=index, columns=names)


def _partition(info: dict[str, Any] | None) -> str:
    return "the table" if info is None else f"partition {info['number']}"

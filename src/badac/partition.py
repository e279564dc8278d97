"""One partition of a large table, judged: a pure function of a model and a pandas frame.

    judge(frame, model)  ->  frame with the same index: score, anomaly_proba, pvalue, class, class_proba, proba_<class> ...

A survey's table is never in one place. Whatever engine cuts it (Dask, LSDB, Spark, a loop over files), every piece goes through
this function, so all of them give the same answer. An empty frame gives an empty one of the right types, which is how engines
ask what will come out. The columns are found, and everything wrong with them is said, from names and types alone
(`Columns.of`), before the first row is read. A row that holds no usable measurement is an error that names the partition and
the row.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from badac.data.measurements import Measurements
from badac.data.reading import bad_cells, error_columns
from badac.estimators import BADACClassifier
from badac.identity import identity
from badac.verdicts import STANDARD, WITH_PVALUES, Verdicts

__all__ = ["BadRows", "Columns", "judge", "judged", "lean"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_NAMED = 5


class BadRows(ValueError):
    """Rows of a partition that hold no usable measurement.

    Examples
    --------
    >>> from badac.partition import BadRows
    >>> issubclass(BadRows, ValueError)
    True
    """


@dataclass(frozen=True)
class Columns:
    """Which columns of a wide table hold the values and their errors.

    Attributes
    ----------
    values : tuple of str
    errors : tuple of str
        One standard deviation of each value; empty for values without errors.

    Examples
    --------
    >>> from badac.partition import Columns
    >>> Columns(("y0", "y1"), ("y0_err", "y1_err")).errors
    ('y0_err', 'y1_err')
    """

    values: tuple[str, ...]
    errors: tuple[str, ...] = ()

    @classmethod
    def of(cls, head: Any, model: BADACClassifier, features: Sequence[str] | None = None) -> Columns:
        """Find the columns that a model was fitted on, from a table's names and types.

        Parameters
        ----------
        head : DataFrame
            May be empty.
        model : BADACClassifier
            Fitted.
        features : sequence of str, optional
            Value columns in the order of the training. By default the names that the model remembers, else all columns that
            have an error column.
        """
        check_is_fitted(model)
        if model.training_.own_points:
            raise ValueError(
                "the model was fitted on light curves at their own times: a wide table has none. Use "
                "badac.lsdb.judge_light_curves for nested light curves, or `badac rank` for files of long tables."
            )
        names = [str(name) for name in head.columns]
        found = error_columns(names)
        wanted = _wanted(model, features, found if model.fitted_with_errors_ else _numeric(head))
        absent = [name for name in wanted if name not in names]
        if absent:
            raise ValueError(
                f"the table lacks the column {absent[0]!r}{_and_more(absent)}. Name the value columns with features=[...]. "
                f"Columns: {_some(names)}."
            )
        if len(wanted) != model.n_features_in_:
            raise ValueError(
                f"the model was fitted on {model.n_features_in_} points, but {len(wanted)} value columns were found: "
                f"{_some(wanted)}. Name those of the training, in its order, with features=[...]. Columns: {_some(names)}."
            )
        lonely = [name for name in wanted if name not in found]
        if model.fitted_with_errors_ and lonely:
            raise ValueError(
                f"the model was fitted with errors, but the column {lonely[0]!r}{_and_more(lonely)} has no error column "
                f"beside it. Name it {lonely[0]}_err: one standard deviation, 0 for exact. Columns: {_some(names)}."
            )
        columns = cls(
            tuple(wanted), tuple(found[name] for name in wanted) if model.fitted_with_errors_ else ()
        )
        for name in (*columns.values, *columns.errors):
            if not is_numeric(head[name].dtype):
                raise ValueError(
                    f"the column {name!r} must hold numbers: its type is {head[name].dtype}. Convert it with "
                    f"frame.astype({{{name!r}: 'float64'}}), or leave it out with features=[...]."
                )
        return columns

    def arrays(self, frame: Any) -> tuple[FloatArray, FloatArray | None]:
        """Return the values (n, m) and their errors (n, m) as they are, missing ones NaN."""
        values = _stacked(frame, self.values)
        return values, _stacked(frame, self.errors) if self.errors else None

    def read(self, frame: Any, where: str = "the table") -> Measurements:
        """Return the measurements of a partition, or raise `BadRows`."""
        values, sigma = self.arrays(frame)
        refuse_bad_rows(values, sigma, frame.index, where)
        return Measurements(values, sigma)


def refuse_bad_rows(values: FloatArray, sigma: FloatArray | None, names: Any, where: str) -> None:
    """Raise `BadRows`, naming the partition and the rows, if there are any.

    Parameters
    ----------
    values, sigma : (n, m)
    names : (n,)
        What the rows are called.
    where : str
        Name of the partition.
    """
    bad = why_bad(values, sigma)
    if not bad:
        return
    shown = "; ".join(f"row {names[row]}: {reason}" for row, reason in list(bad.items())[:_NAMED])
    more = f" (and {len(bad) - _NAMED} more rows)" if len(bad) > _NAMED else ""
    raise BadRows(
        f"{where}: {len(bad)} of {len(values)} rows hold unusable measurements. {shown}{more}. Make such values NaN (missing), "
        "or leave the rows out."
    )


def why_bad(values: FloatArray, sigma: FloatArray | None) -> dict[int, str]:
    """Return the first reason why a row (n, m) cannot be used, by row; rows without one are not in it."""
    out: dict[int, str] = {}
    for reason, cells in bad_cells(values, np.zeros_like(values) if sigma is None else sigma):
        if cells.any():
            for row in np.flatnonzero(cells.any(axis=1)).tolist():
                out.setdefault(row, f"{reason}, at point {int(np.argmax(cells[row]))}")
    return dict(sorted(out.items()))


def judge(
    frame: Any,
    model: BADACClassifier,
    *,
    features: Sequence[str] | None = None,
    pvalues: bool = False,
    where: str = "the table",
) -> Any:
    """Judge the objects of one partition.

    Parameters
    ----------
    frame : DataFrame
        One row an object, a column for each value and, beside it, one for its error. May be empty.
    model : BADACClassifier
        Fitted.
    features : sequence of str, optional
        Value columns in the order of the training; see `Columns.of`.
    pvalues : bool
        Whether to compare with known objects too (`lean` prepares the model for it).
    where : str
        Name of the partition, for messages.

    Returns
    -------
    DataFrame
        Same index and order: score (high = strange), anomaly_proba, pvalue, class, class_proba, proba_<class> for each class.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from badac import BADACClassifier
    >>> from badac.partition import judge
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat(["low", "high"], 50)
    >>> level = np.where(label == "low", 0.0, 2.0)[:, None]
    >>> model = BADACClassifier("template", random_state=0)
    >>> model = model.fit(level + 0.2 * rng.standard_normal((100, 2)), label, X_err=0.2)
    >>> new = pd.DataFrame({"g": [0.1, 2.2], "g_err": 0.2, "r": [0.0, 1.9], "r_err": 0.2}, index=["a", "b"])
    >>> judge(new, model)["class"].tolist()
    ['low', 'high']
    >>> judge(new[:0], model).shape
    (0, 6)
    """
    columns = Columns.of(frame, model, features)
    if not len(frame):
        return empty(model, frame.index, pvalues=pvalues)
    return judged(columns.read(frame, where), model, frame.index, pvalues=pvalues)


def judged(objects: Measurements, model: BADACClassifier, index: Any, *, pvalues: bool = False) -> Any:
    """Return the verdicts on objects as a frame with the given index (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.partition import judged
    >>> rng = np.random.default_rng(0)
    >>> values = 0.1 * rng.standard_normal((20, 4))
    >>> model = BADACClassifier("template", anomaly="tophat").fit(values, np.repeat([0, 1], 10), X_err=0.1)
    >>> judged(Measurements(np.zeros((2, 4)), 0.1), model, [7, 9]).index.tolist()
    [7, 9]
    """
    return model.verdicts(objects, pvalues=pvalues).to_frame(index)


def empty(model: BADACClassifier, index: Any, *, pvalues: bool = False) -> Any:
    """Return the verdicts on no objects: the types of what `judge` returns."""
    return Verdicts.empty(model.classes_, asked_of(model, pvalues=pvalues)).to_frame(index[:0])


def asked_of(model: BADACClassifier, *, pvalues: bool) -> tuple[str, ...]:
    """Return the quantities of `badac.verdicts` that the verdicts of a model have."""
    asked = WITH_PVALUES if pvalues else STANDARD
    return tuple(name for name in asked if name != "anomaly_proba" or model.anomaly_model_ is not None)


def lean(model: BADACClassifier, *, pvalues: bool = True) -> BADACClassifier:
    """Return a copy to send around: ready for p-values, without the training objects, one thread.

    P-values and the probability of an anomaly compare with labelled objects that were left out once; leaving them out is the
    work of this call, if nobody did it before.

    Parameters
    ----------
    model : BADACClassifier
        Fitted.
    pvalues : bool
        Whether p-values or probabilities of an anomaly will be asked for, or scores of objects with gaps that training objects
        do not have.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier
    >>> from badac.partition import lean
    >>> rng = np.random.default_rng(0)
    >>> values = 0.1 * rng.standard_normal((20, 4))
    >>> model = BADACClassifier("template", anomaly="tophat").fit(values, np.repeat([0, 1], 10), X_err=0.1)
    >>> len(lean(model, pvalues=False).training_)
    0
    """
    check_is_fitted(model)
    if pvalues:
        model.prepare_pvalues()
    out = copy.copy(model).adopt(model.fitted_.lean())
    # The engine runs as many of these at a time as there are cores.
    out.n_jobs = None
    return out


def identity_of(model: BADACClassifier) -> str:
    """Return a name that two models share if, and only if, they were made and fitted alike."""
    chosen = {name: value for name, value in model.get_params(deep=False).items() if name != "n_jobs"}
    return identity((chosen, getattr(model, "feature_names_in_", None), model.fitted_.identity))


def _wanted(model: BADACClassifier, features: Sequence[str] | None, found: Any) -> list[str]:
    if features is not None:
        return [str(name) for name in features]
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    kept = getattr(model, "layout_", None) or getattr(model, "record_", {}).get("layout", {})
    recorded = kept.get("features", ())
    return list(recorded) or list(found)


def _stacked(frame: Any, names: Sequence[str]) -> FloatArray:
    by_name = {str(name): name for name in frame.columns}
    out = np.empty((len(frame), len(names)))
    for column, name in enumerate(names):
        out[:, column] = frame[by_name[name]].to_numpy(dtype=np.float64, na_value=np.nan)
    return out


def _numeric(head: Any) -> list[str]:
    return [str(name) for name in head.columns if is_numeric(head[name].dtype)]


def is_numeric(dtype: Any) -> bool:
    """Whether a column of this type holds numbers."""
    # Nullable and Arrow types have a `kind` of their own.
    return getattr(dtype, "kind", "O") in "fiub"


def _some(names: Sequence[str]) -> str:
    return ", ".join(list(names)[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")


def _and_more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""

"""Verdicts: the one table of what was found about objects, a row each, whoever asked.

    log_evidence  log P(d | class)                 (n, k)      log_total      log sum_k P(d | k) P(k); low = strange   (n,)
    log_proba     log P(class | d)                 (n, k)      score          high = strange; what a ranking sorts by  (n,)
    proba         P(class | d)                     (n, k)      anomaly_proba  posterior probability of an anomaly      (n,)
    object        names of the objects             (n,)        pvalue         share of known objects as strange        (n,)
                                                               extrapolated   whether that is beyond their number      (n,)

A table has the quantities that were asked for: each costs a step of the walk (`badac.judge`), and p-values the most. Tables of
the same quantities are put together (batches, partitions), cut, and written as flat columns, one for each class where a
quantity has one. Columns of the table that are no features travel along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.files import needs
from badac.data.rows import unpacked

__all__ = ["Verdicts"]

FloatArray = npt.NDArray[np.float64]

STANDARD = ("score", "anomaly_proba", "proba")
"""What is asked for unless somebody says otherwise."""

WITH_PVALUES = (*STANDARD, "pvalue", "extrapolated")
"""The same with p-values, and whether they are extrapolated."""

PER_CLASS = ("log_evidence", "log_proba", "proba")
# In the order in which a table is read.
_ORDER = (
    "object",
    "log_evidence",
    "log_total",
    "log_proba",
    "score",
    "anomaly_proba",
    "pvalue",
    "extrapolated",
    "proba",
)
# In tables `extrapolated` is a word, under this name.
KIND = "pvalue_kind"
# Columns that rankings and parts of large tables add.
_ADDED = ("rank", "row", "piece")
_GIVEN = "_in_table"


def kind_of(extrapolated: npt.NDArray[np.bool_]) -> npt.NDArray[np.str_]:
    """Return (n,) the words for p-values that are counted, or extrapolated."""
    return np.where(extrapolated, "extrapolated", "exact")


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What was found about ``n`` objects, of ``k`` known classes.

    Attributes
    ----------
    classes : (k,)
        Labels, in the order of the columns of ``proba``.
    quantities : dict from name to (n,) or (n, k)
        Those that were asked for. ``anomaly_proba`` is absent where a model has no anomaly class.
    carried : dict from name to (n,)
        Columns of the table that are no features and travel along: coordinates, flags, other names.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.verdicts import Verdicts
    >>> found = Verdicts(np.array(["a", "b"]), {"score": np.array([1.5]), "proba": np.array([[0.2, 0.8]])})
    >>> found.label
    array(['b'], dtype='<U1')
    >>> list(found.columns())
    ['score', 'class', 'class_proba', 'proba_a', 'proba_b']
    """

    classes: npt.NDArray[Any]
    quantities: dict[str, npt.NDArray[Any]]
    carried: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def empty(cls, classes: npt.NDArray[Any], asked: Sequence[str] = STANDARD) -> Verdicts:
        """Return the table of no objects, with the types of a full one."""
        shape = {name: (0, len(classes)) if name in PER_CLASS else (0,) for name in asked}
        types = {"extrapolated": np.bool_}
        return cls(
            classes, {name: np.empty(size, types.get(name, np.float64)) for name, size in shape.items()}
        )

    @classmethod
    def together(
        cls, parts: Iterable[Verdicts], order: npt.NDArray[np.int64] | slice = slice(None)
    ) -> Verdicts:
        """Return all rows of several tables of the same quantities, one after the other, or in an order of all of them.

        One column at a time, and each is let go of: where nobody else holds the parts, there is never a second copy of the
        whole table.
        """
        held = [(part.classes, dict(part.quantities), dict(part.carried)) for part in parts]
        names = list(held[0][1])
        shared = [name for name in held[0][2] if all(name in carried for _, _, carried in held)]
        quantities = {name: np.concatenate([one.pop(name) for _, one, _ in held])[order] for name in names}
        carried = {name: np.concatenate([one.pop(name) for _, _, one in held])[order] for name in shared}
        return cls(held[0][0], quantities, carried)

    def __len__(self) -> int:
        return len(next(iter(self.quantities.values()))) if self.quantities else 0

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self.quantities:
            raise KeyError(f"{name!r} was not asked for: the table has {', '.join(self.quantities)}.")
        return self.quantities[name]

    def __contains__(self, name: str) -> bool:
        return name in self.quantities

    def take(self, rows: Any) -> Verdicts:
        """Return some rows, in the order given."""
        return replace(
            self,
            quantities={name: column[rows] for name, column in self.quantities.items()},
            carried={name: column[rows] for name, column in self.carried.items()},
        )

    def carrying(self, carried: Mapping[str, npt.NDArray[Any]]) -> Verdicts:
        """Return the table with columns (n,) that travel along."""
        return replace(self, carried=dict(carried))

    def having(self, **quantities: npt.NDArray[Any]) -> Verdicts:
        """Return the table with more quantities, or with others in their place."""
        return replace(self, quantities=self.quantities | quantities)

    # -- the usual columns -------------------------------------------------------------------------------------------

    @property
    def score(self) -> FloatArray:
        return self["score"]

    @property
    def proba(self) -> FloatArray:
        return self["proba"]

    @property
    def anomaly_proba(self) -> FloatArray | None:
        return self.quantities.get("anomaly_proba")

    @property
    def pvalue(self) -> FloatArray | None:
        return self.quantities.get("pvalue")

    @property
    def pvalue_kind(self) -> npt.NDArray[np.str_] | None:
        """(n,): "exact" where known objects as strange are counted, "extrapolated" beyond what their number can tell."""
        extrapolated = self.quantities.get("extrapolated")
        return None if extrapolated is None else kind_of(extrapolated)

    @property
    def label(self) -> npt.NDArray[Any]:
        """(n,): the most probable known class."""
        return np.asarray(self.classes[self.proba.argmax(axis=1)])

    @property
    def label_proba(self) -> FloatArray:
        """(n,): its probability among the known classes."""
        return np.asarray(self.proba.max(axis=1))

    # -- as a table of plain columns ---------------------------------------------------------------------------------

    def columns(self, *, per_class: bool = True) -> dict[str, npt.NDArray[Any]]:
        """Return flat columns in reading order; those of each class, ``proba_<class>``, only if asked for."""
        out: dict[str, npt.NDArray[Any]] = {}
        for name in (name for name in _ORDER if name in self):
            if name == "proba":
                out |= {"class": self.label, "class_proba": self.label_proba}
            if name == "extrapolated":
                out[KIND] = kind_of(self[name])
            elif name not in PER_CLASS:
                out[name] = unpacked(self[name]) if name == "object" else self[name]
            elif per_class:
                out |= {f"{name}_{label}": self[name][:, k] for k, label in enumerate(self.classes.tolist())}
        # A name of the table that is one of the answers' too, such as its own class, is told apart.
        taken = {*out, *_ORDER, *_ADDED}
        return out | {
            f"{name}{_GIVEN}" if name in taken else name: column for name, column in self.carried.items()
        }

    def to_frame(self, index: Any = None) -> Any:
        """Return a pandas DataFrame of the flat columns with the given index (n,) (needs the extra `io`)."""
        return needs("pandas", "A table of verdicts").DataFrame(self.columns(), index=index)

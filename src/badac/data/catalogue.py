"""A catalogue: objects with their names and labels, what travels with them, and a word on how they were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.concatenation import concatenate
from badac.data.description import NO_AXIS, Axis, Description
from badac.data.losses import Losses
from badac.data.measurements import Measurements


@dataclass(frozen=True, eq=False)
class Catalogue:
    """What a table held.

    Attributes
    ----------
    objects : Measurements
        (n, m). Light curves have points of their own: `at` and `band` per object, padded.
    ids : (n,)
        Names of the objects, as in the table; dates as text.
    label : (n,) or None
        Labels, as in the table.
    recognised : str
        One line: which columns were taken for what.
    losses : Losses
        What was left out and why.
    bands : tuple of str
        Name of each number in ``objects.band``.
    features : tuple of str
        Names of the points of a wide table.
    kind : str
        One of `badac.data.description.KINDS`.
    axis : Axis
        What `at` is; empty where points have no order.
    quantity : Axis
        What is measured, where all points are of one quantity.
    units : dict from str to str
        Units of the features, where the table says.
    carried : dict from str to (n,) array
        Columns that are no features: coordinates, flags, other identifiers, text.
    read_as : dict
        What was said about the table and done to it, as plain values: form, columns, pair, missing, errors, preparation. With
        features, bands and units it makes a `badac.data.layout.Layout`, by which new tables are read alike.
    named : bool
        Whether the table names its objects; if not `ids` are the numbers of their rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_table
    >>> found = from_table(pd.DataFrame({"g": [17.1, 18.0], "g_err": [0.1, 0.2], "kind": ["a", "b"]}))
    >>> found.objects
    Measurements(2 objects x 1 points, with sigma)
    >>> found.features
    ('g',)
    """

    objects: Measurements
    ids: npt.NDArray[Any]
    label: npt.NDArray[Any] | None
    recognised: str
    losses: Losses = field(default_factory=Losses)
    bands: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    kind: str = "catalogue"
    axis: Axis = NO_AXIS
    quantity: Axis = NO_AXIS
    units: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    read_as: Mapping[str, Any] = field(default_factory=dict)
    named: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", as_names(self.ids))
        for name, column in self.carried.items():
            if len(column) != len(self):
                raise ValueError(
                    f"`carried` must have a row for each object: {name!r} has {len(column)} for {len(self)}."
                )

    def __len__(self) -> int:
        return self.objects.n_objects

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m), which scikit-learn asks for before it selects objects."""
        return self.objects.shape

    @property
    def ndim(self) -> int:
        return 2

    @classmethod
    def together(cls, parts: Sequence[Catalogue]) -> Catalogue:
        """Return the objects of several catalogues of one kind, one after the other; what all of them carry is carried."""
        first = parts[0]
        labels = [part.label for part in parts if part.label is not None]
        return replace(
            first,
            objects=concatenate([part.objects for part in parts]),
            ids=np.concatenate([part.ids for part in parts]),
            label=np.concatenate(labels) if len(labels) == len(parts) else None,
            carried={
                name: np.concatenate([part.carried[name] for part in parts])
                for name in first.carried
                if all(name in part.carried for part in parts)
            },
        )

    def __getitem__(self, rows: Any) -> Catalogue:
        """Select objects by a slice, a mask or an array of integers."""
        return replace(
            self,
            objects=self.objects[rows],
            ids=self.ids[rows],
            label=None if self.label is None else self.label[rows],
            carried={name: column[rows] for name, column in self.carried.items()},
        )

    @property
    def about(self) -> Description:
        """What pictures and words need to know: kind, axes, bands, names and units of the columns."""
        return Description(self.kind, self.axis, self.quantity, self.bands, self.features, self.units)

    def description(self) -> dict[str, Any]:
        """Return the same as plain values that a model file can hold."""
        return self.about.as_dict()

    def with_labels(self, names: Any, labels: Any, carried: Mapping[str, Any] | None = None) -> Catalogue:
        """Take the labels from another table; objects that only one of the two has are left out, and named.

        Parameters
        ----------
        names, labels : (k,) array-like
            Name and label of each object of the other table. A name may come again with the same label.
        carried : mapping from str to (k,) array-like, optional
            Further columns of the other table, which travel with the objects.
        """
        names, labels = as_names(np.asarray(names)), np.asarray(labels)
        if names.shape != labels.shape or names.ndim != 1:
            raise ValueError(
                f"`names` and `labels` must be of one length: got {names.shape} and {labels.shape}."
            )
        known: dict[str, int] = {}
        for row, name in enumerate(names.tolist()):
            first = known.setdefault(name_key(name), row)
            if labels[first] != labels[row]:
                raise ValueError(
                    f"an object must have one label: {name!r} has {labels[first]!s} in row {first} of the table of labels and "
                    f"{labels[row]!s} in row {row}."
                )
        here = [name_key(name) for name in self.ids.tolist()]
        position = np.array([known.get(key, -1) for key in here], dtype=np.int64)
        both = position >= 0
        if not both.any():
            raise ValueError(
                f"no object is in both tables: the first has {_some(self.ids)}, the labels have {_some(names)}. "
                "Are the names spelled alike?"
            )
        present = set(here)
        only_labels = [names[row] for key, row in known.items() if key not in present]
        losses = self.losses.and_also(
            "objects", int((~both).sum()), "not in the table of labels", self.ids[~both].tolist()
        ).and_also("objects", len(only_labels), "labelled, but without measurements", only_labels)
        picked = self[both]
        more = {name: np.asarray(column)[position[both]] for name, column in (carried or {}).items()}
        return replace(
            picked,
            label=whole_labels(labels[position[both]]),
            losses=losses,
            carried={**more, **picked.carried},
        )


def without_notes(catalogue: Catalogue) -> Catalogue:
    """Return a catalogue whose losses have been said already."""
    return replace(catalogue, losses=Losses())


def as_names(names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return names (n,) as they are, dates and spans of time as text: files, pages and people compare them as such.

    >>> as_names(np.array(["2026-03-01"], dtype="datetime64[ns]")).tolist()
    ['2026-03-01T00:00:00.000000']
    """
    if names.dtype.kind not in "Mm":
        return names
    # In one unit, if nothing is lost by it: two files may hold the same dates in two.
    rounded = names.astype(f"{names.dtype.kind}8[us]")
    names = rounded if np.array_equal(rounded, names, equal_nan=True) else names
    return np.where(np.isnat(names), "", names.astype(str))


def name_key(name: Any) -> str:
    """Return what an object's name is compared by: text as it is, whole numbers without a point, bytes as text.

    >>> name_key(7), name_key(7.0), name_key("7"), name_key("007"), name_key(b"a")
    ('7', '7', '7', '007', 'a')
    """
    if isinstance(name, bytes):
        return name.decode("utf-8", "replace").strip()
    if isinstance(name, float) and name.is_integer():
        return str(int(name))
    return str(name).strip()


def whole_labels(label: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels with whole numbers whole, which a gap in the column had turned into fractions."""
    if label.dtype.kind == "f" and np.array_equal(label, np.round(label)):
        return label.astype(np.int64)
    return label


def _some(names: npt.NDArray[Any]) -> str:
    return ", ".join(repr(name) for name in names[:3].tolist()) + (", ..." if len(names) > 3 else "")

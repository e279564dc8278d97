"""A catalogue: objects with their names and labels, and a word on how they were read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

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
        Names of the objects, as in the table.
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
    """

    objects: Measurements
    ids: npt.NDArray[Any]
    label: npt.NDArray[Any] | None
    recognised: str
    losses: Losses = field(default_factory=Losses)
    bands: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.objects.n_objects

    def __getitem__(self, rows: Any) -> Catalogue:
        """Select objects by a slice, a mask or an array of integers."""
        label = None if self.label is None else self.label[rows]
        return replace(self, objects=self.objects[rows], ids=self.ids[rows], label=label)

    def with_labels(self, names: Any, labels: Any) -> Catalogue:
        """Take the labels from another table; objects that only one of the two has are left out, and named.

        Parameters
        ----------
        names, labels : (k,) array-like
            Name and label of each object of the other table.
        """
        names, labels = np.asarray(names), np.asarray(labels)
        if names.shape != labels.shape or names.ndim != 1:
            raise ValueError(
                f"`names` and `labels` must be of one length: got {names.shape} and {labels.shape}."
            )
        known = {str(name): position for position, name in enumerate(names.tolist())}
        if len(known) != len(names):
            values, counts = np.unique(names.astype(str), return_counts=True)
            raise ValueError(
                f"`names` must name every object once: {str(values[counts > 1][0])!r} appears {counts.max()} times."
            )
        position = np.array([known.get(str(name), -1) for name in self.ids.tolist()], dtype=np.int64)
        both = position >= 0
        if not both.any():
            raise ValueError(
                f"no object is in both tables: the first has {_some(self.ids)}, the labels have {_some(names)}. "
                "Are the names spelled alike?"
            )
        here = {str(name) for name in self.ids.tolist()}
        only_labels = [name for name in known if name not in here]
        losses = self.losses.and_also(
            "objects", int((~both).sum()), "not in the table of labels", self.ids[~both].tolist()
        ).and_also("objects", len(only_labels), "labelled, but without measurements", only_labels)
        picked = self[both]
        return replace(picked, label=whole_labels(labels[position[both]]), losses=losses)


def whole_labels(label: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels with whole numbers whole, which a gap in the column had turned into fractions."""
    if label.dtype.kind == "f" and np.array_equal(label, np.round(label)):
        return label.astype(np.int64)
    return label


def _some(names: npt.NDArray[Any]) -> str:
    return ", ".join(repr(name) for name in names[:3].tolist()) + (", ..." if len(names) > 3 else "")

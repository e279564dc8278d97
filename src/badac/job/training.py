"""The labelled table: read, recognised, and refused with a sentence that helps.

Most first attempts fail here, on a name: the label's column is called something else, the errors are not beside their values,
an identifier is taken for a class. Each of these is told apart before anything is learned.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data import Catalogue
from badac.data.columns import SYNONYMS, find
from badac.data.files import read_frame
from badac.data.reading import error_columns
from badac.job.layout import Layout

# More different labels than this share of the objects, and they are names rather than classes.
_NAMES_NOT_CLASSES = 0.5
_FEW = 10


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled objects, and how they were read.

    Attributes
    ----------
    catalogue : Catalogue
        With labels.
    layout : Layout
        For new tables.
    label : str
        Column of the labels.
    source : str
        Name of the file.
    """

    catalogue: Catalogue
    layout: Layout
    label: str
    source: str

    @property
    def labels(self) -> npt.NDArray[Any]:
        """(n,), never missing."""
        assert self.catalogue.label is not None
        return self.catalogue.label

    @property
    def counts(self) -> dict[Any, int]:
        """Number of objects of each class, by label, sorted."""
        names, counts = np.unique(self.labels, return_counts=True)
        return dict(zip(names.tolist(), counts.tolist(), strict=True))

    @property
    def notes(self) -> list[str]:
        """What the user should know before trusting the result: what was left out, and classes too small to learn."""
        notes = [line for line in str(self.catalogue.losses).splitlines() if line != "nothing left out"]
        small = [f"{name} ({count})" for name, count in self.counts.items() if count < _FEW]
        if len(self.counts) == 1:
            notes.append(
                f"Only one class, {next(iter(self.counts))!r}: every object is called that, and only the ranking of the "
                "strange says anything. If there should be more, check the column of labels (--label)."
            )
        if small:
            notes.append(f"Classes of fewer than {_FEW} objects are learned badly: {', '.join(small)}.")
        return notes


def read_training(
    path: str | os.PathLike[str],
    label: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    errors: str = "sigma",
) -> Training:
    """Read the labelled table.

    Parameters
    ----------
    path : path
        CSV, Parquet, FITS or NPZ.
    label : str, optional
        Column of the labels; by default the one with a usual name (label, class, type, target ...).
    columns : mapping from role to column, optional
        For columns with unusual names: object, and for long tables time, band, value, error.
    errors : {"sigma", "variance", "none"}
    """
    frame = read_frame(path)
    names = [str(name) for name in frame.columns]
    of_label = label_column(names, label, Path(path).name)
    layout = Layout.of(frame, columns, errors)
    if layout.form == "wide" and errors != "none" and not error_columns(names):
        raise ValueError(
            f"{Path(path).name} has no error columns: badac needs one standard deviation beside each value, named like it "
            f"with _err at the end ({_first_value(frame, of_label)} and {_first_value(frame, of_label)}_err). Add them "
            f"(0: exact), or say --errors none to take all values as exact. Columns: {_some(names)}."
        )
    if frame[of_label].notna().sum() == 0:
        raise ValueError(
            f"the column {of_label!r} of {Path(path).name} is empty: no object has a label. Give the column that has them "
            f"with --label. Columns: {_some(names)}."
        )
    found = layout.read(frame, of_label)
    training = Training(found, layout.filled(found), of_label, Path(path).name)
    _check_classes(training)
    return training


def label_column(names: Sequence[str], label: str | None, source: str) -> str:
    """Return the column of the labels, or raise a ValueError that names the likely ones."""
    if label is None:
        found = find(names, "label")
        if found is None:
            raise ValueError(
                f"no column of {source} looks like the label: looked for {', '.join(SYNONYMS['label'])}. Name it with "
                f"--label COLUMN. Columns: {_some(names)}."
            )
        return found
    if label in names:
        return label
    lower = {name.lower(): name for name in names}
    near = difflib.get_close_matches(label.lower(), lower, n=1, cutoff=0.6)
    hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
    raise ValueError(f"{source} has no column {label!r}.{hint} Columns: {_some(names)}.")


def _check_classes(training: Training) -> None:
    counts = training.counts
    n = len(training.catalogue)
    if len(counts) > max(_NAMES_NOT_CLASSES * n, 1):
        raise ValueError(
            f"the column {training.label!r} has {len(counts)} different values for {n} objects: names or numbers, not classes. "
            "Give the column of the classes with --label."
        )


def _first_value(frame: Any, of_label: str) -> str:
    numeric = (str(name) for name in frame.columns if str(name) != of_label and frame[name].dtype.kind == "f")
    return next(numeric, "flux")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")

"""The labelled table: read, recognised, and refused with a sentence that helps.

Most first attempts fail here, on a name: the label's column is called something else, the errors are not beside their values,
an identifier is taken for a class. Each of these is told apart before anything is learned.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data import Catalogue, Layout, from_table, hint, pair_columns
from badac.data.columns import SYNONYMS, find
from badac.data.files import read_frame
from badac.data.nested import naming_records
from badac.data.objects_table import with_objects
from badac.data.reading import columns_of_labels, looks_long
from badac.data.vectors import vector_columns
from badac.job.batches import about_file
from badac.job.table_options import TableOptions, chosen_columns

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
    label : str
        Column of the labels.
    source : str
        Name of the file.
    hint : str
        A sentence where light curves look periodic or transient and nothing was said about it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.job import read_training
    >>> stars = pd.DataFrame({"g": [17.1, 18.0, 17.2, 18.1], "g_err": 0.1, "class": ["a", "b", "a", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stars.to_csv(Path(folder) / "stars.csv", index=False)
    ...     training = read_training(Path(folder) / "stars.csv")
    >>> training.counts
    {'a': 2, 'b': 2}
    """

    catalogue: Catalogue
    label: str
    source: str
    hint: str = ""

    @property
    def layout(self) -> Layout:
        """How new tables are read."""
        return Layout.of(self.catalogue)

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
        if self.hint:
            notes.append(self.hint)
        if small:
            notes.append(f"Classes of fewer than {_FEW} objects are learned badly: {', '.join(small)}.")
        return notes


def read_training(path: str | os.PathLike[str], options: TableOptions = TableOptions()) -> Training:
    """Read the labelled table.

    Parameters
    ----------
    path : path
        Any file that `badac.data.read` takes.
    options : TableOptions
        What is said about it: labels, columns, errors, preparation.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from badac.job import TableOptions, read_training
    >>> stars = pd.DataFrame({"g": [17.1, 18.0, 17.2, 18.1], "g_err": 0.1, "class": ["a", "b", "a", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stars.to_csv(Path(folder) / "stars.csv", index=False)
    ...     read_training(Path(folder) / "stars.csv", TableOptions(label="class")).catalogue.objects
    Measurements(4 objects x 1 points, with sigma)
    """
    source = Path(path).name
    named = [name for role, name in options.columns.items() if role == "object"]
    frame = read_frame(path, text=named)
    names = [str(name) for name in frame.columns]
    curves = looks_long(frame, options.columns) or bool(vector_columns(frame))
    if options.features and curves and not options.labels:
        raise ValueError(
            f"--columns chooses features of a wide table, one row an object with single values, and {source} has curves: "
            "beside curves stand columns of a table of the objects, --labels FILE. --column value=NAME says which quantity is "
            "meant."
        )
    said = (replace(options, features=()) if curves else options).reading(names)
    _check_features(said.get("features", ()), names, options)
    if options.labels:
        others = read_frame(options.labels, text=named)
        with about_file(Path(options.labels).name):
            names_of_others = [str(name) for name in others.columns]
            of_label = columns_of_labels(names_of_others, options.label, options.columns.get("object"))[1]
        with about_file(source):
            found = from_table(frame, labels=others, **_with_label(said, options.label))
        if options.features and curves:
            with about_file(Path(options.labels).name):
                found = with_objects(
                    found, others, beside_columns(others, options), options.columns.get("object")
                )
    else:
        of_label = label_column(names, options.label, source)
        _check_labels(frame, of_label, source)
        if options.conventions.errors != "none":
            with naming_records(frame):
                _check_errors(frame, of_label, options, source)
        with about_file(source):
            found = from_table(frame, **_with_label(said, of_label))
    training = Training(
        options.preparation.apply(found), of_label, source, hint="" if options.preparation else hint(found)
    )
    _check_classes(training)
    return training


def beside_columns(table: Any, options: TableOptions) -> tuple[str, ...]:
    """Return the columns of the objects' table that --columns names: neither names, nor labels, nor errors of others."""
    names = [str(name) for name in table.columns]
    roles = {
        options.columns.get("object") or find(names, "object"): "the names of the objects",
        options.label or find(names, "label"): "the labels",
    }
    for name in options.features:
        if name in roles:
            raise ValueError(
                f"the column {name!r} (--columns) holds {roles[name]}: it says nothing that new objects have."
            )
    errors = {error for one in pair_columns(names).pairs for error in one.error_columns} - set(
        options.features
    )
    found = chosen_columns(options.features, names)
    return tuple(name for name in found if name not in roles and name not in errors)


def _with_label(said: dict[str, Any], label: str | None) -> dict[str, Any]:
    return said if label is None else {**said, "columns": {**said["columns"], "label": label}}


def _check_labels(frame: Any, of_label: str, source: str) -> None:
    if frame[of_label].notna().sum() == 0:
        raise ValueError(
            f"the column {of_label!r} of {source} is empty: no object has a label. Give the column that has them "
            f"with --label. Columns: {_some([str(name) for name in frame.columns])}."
        )
    for row, cell in enumerate(frame[of_label].tolist()):
        if isinstance(cell, dict | list | tuple | np.ndarray):
            raise ValueError(
                f"{source}: the column {of_label!r} holds several things in one cell, {cell!r} in row {row}: a class is one "
                "name or number. Give the column of the classes with --label, or write one class in each cell."
            )


def _check_errors(frame: Any, of_label: str, options: TableOptions, source: str) -> None:
    names = [str(name) for name in frame.columns]
    given = {**options.columns, "label": of_label}
    if looks_long(frame, given) or vector_columns(frame):
        return
    pairing = pair_columns([name for name in names if name != of_label], options.conventions.pair).typed(
        frame
    )
    if not pairing.pairs and not pairing.stray:
        first = _first_value(frame, of_label)
        raise ValueError(
            f"{source} has no error columns: badac needs one standard deviation beside each value, named like it "
            f"with _err at the end ({first} and {first}_err). Add them (0: exact), name them with --pair "
            f"'{first}=ERRORS', or say --errors none to take all values as exact. Columns: {_some(names)}."
        )


def _check_features(features: Sequence[str], names: Sequence[str], options: TableOptions) -> None:
    """Refuse columns that were asked for and have no errors."""
    pairing = pair_columns(names, options.conventions.pair)
    lonely = [name for name in features if pairing.of(name) is None]
    if lonely and options.conventions.errors != "none":
        raise ValueError(
            f"the column {lonely[0]!r} (--columns) has no error column. Say which is its error with --pair "
            f"'{lonely[0]}=ERROR', or that it is exact with --pair '{lonely[0]}='."
        )


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
            f"{training.source}: the column {training.label!r} has {len(counts)} different values for {n} objects (such as "
            f"{training.labels[0]!s} of object {training.catalogue.ids[0]}): names or numbers, not classes. Give the column of "
            "the classes with --label."
        )
    if training.labels.dtype.kind == "f":
        row = int(np.argmax(training.labels != np.round(training.labels)))
        raise ValueError(
            f"{training.source}: the column {training.label!r} holds fractions, such as {training.labels[row]:g} of object "
            f"{training.catalogue.ids[row]}: a measurement, not a class. Give the column of the classes with --label, or write "
            "the classes as text."
        )


def _first_value(frame: Any, of_label: str) -> str:
    numeric = (str(name) for name in frame.columns if str(name) != of_label and frame[name].dtype.kind == "f")
    return next(numeric, "flux")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")

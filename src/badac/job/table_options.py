"""What the user of a job says about a table: labels, columns, errors, gaps, and how light curves are prepared."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from badac.data import Conventions, Layout, Preparation
from badac.data.losses import some


@dataclass(frozen=True)
class TableOptions:
    """What is said about a table; most tables need nothing.

    Attributes
    ----------
    label : str, optional
        Column of the labels, in the table or in that of the labels.
    labels : str
        File with a row per object: its name and its label, and what stands beside its curve.
    objects : str
        The same of the new objects, where they are not in `labels`: what stands beside their curves, their periods.
    columns : mapping from role to column
        For columns with unusual names: object, and for long tables time, band, value, error.
    features : tuple of str
        Value columns to use, stars for any letters; by default all that have errors. Of curves: columns of the file `labels`
        that stand beside them.
    conventions : Conventions
        Pairs, missing values, what the errors hold.
    preparation : Preparation
        What is done to light curves.

    Examples
    --------
    >>> from badac.job import TableOptions
    >>> TableOptions(label="kind", columns={"time": "hjd"}).label
    'kind'
    """

    label: str | None = None
    labels: str = ""
    objects: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    conventions: Conventions = field(default_factory=Conventions)
    preparation: Preparation = field(default_factory=Preparation)

    def reading(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the keywords of `badac.data.from_table` for a table with these columns."""
        said: dict[str, Any] = {"columns": dict(self.columns), **self.conventions.as_dict()}
        if self.features:
            said["features"] = chosen_columns(self.features, names)
        return said

    def over(self, layout: Layout) -> Layout:
        """Return the layout of a model with what is said here of a new table in its place."""
        said, kept, objects = self.conventions, layout.preparation, self.objects or self.labels
        return layout.also(
            columns=self.columns,
            pair=said.pair,
            missing=said.missing,
            errors=said.errors if said.errors != "sigma" else None,
            period=self.preparation.period if kept.get("fold") or kept.get("period") else "",
            objects=str(Path(objects).resolve()) if objects else "",
        )


def chosen_columns(patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that names with stars stand for, in the order of the table.

    >>> chosen_columns(["mag_*", "z"], ["id", "mag_u", "mag_g", "z"])
    ('mag_u', 'mag_g', 'z')
    """
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise ValueError(f"no column is called {pattern!r} (--columns). Columns: {some(list(names))}.")
    return tuple(name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))

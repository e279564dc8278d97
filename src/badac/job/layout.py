"""How a training table was read, kept with the model so that new tables are read alike.

New objects must have the training's columns in the training's order, its bands by the same numbers, and errors of the same
kind. A column of variances is turned into standard deviations on the way in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from badac.data import Catalogue, Losses, Measurements, from_table
from badac.data.columns import find
from badac.data.reading import looks_long

ERRORS = ("sigma", "variance", "none")
"""What error columns hold: one standard deviation, its square, or nothing (the values count as exact)."""


@dataclass(frozen=True)
class Layout:
    """The shape of a table of objects.

    Attributes
    ----------
    form : {"wide", "long"}
        One row an object, or one row a measurement.
    columns : dict from role to column
        What was named by hand: object, time, band, value, error.
    features : tuple of str
        Value columns of a wide table, in order.
    bands : tuple of str
        Bands of a long table, in order.
    errors : {"sigma", "variance", "none"}
        What the error columns hold.
    """

    form: str = "wide"
    columns: dict[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    bands: tuple[str, ...] = ()
    errors: str = "sigma"

    @classmethod
    def of(cls, frame: Any, columns: Mapping[str, str] | None = None, errors: str = "sigma") -> Layout:
        """Recognise the form of a training table; features and bands are known once it has been read."""
        if errors not in ERRORS:
            raise ValueError(f"errors must be one of {', '.join(ERRORS)}: got {errors!r}.")
        given = {role: name for role, name in (columns or {}).items() if role != "label"}
        form = "long" if errors != "none" and looks_long(frame, given) else "wide"
        return cls(form, given, errors=errors)

    def read(self, frame: Any, label: str | None = None) -> Catalogue:
        """Read a table laid out like this one into a catalogue; `label` names the column of labels, if there is one."""
        columns: dict[str, str | None] = {**self.columns, "label": label}
        if self.errors == "none":
            return self._without_errors(frame, columns)
        options: dict[str, Any] = {}
        if self.form == "wide" and self.features:
            options["features"] = self.features
        if self.form == "long" and self.bands:
            options["bands"] = self.bands
        found = from_table(frame, columns=columns, form=self.form, **options)
        if self.errors == "variance":
            sigma = np.sqrt(found.objects.sigma)
            found = replace(
                found,
                objects=found.objects.with_sigma(sigma),
                recognised=f"{found.recognised}; errors are variances",
            )
        return found

    def filled(self, found: Catalogue) -> Layout:
        """Return the layout with the features and bands of the catalogue that was read."""
        return replace(self, features=found.features, bands=found.bands)

    def _without_errors(self, frame: Any, columns: Mapping[str, str | None]) -> Catalogue:
        names = [str(name) for name in frame.columns]
        name_of, label_of = columns.get("object") or find(names, "object"), columns.get("label")
        special = {name_of, label_of}
        numeric = [name for name in names if name not in special and frame[name].dtype.kind in "fiu"]
        wanted = list(self.features) or numeric
        absent = [name for name in wanted if name not in names]
        if absent or not wanted:
            lacking = f"the training's column {absent[0]!r}" if absent else "any column of numbers"
            raise ValueError(f"the table lacks {lacking}. Columns: {', '.join(names)}.")
        kept = np.ones(len(frame), dtype=np.bool_)
        losses = Losses()
        if label_of is not None:
            kept = np.asarray(frame[label_of].notna())
            losses = losses.and_also("objects", int((~kept).sum()), "no label")
        values = np.column_stack([np.asarray(frame[name], dtype=np.float64) for name in wanted])
        values[np.isinf(values)] = np.nan
        ids = np.asarray(frame[name_of]) if name_of else np.arange(len(frame))
        return Catalogue(
            Measurements(values[kept]),
            (ids.astype(str) if ids.dtype == object else ids)[kept],
            None if label_of is None else np.array(np.asarray(frame[label_of])[kept].tolist()),
            f"wide table, one row per object: {len(wanted)} values without errors ({wanted[0]}, ...)",
            losses,
            features=tuple(wanted),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that a model file can hold."""
        return asdict(self)

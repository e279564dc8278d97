"""How a training table was read, kept with the model so that new tables are read alike.

New objects must have the training's columns in the training's order, its bands by the same numbers, its units, errors of the
same kind, and be prepared as it was. What was said by hand (`pair`, `missing`, names of columns) holds for new tables too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from badac.data.catalogue import Catalogue
from badac.data.frames import as_frame
from badac.data.losses import some
from badac.data.objects_table import carrying_objects, with_objects
from badac.data.preparation import Preparation
from badac.data.quantities import unit_factor
from badac.data.reading import from_table
from badac.data.said_pairs import fits
from badac.data.scales import ScaleSummary, compare_scales
from badac.data.units import in_units


@dataclass(frozen=True)
class Layout:
    """The shape of a table of objects, in plain values that a model file can hold.

    Attributes
    ----------
    form : {"wide", "long"}
        One row an object, or one row a measurement.
    columns : dict from role to column
        What was named by hand: object, time, band, value, error.
    features : tuple of str
        Value columns of a wide table, in order.
    bands : tuple of str
        Bands of light curves, in order.
    errors, pair, missing
        As in `badac.data.conventions.Conventions`.
    units : dict from feature to unit
    preparation : dict
        What was done to light curves (`badac.data.preparation.Preparation`).
    scales : dict
        Typical sizes of the values (`badac.data.scales.ScaleSummary`).
    beside : tuple of str
        Columns of the objects' own table that stand beside the points (`badac.data.objects_table`).
    objects : str
        File with a row for each new object: these columns, and others that travel along (a period to fold at).

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import Layout, from_table
    >>> training = from_table(pd.DataFrame({"f": [1.0, 2.0], "w": [4.0, 1.0]}), pair=["f=w:ivar"])
    >>> new = pd.DataFrame({"w": [0.25], "f": [3.0]})
    >>> Layout.of(training).read(new).objects.sigma
    array([[2.]])
    """

    form: str = "wide"
    columns: Mapping[str, str | None] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    bands: tuple[str, ...] = ()
    errors: str = "sigma"
    pair: tuple[str, ...] = ()
    missing: tuple[float, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    preparation: Mapping[str, Any] = field(default_factory=dict)
    scales: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    objects: str = ""

    @classmethod
    def of(cls, training: Catalogue) -> Layout:
        """Return how a catalogue was read, with the typical sizes of its values."""
        names = training.bands if training.objects.own_points else training.features
        return cls(
            **training.read_as,
            features=tuple(training.features),
            bands=tuple(training.bands),
            units=dict(training.units),
            scales=ScaleSummary.of(training.objects, names).as_dict(),
        )

    def read(
        self, frame: Any, label: str | None = None, labels: Any = None, objects: Any = None
    ) -> Catalogue:
        """Read a table as the training was; values that are many times the training's are noted.

        Parameters
        ----------
        frame : any table that `badac.data.frames.as_frame` takes
        label : str, optional
            Column of the labels, in this table or in that of the labels.
        labels : path or table, optional
            A second table with a row per object: its name and its label.
        objects : path or table, optional
            The table with the columns that stand beside the points, or travel along; by default that of the labels, or the
            file `objects`.
        """
        frame = as_frame(frame)
        columns = {**self.columns, "label": label}
        names = [str(name) for name in getattr(frame, "columns", ())]
        options: dict[str, Any] = {
            "pair": self.pairs_in(names),
            "missing": self.missing,
            "errors": self.errors,
        }
        if self.form == "wide" and self.features:
            options["features"] = self.features
        if self.bands:
            options["bands"] = self.bands
        if self.units:
            options["units"] = self.units
        found = from_table(frame, columns=columns, labels=labels, form=self.form, **options)
        table = next((one for one in (objects, self.objects or None, labels) if one is not None), None)
        if self.beside:
            found = self._with_beside(found, table)
        if table is not labels:  # the columns of that have come with the labels
            found = carrying_objects(found, table, self.columns.get("object"))
        return self.compared(Preparation.from_dict(self.preparation).apply(found))

    def _with_beside(self, found: Catalogue, table: Any) -> Catalogue:
        """Put the columns of the objects' table beside the points."""
        if table is None:
            raise ValueError(
                "the classes were learned with columns of the objects' own table beside the points "
                f"({', '.join(self.beside)}): give the table of these objects that has them, --objects FILE; in Python "
                f"from_table(points, objects=table, columns={list(self.beside)!r})."
            )
        return with_objects(found, table, self.beside, self.columns.get("object"), part=True)

    def pairs_in(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return what was said about pairs, as far as a table has such columns; a value that it lacks is missed elsewhere."""
        return tuple(pattern for pattern in self.pair if fits(pattern, names))

    def compared(self, found: Catalogue) -> Catalogue:
        """Return new objects with a note where their values are many times, or a small part of, the training's."""
        if not self.scales:
            return found
        losses = found.losses
        for sentence in compare_scales(found.objects, ScaleSummary.from_dict(self.scales)):
            losses = losses.and_note(sentence)
        return replace(found, losses=losses)

    def matched(self, found: Catalogue) -> Catalogue:
        """Return a catalogue that was read by itself with the training's features in their order, in its units.

        Raises
        ------
        ValueError
            If its features or bands are others, saying how to read the table.
        """
        if self.bands and found.bands != self.bands:
            raise ValueError(
                f"the bands of the objects, {some(found.bands) or 'none'}, are not those of the training, {some(self.bands)}. "
                f"Read the table with bands={list(self.bands)!r}, or give the table itself."
            )
        if not self.features:
            return self.compared(found)
        absent = [name for name in self.features if name not in found.features]
        if absent:
            raise ValueError(
                f"the objects lack {some(absent, 6)} of the {len(self.features)} columns that the model was fitted on. Give "
                "the table itself, or read it with badac.data.matched(table, model.feature_names_in_), which says what may be "
                "missing."
            )
        order = [found.features.index(name) for name in self.features]
        objects = (
            found.objects if order == list(range(found.objects.n_points)) else found.objects.points(order)
        )
        factors = [
            unit_factor(found.units.get(name, ""), self.units.get(name, ""), name) for name in self.features
        ]
        if any(factor != 1.0 for factor in factors):
            objects = in_units(objects, 1.0 / np.array(factors))
        units = {**found.units, **self.units}
        return self.compared(replace(found, objects=objects, features=self.features, units=units))

    def also(
        self,
        *,
        columns: Mapping[str, str | None] | None = None,
        pair: tuple[str, ...] = (),
        missing: tuple[float, ...] = (),
        errors: str | None = None,
        period: str = "",
        objects: str = "",
    ) -> Layout:
        """Return the layout with what is said about a new table, where it is named otherwise than the training was."""
        preparation = {**self.preparation, "period": period} if period else dict(self.preparation)
        return replace(
            self,
            columns={**self.columns, **(columns or {})},
            pair=pair or self.pair,
            missing=tuple(dict.fromkeys((*self.missing, *missing))),
            errors=errors or self.errors,
            preparation=preparation,
            objects=objects or self.objects,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that a model file can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Layout:
        """Return the layout that `as_dict` gave."""
        return cls(**stored)

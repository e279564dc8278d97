"""What a table was, in words and for pictures: its kind, its axes, its bands and the names of its columns.

A point of a catalogue is called by its column, one of a light curve by its band and time, one of a spectrum by its wavelength:

    parallax              band r at phase 0.31              wavelength 6563 Angstrom

Every sentence and every figure about a point takes its name from here, so that all of them agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements

# Steps of an object's range that are told apart in words.
_RESOLVED = 1000.0

KINDS = ("catalogue", "grid curve", "light curve", "spectrum", "counts")
"""Unlike columns; one quantity at common points; at times; at wavelengths; numbers of events."""


@dataclass(frozen=True)
class Axis:
    """What the points of a curve are measured along, or what is measured: a name and a unit, for pictures and words.

    >>> str(Axis("wavelength", "Angstrom"))
    'wavelength [Angstrom]'
    """

    name: str = ""
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name


NO_AXIS = Axis()


@dataclass(frozen=True)
class Description:
    """What objects are made of.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    axis : Axis
        What `at` is; empty where points have no order.
    quantity : Axis
        What is measured, where all points are of one quantity.
    bands : tuple of str
        Name of each number in ``Measurements.band``.
    features : tuple of str
        Names of the points that all objects have in common.
    units : mapping from str to str
        Units of the features.

    Examples
    --------
    >>> from badac import Measurements
    >>> stars = Measurements([[3.1, 0.2]], sigma=0.1)
    >>> Description("catalogue", features=("parallax", "colour")).point(stars, 0, 1)
    'colour'
    """

    kind: str = "grid curve"
    axis: Axis = NO_AXIS
    quantity: Axis = NO_AXIS
    bands: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"`kind` must be one of {', '.join(map(repr, KINDS))}: got {self.kind!r}.")

    @classmethod
    def of_objects(
        cls, objects: Measurements, features: Sequence[str] = (), *, ordered: bool = True
    ) -> Description:
        """Describe objects of which nobody said what they are.

        Parameters
        ----------
        objects : Measurements
        features : sequence of str
            Names of the points, if they have any.
        ordered : bool
            Whether points without coordinates have an order (`badac.anomalies.sequence`): a curve, or unlike columns.
        """
        if objects.own_points or objects.band is not None:
            return cls("light curve", axis=Axis("coordinate"))
        if objects.at is not None:
            return cls("grid curve", axis=Axis("coordinate"), features=tuple(features))
        return cls("grid curve" if ordered else "catalogue", features=tuple(features))

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Description:
        """Return what `as_dict` gave."""
        return cls(
            stored["kind"],
            Axis(*stored["axis"]),
            Axis(*stored["quantity"]),
            tuple(stored["bands"]),
            tuple(stored["features"]),
            dict(stored["units"]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that a model file can hold."""
        return {
            "kind": self.kind,
            "axis": [self.axis.name, self.axis.unit],
            "quantity": [self.quantity.name, self.quantity.unit],
            "bands": list(self.bands),
            "features": list(self.features),
            "units": dict(self.units),
        }

    @property
    def upside_down(self) -> bool:
        """Whether small values are drawn above: magnitudes."""
        return "mag" in self.quantity.name.lower() or self.quantity.unit.lower() in ("mag", "abmag")

    @property
    def folded(self) -> bool:
        """Whether the axis is a phase."""
        return self.axis.name.lower() == "phase"

    def in_phase(self) -> Description:
        """Return the same with a phase for the axis."""
        return replace(self, axis=Axis("phase"))

    def band(self, number: int) -> str:
        """Return the name of a band."""
        return self.bands[number] if 0 <= number < len(self.bands) else f"{number}"

    def feature(self, index: int) -> str:
        """Return the name of a point that all objects have."""
        return self.features[index] if index < len(self.features) else f"column {index}"

    def point(self, objects: Measurements, row: int, index: int) -> str:
        """Return the name of one point of an object: its column, its band and time, its wavelength."""
        if objects.at is None:
            named = self.kind in ("catalogue", "counts") or bool(self.features)
            return self.feature(index) if named else f"point {index}"
        at = np.broadcast_to(objects.at, objects.shape)[row]
        where = self.place(float(at[index]), float(np.nanmax(at) - np.nanmin(at)) / _RESOLVED)
        if objects.band is None:
            return where
        return f"band {self.band(int(np.broadcast_to(objects.band, objects.shape)[row, index]))} at {where}"

    def place(self, coordinate: float, step: float = 0.0) -> str:
        """Return a coordinate with the name and the unit of the axis, to the decimal that shows a `step`."""
        unit = f" {self.axis.unit}" if self.axis.unit else ""
        return f"{self._axis_name}{_to_step(coordinate, step)}{unit}"

    @property
    def _axis_name(self) -> str:
        return f"{self.axis.name} " if self.axis.name not in ("", "coordinate") else ""

    def window(self, objects: Measurements, edges: npt.ArrayLike) -> str:
        """Return a window of coordinates, or of numbers of points, in words: "at parallax", "between ... and ..."."""
        low, high = (float(edge) for edge in np.asarray(edges))
        if not (np.isfinite(low) and np.isfinite(high)):
            return ""
        if objects.at is None:
            ends = [int(np.clip(round(edge), 0, objects.n_points - 1)) for edge in (low, high)]
            first, last = (self.point(objects, 0, index) for index in ends)
            return f"at {first}" if first == last else f"from {first} to {last}"
        if low == high:
            return f"at {self.place(low)}"
        # The name once in front, the unit once at the end.
        ends_said = " and ".join(_to_step(edge, (high - low) / 10.0) for edge in (low, high))
        return f"between {self._axis_name}{ends_said}{f' {self.axis.unit}' if self.axis.unit else ''}"

    def value(self, number: float, index: int, digits: int = 4) -> str:
        """Return a value with its unit."""
        unit = self.units.get(self.feature(index), "") if self.features else self.quantity.unit
        return f"{number:.{digits}g}{f' {unit}' if unit else ''}"


def _to_step(number: float, step: float) -> str:
    """Return a number to the decimal that shows a step; six digits without one.

    >>> _to_step(59001.23456, 0.02), _to_step(6562.8, 5.0), _to_step(0.123456789, 0.0)
    ('59001.23', '6563', '0.123457')
    """
    if not (np.isfinite(step) and step > 0):
        return f"{number:.6g}"
    return f"{number:.{int(np.clip(-np.floor(np.log10(step)), 0, 12))}f}"

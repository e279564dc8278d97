"""What is done to light curves before a model sees them: fluxes or magnitudes, folding at a period, alignment at the peak.

Stars that repeat are compared in phase, transients in time from their peak; in calendar time neither has a common shape. A
preparation is kept with the model, so that new objects are prepared as the training was.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from badac.data.catalogue import Catalogue, as_names, name_key
from badac.data.columns import find
from badac.data.description import Axis
from badac.data.error_marks import key_of
from badac.data.files import read_frame
from badac.data.folding import fold
from badac.data.losses import some
from badac.data.magnitudes import as_fluxes, as_magnitudes
from badac.data.peaks import align_at_peak, find_peaks
from badac.data.periods import brightest_time, find_period
from badac.data.rows import names_of
from badac.data.validation import FloatArray, as_real

FIND = "find"
_PERIOD_NAMES = ("period", "per", "periods", "period_days", "best_period", "p")
_DAYS = ("mjd", "jd", "hjd", "bjd", "hmjd", "midpointmjdtai", "midpointtai", "expmidptmjd", "obsmjd")
_SHORTEST_DAYS = 0.1
"""Shortest period looked for where times are days: below most pulsating stars and contact binaries."""
_GAPS_OF_DAYS = 0.005, 100.0
"""Gaps of surveys, from minutes to seasons, in days."""
_ASKED = 100


@dataclass(frozen=True)
class Preparation:
    """What is done to the light curves of a catalogue, in this order.

    Attributes
    ----------
    quantity : {"", "flux", "magnitude"}
        What values are turned into; "": they stay as they are.
    period : str
        Where periods come from: "find" looks for them (`badac.data.periods.find_period`), else a column that is carried along,
        or a file with a row per object; "": a column with a usual name, if folding is asked for.
    fold : bool
        Replace times by phases in [0, 1).
    align : {"", "peak"}
        Count times from the brightest point, in units of it; with `fold`, put phase 0 where the folded curve is brightest.
    zero_point : float
        Magnitude of flux 1.
    shortest : float
        Shortest period to look for, in the unit of the times; 0: 0.1 where these look like days, else by the cadence.

    Examples
    --------
    >>> import pandas as pd
    >>> from badac.data import from_long
    >>> rows = pd.DataFrame({"id": [1, 1, 1], "mjd": [0.0, 0.75, 1.5], "flux": [1.0, 2.0, 3.0], "flux_err": 0.1, "period": 0.5})
    >>> Preparation(fold=True).apply(from_long(rows)).objects.at
    array([[0. , 0.5, 0. ]])
    """

    quantity: str = ""
    period: str = ""
    fold: bool = False
    align: str = ""
    zero_point: float = 25.0
    shortest: float = 0.0

    def __post_init__(self) -> None:
        for name, allowed in (("quantity", ("", "flux", "magnitude")), ("align", ("", "peak"))):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"`{name}` must be one of {', '.join(map(repr, allowed))}: got {getattr(self, name)!r}."
                )

    def __bool__(self) -> bool:
        return bool(self.quantity or self.period or self.fold or self.align)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that a model file can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Preparation:
        """Return the preparation that `as_dict` gave."""
        return cls(**stored)

    def apply(self, catalogue: Catalogue) -> Catalogue:
        """Return the catalogue with its light curves prepared; objects without a period or a peak are left out, and counted."""
        if not self:
            return catalogue
        if catalogue.objects.at is None:
            raise ValueError(
                f"only curves with times can be folded, aligned or turned into fluxes: got {catalogue.objects!r} "
                f"({catalogue.recognised})."
            )
        catalogue = replace(catalogue, read_as={**catalogue.read_as, "preparation": self.as_dict()})
        found = self._in_quantity(catalogue)
        if self.period or self.fold:
            found = self._with_periods(found)
        if self.fold:
            return self._folded(found)
        return self._aligned(found) if self.align else found

    def _in_quantity(self, catalogue: Catalogue) -> Catalogue:
        now = catalogue.quantity.name
        if not self.quantity or self.quantity == now:
            return catalogue
        if now not in ("flux", "magnitude"):
            raise ValueError(
                f"values are called {now or 'neither flux nor magnitude'!r}, so they cannot be turned into {self.quantity}. "
                "Name the column flux or mag, or leave the values as they are."
            )
        if self.quantity == "flux":
            objects = as_fluxes(catalogue.objects, self.zero_point)
            losses = catalogue.losses
        else:
            objects = as_magnitudes(catalogue.objects, self.zero_point)
            lost = int(catalogue.objects.observed.sum() - objects.observed.sum())
            losses = catalogue.losses.and_also("points", lost, "a flux that is not positive has no magnitude")
        return replace(catalogue, objects=objects, losses=losses, quantity=Axis(self.quantity), units={})

    def _with_periods(self, catalogue: Catalogue) -> Catalogue:
        periods, where = self._periods(catalogue)
        good = np.isfinite(periods) & (periods > 0)
        if not good.any():
            raise ValueError(f"no object has a period ({where}), so nothing can be folded.")
        losses = catalogue.losses.and_also(
            "objects", int((~good).sum()), f"no period ({where})", catalogue.ids[~good].tolist()
        )
        middle = float(np.median(periods[good]))
        picked = replace(catalogue, losses=losses)[good]
        return replace(
            picked,
            carried={**picked.carried, "period": periods[good]},
            recognised=f"{catalogue.recognised}; periods {where}, {middle:.4g} in the middle",
        )

    def _periods(self, catalogue: Catalogue) -> tuple[FloatArray, str]:
        """Period of each object (n,), NaN where there is none, and where they come from."""
        if self.period == FIND:
            shortest = self.shortest or shortest_period(catalogue)
            return find_period(catalogue.objects, shortest=shortest).period, "found"
        carried = {key_of(name): name for name in catalogue.carried}
        usual = [carried[name] for name in _PERIOD_NAMES if name in carried]
        if self.period in catalogue.carried or (not self.period and usual):
            name = self.period or usual[0]
            return as_real(catalogue.carried[name], f"column {name!r}"), f"from {name}"
        if self.period and Path(self.period).exists():
            return periods_in(self.period, catalogue), f"from {Path(self.period).name}"
        near = difflib.get_close_matches(self.period, list(catalogue.carried), n=1) if self.period else []
        raise ValueError(
            (
                f"{self.period!r} is neither a column that is the same in all rows of an object nor a file"
                if self.period
                else "folding needs periods, and no column is called period"
            )
            + (f" (did you mean {near[0]!r}?)" if near else "")
            + ": give period='COLUMN' or 'FILE' (--period), the table of the objects that has such a column (--objects FILE of "
            "new objects), or period='find' (--find-period). "
            f"Columns: {some(list(catalogue.carried)) or 'none'}."
        )

    def _folded(self, catalogue: Catalogue) -> Catalogue:
        periods = catalogue.carried["period"]
        upside_down = catalogue.quantity.name == "magnitude"
        epoch = brightest_time(catalogue.objects, periods, upside_down=upside_down) if self.align else 0.0
        said = ", folded, phase 0 where brightest" if self.align else ", folded"
        return replace(
            catalogue,
            objects=fold(catalogue.objects, periods, epoch),
            axis=Axis("phase"),
            recognised=catalogue.recognised + said,
        )

    def _aligned(self, catalogue: Catalogue) -> Catalogue:
        if catalogue.quantity.name == "magnitude":
            raise ValueError(
                "the peak of magnitudes is their smallest value, and they have no unit to be scaled by: turn them into fluxes "
                "first, quantity='flux' (--flux)."
            )
        peaks = find_peaks(catalogue.objects)
        good = np.isfinite(peaks.time) & (peaks.value > 0)
        if not good.any():
            raise ValueError("no object has a peak with a positive value, so nothing can be aligned.")
        losses = catalogue.losses.and_also(
            "objects", int((~good).sum()), "no peak with a positive value", catalogue.ids[~good].tolist()
        )
        picked = replace(catalogue, losses=losses)[good]
        peaks = peaks[good]
        return replace(
            picked,
            objects=align_at_peak(picked.objects, peaks=peaks),
            carried={**picked.carried, "peak_time": peaks.time, "peak_value": peaks.value},
            axis=Axis("time from peak", catalogue.axis.unit),
            quantity=Axis("flux / peak" if catalogue.quantity.name == "flux" else "value / peak"),
            units={},
            recognised=f"{catalogue.recognised}; aligned at the peak, in units of it",
        )


def shortest_period(catalogue: Catalogue) -> float | None:
    """Return the shortest period to look for where times are days, by their name or by their gaps, else None."""
    name, unit = catalogue.axis.name.lower(), catalogue.axis.unit
    if name in _DAYS or unit == "d":
        return _SHORTEST_DAYS
    if unit or catalogue.objects.at is None:
        return None
    some_times = np.broadcast_to(catalogue.objects.at, catalogue.objects.shape)[:_ASKED]
    gaps = np.diff(np.sort(some_times, axis=1), axis=1)
    gaps = gaps[gaps > 0]
    low, high = _GAPS_OF_DAYS
    return _SHORTEST_DAYS if gaps.size and low < float(np.median(gaps)) < high else None


def periods_in(path: str | os.PathLike[str], catalogue: Catalogue) -> FloatArray:
    """Return the period of each object (n,) from a file with a column for the object and one for the period; NaN: none."""
    frame = read_frame(path)
    names = [str(name) for name in frame.columns]
    keys = {key_of(name): name for name in reversed(names)}
    of_object, of_period = (
        find(names, "object"),
        next((keys[name] for name in _PERIOD_NAMES if name in keys), None),
    )
    if of_object is None or of_period is None:
        raise ValueError(
            f"{path} needs a column for the object and one called period. Columns: {some(names)}."
        )
    numbers = as_real(frame[of_period], f"column {of_period!r}")
    given = as_names(names_of(frame[of_object])).tolist()
    known = dict(zip(map(name_key, given), numbers.tolist(), strict=True))
    return np.array([known.get(name_key(name), np.nan) for name in catalogue.ids.tolist()], dtype=np.float64)

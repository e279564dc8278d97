"""Columns beside the points of an object, made points like the others: so every class model gives the joint evidence of both.

    column c of an object  ->  one more point, (transformed value - centre_c) / scale_c  in units of the other points' spread

Objects with points of their own get a band more for each column, objects on a grid a point more. A factor model then has
factors through points and columns together: a column may depend on the latent position of the curve, and the other way round.
Columns that are positive and span more than a decade (brightness, period) go as logarithms, their errors accordingly. A date
(`DATES`) says when an object was observed, not what it is, and new objects have later ones: it stays beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from badac.data.column import Column
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray, FloatArray
from badac.registry import registered

DATES = ("peak_time",)
# Ratio of the 95 % to the 5 % quantile from which a positive column goes as its logarithm: a decade.
_WIDE = 10.0
# Where on the coordinate points of columns stand, as a quantile of the others: within the range, where few points are.
_PLACE = 0.05


@registered(
    "part",
    holds={
        "names": "(c,)",
        "centre": "(c,)",
        "scale": "(c,) > 0",
        "smallest": "(c,) > 0",
        "logarithm": "(c,)",
        "unit": "> 0",
        "first_band": ">= 0",
    },
)
@dataclass(frozen=True, eq=False)
class ColumnsBeside:
    """Which columns count, and their scales in training.

    Attributes
    ----------
    names : tuple of c str
    centre, scale, smallest : (c,)
        Of the transformed values; the smallest positive value of those that go as logarithms.
    logarithm : (c,) bool
    middle, unit : float
        Mean and standard deviation of the other points' values.
    place : float
        Coordinate of the points that columns become.
    first_band : int
        Band of the first column.
    """

    names: tuple[str, ...]
    centre: FloatArray
    scale: FloatArray
    smallest: FloatArray
    logarithm: BoolArray
    middle: float
    unit: float
    place: float
    first_band: int

    @classmethod
    def of(cls, objects: Measurements) -> ColumnsBeside | None:
        """Learn the scales from training objects; None if they have no column that counts."""
        found = {name: column for name, column in objects.columns.items() if name not in DATES}
        if not found:
            return None
        for name, column in found.items():
            if np.isnan(column.values).all():
                raise ValueError(
                    f"column {name!r} has no value for any training object. Leave it out: "
                    "objects.without_columns().with_columns({...})."
                )
        positive = np.array([_is_wide(column.values) for column in found.values()])
        smallest = np.array([_smallest(column.values) for column in found.values()])
        moved = [
            _transformed(column, log, least).values
            for column, log, least in zip(found.values(), positive, smallest, strict=True)
        ]
        scale = np.array([np.nanstd(values) for values in moved])
        values, seen = objects.values[objects.observed], objects.observed
        unit = float(values.std()) if values.size else 1.0
        place = 0.0
        if objects.own_points and objects.at is not None:
            place = float(np.quantile(objects.at[seen], _PLACE)) if values.size else 0.0
        band = -1 if not objects.own_points or objects.band is None else int(objects.band.max(initial=-1))
        return cls(
            tuple(found),
            np.array([np.nanmean(values) for values in moved]),
            np.where(scale > 0, scale, 1.0),
            smallest,
            positive,
            float(values.mean()) if values.size else 0.0,
            unit if unit > 0 else 1.0,
            place,
            max(band, 0) + 1,
        )

    def joined(self, objects: Measurements) -> Measurements:
        """Return objects (n, m) with their columns as further points, (n, m + c)."""
        check_names(self.names, objects.columns)
        if objects.covariance is not None:
            raise ValueError(
                "columns beside objects with covariances between their points are not joined: give `sigma`, or put the "
                "columns among the points, with rows and columns of the covariance."
            )
        if objects.counted:
            raise ValueError(
                "columns beside counts with an exposure are not joined: counts have a noise of their own. Give rates with "
                "`sigma`, or leave the columns out: objects.without_columns()."
            )
        chosen = [objects.columns[name] for name in self.names]
        moved = [
            _transformed(column, log, least)
            for column, log, least in zip(chosen, self.logarithm, self.smallest, strict=True)
        ]
        factor = self.unit / self.scale
        # What is new is checked; the points were.
        beside = Measurements(
            self.middle + factor * (np.column_stack([one.values for one in moved]) - self.centre),
            factor * np.column_stack([one.sigma for one in moved]),
        )
        n, count = beside.shape
        at, band = objects.at, objects.band
        if objects.own_points:
            assert at is not None
            at = np.hstack([at, np.full((n, count), self.place)])
            own = (
                np.zeros(objects.shape, dtype=np.int64)
                if band is None
                else np.broadcast_to(band, objects.shape)
            )
            band = np.hstack([own, np.broadcast_to(self.first_band + np.arange(count), (n, count))])
        else:
            at = None if at is None else np.append(at, _beyond(at, count))
            band = None if band is None else np.append(band, np.full(count, band.max(initial=0)))
        spread = beside.sigma
        has_errors = objects.has_errors or bool((spread[np.isfinite(spread)] > 0).any())
        return Measurements._trusted(
            np.hstack([objects.values, beside.values]),
            np.hstack([objects.sigma, spread]),
            at=at,
            has_errors=has_errors,
            band=band,
        )


def check_names(names: tuple[str, ...], columns: Mapping[str, Column]) -> None:
    """Refuse objects that lack a column that was learned with, or have one that was not."""
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(
            f"the classes were learned with columns beside the points ({', '.join(names)}), and these objects lack "
            f"{', '.join(missing)}. Use objects.with_columns({{name: (values, sigma)}}), NaN where a value is missing."
        )
    unknown = [name for name in columns if name not in names and name not in DATES]
    if unknown:
        raise ValueError(
            f"these objects have columns beside their points that no training object had: {', '.join(unknown)}. "
            "Fit with them too, or leave them out: objects.without_columns()."
        )


def _transformed(column: Column, logarithm: bool, smallest: float) -> Column:
    if not logarithm:
        return column
    value = np.where(np.isnan(column.values), np.nan, np.maximum(column.values, 0.1 * smallest))
    return Column(np.log(value), np.where(np.isnan(value), np.inf, column.sigma / value))


def _is_wide(values: FloatArray) -> bool:
    low, high, least = np.nanquantile(values, 0.05), np.nanquantile(values, 0.95), np.nanmin(values)
    return bool(least > 0 and high > _WIDE * low)


def _smallest(values: FloatArray) -> float:
    positive = values[values > 0]
    return float(positive.min()) if positive.size else 1.0


def _beyond(at: FloatArray, count: int) -> FloatArray:
    """Return (count,): coordinates after the last one, as far apart as the others are on average."""
    step = float(np.ptp(at)) / max(at.size - 1, 1) if at.size > 1 else 1.0
    return np.asarray(at.max(initial=0.0) + (step or 1.0) * np.arange(1, count + 1))

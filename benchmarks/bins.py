"""A common grid for objects with points of their own: weighted means in bins of the coordinate, band by band.

    value = sum_j w_j d_j / sum_j w_j ,    sigma^2 = 1 / sum_j w_j ,    w_j = 1 / sigma_j^2       over the points in the bin

Bins are narrow where training objects have many points. What a curve does within a bin is lost, and an empty bin is a gap: a
model of curves at their own points (`badac.classes.irregular`) loses nothing. But peers that need columns can be asked here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import BoolArray, FloatArray

_FEWEST, _MOST = 6, 24
# Times this far out in both tails have no bin.
_OUTSIDE = 0.01


@dataclass(frozen=True, eq=False)
class Grid:
    """Bins of the coordinate in each band.

    Attributes
    ----------
    edges : (b + 1,)
        Rising.
    n_bands : int
    kept : (bands x b,) bool
        Cells in which a training object had a point: no others are made.
    """

    edges: FloatArray
    n_bands: int
    kept: BoolArray

    @classmethod
    def of(cls, objects: Measurements) -> Grid:
        """Return bins for objects (n, m) with points of their own: as many as a middling object has points in a band."""
        assert objects.at is not None
        seen = objects.observed
        band = np.zeros(objects.shape, dtype=np.int64) if objects.band is None else objects.band
        n_bands = int(band[seen].max(initial=0)) + 1
        times = np.broadcast_to(objects.at, objects.shape)[seen]
        row = np.broadcast_to(np.arange(objects.n_objects)[:, None], objects.shape)[seen]
        count = np.bincount(row * n_bands + band[seen])
        bins = int(np.clip(np.median(count[count > 0]) if count.any() else 0, _FEWEST, _MOST))
        edges = np.unique(np.quantile(times, np.linspace(_OUTSIDE, 1.0 - _OUTSIDE, bins + 1)))
        if len(edges) < 2:
            edges = np.array([edges[0] - 0.5, edges[0] + 0.5])
        every = cls(edges, n_bands, np.ones(n_bands * (len(edges) - 1), dtype=np.bool_))
        return replace(every, kept=np.asarray(every.apply(objects).observed.any(axis=0)))

    def apply(self, objects: Measurements) -> Measurements:
        """Return (n, cells): the objects on the grid, band after band."""
        assert objects.at is not None and objects.covariance is None
        objects.refuse_counts()
        bins = len(self.edges) - 1
        shape = (objects.n_objects, self.n_bands * bins)
        times = np.broadcast_to(objects.at, objects.shape)
        band = np.zeros(objects.shape, dtype=np.int64) if objects.band is None else objects.band
        used = objects.observed & (times >= self.edges[0]) & (times <= self.edges[-1]) & (band < self.n_bands)
        place = np.minimum(np.searchsorted(self.edges, times[used], side="right") - 1, bins - 1)
        row = np.broadcast_to(np.arange(objects.n_objects)[:, None], objects.shape)[used]
        cell = row * shape[1] + band[used] * bins + place
        # An exact point (no error) outweighs all others, but not beyond a float.
        least = 1e-6 * float(np.median(objects.sigma[used])) if used.any() and objects.has_errors else 1.0
        weight = (
            np.maximum(objects.sigma[used], least or 1.0) ** -2.0 if objects.has_errors else np.ones(len(row))
        )
        total = np.bincount(cell, weight, minlength=shape[0] * shape[1])
        mean = np.bincount(cell, weight * objects.values[used], minlength=shape[0] * shape[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            values, sigma = mean / total, total**-0.5
        middle = np.tile(0.5 * (self.edges[1:] + self.edges[:-1]), self.n_bands)
        made = Measurements(
            values.reshape(shape)[:, self.kept],
            sigma.reshape(shape)[:, self.kept] if objects.has_errors else None,
            at=middle[self.kept],
            band=np.repeat(np.arange(self.n_bands), bins)[self.kept],
        )
        return made.with_columns(objects.columns)

"""Alignment at peak: times from the brightest point, values in units of it, so that transients can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.data.measurements import Measurements
from badac.data.validation import BoolArray, FloatArray

_SIGNIFICANT = 3.0


@dataclass(frozen=True, eq=False)
class Peaks:
    """Time and value of each object's brightest point, (n,) each; NaN where it has no point in the band.

    Attributes
    ----------
    time, value : (n,)
    value_sigma : (n,) or None
        Standard deviation of the brightest point.
    time_sigma : (n,) or None
        Half the way to the neighbouring points: when the true peak was.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import find_peaks
    >>> find_peaks(Measurements([[1.0, 5.0, 2.0]], 0.1, at=[[10.0, 11.0, 12.0]])).time
    array([11.])
    """

    time: FloatArray
    value: FloatArray
    value_sigma: FloatArray | None = None
    time_sigma: FloatArray | None = None

    def __getitem__(self, rows: BoolArray) -> Peaks:
        """Return the peaks of some objects."""
        found = (self.time, self.value, self.value_sigma, self.time_sigma)
        time, value, value_sigma, time_sigma = (None if one is None else one[rows] for one in found)
        assert time is not None and value is not None
        return Peaks(time, value, value_sigma, time_sigma)


def find_peaks(objects: Measurements, band: int | None = None) -> Peaks:
    """Find the largest value (fluxes, not magnitudes) in a band, among points of 3 sigma where there are any.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import find_peaks
    >>> found = find_peaks(Measurements([[1.0, 5.0, 2.0]], 0.1, at=[[10.0, 11.0, 12.0]]))
    >>> found.time, found.value
    (array([11.]), array([5.]))
    """
    if objects.at is None:
        raise ValueError("a peak needs the times of the points: give the objects `at`.")
    seen = objects.observed
    if band is not None:
        if objects.band is None:
            raise ValueError(f"`band` is {band}, but the objects have no bands.")
        seen = seen & (np.broadcast_to(objects.band, objects.shape) == band)
    # One noisy point far from the true peak would shift the whole curve.
    significant = seen & (objects.values > _SIGNIFICANT * np.where(seen, objects.sigma, 0.0))
    use = np.where(significant.any(axis=1, keepdims=True), significant, seen)
    ranked = np.where(use, objects.values, -np.inf)
    column = ranked.argmax(axis=1)
    rows = np.arange(objects.n_objects)
    has = use.any(axis=1)
    times = np.broadcast_to(objects.at, objects.shape)[rows, column]
    sigma = np.where(has, objects.sigma[rows, column], np.nan)
    apart = np.abs(np.where(seen, np.broadcast_to(objects.at, objects.shape), np.nan) - times[:, None])
    apart[rows, column] = np.inf
    nearest = np.fmin.reduce(np.where(apart > 0, apart, np.nan), axis=1, initial=np.inf)
    reach = np.where(has & np.isfinite(nearest), 0.5 * nearest, np.nan)
    return Peaks(np.where(has, times, np.nan), np.where(has, ranked[rows, column], np.nan), sigma, reach)


def align_at_peak(
    objects: Measurements, band: int | None = None, *, scale: bool = True, peaks: Peaks | None = None
) -> Measurements:
    """Count times from the peak and, with `scale`, divide values and errors by the peak's value.

    What that takes away stays beside the curves, as columns with errors: ``peak_time``, and with `scale` ``peak_value``.

    Parameters
    ----------
    objects : Measurements
        Fluxes (n, m) with `at`.
    band : int, optional
        Where to look for the peak; all bands by default.
    peaks : Peaks, optional
        Peaks known from elsewhere, instead of those that `find_peaks` finds.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.data import align_at_peak
    >>> found = align_at_peak(Measurements([[1.0, 4.0, 2.0]], 0.1, at=[[10.0, 11.0, 13.0]]))
    >>> found.at, found.values
    (array([[-1.,  0.,  2.]]), array([[0.25, 1.  , 0.5 ]]))
    """
    found = find_peaks(objects, band) if peaks is None else peaks
    bad = ~np.isfinite(found.time) | (~(found.value > 0) if scale else np.zeros(len(found.time), dtype=bool))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"every object needs a peak with a positive value{'' if band is None else f' in band {band}'}: got time "
            f"{found.time[row]}, value {found.value[row]} at object {row} ({int(bad.sum())} in all). Leave them out: "
            "peaks = find_peaks(objects, band); objects[peaks.value > 0]."
        )
    assert objects.at is not None
    if scale:
        objects.refuse_counts()
    unit = found.value[:, None] if scale else np.ones((objects.n_objects, 1))
    covariance = objects.covariance
    if covariance is not None and scale:
        covariance = np.broadcast_to(covariance, (*objects.shape, objects.n_points)) / unit[..., None] ** 2
    taken = {"peak_time": (found.time, 0.0 if found.time_sigma is None else found.time_sigma)}
    if scale:
        taken["peak_value"] = (found.value, 0.0 if found.value_sigma is None else found.value_sigma)
    aligned = objects._changed(
        values=objects.values / unit,
        sigma=objects.sigma / unit,
        covariance=covariance,
        at=np.broadcast_to(objects.at, objects.shape) - found.time[:, None],
    )
    return aligned.with_columns(taken)

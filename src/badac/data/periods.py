"""Periods of irregular light curves in several bands: the frequency at which sinusoids explain most.

    power(f) = sum_b [ chi^2_0,b - chi^2_b(f) ] / 2          over the bands b

with a mean and `terms` harmonics of its own for each band (Lomb 1976, Scargle 1982; a common frequency for all bands as in
VanderPlas and Ivezic 2015). `fold` then puts the cycles on one another. With one term an eclipsing binary of two like minima is
found at half its period; two terms find the whole one, at twice the cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.data.measurements import Measurements
from badac.data.optional import needs
from badac.data.validation import FloatArray, IntArray

_PER_PEAK = 5
"""Frequencies in the width of a peak, 1 / length of the curve (VanderPlas 2018, section 7.1)."""
_MOST_FREQUENCIES = 2_000_000
_LEAST_SIGMA = 1e-3
"""Of the scatter of the values: an exact point must not outweigh all others beyond a float."""


@dataclass(frozen=True, eq=False)
class Periods:
    """What was found for each object, (n,) each; NaN where it has too few points.

    Attributes
    ----------
    period
        In the unit of `at`.
    explained
        Share of the variance about each band's mean that the sinusoids explain.
    false_alarm
        About the probability that pure scatter would explain as much at any of the frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.data import find_period
    >>> at = np.sort(np.random.default_rng(0).uniform(0, 30, (1, 60)), axis=1)
    >>> found = find_period(Measurements(np.sin(2 * np.pi * at / 2.5), 0.05, at=at))
    >>> found.period.round(2)
    array([2.5])
    """

    period: FloatArray
    explained: FloatArray
    false_alarm: FloatArray


def find_period(
    objects: Measurements,
    *,
    shortest: float | None = None,
    longest: float | None = None,
    terms: int = 1,
) -> Periods:
    """Find the period of each object.

    Parameters
    ----------
    objects : Measurements
        (n, m) with times `at`, per object or common, and bands, if there are any.
    shortest, longest : float, optional
        Periods to search between, in the unit of `at`. By default from five times the mean Nyquist frequency to half the
        length of the curve; where cadences are irregular, far shorter periods can be found: say so.
    terms : int
        Harmonics.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> rng = np.random.default_rng(0)
    >>> at = np.sort(rng.uniform(0, 30, (1, 60)))
    >>> star = Measurements(np.sin(2 * np.pi * at / 0.6) + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    >>> find_period(star, shortest=0.2).period.round(2)
    array([0.6])
    """
    if objects.at is None:
        raise ValueError("a period needs the times of the points: give the objects `at`.")
    if shortest is not None and not shortest > 0:
        raise ValueError(f"`shortest` must be positive: got {shortest!r}.")
    lomb_scargle = needs("astropy.timeseries", "Finding periods").LombScargle
    times = np.broadcast_to(objects.at, objects.shape)
    bands = (
        np.zeros(objects.shape, dtype=np.int64)
        if objects.band is None
        else np.broadcast_to(objects.band, objects.shape)
    )
    out = np.full((objects.n_objects, 3), np.nan)
    for row in range(objects.n_objects):
        curves = _curves(objects, times, bands, row, 2 * terms + 2)
        if curves:
            out[row] = _search(lomb_scargle, curves, (shortest, longest), terms)
    return Periods(out[:, 0], out[:, 1], out[:, 2])


def _curves(
    objects: Measurements, times: FloatArray, bands: IntArray, row: int, fewest: int
) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Time, value and error of an object's points in each band that has enough of them and varies."""
    found = []
    for band in np.unique(bands[row, objects.observed[row]]):
        use = objects.observed[row] & (bands[row] == band)
        values = objects.values[row, use]
        scatter = float(np.std(values))
        if use.sum() >= fewest and scatter > 0:
            sigma = objects.sigma[row, use] if objects.has_errors else np.full(values.shape, scatter)
            found.append((times[row, use], values, np.maximum(sigma, _LEAST_SIGMA * scatter)))
    return found


def _search(
    lomb_scargle: type,
    curves: list[tuple[FloatArray, FloatArray, FloatArray]],
    limits: tuple[float | None, float | None],
    terms: int,
) -> tuple[float, float, float]:
    length = max(float(np.ptp(time)) for time, _, _ in curves)
    most = max(len(time) for time, _, _ in curves)
    count = sum(len(time) for time, _, _ in curves)
    if not length > 0:
        return np.nan, np.nan, np.nan
    shortest, longest = limits[0] or 2.0 * length / (5.0 * most), limits[1] or 0.5 * length
    step = 1.0 / (_PER_PEAK * length)
    n_steps = int((1.0 / shortest - 1.0 / longest) / step) + 1
    if n_steps < 2 or n_steps > _MOST_FREQUENCIES:
        if n_steps < 2:
            return np.nan, np.nan, np.nan
        raise ValueError(
            f"periods from {shortest:g} to {longest:g} in curves of length {length:g} are {n_steps:,} frequencies, more than "
            f"{_MOST_FREQUENCIES:,}: raise `shortest`."
        )
    frequency: FloatArray = 1.0 / longest + step * np.arange(n_steps, dtype=np.float64)
    power = np.zeros(n_steps)
    whole = 0.0
    for time, value, sigma in curves:
        search = lomb_scargle(time, value, sigma, nterms=terms)
        power += search.power(frequency, normalization="psd", assume_regular_frequency=True)
        weight = sigma**-2.0
        whole += float((weight * (value - np.average(value, weights=weight)) ** 2).sum())
    best = int(np.argmax(power))
    explained = float(np.clip(2.0 * power[best] / whole, 0.0, 1.0))
    # With the scatter itself unknown the statistic is beta distributed; every frequency counts as a trial.
    free = max(count - (2 * terms + 1) * len(curves), 1)
    false_alarm = min(1.0, n_steps * (1.0 - explained) ** (0.5 * free))
    return 1.0 / _vertex(frequency, power, best), explained, float(false_alarm)


def _vertex(frequency: FloatArray, power: FloatArray, best: int) -> float:
    """Top of the parabola through the highest point and its neighbours."""
    if best in (0, len(power) - 1):
        return float(frequency[best])
    left, middle, right = power[best - 1 : best + 2]
    bend = left - 2.0 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return float(frequency[best] + shift * (frequency[1] - frequency[0]))


def brightest_time(objects: Measurements, period: FloatArray, *, upside_down: bool = False) -> FloatArray:
    """Return the time (n,) at which two harmonics of each object's period, fitted to all its points, are brightest.

    Parameters
    ----------
    objects : Measurements
        (n, m) with `at`; each band has a mean of its own.
    period : (n,)
    upside_down : bool
        Magnitudes: small is bright.
    """
    assert objects.at is not None
    times = np.broadcast_to(objects.at, objects.shape)
    bands = (
        np.zeros(objects.shape, dtype=np.int64)
        if objects.band is None
        else np.broadcast_to(objects.band, objects.shape)
    )
    phases = np.linspace(0.0, 1.0, 200, endpoint=False)
    out = np.zeros(objects.n_objects)
    for row in range(objects.n_objects):
        use = objects.observed[row]
        _, band = np.unique(bands[row, use], return_inverse=True)
        means = np.eye(int(band.max(initial=0)) + 1)[band]
        design = np.column_stack([_harmonics(times[row, use] / period[row]), means])
        sigma = objects.sigma[row, use] if objects.has_errors else np.ones(int(use.sum()))
        weight = 1.0 / np.maximum(sigma, _LEAST_SIGMA * max(float(np.std(objects.values[row, use])), 1e-300))
        found = np.linalg.lstsq(design * weight[:, None], objects.values[row, use] * weight, rcond=None)[0]
        curve = _harmonics(phases) @ found[:4]
        out[row] = period[row] * phases[int(np.argmin(curve) if upside_down else np.argmax(curve))]
    return out


def _harmonics(phase: FloatArray) -> FloatArray:
    angle = 2.0 * np.pi * phase[:, None] * np.array([1.0, 2.0])
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)

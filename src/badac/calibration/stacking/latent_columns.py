"""Objects with points of their own as a few columns that they all have: what trees can ask for.

    column a = E[z_a | d]  with its posterior standard deviation as error,      z: latent positions under all training objects
    column k = log P(d | class k) less that of the best class, softened
    column q = low, usual and high value in a band, by rank

A population of all training objects, whatever their class (`badac.classes.irregular`), sees through noise and gaps: some ten
positions say what a curve is like, where a grid of bins has a hundred cells, most of them empty. Columns beside the curve
(bands in which an object has one point, at one coordinate: `badac.data.beside`) stand next to them as they were measured, and
so does what the class models say: where they are wrong depends on what the object is like. A few wild points spoil positions,
which are Gaussian, and leave quantiles alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.stacking.weights import soften
from badac.classes.irregular import IrregularPopulation
from badac.data.measurements import Measurements
from badac.latent.points import blocks_of, group_of_point, grouped, owner_of_group
from badac.registry import registered
from badac.training import TrainingScales, TrainingSet

# Latent positions: 12 tell the SPCC's classes as well as 16 (docs/light_curves.md); of few objects a twelfth of their number.
_RANK, _OBJECTS_PER_POSITION = 12, 12
_QUANTILES = (0.1, 0.5, 0.9)
_SOFTNESS = 3.0  # of the evidence: a hundred nats behind count for ten (`badac.calibration.stacking.weights`)


@registered("part", holds={"bands": "any"})
@dataclass(frozen=True, eq=False)
class LatentColumns:
    """How objects at their points become columns.

    Attributes
    ----------
    population : IrregularPopulation
        Of all training objects.
    bands : (c,)
        Those that hold columns beside the curve.
    scales : TrainingScales
        Of the training objects' columns.
    """

    population: IrregularPopulation
    bands: IntArray
    scales: TrainingScales

    @classmethod
    def of(cls, training: TrainingSet, evidence: FloatArray) -> tuple[LatentColumns, Measurements]:
        """Learn the population, and return the columns of the training objects, which have this evidence (n, k), too."""
        objects, rng = training.objects, training.rng
        rank = int(np.clip(len(training) // _OBJECTS_PER_POSITION, 1, _RANK))
        blind = IrregularPopulation(rank=rank, shape="gaussian")
        population = blind.described(objects, training.noise, rng, training.scales)
        bands = bands_of_columns(objects)
        seen = _columns(population, bands, objects, evidence)
        return cls(population, bands, TrainingScales.of(seen)), seen

    def apply(self, objects: Measurements, evidence: FloatArray, *, n_threads: int = 1) -> Measurements:
        """Return (n, r + c + k + q): positions, columns beside the curve, how far each class is behind the best, quantiles."""
        return _columns(self.population, self.bands, objects, evidence, n_threads)


def _columns(
    population: IrregularPopulation,
    bands: IntArray,
    objects: Measurements,
    evidence: FloatArray,
    n_threads: int = 1,
) -> Measurements:
    mean, covariance = population.latent(objects, n_threads=n_threads).posterior
    sigma = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    beside = [column_of(objects, band) for band in bands.tolist()]
    behind = soften(evidence, _SOFTNESS)
    assert population.process is not None, "fit first"
    n_bands = population.process.basis.n_bands
    spread = _quantiles(objects, [band for band in range(n_bands) if band not in bands], n_bands)
    values = np.column_stack([mean, *(value for value, _ in beside), behind, spread])
    exact = np.where(np.isnan(spread), np.inf, 0.0)
    return Measurements(
        values, np.column_stack([sigma, *(error for _, error in beside), np.zeros_like(behind), exact])
    )


def _quantiles(objects: Measurements, bands: Sequence[int], n_bands: int) -> FloatArray:
    """Return (n, 3 b): low, usual and high values in some of the bands, by rank; NaN where an object has no point there."""
    found = np.full((len(objects), n_bands, len(_QUANTILES)), np.nan)
    for block in blocks_of(objects):
        # Ranks are of values alone.
        points = grouped(objects[block]._changed(covariance=None), n_bands)
        count = np.diff(points.first)
        # A row for each band of each object, as long as the longest of them.
        values = np.full((len(count), int(count.max(initial=0))), np.inf)
        row = group_of_point(points)
        values[row, np.arange(len(row)) - points.first[row]] = points.values
        values.sort(axis=1)
        place = np.rint((count[:, None] - 1) * np.array(_QUANTILES)).astype(np.int64)
        found[block][owner_of_group(points), points.band] = np.take_along_axis(values, place, axis=1)
    return found[:, list(bands)].reshape(len(objects), -1)


def column_of(objects: Measurements, band: int) -> tuple[FloatArray, FloatArray]:
    """Value and error (n,) of the one point of each object in a band; NaN and inf where it has none."""
    assert objects.band is not None
    there = objects.observed & (np.broadcast_to(objects.band, objects.shape) == band)
    row, column = np.arange(len(objects)), there.argmax(axis=1)
    has = there[row, column]
    return np.where(has, objects.values[row, column], np.nan), np.where(
        has, objects.sigma[row, column], np.inf
    )


def bands_of_columns(objects: Measurements) -> IntArray:
    """Return (c,): bands in which no object has more than one point, all of them at one coordinate."""
    if objects.band is None or objects.at is None:
        return np.empty(0, dtype=np.int64)
    band, seen = np.broadcast_to(objects.band, objects.shape), objects.observed
    at = np.broadcast_to(objects.at, objects.shape)
    found = []
    for number in np.unique(band[seen]).tolist():
        own = seen & (band == number)
        if (own.sum(axis=1) <= 1).all() and np.ptp(at[own]) == 0.0 and int(own.sum()) > 1:
            found.append(number)
    return np.array(found, dtype=np.int64)

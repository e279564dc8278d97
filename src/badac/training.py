"""The training set: labelled objects and what goes with them wherever something is learned from them.

`TrainingSet` is what every step of learning takes: objects, labels, the noise, the pooled scales and the generator travel
together. `TrainingScales` is what all training objects together say: the pooled mean and scale of every point, where a class
looks whose own members say too little of a point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.data.units import reach_of
from badac.data.validation import largest, smallest
from badac.noise.model import Noise, noise_of_class
from badac.registry import registered
from badac.threads import in_order

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ROWS_PER_BLOCK = 2048  # block size


@registered("part", holds={"variance": "(p,) >= 0", "members": ">= 0"})
@dataclass(frozen=True, eq=False)
class PooledSpread:
    """What the classes together say of the spread of one (`badac.classes.population.pooled_spread`).

    Attributes
    ----------
    variance : (m,)
        Of the true values of a class around its mean.
    members : float
        How many members' worth of knowledge that is for each class: the more, the more alike the classes are.
    """

    variance: FloatArray
    members: float


@registered("part", version=2, holds={"centre": "(p,)", "scale": "(p,) >= 0", "n_bands": "> 0, < 100000"})
@dataclass(frozen=True, eq=False)
class TrainingScales:
    """What all training objects together say of each point: where a class looks when its own members say too little.

    Attributes
    ----------
    centre : (m,)
        Mean of the point over all training objects; 0 where nobody observed it.
    scale : (m,)
        Its standard deviation, noise included, always positive; where nobody's data tell, a scale of the other points.
    lower, upper : float
        The smallest and the largest value of all points.
    n_bands : int
        Number of bands, where the points have any.
    pooled : PooledSpread or None
        Where some class has few members.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.classes import TrainingScales
    >>> TrainingScales.of(Measurements([[0.0, 10.0], [2.0, 14.0]], 0.1)).centre
    array([ 1., 12.])
    """

    centre: FloatArray
    scale: FloatArray
    lower: float
    upper: float
    n_bands: int = 1
    pooled: PooledSpread | None = None

    @property
    def reach(self) -> float:
        """How far out the value of a new object can be told from one that is farther (`badac.data.units`)."""
        return reach_of(max(abs(self.lower), abs(self.upper)) or 1.0)

    def points(self, key: IntArray) -> TrainingScales:
        """Return those of some points; what the classes have in common is told of all points or of none."""
        return replace(self, centre=self.centre[key], scale=self.scale[key], pooled=None)

    @classmethod
    def of(cls, objects: Measurements) -> TrainingScales:
        """Summarise the training objects of all classes."""
        reach = smallest(objects.values), largest(objects.values)
        centre, spread, count = _point_moments(objects, reach)
        if objects.own_points:
            # A column has no meaning of its own here: every point is told by all of them.
            share = count / max(count.sum(), 1.0)
            pooled = float(share @ centre)
            variance = float(share @ (spread**2 + (centre - pooled) ** 2))
            centre, spread = np.full(len(centre), pooled), np.full(len(centre), np.sqrt(variance))
        n_bands = 1 if objects.band is None else max(int(objects.band.max(initial=0)) + 1, 1)
        return cls.from_moments(centre, spread, *reach, n_bands)

    @classmethod
    def from_moments(
        cls, centre: FloatArray, spread: FloatArray, lower: float, upper: float, n_bands: int = 1
    ) -> TrainingScales:
        """Summarise training objects of whom only mean and standard deviation (m,) and the range are known."""
        known = spread[spread > 0]
        fallback = float(np.median(known)) if known.size else 1.0
        scale = np.where(spread > 1e-12 * np.maximum(np.abs(centre), fallback), spread, fallback)
        return cls(centre, scale, *((lower, upper) if lower <= upper else (0.0, 0.0)), n_bands)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Labelled objects, with what everybody who learns from them needs.

    Attributes
    ----------
    objects : Measurements
        (n, m), in the units of the model.
    label : (n,) int
        Row of `classes` that each object belongs to.
    classes : (k,)
        Labels, sorted.
    noise : Noise
        How the measurements scatter, with nothing left open.
    scales : TrainingScales
        Of all training objects, also where the set is a part of them.
    rng : numpy Generator
        Of what is drawn while learning; shared by all parts of a set.
    """

    objects: Measurements
    label: IntArray
    classes: npt.NDArray[Any]
    noise: Noise
    scales: TrainingScales
    rng: np.random.Generator

    def __len__(self) -> int:
        return len(self.label)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def counts(self) -> IntArray:
        """(k,): number of members of each class."""
        return np.bincount(self.label, minlength=self.n_classes)

    def members(self, number: int) -> Measurements:
        """Return the objects of a class, in their order."""
        return self.objects[self.label == number]

    def noise_of(self, number: int) -> Noise:
        """Return the noise that holds for a class."""
        return noise_of_class(self.noise, number)

    def take(self, rows: npt.NDArray[Any]) -> TrainingSet:
        """Return a part of the objects, by a mask or by rows; classes, noise, scales and generator stay."""
        return replace(self, objects=self.objects[rows], label=self.label[rows])

    def with_generator(self, rng: np.random.Generator) -> TrainingSet:
        """Return the same set for steps that draw from another generator."""
        return replace(self, rng=rng)


def point_moments(objects: Measurements) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (m,) mean, standard deviation and number of the observed values at each point; 0 where there is none.

    In blocks, so that a million objects need no temporary of their size, and around the mean, so that large values with
    a small spread keep it.
    """
    return _point_moments(objects, (smallest(objects.values), largest(objects.values)))


def _point_moments(
    objects: Measurements, reach: tuple[float, float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`point_moments` of objects whose smallest and largest value are known."""
    blocks = [slice(start, start + _ROWS_PER_BLOCK) for start in range(0, objects.n_objects, _ROWS_PER_BLOCK)]
    count, total = np.zeros(objects.n_points), np.zeros(objects.n_points)

    def counted(block: slice) -> tuple[FloatArray | int, FloatArray]:
        values = objects.values[block]
        sums = values.sum(axis=0)
        if np.isnan(sums).any():
            return np.count_nonzero(~np.isnan(values), axis=0), np.nansum(values, axis=0)
        return len(values), sums

    for number, sums in in_order(counted, blocks):
        count += number
        total += sums
    safe = np.maximum(count, 1.0)
    centre = total / safe
    squares = np.zeros(objects.n_points)
    # In units of the largest value, whose square may be beyond a float.
    unit = max(map(abs, reach))
    unit = unit if 0.0 < unit < np.inf else 1.0

    def squared(block: slice) -> FloatArray:
        residual = objects.values[block] - centre
        residual /= unit
        sums: FloatArray = np.einsum("ij,ij->j", residual, residual)
        return np.nansum(residual**2, axis=0) if np.isnan(sums).any() else sums

    for sums in in_order(squared, blocks):
        squares += sums
    return centre, unit * np.sqrt(squares / safe), count

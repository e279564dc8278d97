"""What all partitions say of the training objects, before anything is learned: counts, moments, the range, and a sample.

Two surveys add up to the survey of both, so they travel up a tree in any order; the moments are kept around the mean of each
part (Chan, Golub & LeVeque 1983), and a sample holds the members with the smallest of numbers drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.classes import TrainingScales
from badac.classes.population.learn import MEMBERS_TO_START_FROM
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.data.validation import largest, smallest

FloatArray = npt.NDArray[np.float64]
Members = dict[Any, Measurements]


@dataclass(frozen=True, eq=False)
class Sample:
    """Some members of a class, each with a number drawn at random: those with the smallest numbers stay.

    The smallest of all are the smallest of the smallest, so samples merge in any order and every member has the same chance.
    """

    members: Measurements
    draw: FloatArray

    def merged(self, other: Sample, most: int) -> Sample:
        draw = np.concatenate([self.draw, other.draw])
        # In the order of the data: a sample of all members is all members as they are.
        kept = np.sort(np.argsort(draw, kind="stable")[:most])
        return Sample(concatenate([self.members, other.members])[kept], draw[kept])


@dataclass(frozen=True, eq=False)
class Survey:
    """What all partitions say of the training objects, before anything is learned.

    Attributes
    ----------
    count : dict from label to int
    sample : dict from label to Sample
    seen, centre, squares : (m,)
        Number, mean and summed squared deviation of the values at each point.
    lower, upper : float
    """

    count: dict[Any, int]
    sample: dict[Any, Sample]
    seen: FloatArray
    centre: FloatArray
    squares: FloatArray
    lower: float
    upper: float

    @classmethod
    def of(cls, members: Members, rng: np.random.Generator, n_points: int) -> Survey:
        count = {name: part.n_objects for name, part in members.items()}
        sample = {}
        for name, part in members.items():
            draw = rng.random(part.n_objects)
            kept = np.sort(np.argsort(draw, kind="stable")[:MEMBERS_TO_START_FROM])
            sample[name] = Sample(part[kept], draw[kept])
        every = [part.values for part in members.values()]
        values = np.concatenate(every) if every else np.empty((0, n_points))
        seen = np.count_nonzero(~np.isnan(values), axis=0).astype(np.float64)
        centre = np.nansum(values, axis=0) / np.maximum(seen, 1.0)
        squares = np.nansum((values - centre) ** 2, axis=0)
        return cls(count, sample, seen, centre, squares, smallest(values), largest(values))

    def __add__(self, other: Survey) -> Survey:
        names = sorted({*self.count, *other.count})
        sample = {
            name: self.sample[name].merged(other.sample[name], MEMBERS_TO_START_FROM)
            if name in self.sample and name in other.sample
            else (self.sample.get(name) or other.sample[name])
            for name in names
        }
        seen = self.seen + other.seen
        apart = other.centre - self.centre
        share = other.seen / np.maximum(seen, 1.0)
        # Around the mean of each part, so that large values with a small spread keep it (Chan, Golub & LeVeque 1983).
        return Survey(
            {name: self.count.get(name, 0) + other.count.get(name, 0) for name in names},
            sample,
            seen,
            self.centre + apart * share,
            self.squares + other.squares + apart**2 * self.seen * share,
            min(self.lower, other.lower),
            max(self.upper, other.upper),
        )

    @property
    def scales(self) -> TrainingScales:
        spread = np.sqrt(self.squares / np.maximum(self.seen, 1.0))
        return TrainingScales.from_moments(self.centre, spread, self.lower, self.upper)

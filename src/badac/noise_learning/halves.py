"""Two random halves of the members of a class: what one teaches, the other is asked about.

Everything that is said of noise is said of members that were left out. So the halves are drawn once, and what is learned from
one under plain error bars is kept: the moments and their eigenvectors, from which come the number of factors (the one by which
both halves explain each other best, as in `badac.classes.population.rank`), the pulls of the other half
(`badac.noise_learning.variety`) and the evidence that other noise has to beat (`badac.noise_learning.families`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.cached import cached_property
from badac.classes.model import FloatArray
from badac.classes.population.rank import MAX_RANK, grow_rank, repeated
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import with_noise_scale
from badac.latent.moments import Spectrum
from badac.noise import Gaussian
from badac.noise_learning.noise_em import fit_factor
from badac.training import TrainingScales

IntArray = npt.NDArray[np.int64]

FEWEST = 20
"""Members of a class that tell anything about its noise."""


@dataclass(frozen=True, eq=False)
class Half:
    """Members (k, m) of a class that are learned from together, and the scales of all training objects."""

    members: Measurements
    scales: TrainingScales

    @property
    def most_factors(self) -> int:
        """How many factors so many members can teach."""
        return max(min(MAX_RANK, self.members.n_points - 1, self.members.n_objects // 3), 0)

    @cached_property
    def spectrum(self) -> Spectrum:
        return Spectrum.of(self.members, self.scales, self.most_factors)

    @cached_property
    def _fitted(self) -> dict[tuple[int, int], Factor]:
        return {}

    def factor(self, rank: int, basis: FloatArray | None = None) -> Factor:
        """Return the factor model of so many factors, held to the functions (m, K) of a basis if there is one."""
        key = (rank, 0 if basis is None else basis.shape[1])
        if key not in self._fitted:
            self._fitted[key] = fit_factor(self.members, self.spectrum, rank, basis)
        return self._fitted[key]


@dataclass(frozen=True, eq=False)
class Halves:
    """Two halves of some members of a class, further members, and how many factors a half teaches.

    Attributes
    ----------
    first, second : Half
    others : Measurements
        None at all as a rule.
    rank : int
        By which both halves explain each other best under plain error bars.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise_learning.halves import Halves
    >>> from badac.training import TrainingScales
    >>> rng = np.random.default_rng(0)
    >>> values = rng.standard_normal((60, 1)) * np.linspace(1, 2, 8) + 0.1 * rng.standard_normal((60, 8))
    >>> members = Measurements(values, 0.1)
    >>> Halves.of(members, TrainingScales.of(members), rng, most=40).rank
    1
    """

    first: Half
    second: Half
    others: Measurements
    rank: int

    @classmethod
    def of(
        cls,
        members: Measurements,
        scales: TrainingScales,
        rng: np.random.Generator,
        most: int,
        most_others: int = 0,
    ) -> Halves:
        """Draw halves of `most` members (n, m) at most, and further members up to `most_others`."""
        rows = rng.permutation(members.n_objects)
        both = min(len(rows), most)
        parts = np.split(rows[: max(both, most_others)], [both // 2, both])
        first, second, others = (members[np.sort(part)] for part in parts)
        return cls.between(Half(first, scales), Half(second, scales), others)

    @classmethod
    def between(cls, first: Half, second: Half, others: Measurements) -> Halves:
        """Return two halves with the number of factors by which they explain each other best."""
        parts = [(first.spectrum, second.members), (second.spectrum, first.members)]
        limit, scales = min(first.most_factors, second.most_factors), first.scales
        base = repeated(concatenate([first.members, second.members]), scales)
        return cls(first, second, others, grow_rank(parts, base, scales, limit)[0] if limit else 0)

    @property
    def n_asked(self) -> int:
        return self.first.members.n_objects + self.second.members.n_objects

    def turns(self) -> Iterator[tuple[Half, Half]]:
        """Who teaches and who is asked, and the other way round."""
        yield self.first, self.second
        yield self.second, self.first

    def all_members(self) -> Measurements:
        """Return the members of both halves and the others."""
        known = [self.first.members, self.second.members]
        return concatenate([*known, self.others] if len(self.others) else known)

    def points(self, key: npt.NDArray[Any]) -> Halves:
        """Return the same at some of the points; the number of factors stays."""
        key = np.flatnonzero(key) if key.dtype == bool else key
        if len(key) == self.first.members.n_points:
            return self
        one, other = (
            Half(half.members.points(key), half.scales.points(key)) for half in (self.first, self.second)
        )
        rank = min(self.rank, one.most_factors, other.most_factors)
        return replace(self, first=one, second=other, others=self.others.points(key), rank=rank)

    def scaled(self, factor: float) -> Halves:
        """Return the same with error bars multiplied by a factor; what they hid may take more factors, or fewer."""
        one, other = (
            Half(with_noise_scale(half.members, Gaussian(factor)), half.scales)
            for half in (self.first, self.second)
        )
        return Halves.between(one, other, self.others)

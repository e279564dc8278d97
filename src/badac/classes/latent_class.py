"""What classes with a latent space have in common: ``y_true = mean + factors z + eps``, ``z`` from a density.

`badac.classes.population.Population` has few factors and a remainder, `badac.classes.deconvolved.DeconvolvedMixture` as many
factors as columns; how they learn differs, what they can say of themselves afterwards does not.
"""

from __future__ import annotations

import numpy as np

from badac.classes.irregular import IrregularPopulation
from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.data.units import in_units, log_jacobian
from badac.latent.class_summary import ClassSummary, reconstruct, reconstructed_values
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.noise.model import Noise


class LatentClass:
    """Shared answers of fitted class models on a common grid; the fields are those of the dataclass that has it as base."""

    mean: FloatArray | None
    factors: FloatArray | None
    psi: FloatArray | None
    density: LatentDensity | None
    member_evidence: FloatArray | None
    noise: Noise | None
    unit: float

    def at_own_points(self) -> IrregularPopulation:
        """Return the model for members with points of their own: curves in place of columns."""
        return IrregularPopulation()

    @property
    def factor(self) -> Factor:
        """The Gaussian summary: mean, factors and psi together."""
        assert self.mean is not None and self.factors is not None and self.psi is not None, "fit first"
        return Factor(self.mean, self.factors, self.psi)

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        """Return (k,): learned in `fit`."""
        del n_threads
        assert self.member_evidence is not None, "fit first"
        return self.member_evidence

    def summary(self) -> ClassSummary | None:
        """Return the factor model and the density of the members, without tails."""
        if self.density is None or self.noise is None:
            return None
        return ClassSummary(self.factor, self.density, self.noise)

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Return (m, 1 + r): mean and directions of the class at its points, and (m,) the variance that they leave."""
        factor = self.factor
        return np.column_stack([factor.mean, factor.factors]), factor.psi

    def reconstruct(self, objects: Measurements) -> Measurements:
        """Return what each object should have looked like as a member of the class, without noise: mean and sigma."""
        assert self.density is not None, "fit first"
        found = reconstruct(in_units(objects, self.unit), self.factor, self.density)
        return in_units(found, 1.0 / self.unit)

    def reconstructed_values(self, objects: Measurements) -> FloatArray:
        """Return the values (n, m) of `reconstruct`, for whoever needs no sigma of them."""
        assert self.density is not None, "fit first"
        return reconstructed_values(in_units(objects, self.unit), self.factor, self.density) * self.unit

    def in_their_units(self, evidence: FloatArray, objects: Measurements) -> FloatArray:
        """Return log evidence (n,) in the class's unit as that of the objects in theirs."""
        return evidence if self.unit == 1.0 else evidence - log_jacobian(objects, self.unit)

"""Curves as coefficients in a basis, with the uncertainty that the error bars leave them: features with a covariance.

    y = origin + design c + eps,    eps ~ N(0, diag psi)
    c | d ~ N(C design' S^-1 (d - origin) , C),    C = (design' S^-1 design + widest^-2 I)^-1,    S = diag psi + Sigma_d

(the paper's section on parametric models: "wavelets or principal component analysis"). The coefficients of an object are again
a `badac.Measurements`, with a covariance per object, so every class model takes them as it takes the curves. Use it where
curves have thousands of points and a few coefficients tell them all, or where the curves of two instruments meet only in
a common basis. A point that an object lacks makes its coefficients less certain, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac._kernels.latent import unpack
from badac.classes.model import FloatArray, refuse_own_points
from badac.data.measurements import Measurements
from badac.latent.factor import Factor, expectation_maximisation
from badac.latent.moments import Spectrum
from badac.registry import registered
from badac.training import TrainingScales


@registered("part")
@dataclass(frozen=True, eq=False)
class Expansion:
    """A basis for curves on a common grid.

    Attributes
    ----------
    origin, psi : (m,)
        What is subtracted first, and the variance that the basis leaves at each point.
    design : (m, q)
        The basis, one function a column.
    widest : float
        Prior standard deviation of the coefficients: wide enough to say nothing where the points say anything, and finite
        for what an object's missing points leave open.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Expansion
    >>> star = Measurements([[1.0, 1.0, 3.0, 3.0]], 0.1)
    >>> found = Expansion.haar(4).transform(star)
    >>> found.values.round(3) + 0.0
    array([[ 4., -2.,  0.,  0.]])
    >>> found.sigma.round(3)
    array([[0.1, 0.1, 0.1, 0.1]])
    """

    origin: FloatArray
    design: FloatArray
    psi: FloatArray
    widest: float = 1e3

    @classmethod
    def haar(cls, n_points: int, n_kept: int | None = None, *, widest: float = 1e3) -> Expansion:
        """Haar's wavelets on any number of points, coarsest first: orthonormal, so a sigma stays what it is.

        Parameters
        ----------
        n_points : int
        n_kept : int, optional
            Keep only so many of the coarsest; all n_points if not given.
        widest : float
            Should be much larger than any coefficient.
        """
        columns = [np.full(n_points, 1.0 / np.sqrt(n_points))]
        intervals = [(0, n_points)]
        while intervals:
            start, stop = intervals.pop(0)
            middle = (start + stop) // 2
            left, right = middle - start, stop - middle
            if left == 0:
                continue
            column = np.zeros(n_points)
            # Unequal halves where the number is odd: still orthogonal to all coarser ones, and of length one.
            column[start:middle], column[middle:stop] = 1.0 / left, -1.0 / right
            columns.append(column / np.linalg.norm(column))
            intervals += [(start, middle), (middle, stop)]
        design = np.column_stack(columns)[:, :n_kept]
        return cls(np.zeros(n_points), design, np.zeros(n_points), widest)

    @classmethod
    def principal(cls, members: Measurements, rank: int) -> Expansion:
        """Principal components of noisy curves, their error bars and gaps known (`badac.latent.factor`).

        In units of the spread of the members, so that each coefficient scatters by about one.
        """
        refuse_own_points(members, "Expansion")
        scales = TrainingScales.of(members)
        factor = Spectrum.of(members, scales, rank).factor(rank)
        factor = expectation_maximisation(members, factor, scales)
        return cls(factor.mean, factor.factors, factor.psi)

    def transform(self, objects: Measurements) -> Measurements:
        """Return (n, q): the coefficients of each object with their covariance; without errors, by least squares."""
        refuse_own_points(objects, "Expansion")
        if objects.n_points != len(self.origin):
            raise ValueError(
                f"the expansion is for curves of {len(self.origin)} points: got {objects.n_points}."
            )
        exact = objects
        if not objects.has_errors:
            exact = Measurements(objects.values, 1.0)
        latent = Factor(self.origin, self.design, self.psi).project(exact)
        precision = unpack(latent.precision) + self.widest**-2 * np.eye(self.design.shape[1])
        covariance = np.linalg.inv(precision)
        values = (covariance @ latent.shift[..., None])[..., 0]
        if not objects.has_errors:
            return Measurements(values)
        return Measurements(values, covariance=0.5 * (covariance + covariance.transpose(0, 2, 1)))

    def curves(self, coefficients: FloatArray) -> FloatArray:
        """Return (n, m): the curves of coefficients (n, q)."""
        return np.asarray(self.origin + coefficients @ self.design.T)

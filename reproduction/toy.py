"""The paper's toy: two classes as Gaussian templates, one object of two points. Which class is it?

With the template of class k at point j being ``N(mu_kj, s_kj^2)`` and the datum ``d_j`` with error ``sigma_j``, the true
value has the unnormalised posterior

    N(d_j ; y , sigma_j^2) N(y ; mu_kj , s_kj^2) = N(d_j ; mu_kj , sigma_j^2 + s_kj^2) N(y ; m , v)

so the area under it is the evidence of the point, and the product over the points that of the object. The paper draws such
a toy without its numbers; its text says 65 % and its caption 73 %. The templates here are ours, chosen to look like its
figure: the first point alone gives class 1 65 %, both together give 73 %. That is one way in which both could have come
about; whatever the numbers were, only the product over both points is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.noise import Gaussian

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Toy:
    """Two templates and one object.

    Attributes
    ----------
    at : (2,)
        Where the two points are.
    templates : Measurements
        (2, 2): mean and spread of class 0 and 1 at the points.
    datum : Measurements
        (1, 2): the object.
    """

    at: FloatArray
    templates: Measurements
    datum: Measurements

    def log_evidence(self) -> FloatArray:
        """Return (2 classes, 2 points): log evidence of each point alone."""
        each = [Gaussian().log_match(self.datum.points([j]), self.templates.points([j]))[0] for j in (0, 1)]
        return np.column_stack(each)

    def posterior(self, points: tuple[int, ...] = (0, 1)) -> FloatArray:
        """Return (2,): probability of each class from the given points together, equal priors."""
        total = self.log_evidence()[:, list(points)].sum(axis=1)
        weight = np.exp(total - total.max())
        return np.asarray(weight / weight.sum())

    def true_value_density(self, kind: int, point: int, y: FloatArray) -> FloatArray:
        """Unnormalised posterior of the true value at a point, the other one marginalised; its area is the evidence."""
        variance = np.array([self.datum.sigma[0, point], self.templates.sigma[kind, point]]) ** 2
        means = np.array([self.datum.values[0, point], self.templates.values[kind, point]])
        v = 1.0 / (1.0 / variance).sum()
        m = v * (means / variance).sum()
        area = np.exp(self.log_evidence()[kind].sum())
        return np.asarray(area * np.exp(-0.5 * (y - m) ** 2 / v) / np.sqrt(2.0 * np.pi * v))


TOY = Toy(
    at=np.array([0.3, 0.7]),
    templates=Measurements([[0.66, 0.60], [0.42, 0.30]], [[0.21, 0.19], [0.10, 0.13]]),
    datum=Measurements([[0.50, 0.42]], [[0.08, 0.08]]),
)
"""The toy of our figure."""

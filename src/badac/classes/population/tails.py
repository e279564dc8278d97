"""Members that stray further than a Gaussian ``psi`` allows: a class with several widths.

    P(d | class) = sum_t w_t P(d | psi + t scale^2)

with ``scale`` the spread of all training objects at each point. On data that follow the model all weight falls on ``t = 0`` and
the other widths are dropped. Where a few members are far off (a stroke of the pen where no other member has one, a
catalogue value from another source), the wide ones earn their weight by the evidence of members that were left out, and
such an object is then rare instead of impossible: that keeps the probabilities honest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.kernel_density import best_weights
from badac.latent.mixture import logsumexp_rows
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

# In units of the variance of all training objects: from nothing to all of it, about a factor of three apart.
WIDTHS = (0.0, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_WIDE = WIDTHS.index(0.3)
_SCREEN = [0, WIDTHS.index(1e-2), WIDTHS.index(0.1)]
_FEW = 400  # members that have not yet shown all that a class can do
_LARGEST_GAIN = 20.0  # nats: beyond, a member is impossible, however much so


@registered("part", holds={"variances": "(t, m) >= 0", "weights": "(t,) >= 0"})
@dataclass(frozen=True, eq=False)
class Tails:
    """Added variances (t, m) and their weights (t,); the first is zero for all points."""

    variances: FloatArray
    weights: FloatArray

    @classmethod
    def none(cls, n_points: int) -> Tails:
        return cls(np.zeros((1, n_points)), np.ones(1))

    @classmethod
    def all(cls, scales: TrainingScales) -> Tails:
        """Return every width, weighted alike."""
        count = len(WIDTHS)
        return cls(np.outer(WIDTHS, scales.scale**2), np.full(count, 1.0 / count))

    def screened(self) -> Tails:
        """Return the zero width and two others: enough to see whether any other width is wanted."""
        return Tails(self.variances[_SCREEN], np.full(len(_SCREEN), 1.0 / len(_SCREEN)))

    def scaled(self, scale: FloatArray) -> Tails:
        """Return the tails for points in other units: values times `scale` (m,)."""
        return Tails(self.variances * scale**2, self.weights)

    def weighted(self, log_evidence: FloatArray, *, keep_widest: bool = False) -> Tails:
        """Weigh the widths by the members' left-out evidence under each of them (k, t); the useless ones leave.

        All of them leave unless together they gain more than two standard errors of the gain; then a width stays if it
        explains two members or more. A class of a few hundred members has not yet shown all it can
        do, and keeps a wide one with its share of the prior member; `keep_widest` keeps the widest in the same way.
        """
        weights = best_weights(log_evidence)
        with np.errstate(divide="ignore"):
            gain = logsumexp_rows(log_evidence + np.log(weights)) - log_evidence[:, 0]
        # A few members far off gain without bound; they are counted, not weighed.
        gain = np.minimum(gain, _LARGEST_GAIN)
        worthwhile = gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))
        kept = (weights * len(log_evidence) > 2.0) & worthwhile
        kept[0] = True
        if len(log_evidence) <= _FEW and len(weights) > _WIDE:
            kept[_WIDE] = True
        kept[-1] |= keep_widest
        return Tails(self.variances[kept], weights[kept] / weights[kept].sum())

    def log_evidence_by_width(
        self,
        objects: Measurements,
        factor: Factor,
        density: LatentDensity,
        noise: Noise | None = None,
        *,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return (n, t): log P(d | class) under each width alone."""
        out = np.empty((objects.n_objects, len(self.weights)))
        for column, extra in enumerate(self.variances):
            latent = latent_likelihood(objects, factor.widened(extra), noise, density, n_threads=n_threads)
            out[:, column] = density.log_evidence(latent, n_threads=n_threads)
        return out

    def combine(self, log_evidence: FloatArray) -> FloatArray:
        """Average the evidence (n, t) over the widths -> (n,)."""
        with np.errstate(divide="ignore"):
            return logsumexp_rows(log_evidence + np.log(self.weights))

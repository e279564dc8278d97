"""Members that stray further than a Gaussian ``psi`` allows: a class with several widths.

    P(d | class) = sum_t w_t P(d | psi + t scale^2)

with ``scale`` the spread of all training objects at each point. On data that follow the model all weight falls on ``t = 0`` and
the other widths are dropped. Where a few members are far off (a stroke of the pen where no other member has one, a
catalogue value from another source), the wide ones earn their weight by the evidence of members that were left out, and
such an object is then rare instead of impossible: that keeps the probabilities honest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from badac.classes.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood, usual_draws
from badac.latent.mixture import logsumexp_rows
from badac.latent.mixture_weights import best_weights, fewest
from badac.noise.model import Noise
from badac.registry import registered
from badac.training import TrainingScales

# In units of the variance of all training objects: from nothing to all of it, about a factor of three apart.
WIDTHS = (0.0, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_WIDE = WIDTHS.index(0.3)
_SCREEN = [0, WIDTHS.index(1e-2), WIDTHS.index(0.1)]
_REST = [place for place in range(len(WIDTHS)) if place not in (*_SCREEN, _WIDE)]
_FEW = 400  # members that have not yet shown all that a class can do
# Weight of a width below which half the draws are enough for what Gaussian points miss of others: it tells no two classes that
# the other widths do not tell by far more than the tenth of a nat by which they differ.
_RARE = 0.02
_LARGEST_GAIN = 20.0  # nats: beyond, a member is impossible, however much so


@registered("part", holds={"variances": "(t, m) >= 0", "weights": "(t,) >= 0"})
@dataclass(frozen=True, eq=False)
class Tails:
    """Added variances (t, m) and their weights (t,); the first is zero for all points, unless it has left (`weighted`)."""

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

    def weighted(
        self, log_evidence: FloatArray, *, keep_widest: bool = False, keep_first: bool = True
    ) -> Tails:
        """Weigh the widths by the members' left-out evidence under each of them (k, t); the useless ones leave.

        All of them leave unless together they gain more than two standard errors of the gain; then a width stays if it
        explains two members or more that its neighbours do not explain as well (`badac.latent.mixture_weights.fewest`). A
        class of a few hundred members has not yet shown all it can do, and keeps a wide one with its share of the prior
        member; `keep_widest` keeps the widest in the same way. The first may leave only where `keep_first` says so.
        """
        weights = best_weights(log_evidence)
        kept = (weights * len(log_evidence) > 2.0) & _gains(log_evidence, weights)
        needed = np.zeros(len(weights), dtype=np.bool_)
        needed[0] = keep_first
        if len(log_evidence) <= _FEW and len(weights) > _WIDE:
            needed[_WIDE] = True
        needed[-1] |= keep_widest
        kept[0] = True
        kept = fewest(log_evidence, np.where(kept | needed, weights, 0.0), needed)
        # Of one prior member, which all widths shared, each has its part.
        return Tails(self.variances[kept], best_weights(log_evidence[:, kept], prior=1.0 / len(weights)))

    def left_out(
        self, ask: Callable[[Tails], FloatArray], *, keep_widest: bool = False, keep_first: bool = True
    ) -> tuple[Tails, FloatArray]:
        """Return the widths that left-out members of a small class ask for, and their evidence (k, t) under these.

        Parameters
        ----------
        ask : callable
            From widths to the evidence of the members under each of them. Three of them and the one that a small class
            keeps anyway are asked for first, and the others where these gain.
        keep_widest, keep_first : bool
            As in `weighted`.
        """
        by_width = np.full((0, len(WIDTHS)), np.nan)

        def add(places: list[int]) -> None:
            nonlocal by_width
            found = ask(Tails(self.variances[places], self.weights[places]))
            if not len(by_width):
                by_width = np.full((len(found), len(WIDTHS)), np.nan)
            by_width[:, places] = found

        first = [*_SCREEN, _WIDE]
        add(first)
        few = by_width[:, first]
        if not keep_widest and len(few) <= _FEW and not _gains(few, best_weights(few)):
            # Of one prior member, which all widths share, the wide one has its part.
            pair = by_width[:, [0, _WIDE]]
            weights = best_weights(pair, prior=1.0 / len(WIDTHS))
            return Tails(self.variances[[0, _WIDE]], weights), pair
        add(_REST)
        tails = self.weighted(by_width, keep_widest=keep_widest, keep_first=keep_first)
        return tails, by_width[:, np.isin(self.variances[:, 0], tails.variances[:, 0])]

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
        most = usual_draws(noise, objects.n_points)
        for column, (extra, weight) in enumerate(zip(self.variances, self.weights, strict=True)):
            draws = most if weight > _RARE else max(most // 2, 1)
            latent = latent_likelihood(
                objects, factor.widened(extra), noise, density, draws=draws, n_threads=n_threads
            )
            out[:, column] = density.log_evidence(latent, n_threads=n_threads)
        return out

    def combine(self, log_evidence: FloatArray) -> FloatArray:
        """Average the evidence (n, t) over the widths -> (n,)."""
        with np.errstate(divide="ignore"):
            return logsumexp_rows(log_evidence + np.log(self.weights))


def _gains(log_evidence: FloatArray, weights: FloatArray) -> bool:
    """Whether widths with these weights gain over the first alone, in evidence (k, t), by two standard errors of the gain."""
    with np.errstate(divide="ignore"):
        gain = logsumexp_rows(log_evidence + np.log(weights)) - log_evidence[:, 0]
    # A few members far off gain without bound; they are counted, not weighed.
    gain = np.minimum(gain, _LARGEST_GAIN)
    return bool(gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain)))

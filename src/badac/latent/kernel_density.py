"""The bandwidth family: from "every member is a curve" to "one Gaussian template", in the latent space.

    P(z | class) = sum_h w_h (1/n) sum_i N(z ; sqrt(1 - h^2) m_i , C + h^2 (I - C))

with ``m_i`` the members' posterior positions and ``C`` their mean posterior covariance. Every ``h`` keeps the mean and the
covariance of the population. ``h -> 0``: each member is a curve with its own uncertainty; ``h = 1``: the template. The weights
of a few bandwidths are learned by leave-one-out evidence, so that rare members are reached by the wide ones.

All curves of one bandwidth share a covariance ``V``, so with ``A, b`` an object's latent precision and shift, ``Q = V^-1``,
``G = (Q + A)^-1`` and ``c = Q m`` each match is

    -[offset + k - 2 b'G c + m'Q m - c'G c] / 2,    k = -b'G b + log det V + log det(Q + A)

which is linear in ``(G b, G)``: one matrix product for all pairs, then a sum of exponentials. Nothing cancels that matters:
``Q`` is at most 100, since the narrowest bandwidth is 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag

from badac._kernels import latent_posterior, row_log_sums
from badac._kernels.latent import pack, products
from badac.cached import cached_property
from badac.data.validation import BoolArray
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, logsumexp_rows
from badac.latent.mixture_weights import best_weights
from badac.noise.model import IntArray
from badac.registry import registered
from badac.threads import over_blocks
from badac.training import FloatArray

BANDWIDTHS = (
    0.1,
    0.2,
    0.35,
    0.6,
    1.0,
)  # from almost the member itself to the whole class, by factors of 1.7 to 2
_MOST_CURVES = 2000  # by cost; the sampling error is then that of 2,000 members
_IDLE = 1.5  # times the share of the prior member: a bandwidth below it explains no member
_PAIRS_PER_BLOCK = 1 << 19  # block size: 4 MiB of doubles


@registered("part", holds={"positions": "(n, r)", "spread": "(r, r) covariance", "weights": "(_,) >= 0"})
@dataclass(frozen=True, eq=False)
class KernelDensity:
    """A kernel density over the members' posterior positions, for a few bandwidths at once.

    Attributes
    ----------
    positions : (n, r)
        Of the curves; a random 2,000 of the members where there are more (the sampling error of the density is then that
        of 2,000 members).
    spread : (r, r)
        Mean posterior covariance of the members.
    weights : (bandwidths,)

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Factor, KernelDensity
    >>> rng = np.random.default_rng(0)
    >>> factor = Factor(np.zeros(2), np.eye(2), np.full(2, 1e-4))
    >>> members = factor.project(Measurements(rng.normal(size=(50, 2)), 0.1))
    >>> density = KernelDensity.of(members, rng)
    >>> density.log_evidence(members).shape
    (50,)
    """

    of_members: ClassVar[bool] = True
    positions: FloatArray
    spread: FloatArray
    weights: FloatArray

    @property
    def rank(self) -> int:
        """Dimensions of the positions."""
        return int(self.positions.shape[1])

    @classmethod
    def of(
        cls, latent: LatentLikelihood, rng: np.random.Generator, *, weights: FloatArray | None = None
    ) -> Self:
        """Learn the weights of the bandwidths from the members' latent likelihoods by leave-one-out evidence.

        `weights` that were learned from more members are taken as they are.
        """
        n = len(latent)
        if n > _MOST_CURVES:
            latent = latent[np.sort(rng.choice(n, _MOST_CURVES, replace=False))]
        position, covariance = latent.posterior
        spread = covariance.mean(axis=0)
        if weights is not None:
            return cls(position, spread, weights)
        model = cls(position, spread, np.full(len(BANDWIDTHS), 1.0 / len(BANDWIDTHS)))
        own = np.arange(len(latent), dtype=np.int64) if n > 1 else None
        weights = best_weights(model.log_evidence_by_bandwidth(latent, skip=own))
        # A bandwidth with the prior member's share alone costs as much as the others; the widest keeps what is far possible.
        idle = weights * len(weights) * (len(latent) + 1.0) < _IDLE
        idle[-1] = False
        weights = np.where(idle, 0.0, weights)
        return cls(position, spread, weights / weights.sum())

    @cached_property
    def _curves(self) -> tuple[list[_Shared], list[FloatArray]]:
        """What the curves of each bandwidth share, and their side of the product (n, r + p + 1), of h = 1 one row."""
        identity = np.eye(self.rank)
        shared = [self.spread + h * h * (identity - self.spread) for h in BANDWIDTHS]
        # At a bandwidth of 1 all curves are the same one.
        moved = [
            np.sqrt(1.0 - h * h) * (self.positions if h < 1.0 else self.positions[:1]) for h in BANDWIDTHS
        ]
        found = [_Shared.of(each) for each in shared]
        return found, [_curve_features(each, own.inverse) for each, own in zip(moved, found, strict=True)]

    def log_evidence_by_bandwidth(
        self,
        latent: LatentLikelihood,
        *,
        skip: IntArray | None = None,
        used: BoolArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return (n, bandwidths): log P(d) under each bandwidth alone; `skip` (n,) leaves one curve out per object.

        Those that are not `used` (bandwidths,) are -inf.
        """
        k = len(self.positions)
        shared, curves = self._curves
        out = np.full((len(latent), len(BANDWIDTHS)), -np.inf)
        columns = range(len(BANDWIDTHS)) if used is None else np.flatnonzero(used).tolist()

        def work(block: slice, _: int) -> None:
            for column in columns:
                side, constant = _object_features(latent[block], shared[column], n_threads)
                terms = side @ curves[column].T
                kept = terms.shape[1]
                if skip is not None and BANDWIDTHS[column] < 1.0:
                    terms[np.arange(len(terms)), skip[block]] = -np.inf
                    kept -= 1
                out[block, column] = row_log_sums(terms, n_threads=n_threads) - np.log(kept) - 0.5 * constant

        step = max(1, _PAIRS_PER_BLOCK // k)
        over_blocks(work, (slice(start, start + step) for start in range(0, len(latent), step)), n_threads)
        return out

    def log_evidence(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d) under the weighted bandwidths."""
        used = self.weights > 0.0
        return self._weighted(self.log_evidence_by_bandwidth(latent, used=used, n_threads=n_threads))

    def leave_one_out(self, latent: LatentLikelihood, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d) of the members, each one's own curve left out; thousands of members are not all curves."""
        if len(self.positions) != len(latent):
            return self.log_evidence(latent, n_threads=n_threads)
        own = np.arange(len(latent), dtype=np.int64)
        used = self.weights > 0.0
        by_bandwidth = self.log_evidence_by_bandwidth(latent, skip=own, used=used, n_threads=n_threads)
        return self._weighted(by_bandwidth)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Those of the population, ``N(0, I)``, which every bandwidth keeps."""
        rank = self.positions.shape[1]
        return np.zeros(rank), np.eye(rank)

    def posterior(self, latent: LatentLikelihood) -> tuple[FloatArray, FloatArray]:
        """Mean (n, r) and covariance (n, r, r) of the objects' latent positions."""
        return self.as_mixture().posterior(latent)

    def position(self, latent: LatentLikelihood) -> FloatArray:
        """Mean (n, r) of the objects' latent positions."""
        return self.as_mixture().position(latent)

    def as_mixture(self) -> Mixture:
        """Write the members' positions with their bandwidths as the mixture that they are."""
        n, r = self.positions.shape
        identity = np.eye(r)
        used = [(weight, h) for weight, h in zip(self.weights, BANDWIDTHS, strict=True) if weight > 0.0]
        means = [np.sqrt(1.0 - h * h) * self.positions for _, h in used]
        spreads = [self.spread + h * h * (identity - self.spread) for _, h in used]
        return Mixture(
            np.repeat([weight / n for weight, _ in used], n),
            np.concatenate(means),
            np.concatenate([np.broadcast_to(spread, (n, r, r)) for spread in spreads]),
        )

    def proposal(self) -> Mixture:
        """Return ``N(0, I)``, whose mean and covariance it has."""
        return Mixture.standard(self.positions.shape[1])

    def with_one_more(self, count: float) -> Self:
        """Return it as it is: its widest bandwidth is the whole class, and reaches far out."""
        return self

    def with_gaussian_dimensions(self, count: int) -> KernelDensity:
        """Add `count` latent dimensions, each ``N(0, 1)`` and independent of the others."""
        positions = np.pad(self.positions, ((0, 0), (0, count)))
        return KernelDensity(positions, block_diag(self.spread, np.eye(count)), self.weights)

    def _weighted(self, by_bandwidth: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return logsumexp_rows(by_bandwidth + np.log(self.weights))


class _Shared(NamedTuple):
    """The covariance that the curves of a bandwidth have in common: its inverse (r, r), that packed (p,), and its log det."""

    inverse: FloatArray
    packed: FloatArray
    log_det: float

    @classmethod
    def of(cls, covariance: FloatArray) -> _Shared:
        inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        return cls(inverse, pack(inverse), float(np.linalg.slogdet(covariance)[1]))


def _curve_features(positions: FloatArray, inverse: FloatArray) -> FloatArray:
    """Curve side (k, r + p + 1) of the product, ``(c, c c' / 2, -m'Q m / 2)``, of positions (k, r) of precision `inverse`."""
    pulled = positions @ inverse
    # Off-diagonal elements of the packed product count twice in c'G c.
    half = np.where(np.equal(*np.triu_indices(len(inverse))), 0.5, 1.0)
    own = np.einsum("ka,ka->k", positions, pulled)
    return np.hstack([pulled, products(pulled) * half, -0.5 * own[:, None]])


def _object_features(
    latent: LatentLikelihood, shared: _Shared, n_threads: int
) -> tuple[FloatArray, FloatArray]:
    """Object side (n, r + p + 1) of the product, ``(G b, G, 1)``, and its constant ``offset + k`` (n,)."""
    gain, pulled, log_det = latent_posterior(
        latent.precision, latent.shift, shared.packed, np.zeros(len(shared.inverse)), n_threads=n_threads
    )
    constant = latent.offset - np.einsum("ia,ia->i", latent.shift, pulled)
    constant += shared.log_det + log_det
    return np.hstack([pulled, gain, np.ones((len(pulled), 1))]), constant

"""How a class at points of its members' own is learned: EM on sufficient statistics, the number of factors, members left out.

For a given remainder (local shapes and psi) all that a member says of the curves of its class is, in each band,

    precision A_b = H' S^-1 H  (1 + q, 1 + q) ,     shift a_b = H' S^-1 (d - origin)

whatever its number of points (`badac.latent.band_sums`). EM for factor analysis (Rubin & Thayer 1982) then never looks at a
point again: the E-step needs ``F' A F``, the M-step solves, band by band, the normal equations of mean and factors together,

    sum_i (A_ib (x) E[z~ z~']_i) vec(M_b) = sum_i a_ib (x) E[z~]_i ,      z~ = (1, z) ,  M_b = (mean_b, factors_b)

with the latent space rescaled after each (PX-EM: Liu, Rubin & Wu 1998). The remainder's few numbers follow from some hundred
members by stochastic EM: with positions drawn from their posterior, what is left of every band is smooth shapes and white
noise. The number of factors is what held-out members prefer; members are left out by cross-fitting in four parts, factors
learned anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac._kernels import curve_rows, latent_posterior, points_likelihood
from badac._kernels.eigen import eigh
from badac._kernels.latent import inverse, pack, products, triangle, unpack
from badac._kernels.points import GroupedPoints
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.latent.band_factors import BandFactors, curves_of
from badac.latent.band_sums import KindsOfBands, Sums, solved
from badac.latent.basis import Basis
from badac.latent.correlation import correlation
from badac.latent.hyperparameters import Extent
from badac.latent.points import alone, blocks_of, group_of_point, grouped, owner_of_group
from badac.latent.shape import is_better
from badac.training import FloatArray

# By cost: members whose curves tell the factors, of a class with more; members that the remainder and the first directions are
# learned from, a few numbers each.
MOST_MEMBERS = 10_000
_FOR_THE_REMAINDER = 400
# Local shapes of a band: with the length below they hold 99 % of the variance of the smooth remainder.
_LOCAL = 8
# Of the smooth remainder, in units of the coordinate's range: the middle of the prior of `badac.latent.hyperparameters`.
_LENGTH = 0.15
# Numbers of factors that are tried in turn: those between gain what lies between, and more than 12 next to nothing on the SPCC.
_RANKS = (1, 4, 12)
_MEMBERS_PER_FACTOR = 8  # fewer do not tell a curve
FOLDS = 4
# Members that choose the number of factors, by cost: half of the SPCC's classes have fewer, and all of them ask for the most.
_TO_CHOOSE = 300
# Standard deviations before anything is learned, in units of the values' own: of the smooth remainder, and of the rough one.
_SMOOTH, _ROUGH = 0.3, 0.05
# A standard deviation of psi below this share of the values' is rounding.
_FLOOR = 1e-4


@dataclass(frozen=True, eq=False)
class FactorLearner:
    """What does not change while a class is learned.

    Attributes
    ----------
    basis : Basis
    origin : float
    extent : Extent
    rng : numpy.random.Generator
    """

    basis: Basis
    origin: float
    extent: Extent
    rng: np.random.Generator

    def learn(self, members: Measurements, rank: int | str) -> BandFactors:
        """Learn mean, factors and remainder; a given rank is used, "learn" asks held-out members."""
        if rank == "learn":
            rank = self.choose_rank(members)
        return self._fit(members, int(rank), self._blank())

    def choose_rank(self, members: Measurements) -> int:
        """Return the number of factors that members held out prefer; over none by more than the standard error."""
        members = members[:_TO_CHOOSE]
        n = members.n_objects
        if n < 2 * FOLDS:
            return 0
        held = np.arange(n) % FOLDS == 0
        train, test = members[~held], members[held]
        most = max((n - int(held.sum())) // _MEMBERS_PER_FACTOR, 1)
        # All start at the same remainder, and change it once: one that settles would grow ever smaller with the rank.
        found = {
            rank: log_evidence(self._fit(train, rank, self._blank(), rounds=1), test)
            for rank in sorted({0, *(min(rank, most) for rank in _RANKS)})
        }
        best = max(found, key=lambda rank: float(found[rank].mean()))
        return best if best and is_better(found[best], found[0]) else 0

    def without(
        self, members: Measurements, learned: BandFactors
    ) -> Iterator[tuple[npt.NDArray[np.bool_], BandFactors]]:
        """Yield a quarter of the members (k,), True where held out, and the class as the others have it; four times."""
        for fold in range(FOLDS):
            held = np.arange(members.n_objects) % FOLDS == fold
            yield held, self._fit(members[~held], learned.rank, learned, rounds=1)

    # -- EM ----------------------------------------------------------------------------------------------------------

    def _fit(self, members: Measurements, rank: int, start: BandFactors, rounds: int = 2) -> BandFactors:
        """Learn with `rank` factors, from the remainder of `start`; its mean and factors are not used."""
        members = members[:MOST_MEMBERS]
        kinds = KindsOfBands.of(members, self.basis)
        few = grouped(members[:_FOR_THE_REMAINDER], self.basis.n_bands)
        here = self._begin(few, kinds, rank, start)
        for _ in range(rounds):
            sums = self.sums(members, kinds, here)
            for _ in range(4):
                here = self._step(here, sums)
            here = self._with_remainder(here, few)
        sums = self.sums(members, kinds, here)
        for _ in range(3):
            here = self._step(here, sums)
        return self._with_uncertainty(here, sums)

    def _blank(self) -> BandFactors:
        bands, size = self.basis.n_bands, len(self.basis.knots) + 1
        return BandFactors(
            self.basis,
            self.origin,
            np.zeros((bands, size)),
            np.zeros((bands, size, 0)),
            np.broadcast_to(_SMOOTH * self.extent.value * self.smooth, (bands, *self.smooth.shape)),
            np.full(bands, (_ROUGH * self.extent.value) ** 2),
            np.zeros((bands, size, size)),
        )

    @cached_property
    def smooth(self) -> FloatArray:
        """(1 + q, j): coefficients of the leading functions of a smooth process of unit variance."""
        basis = self.basis
        name = "periodic" if np.isfinite(basis.period) else "matern52"
        length = max(_LENGTH * self.extent.span, basis.length)
        full, _ = correlation(name, basis.knots[:, None] - basis.knots, length, basis.period)
        return leading(_beside_constant(basis.whiten.T @ full @ basis.whiten), _LOCAL)

    def sums(self, members: Measurements, kinds: KindsOfBands, here: BandFactors) -> Sums:
        """Return what the members say of the curves in each band."""
        sums = Sums.empty(kinds, members.n_objects)
        for block in blocks_of(members):
            points = grouped(members[block], self.basis.n_bands)
            sums.add(points, block.start, self.basis, self.origin, here.local, here.psi)
        return sums

    def _begin(self, few: GroupedPoints, kinds: KindsOfBands, rank: int, start: BandFactors) -> BandFactors:
        """Return mean and factors to start from: leading directions of the members' curves, each smoothed on its own."""
        bands, size = start.mean.shape
        sums = Sums.empty(kinds, len(few.group) - 1)
        sums.add(few, 0, self.basis, self.origin, start.local[..., :0], start.psi)
        ridge = np.diag((self.basis.prior_scale()[:size] * self.extent.value) ** -2.0)
        precision, shift = sums.totals()
        mean: FloatArray = np.asarray(
            np.linalg.solve(precision + ridge, shift[..., None])[..., 0], dtype=np.float64
        )
        if not rank:
            return replace(start, mean=mean, factors=np.zeros((bands, size, 0)))
        share = 0.7 * np.ones((bands, bands)) + 0.3 * np.eye(bands)
        smooth = _SMOOTH**2 * (self.smooth @ self.smooth.T) + _ROUGH**2 * np.eye(size)
        prior: FloatArray = np.asarray(self.extent.value**2 * np.kron(share, smooth), dtype=np.float64)
        curves = _smoothed(sums, mean, prior)
        factors = leading(curves.T @ curves / len(curves), rank)
        return replace(start, mean=mean, factors=factors.reshape(bands, size, rank))

    def _step(self, here: BandFactors, sums: Sums) -> BandFactors:
        """Return mean and factors after one step of EM."""
        first, second = _positions(here, sums)
        n, r = first.shape[0], here.rank
        size = here.mean.shape[1]
        with_one = np.concatenate([np.ones((n, 1)), first], axis=1)
        ridge = np.full((size, r + 1), self.extent.value**-2.0)
        ridge[:, 0] = (self.basis.prior_scale()[:size] * self.extent.value) ** -2.0
        found = sums.solved(with_one, np.concatenate([with_one, second], axis=1), ridge)
        mean, factors = found[..., 0], found[..., 1:]
        if not r:
            return replace(here, mean=mean)
        centre = first.mean(axis=0)
        # One member more at the centre, with the prior's spread: a latent space that few members span must not collapse.
        around = second.sum(axis=0) - n * pack(np.outer(centre, centre))
        spread = (around + pack(np.eye(r))) / (n + 1.0)
        root = np.linalg.cholesky(unpack(spread))
        return replace(here, mean=mean + factors @ centre, factors=factors @ root)

    def _with_remainder(self, here: BandFactors, few: GroupedPoints) -> BandFactors:
        """Return the class with psi and the size of its local shapes learned again, positions drawn from their posterior."""
        drawn, group = self._drawn(here, few), group_of_point(few)
        of_point, band, r, j = few.band[group], few.band, here.rank, self.smooth.shape[1]
        shapes = np.broadcast_to(self.smooth, (*here.mean.shape, j))
        everything = np.concatenate([here.mean[..., None], here.factors, shapes], axis=2)
        rows = curve_rows(few.at, of_point, curves_of(self.basis, everything, r, here.psi))
        residual = few.values - self.origin - rows[:, 0]
        residual -= np.einsum("nr,nr->n", rows[:, 1 : 1 + r], drawn[owner_of_group(few)[group]])
        size, shapes = _sizes(here.local, self.smooth), rows[:, 1 + r :]
        variance = few.variance + here.psi[of_point]
        # What every group says of its local coefficients, and their posterior.
        left = alone(few)._replace(values=residual, variance=variance)
        precision, told_shift = self._of_local(left, len(size))
        covariance = inverse(unpack(precision) + np.eye(j) / size[band, None, None] ** 2)
        mean = (covariance @ told_shift[..., None])[..., 0]
        squared = (mean**2).sum(axis=1) + np.trace(covariance, axis1=1, axis2=2)
        count = np.bincount(band, minlength=len(size))
        prior = (_SMOOTH * self.extent.value) ** 2
        wanted = (np.bincount(band, squared, len(size)) / j + prior) / (count + 1.0)
        told = 1.0 - np.bincount(band, np.trace(covariance, axis1=1, axis2=2), len(size)) / (
            np.maximum(count, 1) * j * size**2
        )
        # A scoring step: plain EM moves by the share of information that the noise left.
        grown = size**2 + (wanted - size**2) / np.clip(told, 0.2, 1.0)
        size = np.sqrt(np.clip(grown, size**2 / 25.0, 4.0 * size**2))
        # Squared errors of the points, and what their groups' shapes are uncertain by there, both weighed.
        error = (residual - np.einsum("nj,nj->n", shapes, mean[group])) ** 2
        weight, (upper, right) = variance**-2.0, triangle(j)
        spread, _ = self._of_local(left._replace(variance=variance**2), len(size))
        unsure = (spread * pack(covariance)) @ np.where(upper == right, 1.0, 2.0)
        floor = (_FLOOR * self.extent.value) ** 2
        excess = np.bincount(of_point, weight * (error - few.variance), len(size))
        excess += np.bincount(band, unsure, len(size))
        psi = np.maximum(excess / np.maximum(np.bincount(of_point, weight, len(size)), 1e-300), floor)
        psi = np.where(count > 0, np.clip(psi, here.psi / 10.0, 10.0 * here.psi), here.psi)
        return replace(here, psi=np.maximum(psi, floor), local=size[:, None, None] * self.smooth)

    def _of_local(self, groups: GroupedPoints, n_bands: int) -> tuple[FloatArray, FloatArray]:
        """Return precision (g, packed) and shift (g, j) of each group's coefficients of the smooth functions."""
        size, j = self.smooth.shape
        coefficients = np.concatenate([np.zeros((size, 1)), self.smooth], axis=1)
        curves = curves_of(self.basis, np.tile(coefficients, (n_bands, 1, 1)), j, np.zeros(n_bands))
        precision, shift, _ = points_likelihood(groups, curves, np.ones(1))
        return precision[0], shift[0]

    def _drawn(self, here: BandFactors, few: GroupedPoints) -> FloatArray:
        """Return (n, r): latent positions of members, drawn from their posterior."""
        if not here.rank:
            return np.zeros((len(few.group) - 1, 0))
        mean, covariance = here.project(few)[0].posterior
        root = np.linalg.cholesky(covariance)
        return mean + (root @ self.rng.standard_normal((*mean.shape, 1)))[..., 0]

    def _with_uncertainty(self, here: BandFactors, sums: Sums) -> BandFactors:
        """Return the class with the uncertainty of its mean curves among the local shapes."""
        size = here.mean.shape[1]
        ridge = np.diag((self.basis.prior_scale()[:size] * self.extent.value) ** -2.0)
        # With few members the positions are unknown too: a member tells the mean as well as its whole covariance allows.
        share = sums.totals()[0] + ridge
        local = here.local @ here.local.transpose(0, 2, 1) + np.linalg.inv(share)
        own = np.stack([leading(each, here.local.shape[2]) for each in local])
        return replace(here, local=own, precision=share)


def log_evidence(here: BandFactors, objects: Measurements) -> FloatArray:
    """Return (n,): log density of the objects, their latent positions from ``N(0, I)``."""
    if not here.rank:
        here = replace(here, factors=np.zeros((*here.mean.shape, 1)))
    return here.project_objects(objects)[0].gaussian_log_evidence()


def leading(covariance: FloatArray, count: int) -> FloatArray:
    """Return (q, count): a factor of the nearest matrix of that rank, the largest direction first."""
    value, vector = eigh(0.5 * (covariance + covariance.T))
    keep = np.argsort(-value)[:count]
    found = vector[:, keep] * np.sqrt(np.maximum(value[keep], 0.0))
    # The sign of an eigenvector is nobody's: the largest entry is positive.
    found = found * np.where(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])] < 0, -1.0, 1.0)
    return np.pad(found, ((0, 0), (0, count - found.shape[1])))


def _beside_constant(covariance: FloatArray) -> FloatArray:
    return np.pad(covariance, ((1, 0), (1, 0)))


def _sizes(local: FloatArray, smooth: FloatArray) -> FloatArray:
    """Return (bands,): how large local shapes are, in units of `smooth`."""
    return np.asarray(np.sqrt((local**2).sum(axis=(1, 2)) / (smooth**2).sum()))


def _positions(here: BandFactors, sums: Sums) -> tuple[FloatArray, FloatArray]:
    """Return E[z] (n, r) and E[z z'] (n, p), packed, of the members under ``N(0, I)``."""
    n, r = len(sums.shift), here.rank
    if not r:
        return np.zeros((n, 0)), np.zeros((n, 0))
    precision, shift = sums.of_positions(here.mean, here.factors)
    covariance, mean, _ = latent_posterior(precision, shift, pack(np.eye(r)), np.zeros(r))
    return mean, covariance + products(mean)


def _smoothed(sums: Sums, mean: FloatArray, prior: FloatArray) -> FloatArray:
    """Return (n, bands x (1 + q)): the posterior mean of each member's curves around `mean`, their prior N(0, prior).

    A member tells of the curves of some bands and of a number of each other band, ``T c``: those have a posterior first, and
    all of the curves follow from them.
    """
    kinds, (bands, size), n = sums.kinds, mean.shape, len(sums.shift)
    seen = np.zeros((len(kinds.curves) * size + len(kinds.numbers), bands, size))
    edges = size * np.arange(len(kinds.curves) + 1)
    for start, band in zip(edges, kinds.curves, strict=False):
        seen[start : start + size, band] = np.eye(size)
    seen[np.arange(edges[-1], len(seen)), kinds.numbers] = kinds.features
    flat = seen.reshape(len(seen), -1)
    across = flat @ prior
    before = inverse(across @ flat.T)
    precision = unpack(sums.precision)
    left = sums.shift - (precision @ mean[kinds.curves, :, None])[..., 0]
    of_numbers = sums.shift_of_numbers - sums.weight * kinds.numbers_of(mean)
    right = np.concatenate([left.reshape(n, -1), of_numbers], axis=1)
    numbers = np.arange(edges[-1], len(seen))
    found = np.empty_like(right)
    for row in range(n):
        full = before.copy()
        for start, own in zip(edges, precision[row], strict=False):
            full[start : start + size, start : start + size] += own
        full[numbers, numbers] += sums.weight[row]
        found[row] = solved(full, right[row])
    return np.asarray(found @ (before @ across))

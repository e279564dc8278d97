"""How a class at points of its members' own is learned: EM on sufficient statistics, the number of factors, members left out.

For a given remainder (local shapes and psi) all that a member says of the curves of its class is, in each band,

    precision A_b = H' S^-1 H  (1 + q, 1 + q) ,     shift a_b = H' S^-1 (d - origin)

(`Sums`), whatever its number of points. EM for factor analysis (Rubin & Thayer 1982) then never looks at a point again: the
E-step needs ``F' A F``, the M-step solves, band by band, the normal equations of mean and factors together,

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
from scipy.linalg import cho_factor, cho_solve

from badac._kernels import latent_posterior, points_likelihood
from badac._kernels.eigen import eigh
from badac._kernels.latent import pack, triangle, unpack
from badac._kernels.points import GroupedPoints
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.latent.band_factors import BandFactors, curves_of
from badac.latent.basis import Basis
from badac.latent.correlation import correlation
from badac.latent.hyperparameters import Extent
from badac.latent.likelihood import products
from badac.latent.points import alone, along, blocks_of, group_of_point, grouped, owner_of_group
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
class Sums:
    """What members say of the curves of their class, band by band, for one remainder.

    Attributes
    ----------
    precision : (bands, n, p)
        Packed; 0 where a member has no point in the band.
    shift : (bands, n, 1 + q)
    """

    precision: FloatArray
    shift: FloatArray

    def take(self, rows: npt.NDArray[np.bool_]) -> Sums:
        """Return the sums of some members."""
        return Sums(self.precision[:, rows], self.shift[:, rows])


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
        few = grouped(members[:_FOR_THE_REMAINDER], self.basis.n_bands)
        features = self.basis.of_one_band(few.at)
        here = self._begin(few, rank, start)
        for _ in range(rounds):
            sums = self.sums(members, here)
            for _ in range(4):
                here = self._step(here, sums)
            here = self._with_remainder(here, few, features)
        sums = self.sums(members, here)
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

    def sums(self, members: Measurements, here: BandFactors) -> Sums:
        """Return what the members say of the curves in each band."""
        bands, size = here.mean.shape
        precision = np.zeros((bands, members.n_objects, size * (size + 1) // 2))
        shift = np.zeros((bands, members.n_objects, size))
        for block in blocks_of(members):
            points = grouped(members[block], bands)
            found = self._of_groups(points, here.local, here.psi)
            owner = block.start + owner_of_group(points)
            precision[points.band, owner], shift[points.band, owner] = found
        return Sums(precision, shift)

    def _of_groups(
        self, points: GroupedPoints, local: FloatArray, psi: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return precision (g, p) and shift (g, 1 + q) of each group's own curve."""
        bands, size, _ = local.shape
        own = np.broadcast_to(np.eye(size), (bands, size, size))
        mean = np.zeros((bands, size, 1))
        mean[:, 0] = self.origin
        curves = curves_of(self.basis, np.concatenate([mean, own, local], axis=2), size, psi)
        precision, shift, _ = points_likelihood(alone(points), curves, np.ones(1))
        return precision[0], shift[0]

    def _begin(self, few: GroupedPoints, rank: int, start: BandFactors) -> BandFactors:
        """Return mean and factors to start from: leading directions of the members' curves, each smoothed on its own."""
        bands, size = start.mean.shape
        n, owner = len(few.group) - 1, owner_of_group(few)
        own = self._of_groups(few, start.local[..., :0], start.psi)
        precision, shift = np.zeros((n, bands, size, size)), np.zeros((n, bands, size))
        precision[owner, few.band], shift[owner, few.band] = unpack(own[0]), own[1]
        ridge = np.diag((self.basis.prior_scale()[:size] * self.extent.value) ** -2.0)
        mean = np.linalg.solve(precision.sum(axis=0) + ridge, shift.sum(axis=0)[..., None])[..., 0]
        if not rank:
            return replace(start, mean=mean, factors=np.zeros((bands, size, 0)))
        share = 0.7 * np.ones((bands, bands)) + 0.3 * np.eye(bands)
        smooth = _SMOOTH**2 * (self.smooth @ self.smooth.T) + _ROUGH**2 * np.eye(size)
        prior = np.linalg.inv(self.extent.value**2 * np.kron(share, smooth))
        full = np.broadcast_to(prior, (n, *prior.shape)).copy().reshape(-1, bands, size, bands, size)
        for band in range(bands):
            full[:, band, :, band] += precision[:, band]
        left = shift - (precision @ mean[..., None])[..., 0]
        flat = full.reshape(-1, bands * size, bands * size)
        curves = np.linalg.solve(flat, left.reshape(-1, bands * size, 1))[..., 0]
        factors = leading(curves.T @ curves / n, rank)
        return replace(start, mean=mean, factors=factors.reshape(bands, size, rank))

    def _step(self, here: BandFactors, sums: Sums) -> BandFactors:
        """Return mean and factors after one step of EM."""
        first, second = _positions(here, sums)
        n, r = first.shape[0], here.rank
        # Sums over members of all products: the upper triangles of both sides, as one matrix product for each band.
        size = here.mean.shape[1]
        with_one = np.concatenate([np.ones((n, 1)), first], axis=1)
        squares = np.empty((n, (r + 1) * (r + 2) // 2))
        squares[:, : r + 1] = with_one
        squares[:, r + 1 :] = second
        spread = pack(np.eye(r)) if r else np.zeros(0)
        scale = self.extent.value**-2.0
        found = np.empty((len(here.mean), size, r + 1))
        mean_ridge = (self.basis.prior_scale()[:size] * self.extent.value) ** -2.0
        for band in range(len(here.mean)):
            normal = _both_unpacked(sums.precision[band].T @ squares, size, r + 1)
            ridge = np.full((size, r + 1), scale)
            ridge[:, 0] = mean_ridge
            normal[np.diag_indices(len(normal))] += ridge.ravel()
            right = sums.shift[band].T @ with_one
            solved = cho_solve(cho_factor(normal, overwrite_a=True, check_finite=False), right.ravel())
            found[band] = solved.reshape(size, r + 1)
        mean, factors = found[..., 0], found[..., 1:]
        if not r:
            return replace(here, mean=mean)
        centre = first.mean(axis=0)
        # One member more at the centre, with the prior's spread: a latent space that few members span must not collapse.
        around = second.sum(axis=0) - n * pack(np.outer(centre, centre))
        spread = (around + spread) / (n + 1.0)
        root = np.linalg.cholesky(unpack(spread))
        return replace(here, mean=mean + factors @ centre, factors=factors @ root)

    def _with_remainder(self, here: BandFactors, few: GroupedPoints, features: FloatArray) -> BandFactors:
        """Return the class with psi and the size of its local shapes learned again, positions drawn from their posterior.

        The points of `few` have the basis functions `features` (N, 1 + q).
        """
        drawn, group = self._drawn(here, few), group_of_point(few)
        of_point, band = few.band[group], few.band
        curves = along(features, of_point, np.concatenate([here.mean[..., None], here.factors], axis=2))
        residual = few.values - self.origin - curves[:, 0]
        residual -= np.einsum("nr,nr->n", curves[:, 1:], drawn[owner_of_group(few)[group]])
        size, shapes = _sizes(here.local, self.smooth), features @ self.smooth
        variance, j = few.variance + here.psi[of_point], shapes.shape[1]
        # What every group says of its local coefficients, and their posterior.
        weighed = shapes / variance[:, None]
        edges = few.first[:-1]
        precision = np.add.reduceat(weighed[:, :, None] * shapes[:, None, :], edges, axis=0)
        told_shift = np.add.reduceat(weighed * residual[:, None], edges, axis=0)
        covariance = np.linalg.inv(precision + np.eye(j) / size[band, None, None] ** 2)
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
        error = (residual - np.einsum("nj,nj->n", shapes, mean[group])) ** 2
        error += np.einsum("nj,nj->n", np.einsum("nj,njk->nk", shapes, covariance[group]), shapes)
        weight = variance**-2.0
        floor = (_FLOOR * self.extent.value) ** 2
        excess = np.bincount(of_point, weight * (error - few.variance), len(size))
        psi = np.maximum(excess / np.maximum(np.bincount(of_point, weight, len(size)), 1e-300), floor)
        psi = np.where(count > 0, np.clip(psi, here.psi / 10.0, 10.0 * here.psi), here.psi)
        return replace(here, psi=np.maximum(psi, floor), local=size[:, None, None] * self.smooth)

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
        share = unpack(sums.precision.sum(axis=1)) + ridge
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
    n, r = sums.shift.shape[1], here.rank
    if not r:
        return np.zeros((n, 0)), np.zeros((n, 0))
    precision, shift = np.zeros((n, r * (r + 1) // 2)), np.zeros((n, r))
    size = here.mean.shape[1]
    for band, (mean, factors) in enumerate(zip(here.mean, here.factors, strict=True)):
        # F' A F from the packed A: both triangles of A meet the symmetric product of two factors.
        rows, columns = triangle(size)
        upper, right = triangle(r)
        pair = factors[rows][:, upper] * factors[columns][:, right]
        pair += (
            np.where(rows != columns, 1.0, 0.0)[:, None]
            * factors[columns][:, upper]
            * factors[rows][:, right]
        )
        precision += sums.precision[band] @ pair
        along = np.zeros((len(rows), r))
        along += mean[columns, None] * factors[rows]
        along += np.where(rows != columns, 1.0, 0.0)[:, None] * mean[rows, None] * factors[columns]
        shift += sums.shift[band] @ factors - sums.precision[band] @ along
    covariance, mean_z, _ = latent_posterior(precision, shift, pack(np.eye(r)), np.zeros(r))
    return mean_z, covariance + products(mean_z)


def _both_unpacked(packed: FloatArray, size: int, width: int) -> FloatArray:
    """Return (size width, size width) from sums (packed size, packed width) of products of two symmetric matrices."""
    rows, columns = triangle(size)
    upper, right = triangle(width)
    half = np.empty((len(packed), width, width))
    half[:, upper, right] = packed
    half[:, right, upper] = packed
    full = np.empty((size, width, size, width))
    full[rows, :, columns] = half
    full[columns, :, rows] = half
    return full.reshape(size * width, size * width)

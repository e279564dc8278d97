"""What members say of the curves of their class, for one remainder: all that EM ever asks of them.

    precision A_b = H' S^-1 H  (1 + q, 1 + q) ,     shift a_b = H' S^-1 (d - origin)         in each band b

whatever the number of a member's points. In a band where members have a single point, all at one place (a column beside the
curve is one), curves are a single number, ``h'c``, and

    A_b = w h h' ,     a_b = w (d - origin) h

so such a band costs as much as a number, and not as a curve: its normal equations, ``kron(h h', S) + R`` with a diagonal
``R``, are solved in the latent space (Woodbury).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from badac._kernels import points_likelihood
from badac._kernels.latent import pack, triangle, unpack
from badac._kernels.points import GroupedPoints
from badac.data.measurements import Measurements
from badac.data.validation import BoolArray, IntArray
from badac.latent.band_factors import curves_of
from badac.latent.basis import Basis, coordinates
from badac.latent.points import alone, owner_of_group
from badac.training import FloatArray


@dataclass(frozen=True, eq=False)
class KindsOfBands:
    """Which bands have curves, and which one number.

    Attributes
    ----------
    curves : (c,)
    numbers : (k,)
    features : (k, 1 + q)
        Of the basis at the place of each number, ``h``.
    """

    curves: IntArray
    numbers: IntArray
    features: FloatArray

    @classmethod
    def of(cls, members: Measurements, basis: Basis) -> KindsOfBands:
        """Look where the points of members (n, m) are."""
        at, band = coordinates(members), np.zeros((1, 1), dtype=np.int64)
        band = np.broadcast_to(band if members.band is None else members.band, members.shape)
        places = np.full(basis.n_bands, np.nan)
        for number in range(basis.n_bands):
            here = members.observed & (band == number)
            own = at[here]
            if own.size and here.sum(axis=1).max() == 1 and own.min() == own.max():
                places[number] = own[0]
        numbers = np.flatnonzero(np.isfinite(places))
        features = basis.of_one_band(places[numbers])
        return cls(np.flatnonzero(np.isnan(places)), numbers, features)

    def numbers_of(self, curves: FloatArray) -> FloatArray:
        """Return (k, ...): the numbers that curves (bands, 1 + q, ...) are."""
        return np.asarray(np.einsum("kq,kq...->k...", self.features, curves[self.numbers]))


@dataclass(frozen=True, eq=False)
class Sums:
    """What n members say.

    Attributes
    ----------
    kinds : KindsOfBands
    precision : (n, c, p)
        Of the bands with curves, packed; 0 where a member has no point in the band.
    shift : (n, c, 1 + q)
    weight, shift_of_numbers : (n, k)
        Of the bands with one number: ``w``, and ``w (d - origin)``.
    """

    kinds: KindsOfBands
    precision: FloatArray
    shift: FloatArray
    weight: FloatArray
    shift_of_numbers: FloatArray

    @classmethod
    def empty(cls, kinds: KindsOfBands, n: int) -> Sums:
        """Return those of n members without points."""
        (k, size), c = kinds.features.shape, len(kinds.curves)
        arrays = (n, c, size * (size + 1) // 2), (n, c, size), (n, k), (n, k)
        return cls(kinds, *map(np.zeros, arrays))

    def add(
        self,
        points: GroupedPoints,
        start: int,
        basis: Basis,
        origin: float,
        local: FloatArray,
        psi: FloatArray,
    ) -> None:
        """Take in the points of members from `start` on, under local shapes (bands, 1 + q, j) and psi (bands,)."""
        kinds, owner = self.kinds, start + owner_of_group(points)
        bands, size, _ = local.shape
        place = np.full(bands, -1)
        place[kinds.numbers] = np.arange(len(kinds.numbers))
        single = place[points.band] >= 0
        point, number = points.first[:-1][single], place[points.band[single]]
        rough = psi[kinds.numbers] + (kinds.numbers_of(local) ** 2).sum(axis=1)
        weight = 1.0 / (points.variance[point] + rough[number])
        self.weight[owner[single], number] = weight
        self.shift_of_numbers[owner[single], number] = weight * (points.values[point] - origin)
        if single.all():
            return
        own = np.broadcast_to(np.eye(size), (bands, size, size))
        mean = np.zeros((bands, size, 1))
        mean[:, 0] = origin
        curves = curves_of(basis, np.concatenate([mean, own, local], axis=2), size, psi)
        rest = _without(points, single) if single.any() else points
        precision, shift, _ = points_likelihood(alone(rest), curves, np.ones(1))
        place[kinds.curves] = np.arange(len(kinds.curves))
        where = owner[~single], place[rest.band]
        self.precision[where], self.shift[where] = precision[0], shift[0]

    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Return precision (bands, 1 + q, 1 + q) and shift (bands, 1 + q) of all members together."""
        kinds, h = self.kinds, self.kinds.features
        bands, size = len(kinds.curves) + len(kinds.numbers), h.shape[1]
        precision, shift = np.empty((bands, size, size)), np.empty((bands, size))
        precision[kinds.curves], shift[kinds.curves] = (
            unpack(self.precision.sum(axis=0)),
            self.shift.sum(axis=0),
        )
        precision[kinds.numbers] = self.weight.sum(axis=0)[:, None, None] * h[:, :, None] * h[:, None, :]
        shift[kinds.numbers] = self.shift_of_numbers.sum(axis=0)[:, None] * h
        return precision, shift

    def of_positions(self, mean: FloatArray, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return precision ``F'A F`` (n, packed) and shift ``F'(a - A mean)`` (n, r), over all bands.

        Parameters
        ----------
        mean, factors : (bands, 1 + q), (bands, 1 + q, r)
        """
        kinds, n, r = self.kinds, len(self.shift), factors.shape[2]
        pairs = _pairs(np.concatenate([mean[..., None], factors], axis=2)[kinds.curves])
        both = self.precision.reshape(n, -1) @ pairs.reshape(-1, pairs.shape[2])
        shift = self.shift.reshape(n, -1) @ factors[kinds.curves].reshape(-1, r) - both[:, 1 : r + 1]
        level, slope = kinds.numbers_of(mean), kinds.numbers_of(factors)
        shift += (self.shift_of_numbers - self.weight * level) @ slope
        return both[:, r + 1 :] + self.weight @ pack(slope[:, :, None] * slope[:, None, :]), shift

    def solved(self, first: FloatArray, second: FloatArray, ridge: FloatArray) -> FloatArray:
        """Return mean and factors (bands, 1 + q, 1 + r) that solve the normal equations of each band.

        Parameters
        ----------
        first, second : (n, 1 + r), (n, packed)
            ``E[z~]`` and ``E[z~ z~']`` of the members, ``z~ = (1, z)``.
        ridge : (1 + q, 1 + r)
            Prior precision of each coefficient.
        """
        kinds, (size, width), n = self.kinds, ridge.shape, len(first)
        found = np.empty((len(kinds.curves) + len(kinds.numbers), size, width))
        # Sums over members of all products: the upper triangles of both sides, as one matrix product for all bands.
        all_products = self.precision.reshape(n, -1).T @ second
        all_products = all_products.reshape(self.precision.shape[1:] + second.shape[1:])
        right = (self.shift.reshape(n, -1).T @ first).reshape(-1, size * width)
        for band, product, own in zip(kinds.curves, all_products, right, strict=True):
            normal = _upper_blocks(product, size, width)
            normal[np.diag_indices(len(normal))] += ridge.ravel()
            found[band] = solved(normal, own).reshape(size, width)
        squares = unpack(self.weight.T @ second)
        right = self.shift_of_numbers.T @ first
        for band, h, square, own in zip(kinds.numbers, kinds.features, squares, right, strict=True):
            free = h[:, None] / ridge
            inner = np.eye(width) + square * (h[:, None] * free).sum(axis=0)
            found[band] = free * np.linalg.solve(inner, own)
        return found


def solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return (k,): the solution for a positive definite matrix (k, k), of which the upper triangle is read and overwritten."""
    _, solution, failed = dposv(matrix.T, right, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the normal equations of a class's curves are not positive definite")
    return np.asarray(solution)


def _without(points: GroupedPoints, left_out: BoolArray) -> GroupedPoints:
    """Return the points without some of the groups (g,) bool, every other group with its points as they are."""
    count = np.diff(points.first)
    kept = np.repeat(~left_out, count)
    first = np.append(0, np.cumsum(count[~left_out]))
    return GroupedPoints(
        points.values[kept],
        points.variance[kept],
        points.at[kept],
        first,
        np.arange(len(first)),
        points.band[~left_out],
    )


def _pairs(curves: FloatArray) -> FloatArray:
    """Return (c, p, P): products of every two columns of (c, size, width), both triangles of (size, size) together, packed."""
    rows, columns = triangle(curves.shape[1])
    upper, right = triangle(curves.shape[2])
    both = curves[:, rows, :, None] * curves[:, columns, None, :]
    both = both + both.transpose(0, 1, 3, 2)
    both[:, rows == columns] *= 0.5
    flat = both.reshape(*both.shape[:2], curves.shape[2] ** 2)
    return np.asarray(np.take(flat, upper * curves.shape[2] + right, axis=2))


def _upper_blocks(packed: FloatArray, size: int, width: int) -> FloatArray:
    """Return (size width, size width) from sums (packed size, packed width) of products of two symmetric matrices.

    Blocks below the diagonal are not written.
    """
    rows, columns = triangle(size)
    full = np.empty((size, width, size, width))
    full[rows, :, columns] = unpack(packed)
    return full.reshape(size * width, size * width)

"""A class at points of an object's own as low rank plus diagonal: factors across all bands, a smooth remainder in each.

    d(t, b) = origin + h(t) @ (mean_b + factors_b z + local_b g_b) + eps + noise ,    g_b ~ N(0, I) ,   eps ~ N(0, psi_b)

with ``h`` the basis (`badac.latent.basis`). ``z`` (r dimensions) is the object's place in its class and common to all bands;
``g_b`` (j dimensions) is what is left and smooth in one band, integrated out. An object of m points costs ``m (r + j)^2 / 2``
multiplications (`badac._kernels.points`), where a covariance of its points would cost ``m^3 / 6``.

It is a `badac.latent.process.Process` without a kernel whose factors are the local shapes, so whoever knows processes
(hypotheses, explanations, model files) knows it too: `of_process`, `as_process`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag

from badac._kernels import points_likelihood
from badac._kernels.points import Curves, GroupedPoints
from badac.data.measurements import Measurements
from badac.latent.basis import Basis
from badac.latent.likelihood import LatentLikelihood
from badac.latent.points import blocks_of, grouped
from badac.latent.process import Curve, Process, check_bands
from badac.threads import over_blocks
from badac.training import FloatArray


@dataclass(frozen=True, eq=False)
class BandFactors:
    """Mean, factors and remainder of a class, band by band.

    Attributes
    ----------
    basis : Basis
    origin : float
    mean : (bands, 1 + q)
    factors : (bands, 1 + q, r)
    local : (bands, 1 + q, j)
    psi : (bands,)
    precision : (bands, 1 + q, 1 + q)
        To which the mean is known; its uncertainty is among the local shapes.
    """

    basis: Basis
    origin: float
    mean: FloatArray
    factors: FloatArray
    local: FloatArray
    psi: FloatArray
    precision: FloatArray

    @property
    def rank(self) -> int:
        return int(self.factors.shape[2])

    @classmethod
    def of_process(cls, process: Process, curve: Curve, factors: FloatArray) -> BandFactors | None:
        """Return the class if its process has no kernel, and shapes in one band each; None otherwise."""
        bands, size = process.basis.n_bands, len(process.basis.knots) + 1
        if process.bands.any() or process.factors.shape[1] % bands:
            return None
        local = process.factors.reshape(bands, size, bands, -1)
        own = np.stack([local[band, :, band] for band in range(bands)])
        if np.count_nonzero(own) != np.count_nonzero(local):
            return None
        mean, known = (
            curve.coefficients.reshape(bands, size),
            curve.precision.reshape(bands, size, bands, size),
        )
        precision = np.stack([known[band, :, band] for band in range(bands)])
        shapes = factors.reshape(bands, size, -1)
        return cls(process.basis, curve.origin, mean, shapes, own, process.psi, precision)

    def as_process(self, kernel: str, period: float, length: float) -> tuple[Process, Curve, FloatArray]:
        """Return the remainder as a process without a kernel, the mean curve and the factors (q, r)."""
        bands, size, j = self.local.shape
        local = np.zeros((bands, size, bands, j))
        for band in range(bands):
            local[band, :, band] = self.local[band]
        process = Process(
            self.basis,
            kernel,
            period,
            length,
            np.zeros((bands, bands)),
            self.psi,
            local.reshape(bands * size, bands * j),
        )
        curve = Curve(self.origin, self.mean.ravel(), block_diag(*self.precision))
        return process, curve, self.factors.reshape(bands * size, -1)

    def widened(self, width: float) -> BandFactors:
        """Return the class with `width` times the covariance of its remainder."""
        return replace(self, local=np.sqrt(width) * self.local, psi=width * self.psi)

    def without_local(self) -> BandFactors:
        """Return the class with its local shapes as white noise of their mean variance at the knots: coarser, and quicker."""
        shapes = self.basis.of_one_band(self.basis.knots) @ self.local
        rough = self.psi + (shapes**2).sum(axis=2).mean(axis=1)
        return replace(self, local=self.local[..., :0], psi=rough)

    def curves(self) -> Curves:
        """Return mean, factors and local shapes as the kernel takes them."""
        everything = np.concatenate([self.mean[..., None], self.factors, self.local], axis=2)
        everything[:, 0, 0] += self.origin
        return curves_of(self.basis, everything, self.rank, self.psi)

    def project(
        self, points: GroupedPoints, widths: Sequence[float] = (1.0,), *, n_threads: int = 1
    ) -> list[LatentLikelihood]:
        """Return what objects say of their latent positions, under the remainder of each width."""
        found = points_likelihood(points, self.curves(), np.array(widths), n_threads=n_threads)
        return [LatentLikelihood(*parts) for parts in zip(*found, strict=True)]

    def project_objects(
        self, objects: Measurements, widths: Sequence[float] = (1.0,), *, n_threads: int = 1
    ) -> list[LatentLikelihood]:
        """As `project`, for objects of any number, block by block."""
        check_bands(objects, self.basis.n_bands)
        out = [LatentLikelihood.empty(objects.n_objects, self.rank) for _ in widths]

        def work(block: slice, n_threads: int) -> None:
            points = grouped(objects[block], self.basis.n_bands)
            for whole, part in zip(out, self.project(points, widths, n_threads=n_threads), strict=True):
                whole[block] = part

        over_blocks(work, blocks_of(objects), n_threads)
        return out


def curves_of(basis: Basis, coefficients: FloatArray, rank: int, psi: FloatArray) -> Curves:
    """Return curves with coefficients (bands, 1 + q, 1 + r + j) of the basis, which here is the kernel at its knots itself."""
    at_knots = coefficients.copy()
    at_knots[:, 1:] = basis.whiten @ coefficients[:, 1:]
    return Curves(basis.knots, basis.length, basis.period, at_knots, rank, psi)


def curves_of_bands(basis: Basis, curve: Curve, factors: FloatArray) -> Curves:
    """Return mean and factors (bands x (1 + q), f) as the kernels take them: what is in one band only as local shapes."""
    bands, size = basis.n_bands, len(basis.knots) + 1
    parts = factors.reshape(bands, size, -1)
    seen = (parts != 0.0).any(axis=1)
    alone = seen.sum(axis=0) <= 1 if bands > 1 else np.zeros(parts.shape[2], dtype=np.bool_)
    local = np.zeros((bands, size, int((seen & alone).sum(axis=1).max(initial=0))))
    for band in range(bands):
        own = parts[band][:, seen[band] & alone]
        local[band, :, : own.shape[1]] = own
    mean = curve.coefficients.reshape(bands, size, 1)
    coefficients = np.concatenate([mean, parts[:, :, ~alone], local], axis=2)
    coefficients[:, 0, 0] += curve.origin
    return curves_of(basis, coefficients, int((~alone).sum()), np.zeros(bands))

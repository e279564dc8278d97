"""Objects at points of their own under a Gaussian of low rank plus diagonal: what a class without a kernel is there.

    K = D + H H' + G G'

with the class's shapes ``H`` at an object's points and local shapes ``G`` of each band. Its density, and what it says of
anything that is added to the class, are kernels (`badac._kernels.low_rank`, where the formulas are). It is the twin of
`badac.latent.process_summary.Whitened`, which holds ``K`` itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac._kernels import curve_rows, low_rank_filtered, low_rank_gain, low_rank_offset
from badac._kernels.low_rank import Columns, LowRankPoints
from badac._kernels.points import Curves
from badac.data.validation import IntArray
from badac.latent.process import Block
from badac.training import FloatArray


@dataclass(frozen=True, eq=False)
class LowRank:
    """Some objects of a block under such a Gaussian.

    Attributes
    ----------
    points : LowRankPoints
        Of the whole block: parts of it are chosen and not copied.
    rows : (b,)
        Which of its objects.
    of_all : (n,)
        Log densities of all of its objects.
    """

    points: LowRankPoints
    rows: IntArray
    of_all: FloatArray

    @staticmethod
    def under(block: Block, curves: Curves, *, n_threads: int = 1) -> LowRankPoints:
        """Return a block under the mean and the shapes of a class, its variances those of the noise.

        Local shapes of a band in which an object has one point are a variance of that point, and counted with it: it then
        goes with the band before, and there is a band less to sweep.
        """
        b, p = block.at.shape
        rows = curve_rows(block.at.ravel(), block.band.ravel(), curves, n_threads=n_threads)
        rows = rows.reshape(b, p, -1)
        rows[~block.seen] = 0.0
        # The kernels would copy what is not contiguous each time.
        shapes, local = map(np.ascontiguousarray, np.split(rows[..., 1:], [curves.rank], axis=2))
        band, alone = block.with_the_band_before
        variance = block.variance.copy()
        variance[alone] += (local[alone] ** 2).sum(axis=1)
        local[alone] = 0.0
        return LowRankPoints(block.values - rows[..., 0], variance, band, shapes, local)

    @classmethod
    def of(cls, points: LowRankPoints, *, n_threads: int = 1) -> LowRank:
        """Take all objects of a block."""
        return cls(
            points, np.arange(len(points.residual)), -0.5 * low_rank_offset(points, n_threads=n_threads)
        )

    @property
    def log_evidence(self) -> FloatArray:
        """(b,): log densities."""
        return np.asarray(self.of_all[self.rows])

    @property
    def residual(self) -> FloatArray:
        """(b, p): 0 in the padding."""
        return np.asarray(self.points.residual[self.rows])

    @property
    def full(self) -> FloatArray:
        """(b, p, p): ``K`` itself, 1 on the diagonal of the padding."""
        shapes, local, band = (
            part[self.rows] for part in (self.points.shapes, self.points.local, self.points.band)
        )
        out = local @ local.transpose(0, 2, 1) * (band[:, :, None] == band[:, None, :])
        out += shapes @ shapes.transpose(0, 2, 1)
        diagonal = np.arange(out.shape[1])
        out[:, diagonal, diagonal] += self.points.variance[self.rows]
        return np.asarray(out)

    def filtered(self, columns: FloatArray, places: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return ``g'K^-1 residual`` and ``g'K^-1 g`` (b, s) of each column ``g``.

        Parameters
        ----------
        columns : (l, p, s)
        places : (b,), optional
            Which of them are at the points of each object; by default they are in the order of the objects.
        """
        return low_rank_filtered(self.points, self._added(columns, places))

    def log_gain(
        self, columns: FloatArray, sizes: FloatArray, places: IntArray | None = None, common: float = 1.0
    ) -> FloatArray:
        """Return (b, a): log density gained by columns (as in `filtered`) with coefficients N(0, diag sizes^2), integrated out.

        Parameters
        ----------
        sizes : (b, a, s)
            For each of a alternatives.
        common : float
            Share of the variance that all bands have in common.
        """
        return low_rank_gain(self.points, self._added(columns, places), sizes, common)

    def _added(self, columns: FloatArray, places: IntArray | None) -> Columns:
        return Columns(self.rows, columns, np.arange(len(self.rows)) if places is None else places)

    def pulls(self) -> FloatArray:
        """As `badac.latent.process_summary.Whitened.pulls`: ``K^-1`` and its diagonal by Woodbury's formula."""
        shapes, weight = self._all_shapes(), 1.0 / self.points.variance[self.rows]
        weighed = weight[..., None] * shapes
        inner = np.linalg.inv(np.eye(shapes.shape[2]) + shapes.transpose(0, 2, 1) @ weighed)
        along = weighed @ inner
        left = weight * self.residual
        turned = left - (along @ (shapes.transpose(0, 2, 1) @ left[..., None]))[..., 0]
        return np.asarray(turned / np.sqrt(weight - (along * weighed).sum(axis=2)))

    def predicted(self, block: Block, keep: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """As `badac.latent.process_summary.Whitened.predicted`.

        Shapes have a Gaussian posterior given the points to keep; of a kept point's own deviation the share psi / (psi + noise)
        of what the shapes leave is true.
        """
        shapes, variance = self._all_shapes(), self.points.variance[self.rows]
        rough = np.where(block.seen, variance - block.variance, 0.0)
        weighed = np.where(keep, 1.0 / variance, 0.0)[..., None] * shapes
        inner = np.linalg.inv(np.eye(shapes.shape[2]) + shapes.transpose(0, 2, 1) @ weighed)
        position = inner @ (weighed.transpose(0, 2, 1) @ self.residual[..., None])
        along, spread = (shapes @ position)[..., 0], ((shapes @ inner) * shapes).sum(axis=2)
        own = np.where(keep, rough / variance, 0.0)
        moved = along + own * (self.residual - along)
        return moved, (1.0 - own) ** 2 * spread + (1.0 - own) * rough

    def _all_shapes(self) -> FloatArray:
        """Return (b, p, f): shapes, then local shapes of each band, 0 at points of the others."""
        band, local = self.points.band[self.rows], self.points.local[self.rows]
        own = [local * (band == one)[..., None] for one in range(int(band.max(initial=-1)) + 1)]
        return np.concatenate([self.points.shapes[self.rows], *own], axis=2)

    def take(self, rows: IntArray) -> LowRank:
        """Return some of the objects."""
        return replace(self, rows=self.rows[rows])


def log_gains(precision: FloatArray, shift: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return (b, a): log density gained by coefficients N(0, diag sizes^2) of columns, integrated out.

    Parameters
    ----------
    precision, shift : (b, q, q), (b, q)
        What the objects say of the coefficients.
    sizes : (b, a, q)
        For each of a alternatives.
    """
    inner = np.eye(shift.shape[1]) + sizes[..., :, None] * precision[:, None] * sizes[..., None, :]
    root = np.linalg.cholesky(inner)
    white = np.linalg.solve(root, (sizes * shift[:, None])[..., None])[..., 0]
    log_det = 2.0 * np.log(np.diagonal(root, axis1=2, axis2=3)).sum(axis=2)
    return np.asarray(0.5 * ((white**2).sum(axis=2) - log_det))

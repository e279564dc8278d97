"""Objects at points of their own under a Gaussian of low rank plus diagonal: what a class without a kernel is there.

    K = D + H H' ,     K^-1 = D^-1 - D^-1 H (I + H'D^-1 H)^-1 H'D^-1          (Woodbury)

with the class's r shapes ``H`` at an object's p points. Its density, and what it says of anything that is added to the class,
cost ``p r^2`` multiplications where a Cholesky factor of ``K`` costs ``p^3 / 6`` and each solve with it ``p^2``. It is the twin
of `badac.latent.process_summary.Whitened`, which holds ``K`` itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from badac.data.validation import IntArray
from badac.latent.process import Block
from badac.training import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class LowRank:
    """Residuals of a block of objects under such a Gaussian.

    Attributes
    ----------
    residual : (b, p)
    weight : (b, p)
        ``1 / D``; in the padding any number, since shapes and residuals are 0 there.
    shapes : (b, p, r)
        ``H``.
    half : (b, r, r)
        ``L^-1``, with ``L L' = I + H'D^-1 H``.
    white : (b, r)
        ``L^-1 H'D^-1 residual``.
    log_evidence : (b,)
        Log densities.
    """

    residual: FloatArray
    weight: FloatArray
    shapes: FloatArray
    half: FloatArray
    white: FloatArray
    log_evidence: FloatArray

    @classmethod
    def of(cls, block: Block, residual: FloatArray, variance: FloatArray, shapes: FloatArray) -> LowRank:
        """Take residuals (b, p) with independent variances (b, p), 1 in the padding, and shapes (b, p, r), 0 there."""
        weight = 1.0 / variance
        weighed = weight[..., None] * shapes
        inner = np.eye(shapes.shape[2]) + shapes.transpose(0, 2, 1) @ weighed
        root = np.linalg.cholesky(inner)
        half = np.linalg.inv(root)
        white = (half @ (weighed.transpose(0, 2, 1) @ residual[..., None]))[..., 0]
        log_det = np.log(variance).sum(axis=1) + 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        square = (weight * residual**2).sum(axis=1) - (white**2).sum(axis=1)
        offset = square + log_det + block.seen.sum(axis=1) * _LOG_2PI
        return cls(residual, weight, shapes, half, np.asarray(white), -0.5 * offset)

    @property
    def full(self) -> FloatArray:
        """(b, p, p): ``K`` itself."""
        out = self.shapes @ self.shapes.transpose(0, 2, 1)
        diagonal = np.arange(out.shape[1])
        out[:, diagonal, diagonal] += 1.0 / self.weight
        return np.asarray(out)

    def filtered(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``g'K^-1 residual`` and ``g'K^-1 g`` (b, s) of each column ``g`` of (b, p, s)."""
        weighed = self.weight[..., None] * columns
        across = self.half @ (self.shapes.transpose(0, 2, 1) @ weighed)
        signal = (weighed * self.residual[..., None]).sum(axis=1) - (across * self.white[..., None]).sum(
            axis=1
        )
        return signal, (weighed * columns).sum(axis=1) - (across**2).sum(axis=1)

    def said_of(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``C'K^-1 C`` (b, q, q) and ``C'K^-1 residual`` (b, q) of columns ``C`` (b, p, q)."""
        weighed = self.weight[..., None] * columns
        across = self.half @ (self.shapes.transpose(0, 2, 1) @ weighed)
        precision = columns.transpose(0, 2, 1) @ weighed - across.transpose(0, 2, 1) @ across
        shift = weighed.transpose(0, 2, 1) @ self.residual[..., None]
        return precision, (shift - across.transpose(0, 2, 1) @ self.white[..., None])[..., 0]

    def take(self, rows: IntArray) -> LowRank:
        """Return some of the objects."""
        return LowRank(*(getattr(self, field.name)[rows] for field in fields(self)))


def log_gain(precision: FloatArray, shift: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return (b,): log density gained by random coefficients ``N(0, diag sizes^2)`` of columns, integrated out.

    Parameters
    ----------
    precision, shift : (b, q, q), (b, q)
        What the objects say of the columns' coefficients (`LowRank.said_of`).
    sizes : (b, q)
    """
    inner = np.eye(shift.shape[1]) + sizes[:, :, None] * precision * sizes[:, None, :]
    root = np.linalg.cholesky(inner)
    white = np.linalg.solve(root, (sizes * shift)[..., None])[..., 0]
    return np.asarray(0.5 * (white**2).sum(axis=1) - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1))

"""A class at any points: a Gaussian process over curves, with a few widths of its remainder.

At an object's points it is ``N(c , K_s)``: the mean curve there, and the covariance of the process (`badac.latent.process`)
with its remainder widened ``s`` times, noise included. It is to curves at points of their own what
`badac.latent.class_summary.ClassSummary` is to curves on a common grid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal

import numpy as np

from badac.data.validation import IntArray
from badac.latent.low_rank import LowRank
from badac.latent.process import Block, Curve, Process, covariance, scaled
from badac.registry import registered
from badac.training import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))


@registered("part", holds={"widths": "(w,) > 0", "log_shares": "(w,) may be -inf"})
@dataclass(frozen=True, eq=False)
class ProcessSummary:
    """A class at any points.

    Attributes
    ----------
    process : Process
        What widens with the width: the remainder, and factors if they do.
    curve : Curve
        The mean.
    fixed : (q, f)
        Factors that do not widen: the uncertainty of the mean curve, and a population's own.
    widths : tuple of s floats
    log_shares : (s,)
        Of the widths.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.anomalies import ProcessSummary
    >>> from badac.latent import Basis, Curve, Process
    >>> basis = Basis.over(0.0, 1.0, n_knots=2)
    >>> process = Process(basis, "matern32", np.inf, 1.0, np.zeros((1, 1)), np.zeros(1), np.zeros((3, 0)))
    >>> summary = ProcessSummary(process, Curve(0.0, np.zeros(3), np.eye(3)), np.zeros(3), (1.0,), np.zeros(1))
    >>> summary.widths
    (1.0,)
    """

    process: Process
    curve: Curve
    fixed: FloatArray
    widths: tuple[float, ...]
    log_shares: FloatArray
    form: ClassVar[Literal["at any points"]] = "at any points"

    def at_width(self, width: float) -> Process:
        """Return the whole process with its remainder widened."""
        wider = scaled(self.process, width)
        return replace(wider, factors=np.hstack([self.fixed, wider.factors]))

    def whitened(
        self, block: Block, widths: tuple[float, ...] | None = None
    ) -> tuple[Whitened | LowRank, ...]:
        """Return a block of objects as the class of each width sees them; by default its own widths."""
        features = block.features(self.process.basis)
        mean = self.curve.origin + features @ self.curve.coefficients
        residual = np.where(block.seen, block.values - mean, 0.0)
        return tuple(self._of_width(block, features, residual, width) for width in widths or self.widths)

    def _of_width(
        self, block: Block, features: FloatArray, residual: FloatArray, width: float
    ) -> Whitened | LowRank:
        process = self.at_width(width)
        # Without a kernel and with independent errors the covariance is low rank plus diagonal: quicker for many points.
        if block.extra is None and not process.bands.any() and process.factors.shape[1] < block.at.shape[1]:
            variance = block.variance + process.psi[block.band] * block.seen
            if (variance > 0).all():
                return LowRank.of(block, residual, variance, features @ process.factors)
        full, _, _ = covariance(process, block, features)
        return Whitened.of(block, residual, full)


@dataclass(frozen=True, eq=False)
class Whitened:
    """Residuals of a block of objects under a Gaussian, and what its Cholesky factor ``L`` makes of them.

    Attributes
    ----------
    residual : (b, p)
    full : (b, p, p)
        The covariance, noise included.
    root : (b, p, p)
        ``L``, with ``L L' = full``.
    white : (b, p)
        ``L^-1 residual``.
    log_evidence : (b,)
        Log densities.
    """

    residual: FloatArray
    full: FloatArray
    root: FloatArray
    white: FloatArray
    log_evidence: FloatArray

    @classmethod
    def of(cls, block: Block, residual: FloatArray, full: FloatArray) -> Whitened:
        """Factorise the covariance (b, p, p) of residuals (b, p)."""
        root = np.asarray(np.linalg.cholesky(full), dtype=np.float64)
        white = np.asarray(np.linalg.solve(root, residual[..., None])[..., 0], dtype=np.float64)
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        offset = (white**2).sum(axis=1) + log_det + block.seen.sum(axis=1) * _LOG_2PI
        return cls(residual, full, root, white, -0.5 * offset)

    def filtered(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``g'K^-1 residual`` and ``g'K^-1 g`` (b, s) of each column ``g`` of (b, p, s)."""
        white = np.linalg.solve(self.root, columns)
        return (white * self.white[..., None]).sum(axis=1), (white**2).sum(axis=1)

    def said_of(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ``C'K^-1 C`` (b, q, q) and ``C'K^-1 residual`` (b, q) of columns ``C`` (b, p, q)."""
        white = np.linalg.solve(self.root, columns)
        shift = white.transpose(0, 2, 1) @ self.white[..., None]
        return white.transpose(0, 2, 1) @ white, shift[..., 0]

    def take(self, rows: IntArray) -> Whitened:
        """Return some of the objects."""
        return Whitened(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class PointsUnderClass:
    """A block of objects with points of their own, as one class of one width sees them.

    Attributes
    ----------
    block : Block
    whitened : Whitened or LowRank
    log_prior : float
        Of class and width together.
    """

    block: Block
    whitened: Whitened | LowRank
    log_prior: float = 0.0

    @property
    def log_evidence(self) -> FloatArray:
        """(b,): log P(object | class of this width)."""
        return self.whitened.log_evidence

    def take(self, rows: IntArray) -> PointsUnderClass:
        """Return some of the objects under the class."""
        return PointsUnderClass(self.block.take(rows), self.whitened.take(rows), self.log_prior)

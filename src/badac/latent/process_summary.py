"""A class at any points: a Gaussian process over curves, with a few widths of its remainder.

At an object's points it is ``N(c , K_s)``: the mean curve there, and the covariance of the process (`badac.latent.process`)
with its remainder widened ``s`` times, noise included. It is to curves at points of their own what
`badac.latent.class_summary.ClassSummary` is to curves on a common grid.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dtrtrs

from badac._kernels.points import Curves
from badac.cached import cached_property
from badac.data.validation import IntArray
from badac.latent.band_factors import curves_of_bands
from badac.latent.low_rank import LowRank, log_gains
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
        self, block: Block, widths: tuple[float, ...] | None = None, *, n_threads: int = 1
    ) -> tuple[Whitened | LowRank, ...]:
        """Return a block of objects as the class of each width sees them; by default its own widths."""
        widths = self.widths if widths is None else widths
        # Without a kernel and with independent errors the covariance is low rank plus diagonal.
        rough = self.process.psi[block.band] * block.seen
        plain = block.extra is None and not self.process.bands.any()
        if plain and (block.variance + min(widths) * rough > 0).all():
            return self._low_rank(block, rough, widths, n_threads)
        features = block.features(self.process.basis)
        mean = self.curve.origin + features @ self.curve.coefficients
        residual = np.where(block.seen, block.values - mean, 0.0)
        full = (covariance(self.at_width(width), block, features)[0] for width in widths)
        return tuple(Whitened.of(block, residual, each) for each in full)

    def _low_rank(
        self, block: Block, rough: FloatArray, widths: tuple[float, ...], n_threads: int
    ) -> tuple[LowRank, ...]:
        same = not self.process.factors.shape[1]  # of all widths
        found, under = [], None
        for width in widths:
            if under is None or not same:
                curves = self._fixed_curves if same else self._curves(self.at_width(width).factors)
                under = LowRank.under(block, curves, n_threads=n_threads)
            points = under._replace(variance=under.variance + width * rough)
            found.append(LowRank.of(points, n_threads=n_threads))
        return tuple(found)

    @cached_property
    def _fixed_curves(self) -> Curves:
        """Mean and factors that do not widen."""
        return self._curves(self.fixed)

    def _curves(self, factors: FloatArray) -> Curves:
        return curves_of_bands(self.process.basis, self.curve, factors)


@dataclass(frozen=True, eq=False)
class Whitened:
    """Residuals of a block of objects under a Gaussian, and what its Cholesky factor ``L`` makes of them.

    Attributes
    ----------
    seen : (b, p) bool
        False in the padding, which says nothing of any column.
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

    seen: npt.NDArray[np.bool_]
    residual: FloatArray
    full: FloatArray
    root: FloatArray
    white: FloatArray
    log_evidence: FloatArray

    @classmethod
    def of(cls, block: Block, residual: FloatArray, full: FloatArray) -> Whitened:
        """Factorise the covariance (b, p, p) of residuals (b, p)."""
        root = np.asarray(np.linalg.cholesky(full), dtype=np.float64)
        white = np.empty_like(residual)
        for row, (each, own) in enumerate(zip(root, residual, strict=True)):
            white[row] = dtrtrs(each.T, own, lower=0, trans=1)[0]
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        offset = (white**2).sum(axis=1) + log_det + block.seen.sum(axis=1) * _LOG_2PI
        return cls(block.seen, residual, full, root, white, -0.5 * offset)

    def filtered(self, columns: FloatArray, places: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """As `badac.latent.low_rank.LowRank.filtered`."""
        white = self._white(columns, places)
        return (white * self.white[..., None]).sum(axis=1), (white**2).sum(axis=1)

    def log_gain(self, columns: FloatArray, sizes: FloatArray, places: IntArray | None = None) -> FloatArray:
        """As `badac.latent.low_rank.LowRank.log_gain`."""
        white = self._white(columns, places)
        shift = white.transpose(0, 2, 1) @ self.white[..., None]
        return log_gains(white.transpose(0, 2, 1) @ white, shift[..., 0], sizes)

    def _white(self, columns: FloatArray, places: IntArray | None) -> FloatArray:
        own = (columns if places is None else columns[places]) * self.seen[..., None]
        return np.asarray(np.linalg.solve(self.root, own), dtype=np.float64)

    def pulls(self) -> FloatArray:
        """Return (b, p): the deviation of each point from what the class and all other points predict."""
        inverse = np.linalg.inv(self.full)
        turned = (inverse @ self.residual[..., None])[..., 0]
        return np.asarray(turned / np.sqrt(np.diagonal(inverse, axis1=1, axis2=2)))

    def predicted(self, block: Block, keep: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return mean, above that of the class, and variance (b, p) of the true values given the points to keep (b, p)."""
        diagonal = np.arange(self.full.shape[1])
        true = self.full.copy()
        true[:, diagonal, diagonal] -= block.variance
        if block.extra is not None:
            true -= block.extra
        both = keep[:, :, None] & keep[:, None, :]
        noisy = np.where(both, self.full, 0.0)
        noisy[:, diagonal, diagonal] += ~keep
        across = np.where(keep[:, None, :], true, 0.0)
        solved = np.linalg.solve(noisy, across.transpose(0, 2, 1))
        moved = (solved.transpose(0, 2, 1) @ np.where(keep, self.residual, 0.0)[..., None])[..., 0]
        left = np.diagonal(true, axis1=1, axis2=2) - np.einsum("bij,bji->bi", across, solved)
        return np.asarray(moved), np.asarray(left)

    def take(self, rows: IntArray) -> Whitened:
        """Return some of the objects."""
        return Whitened(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class PointsUnderClass:
    """Objects of a block, with points of their own, as one class of one width sees them.

    Attributes
    ----------
    whole : Block
    whitened : Whitened or LowRank
    log_prior : float
        Of class and width together.
    chosen : (b,), optional
        Which objects of the block; by default all of them. They are taken out of it where someone looks at them.
    """

    whole: Block
    whitened: Whitened | LowRank
    log_prior: float = 0.0
    chosen: IntArray | None = None

    @cached_property
    def block(self) -> Block:
        """The objects themselves."""
        return self.whole if self.chosen is None else self.whole.take(self.chosen)

    @property
    def places(self) -> IntArray:
        """(b,): where the objects are in the whole block."""
        return np.arange(len(self.whole.rows)) if self.chosen is None else self.chosen

    @property
    def log_evidence(self) -> FloatArray:
        """(b,): log P(object | class of this width)."""
        return self.whitened.log_evidence

    def take(self, rows: IntArray) -> PointsUnderClass:
        """Return some of the objects under the class."""
        return PointsUnderClass(self.whole, self.whitened.take(rows), self.log_prior, self.places[rows])

"""A class as a Gaussian process over curves, seen by noisy objects each at its own points.

    d(t, b) = origin + basis(t, b) @ (coefficients + factors z) + f(t, b) + eps + noise

    f ~ GP(0, bands[b, b'] k(t - t')),   eps ~ N(0, psi_b),   z ~ N(0, I),   noise ~ N(0, Sigma_d)

``coefficients`` are the class's mean curve (`Curve`); ``factors`` its common ways to deviate (none: rank 0); ``f`` what is left
and smooth, the same everywhere in t; ``psi`` what is left and rough (`Process`: Rasmussen & Williams 2006, section 2.7, for
explicit basis functions). With H the latent shapes at an object's points, K the covariance of all that is not latent there
and r the residual, the object says of the latent position

    precision = H' K^-1 H,   shift = H' K^-1 r,   offset = r' K^-1 r + log det K + m log 2 pi

(`FactorProcess.project`, the twin of `badac.latent.factor.Factor.project`). With the basis itself as shapes the latent
position is that of the mean curve, and learning the mean from all members, and leaving one out again, are sums. Objects
with similar numbers of points go through the Cholesky factorisation together, padded with points of unit variance that
nothing depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from badac._kernels.latent import pack
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.basis import Basis, coordinates
from badac.latent.correlation import correlation
from badac.latent.likelihood import LatentLikelihood
from badac.registry import registered
from badac.threads import in_order
from badac.training import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))
_NUMBERS_PER_BLOCK = 1 << 17  # block size: 1 MiB of doubles stay in a core's cache


@registered(
    "part",
    holds={
        "length": "> 0",
        "period": "> 0, may be inf",
        "bands": "(b, b)",
        "psi": "(b,) >= 0",
        "basis.n_bands": "b",
        "factors": "(q, _)",
        "basis.size": "q",
    },
)
@dataclass(frozen=True, eq=False)
class Process:
    """The class's covariance: see the module.

    Attributes
    ----------
    basis : Basis
    kernel : str
        Of ``f``; one of `badac.latent.correlation.KERNELS`.
    period, length : float
        Of the kernel, in the coordinate's unit.
    bands : (n_bands, n_bands)
        Covariance of ``f`` between bands at one time.
    psi : (n_bands,)
    factors : (size of the basis, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from badac.latent import Basis, Process
    >>> basis = Basis.over(0.0, 1.0, n_knots=2)
    >>> Process(basis, "matern32", np.inf, 1.0, np.zeros((1, 1)), np.zeros(1), np.zeros((3, 0))).kernel
    'matern32'
    """

    basis: Basis
    kernel: str
    period: float
    length: float
    bands: FloatArray
    psi: FloatArray
    factors: FloatArray


@dataclass(frozen=True, eq=False)
class Block:
    """Objects with similar numbers of points, packed: the observed points first, band by band, then padding.

    Attributes
    ----------
    rows : (b,)
        Which objects.
    columns : (b, p)
        Which of its object's points each one is.
    values, variance, at : (b, p)
        Values and coordinates are 0 in the padding, variances 1.
    band : (b, p)
    seen : (b, p) bool
    extra : (b, p, p) or None
        Covariances of the noise, where errors are correlated; the variance is then 0 except in the padding.
    """

    rows: IntArray
    columns: IntArray
    values: FloatArray
    variance: FloatArray
    at: FloatArray
    band: IntArray
    seen: npt.NDArray[np.bool_]
    extra: FloatArray | None

    @property
    def full(self) -> bool:
        """Whether there is no padding."""
        return bool(self.seen.all())

    @cached_property
    def with_the_band_before(self) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Bands (b, p), -1 in the padding, and which points, alone in their band, have that of the points before."""
        band = np.where(self.seen, self.band, -1)
        numbers = range(int(band.max(initial=0)) + 1)
        count = np.stack([(band == number).sum(axis=1) for number in numbers], axis=1)
        alone = self.seen & (np.take_along_axis(count, self.band, axis=1) == 1)
        # Bands rise along an object.
        before = np.maximum.accumulate(np.where(alone, -1, band), axis=1)
        alone &= before >= 0
        return np.where(alone, before, band), alone

    def features(self, basis: Basis) -> FloatArray:
        """Return (b, p, size): the basis at the points, zeros in the padding."""
        return basis(np.where(self.seen, self.at, np.nan), self.band)

    def take(self, rows: IntArray) -> Block:
        """Return some of the objects of the block."""
        extra = None if self.extra is None else self.extra[rows]
        cut = {field.name: getattr(self, field.name)[rows] for field in fields(self) if field.name != "extra"}
        return Block(**cut, extra=extra)


def blocks(
    objects: Measurements,
    basis: Basis,
    *,
    max_points: int | None = None,
    rng: np.random.Generator | None = None,
    most_numbers: int = _NUMBERS_PER_BLOCK,
) -> Iterator[Block]:
    """Pack objects, those with similar numbers of points together.

    Parameters
    ----------
    objects : Measurements
        (n, m)
    basis : Basis
        Its number of bands is checked.
    max_points : int, optional
        Take a random choice of so many points from longer objects: a process's marginal at some of its points is exact.
    most_numbers : int
        Of a matrix of points by points of every object of a block.
    """
    observed = objects.observed
    check_bands(objects, basis.n_bands)
    if max_points is not None and rng is not None:
        observed = _thinned(observed, max_points, rng)
    count = observed.sum(axis=1)
    at = coordinates(objects)
    band = np.zeros(objects.shape, dtype=np.int64) if objects.band is None else objects.band
    band = np.broadcast_to(band, objects.shape)
    order = np.argsort(count, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        # Grow while the padding stays below a quarter and the block fits into memory.
        while stop < len(order):
            p = int(count[order[stop]])
            too_large = (stop + 1 - start) * max(p, basis.size, 1) * max(p, 1) > most_numbers
            if too_large or p > 1.25 * count[order[start]] + 2:
                break
            stop += 1
        rows = order[start:stop]
        yield _packed(objects, rows, observed[rows], at, band)
        start = stop


def check_bands(objects: Measurements, n_bands: int) -> None:
    """Refuse a band that no training object had."""
    if objects.band is None:
        return
    strange = (np.broadcast_to(objects.band, objects.shape) >= n_bands) & objects.observed
    if strange.any():
        row, point = (int(index) for index in np.argwhere(strange)[0])
        number = int(np.broadcast_to(objects.band, objects.shape)[row, point])
        raise ValueError(
            f"`band` must be one that training objects had, 0 to {n_bands - 1}: got {number} at object {row}, point {point} "
            f"(and {int(strange.sum()) - 1} more). Leave those points out, or train with that band."
        )


def _thinned(observed: npt.NDArray[np.bool_], most: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    long = np.flatnonzero(observed.sum(axis=1) > most)
    if long.size == 0:
        return observed
    out = observed.copy()
    draw = np.where(observed[long], rng.random((long.size, observed.shape[1])), np.inf)
    out[long] &= draw <= np.partition(draw, most - 1, axis=1)[:, most - 1 : most]
    return out


def _packed(
    objects: Measurements,
    rows: IntArray,
    observed: npt.NDArray[np.bool_],
    at: FloatArray,
    band: IntArray,
) -> Block:
    width = max(int(observed.sum(axis=1).max(initial=0)), 1)
    order = np.where(observed, band[rows], np.iinfo(np.int64).max)
    columns = np.argsort(order, axis=1, kind="stable")[:, :width]
    cell = (rows[:, None], columns)
    seen = np.take_along_axis(observed, columns, axis=1)
    extra = None
    if objects.covariance is not None:
        stack = objects.covariance
        picked = (
            stack[columns[:, :, None], columns[:, None, :]]
            if stack.ndim == 2
            else stack[rows[:, None, None], columns[:, :, None], columns[:, None, :]]
        )
        extra = np.where(seen[:, :, None] & seen[:, None, :], picked, 0.0)
        variance = np.where(seen, 0.0, 1.0)
    else:
        variance = np.where(seen, objects.sigma[cell] ** 2, 1.0)
    return Block(
        rows,
        columns,
        np.where(seen, objects.values[cell], 0.0),
        variance,
        np.where(seen, at[cell], 0.0),
        np.where(seen, band[cell], 0),
        seen,
        extra,
    )


def covariance(
    process: Process, block: Block, features: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Covariance of each object's points (b, p, p), noise included; and the kernel with its slope, for gradients."""
    lag = block.at[:, :, None] - block.at[:, None, :]
    near, slope = correlation(process.kernel, lag, process.length, process.period)
    if not block.full:
        together = block.seen[:, :, None] & block.seen[:, None, :]
        near *= together
        slope *= together
    full = near * between_bands(process, block)
    if process.factors.shape[1]:
        shapes = features @ process.factors
        full += shapes @ shapes.transpose(0, 2, 1)
    diagonal = np.arange(full.shape[1])
    full[:, diagonal, diagonal] += block.variance + process.psi[block.band] * block.seen
    if block.extra is not None:
        full += block.extra
    return full, near, slope


def between_bands(process: Process, block: Block) -> FloatArray:
    """Covariance between the bands of every two points, (b, p, p), or (1, 1) where there is one band."""
    if process.basis.n_bands == 1:
        return process.bands
    return process.bands[block.band[:, :, None], block.band[:, None, :]]


@registered("part", holds={"coefficients": "(q,)", "precision": "(q, q)"})
@dataclass(frozen=True, eq=False)
class Curve:
    """The class's mean curve: coefficients (q,) around `origin`, and the precision (q, q) to which they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.latent import Curve
    >>> Curve(0.0, np.zeros(3), np.eye(3)).coefficients
    array([0., 0., 0.])
    """

    origin: float
    coefficients: FloatArray
    precision: FloatArray


@dataclass(frozen=True, eq=False)
class FactorProcess:
    """A factor model whose mean and factors are functions of the coordinate: `badac.latent.factor.Factor` at any points.

    Attributes
    ----------
    process : Process
        The remainder: all that is not latent, factors of its own included (the uncertainty of the mean curve, ...).
    curve : Curve
        The mean.
    factors : (q, r) or None
        Coefficients of the latent ways to deviate. None: each function of the basis is one, so that the latent position is
        what is to be added to the mean's coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.latent import Basis, Curve, FactorProcess, Process
    >>> basis = Basis.over(0.0, 1.0, n_knots=2)
    >>> remainder = Process(basis, "matern32", np.inf, 1.0, np.zeros((1, 1)), np.zeros(1), np.zeros((3, 0)))
    >>> curves = FactorProcess(remainder, Curve(0.0, np.zeros(3), np.eye(3)), np.array([[1.0], [0.0], [0.0]]))
    >>> curves.project(Measurements([[1.1, 0.9]], 0.1, at=[[0.2, 0.7]])).position.round(1)
    array([[1.]])
    """

    process: Process
    curve: Curve
    factors: FloatArray | None = None

    @property
    def rank(self) -> int:
        return self.process.basis.size if self.factors is None else int(self.factors.shape[1])

    def widened(self, width: float) -> FactorProcess:
        """Return the same model with `width` times the remainder's covariance; its own factors stay as they are."""
        wider = replace(scaled(self.process, width), factors=self.process.factors)
        return FactorProcess(wider, self.curve, self.factors)

    def project(self, objects: Measurements, *, n_threads: int = 1) -> LatentLikelihood:
        """Return what each of the n objects, at points of its own, says of its latent position."""
        out = LatentLikelihood.empty(objects.n_objects, self.rank)
        for rows, part in self.project_blocks(objects, n_threads=n_threads):
            out[rows] = part
        return out

    def project_blocks(
        self, objects: Measurements, *, n_threads: int = 1
    ) -> Iterator[tuple[IntArray, LatentLikelihood]]:
        """Yield rows of the objects with their likelihoods, block by block: for sums over objects too many to keep."""
        return in_order(self._project, blocks(objects, self.process.basis), n_threads)

    def _project(self, block: Block) -> tuple[IntArray, LatentLikelihood]:
        features = block.features(self.process.basis)
        full, _, _ = covariance(self.process, block, features)
        root = np.linalg.cholesky(full)
        around = block.values - self.curve.origin - features @ self.curve.coefficients
        residual = np.where(block.seen, around, 0.0)
        shapes = features if self.factors is None else features @ self.factors
        white = np.linalg.solve(root, np.concatenate([shapes, residual[..., None]], axis=2))
        flat, last = white[..., :-1], white[..., -1]
        log_det = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return block.rows, LatentLikelihood(
            pack(flat.transpose(0, 2, 1) @ flat),
            (flat.transpose(0, 2, 1) @ last[..., None])[..., 0],
            (last**2).sum(axis=1) + log_det + block.seen.sum(axis=1) * _LOG_2PI,
        )


def scaled(process: Process, width: float) -> Process:
    """Return the process with its covariance multiplied by `width`, factors included."""
    if width == 1.0:
        return process
    return replace(
        process,
        bands=width * process.bands,
        psi=width * process.psi,
        factors=np.sqrt(width) * process.factors,
    )

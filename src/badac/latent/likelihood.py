"""What an object says of its latent position: a Gaussian likelihood in a few dimensions, whatever its points were.

With ``y_true = mean + factors z + eps``, ``eps ~ N(0, diag psi)``, an object ``d`` with errors ``Sigma_d`` says of its latent
position ``z`` (``r`` dimensions), with ``S = diag psi + Sigma_d``:

    log P(d | z) = -(offset - 2 shift'z + z' precision z) / 2
    precision = factors' S^-1 factors,   shift = factors' S^-1 (d - mean)
    offset = (d - mean)' S^-1 (d - mean) + log det S + m log 2 pi

so everything after this one pass over the points costs as much as ``r``, not as much as ``m``. A missing point of the object
has no row: it drops out exactly. `project` makes it for points on a common grid; where mean, factors and remainder are
functions of the coordinate, `badac.latent.process.FactorProcess` does, for points of an object's own. Whoever has either
asks it for ``project(objects)`` and goes on without knowing which (`FactorModel`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from badac._kernels import factor_project, latent_log_evidence, latent_posterior, weigh_points
from badac._kernels.latent import Components, pack, unpack
from badac.data.measurements import Measurements
from badac.registry import registered
from badac.threads import over_blocks
from badac.training import FloatArray

_LOG_2PI = float(np.log(2.0 * np.pi))
_ROWS_WITH_GAPS = 4096  # block size
_NUMBERS_PER_BLOCK = 1 << 17  # block size: 1 MiB of doubles stays in a core's cache


@registered("part", holds={"precision": "(n, _)", "shift": "(n, _)", "offset": "(n,)"})
@dataclass(frozen=True, eq=False)
class LatentLikelihood:
    """Gaussian likelihoods of the latent positions of ``n`` objects in ``r`` dimensions.

    Attributes
    ----------
    precision : (n, p)
        Packed, ``p = r (r + 1) / 2``.
    shift : (n, r)
    offset : (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from badac.latent import LatentLikelihood
    >>> from badac import Measurements
    >>> from badac.latent import Factor
    >>> latent = Factor(np.zeros(2), np.ones((2, 1)), np.zeros(2)).project(Measurements([[1.0, 3.0]], 0.1))
    >>> isinstance(latent, LatentLikelihood)
    True
    >>> latent.position.round(2)
    array([[1.99]])
    """

    precision: FloatArray
    shift: FloatArray
    offset: FloatArray

    def __len__(self) -> int:
        return len(self.shift)

    def __getitem__(self, rows: slice | np.ndarray) -> LatentLikelihood:
        return LatentLikelihood(self.precision[rows], self.shift[rows], self.offset[rows])

    def __setitem__(self, rows: slice | np.ndarray, part: LatentLikelihood) -> None:
        self.precision[rows], self.shift[rows], self.offset[rows] = part.precision, part.shift, part.offset

    @classmethod
    def empty(cls, n: int, rank: int) -> LatentLikelihood:
        """Return room for n objects, to be written block by block."""
        return cls(np.empty((n, rank * (rank + 1) // 2)), np.empty((n, rank)), np.empty(n))

    @property
    def rank(self) -> int:
        return int(self.shift.shape[1])

    @property
    def posterior(self) -> tuple[FloatArray, FloatArray]:
        """Mean (n, r) and covariance (n, r, r) of each object's latent position under ``z ~ N(0, I)``."""
        covariance, mean = self.packed_posterior
        return mean, unpack(covariance)

    @property
    def packed_posterior(self) -> tuple[FloatArray, FloatArray]:
        """Covariance, packed (n, p), and mean (n, r) of each object's latent position under ``z ~ N(0, I)``."""
        covariance, mean, _ = self._under_gaussian()
        return covariance, mean

    @property
    def position(self) -> FloatArray:
        """Mean (n, r) of each object's latent position under ``z ~ N(0, I)``."""
        return self._under_gaussian()[1]

    def gaussian_log_evidence(self, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(d) under ``z ~ N(0, I)``."""
        standard = Components(pack(np.eye(self.rank))[None], np.zeros((1, self.rank)), np.zeros(1))
        pulled = latent_log_evidence(self.precision, self.shift, standard, n_threads=n_threads)
        return np.asarray(pulled - 0.5 * self.offset)

    def log_evidence_under(self, precision: FloatArray) -> FloatArray:
        """Return (n,): log P(d) under ``z ~ N(0, precision^-1)``, with `precision` (r, r), or (n, r, r) of each object."""
        total = precision + unpack(self.precision)
        moved = np.linalg.solve(total, self.shift[..., None])[..., 0]
        gain = np.einsum("ia,ia->i", self.shift, moved)
        before, after = np.linalg.slogdet(precision)[1], np.linalg.slogdet(total)[1]
        return np.asarray(0.5 * (gain - self.offset + before - after))

    def seen_from(self, origin: FloatArray) -> LatentLikelihood:
        """Return the likelihoods of ``z - origin``, with an origin (n, r) of each object's own."""
        step = (unpack(self.precision) @ origin[..., None])[..., 0]
        offset = self.offset + np.einsum("ia,ia->i", origin, step - 2.0 * self.shift)
        return LatentLikelihood(self.precision, self.shift - step, offset)

    def _under_gaussian(self, n_threads: int = 1) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Posterior under ``N(0, I)`` as the kernel gives it; kept, since it is the same for any number of threads."""
        kept: tuple[FloatArray, FloatArray, FloatArray] | None = self.__dict__.get("_kept")
        if kept is None:
            identity, origin = pack(np.eye(self.rank)), np.zeros(self.rank)
            kept = latent_posterior(self.precision, self.shift, identity, origin, n_threads=n_threads)
            self.__dict__["_kept"] = kept
        return kept


class FactorModel(Protocol):
    """Mean, factors and remainder of a class: on a grid (`Factor`) or at points of an object's own (`FactorProcess`).

    Examples
    --------
    >>> import numpy as np
    >>> from badac.latent import Factor, FactorModel
    >>> def latent_size(model: FactorModel) -> int:
    ...     return model.rank
    >>> latent_size(Factor(np.zeros(3), np.ones((3, 1)), np.ones(3)))
    1
    """

    @property
    def rank(self) -> int:
        """Number of latent dimensions, r."""

    def project(self, objects: Measurements, *, n_threads: int = 1) -> LatentLikelihood:
        """Return what each of the n objects says of its latent position."""


def blocks(objects: Measurements) -> Iterator[slice]:
    """Slices of the objects, of one size but for one object, that keep the arrays of one pass in the processor's cache.

    Alike, so that threads that work on them side by side end at one time.
    """
    n = objects.n_objects
    count = -(-n // max(64, _NUMBERS_PER_BLOCK // max(objects.n_points, 1)))
    for number in range(count):
        yield slice(n * number // count, n * (number + 1) // count)


def sums_of_values(objects: Measurements) -> FloatArray:
    """Return (n,): the sum of each object's values, those that are missing left out."""
    out = objects.values.sum(axis=1)
    gaps = np.flatnonzero(np.isnan(out))
    for start in range(0, gaps.size, _ROWS_WITH_GAPS):
        rows = gaps[start : start + _ROWS_WITH_GAPS]
        out[rows] = np.nansum(objects.values[rows], axis=1)
    return np.asarray(out)


def weigh(objects: Measurements, mean: FloatArray, psi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the precision of each point ``1 / (psi + sigma^2)`` and its residual (n, m); both 0 where missing."""
    variance = objects.sigma**2
    variance += psi
    weight = np.divide(1.0, variance, out=variance)
    residual = objects.values - mean
    if not objects.complete:
        residual[np.isnan(residual)] = 0.0
    return weight, residual


def weighted_residuals(
    objects: Measurements, mean: FloatArray, psi: FloatArray, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``w = 1 / (psi + sigma^2)`` and ``w (d - mean)`` (n, m), both 0 where missing, and `offset` (n,)."""
    return weigh_points(objects.values, objects.sigma, mean, psi, n_threads=n_threads)


def project(
    objects: Measurements, mean: FloatArray, factors: FloatArray, psi: FloatArray, *, n_threads: int = 1
) -> LatentLikelihood:
    """Reduce objects to their latent likelihoods.

    Parameters
    ----------
    objects : Measurements
        (n, m)
    mean, psi : (m,)
    factors : (m, r)

    Returns
    -------
    LatentLikelihood
        Of the n objects.
    """
    if objects.covariance is not None:
        return _project_correlated(objects, mean, factors, psi, n_threads)
    values, sigma = objects.values, objects.sigma
    out = LatentLikelihood.empty(objects.n_objects, factors.shape[1])

    def work(block: slice, n_threads: int) -> None:
        rows = out.precision[block], out.shift[block], out.offset[block]
        factor_project(values[block], sigma[block], mean, psi, factors, out=rows, n_threads=n_threads)

    over_blocks(work, blocks(objects), n_threads)
    return out


def project_each(
    objects: Measurements, mean: FloatArray, factors: FloatArray, psi: float
) -> LatentLikelihood:
    """As `project`, with mean (n, m) and factors (n, m, r) of each object's own and independent errors."""
    seen = objects.observed
    weight = np.where(seen, 1.0 / (np.where(seen, objects.sigma, 1.0) ** 2 + psi), 0.0)
    residual = np.where(seen, objects.values - mean, 0.0)
    scaled = weight * residual
    precision = np.einsum("nm,nma,nmb->nab", weight, factors, factors, optimize=True)
    offset = np.einsum("nm,nm->n", scaled, residual) + log_determinant(weight)
    return LatentLikelihood(pack(precision), np.einsum("nm,nma->na", scaled, factors), offset)


def log_determinant(weight: FloatArray) -> FloatArray:
    """``log det S + m log 2 pi`` (n,) of the points with a positive precision ``weight`` (n, m)."""
    present = weight > 0
    if present.all():
        return np.asarray(weight.shape[1] * _LOG_2PI - np.log(weight).sum(axis=1))
    logs = np.log(weight, out=np.zeros_like(weight), where=present)
    return np.asarray(present.sum(axis=1) * _LOG_2PI - logs.sum(axis=1))


def _project_correlated(
    objects: Measurements, mean: FloatArray, factors: FloatArray, psi: FloatArray, n_threads: int
) -> LatentLikelihood:
    """As `project`, for objects with covariances: one Cholesky factor per distinct covariance and set of gaps."""
    n = objects.n_objects
    out = LatentLikelihood.empty(n, factors.shape[1])
    covariance, observed = objects.covariance, objects.observed
    assert covariance is not None
    shared = covariance.ndim == 2
    group = np.unique(observed, axis=0, return_inverse=True)[1] if shared else np.arange(n)

    def work(which: int, n_threads: int) -> None:
        rows = np.flatnonzero(group == which)
        points = np.flatnonzero(observed[rows[0]])
        full = covariance if shared else covariance[rows[0]]
        total = full[np.ix_(points, points)] + np.diag(psi[points])
        factor = np.linalg.cholesky(total)
        white = np.linalg.solve(factor, factors[points])
        residual = np.linalg.solve(factor, (objects.values[np.ix_(rows, points)] - mean[points]).T)
        out.precision[rows] = pack(white.T @ white)
        out.shift[rows] = residual.T @ white
        log_det = 2.0 * np.log(np.diagonal(factor)).sum() + points.size * _LOG_2PI
        out.offset[rows] = (residual**2).sum(axis=0) + log_det

    over_blocks(work, range(int(group.max(initial=-1)) + 1), n_threads)
    return out

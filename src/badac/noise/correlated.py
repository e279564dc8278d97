"""Correlated Gaussian errors: ``N(d ; y , C_d + C_y)``.

A covariance may come with the data (per object, or shared by all; `badac.Measurements`), or with the noise model: an
instrument or a sky that moves neighbouring points together adds one covariance ``V`` to everybody's error bars,

    C_d = diag(sigma_d^2) + V ,    C_y = diag(sigma_y^2) + V

which may hold for one class only (`badac.noise.per_class`). Where one sum of covariances serves all pairs the problem is
whitened once (``L^-1 d`` and ``L^-1 y`` with ``L L' = C_d + C_y``) and costs as much as the uncorrelated one. Otherwise each
distinct sum takes a Cholesky factor of its own. A missing point of the object is marginalised: its row and column leave
the covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from badac._kernels import Pairs, pair_log_match, pair_logsumexp
from badac.data.measurements import Measurements
from badac.noise.known_truth import matches_of_each
from badac.noise.matches import mixture_of_matches
from badac.noise.model import FloatArray, IntArray
from badac.registry import registered

_LOG_2PI = float(np.log(2.0 * np.pi))


@registered("noise", "correlated")
@dataclass(frozen=True, eq=False)
class Correlated:
    """Gaussian noise with a covariance besides the error bars.

    Parameters
    ----------
    covariance : (m, m), optional
        Added to the variances ``sigma^2`` of every object and every curve: symmetric, no negative eigenvalue. Learned if
        None.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.noise import Correlated, Gaussian
    >>> up, down = Measurements([[0.3, 0.3, 0.3]], 0.1), Measurements([[0.0, 0.0, 0.0]], 0.1)
    >>> shared = Correlated(np.full((3, 3), 0.2))  # all points may err together
    >>> bool(shared.log_match(up, down)[0, 0] > Gaussian().log_match(up, down)[0, 0])
    True
    """

    covariance: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.covariance is not None:
            object.__setattr__(self, "covariance", check_added_covariance(self.covariance))

    @property
    def learned(self) -> bool:
        return self.covariance is not None

    def with_covariance(self, side: Measurements) -> Measurements:
        """Return the objects or curves with their whole covariance; a shared one stays shared."""
        if self.covariance is None:
            raise ValueError(
                "Correlated() leaves its covariance open: `badac.noise_learning.learn_noise` finds it, or give it."
            )
        if side.n_points != len(self.covariance):
            raise ValueError(
                f"`covariance` of the noise is for {len(self.covariance)} points: got objects of {side.n_points}."
            )
        return add_covariance(side, self.covariance)

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        offered = self.with_covariance(curves)
        out = np.empty((objects.n_objects, curves.n_objects))
        for rows in same_errors(objects):
            out[rows] = correlated_log_match(self.with_covariance(objects[rows]), offered)
        return out

    def log_mixture(
        self,
        objects: Measurements,
        curves: Measurements,
        *,
        log_weights: FloatArray | None = None,
        skip: IntArray | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        offered = self.with_covariance(curves)
        out = np.empty(objects.n_objects)
        for rows in same_errors(objects):
            out[rows] = correlated_log_mixture(
                self.with_covariance(objects[rows]),
                offered,
                log_weights=log_weights,
                skip=None if skip is None else skip[rows],
                n_threads=n_threads,
            )
        return out

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        full = self.with_covariance(like)
        return draw_correlated(truth, full, rng)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        return matches_of_each(correlated_log_match, self.with_covariance(objects), truth)


def check_added_covariance(covariance: FloatArray) -> FloatArray:
    """Return the covariance if it is square, finite, symmetric and has no negative eigenvalue."""
    array = np.array(covariance, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"`covariance` of the noise must be square, (points, points): got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError("`covariance` of the noise must be finite: got NaN or infinity.")
    asymmetry = np.abs(array - array.T)
    if asymmetry.max() > 1e-8 * np.abs(array).max():
        j, k = (int(i) for i in np.unravel_index(np.argmax(asymmetry), asymmetry.shape))
        raise ValueError(
            f"`covariance` of the noise must be symmetric: got {array[j, k]} at ({j}, {k}) but {array[k, j]} at ({k}, {j})."
        )
    smallest = float(np.linalg.eigvalsh(array)[0])
    if smallest < -1e-8 * np.abs(array).max():
        raise ValueError(
            f"`covariance` of the noise must have no negative eigenvalue: its smallest is {smallest:.3g}. It is added to "
            "sigma^2; give the covariance alone, without subtracting the error bars."
        )
    array.flags.writeable = False
    return array


def same_errors(objects: Measurements) -> list[IntArray]:
    """Groups of rows with the same error bars, which are whitened together; one group if hardly any are alike."""
    every = np.arange(objects.n_objects)
    if objects.covariance is not None or _shared_sigma(objects) is not None:
        return [every]
    _, group = np.unique(objects.sigma, axis=0, return_inverse=True)
    count = int(group.max(initial=-1)) + 1
    if 2 * count > objects.n_objects:
        return [every]
    order = np.argsort(group, kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(group))[:-1]))


def add_covariance(side: Measurements, covariance: FloatArray) -> Measurements:
    """Return the same values with `covariance` (m, m) added to their errors; shared as long as the errors are."""
    side.refuse_counts()
    if side.covariance is not None:
        full = side.covariance + covariance
    else:
        finite = np.where(side.observed, side.sigma, 0.0)
        rows = _shared_sigma(side)
        if rows is not None:
            finite = rows[np.newaxis]
        full = covariance + finite[:, :, np.newaxis] ** 2 * np.eye(side.n_points)
        if rows is not None:
            full = full[0]
    sigma = np.sqrt(np.diagonal(full, axis1=-2, axis2=-1))
    sigma = np.where(side.observed, np.broadcast_to(sigma, side.shape), np.inf)
    return side._changed(sigma=sigma, covariance=full, has_errors=True)


def draw_correlated(truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
    """Return (n, m): truths with noise of the covariance of `like`."""
    assert like.covariance is not None
    factor = np.linalg.cholesky(like.covariance)
    noise = np.einsum("...jk,...k->...j", factor, rng.standard_normal(truth.shape))
    return np.where(like.observed, truth + noise, np.nan)


def correlated_log_match(objects: Measurements, curves: Measurements) -> FloatArray:
    """Return (n, k): the log density of every object under every curve; at least one side has a covariance."""
    out = np.empty((objects.n_objects, curves.n_objects))
    for group in _whitened(objects, curves):
        matches = pair_log_match(group.pairs)
        out[np.ix_(group.rows, group.columns)] = matches - group.half_log_det
    return out


def correlated_log_mixture(
    objects: Measurements,
    curves: Measurements,
    *,
    log_weights: FloatArray | None = None,
    skip: IntArray | None = None,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n,): `badac.noise.model.log_mixture`; through the compiled pair kernel where the curves share a covariance."""
    if not is_shared(curves):
        return mixture_of_matches(
            correlated_log_match, objects, curves, log_weights=log_weights, skip=skip, n_threads=n_threads
        )
    out = np.empty(objects.n_objects)
    for group in _whitened(objects, curves):
        pairs = group.pairs.weighed(log_weights, None if skip is None else skip[group.rows])
        mixture = pair_logsumexp(pairs, n_threads=n_threads)
        out[group.rows] = mixture - group.half_log_det
    return out


@dataclass(frozen=True, eq=False)
class _Whitened:
    """Objects and curves whose sum of covariances is one and the same, turned into independent unit errors."""

    rows: IntArray
    columns: IntArray
    pairs: Pairs
    half_log_det: float


def _whitened(objects: Measurements, curves: Measurements) -> Iterator[_Whitened]:
    """Go through the groups of pairs that share the sum of their covariances."""
    every = np.arange(curves.n_objects)
    kinds = [every] if is_shared(curves) else [every[i : i + 1] for i in every]
    for rows in _alike(objects):
        points = np.flatnonzero(objects.observed[rows[0]])
        if not points.size:
            # An object without any measured point matches everything: one point of variance 1/(2 pi) and no residual.
            pairs = _of_unit_error(np.zeros((len(rows), 1)), np.zeros((len(every), 1)))
            yield _Whitened(rows, every, pairs, -0.5 * _LOG_2PI)
            continue
        own = _covariance(objects, int(rows[0]), points)
        for columns in kinds:
            factor = _cholesky(own + _covariance(curves, int(columns[0]), points))
            offered = curves.values[np.ix_(columns, points)]
            # Around their mean, so that large values do not cost digits.
            centre = offered.mean(axis=0)
            measured = objects.values[np.ix_(rows, points)]
            pairs = _of_unit_error(_solve(factor, measured - centre), _solve(factor, offered - centre))
            yield _Whitened(rows, columns, pairs, float(np.log(np.diagonal(factor)).sum()))


def _of_unit_error(objects: FloatArray, curves: FloatArray) -> Pairs:
    one = np.ones((1, objects.shape[1]))
    return Pairs.of(objects, one, curves, np.zeros_like(one))


def _solve(factor: FloatArray, values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(solve_triangular(factor, values.T, lower=True, check_finite=False).T)


def _cholesky(covariance: FloatArray) -> FloatArray:
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise ValueError(
            "the sum of the covariances of an object and a curve must be positive definite: it is singular. "
            "A point is exact on both sides; give one side its measurement error."
        ) from None


def _shared_sigma(side: Measurements) -> FloatArray | None:
    """Return the error bars (m,) that all objects have at their measured points, or None if they differ."""
    if side.complete:
        first = side.sigma[0] if side.n_objects else np.zeros(side.n_points)
        return first if bool((side.sigma == first).all()) else None
    known = np.where(side.observed, side.sigma, -np.inf).max(axis=0, initial=0.0)
    return known if bool((np.where(side.observed, side.sigma, known) == known).all()) else None


def is_shared(side: Measurements) -> bool:
    """Whether all objects have one covariance, so that whitening them once serves every pair."""
    if side.covariance is not None:
        return side.covariance.ndim == 2
    return _shared_sigma(side) is not None


def _covariance(side: Measurements, row: int, points: IntArray) -> FloatArray:
    if side.covariance is None:
        return np.diag(side.sigma[row, points] ** 2)
    full = side.covariance if side.covariance.ndim == 2 else side.covariance[row]
    return np.asarray(full[np.ix_(points, points)])


def _alike(objects: Measurements) -> list[IntArray]:
    """Groups of rows with one covariance and one set of observed points."""
    n = objects.n_objects
    if objects.covariance is not None and objects.covariance.ndim == 3:
        return [np.array([row]) for row in range(n)]
    if objects.complete and is_shared(objects):
        return [np.arange(n)] if n else []
    key = objects.observed.astype(np.float64)
    if objects.covariance is None:
        key = np.hstack([key, np.where(objects.observed, objects.sigma, 0.0)])
    _, group = np.unique(key, axis=0, return_inverse=True)
    return [np.flatnonzero(group == index) for index in range(int(group.max(initial=-1)) + 1)]

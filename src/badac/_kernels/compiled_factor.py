"""The compiled factor kernels: weights, products and posteriors of some objects at a time, while they are in the cache.

Twin: the function of the same name in `NUMPY`. Where the products of the factors do not fit into a core's cache, or there are
more than 48 factors, objects go through the matrix products of BLAS instead, some at a time. Tolerance: 1e-10 of the sum of
the sizes of the terms.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from badac._kernels import _core
from badac._kernels.arguments import FloatArray
from badac._kernels.compiled_calls import how
from badac._kernels.compiled_latent import latent_posterior, weigh_points
from badac._kernels.factor import (
    LARGEST_LEVERAGE,
    Likelihoods,
    PosteriorSums,
    folded_inverse,
    losses_of,
    moments_at,
    sums_of,
)
from badac._kernels.latent import products

_whole = np.ascontiguousarray
# Of the products: what the second cache of most processors holds beside the objects (benchmarks/kernels.py).
_BYTES = 1 << 19
_ROWS = 1024  # block size, of BLAS


def factor_project(
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    *,
    out: Likelihoods | None = None,
    n_threads: int = 1,
) -> Likelihoods:
    (n, m), r = values.shape, factors.shape[1]
    p = r * (r + 1) // 2
    out = (np.empty((n, p)), np.empty((n, r)), np.empty(n)) if out is None else out
    if _fits(factors):
        arrays = map(_whole, (values, sigma, mean, psi, factors))
        _core.factor_project(*out, *arrays, **how(n_threads, n * m * (p + r + 8.0)))
        return out
    outer = products(factors)
    for rows in _blocks(n):
        weight, scaled, out[2][rows] = weigh_points(values[rows], sigma[rows], mean, psi, n_threads=n_threads)
        np.matmul(weight, outer, out=out[0][rows])
        np.matmul(scaled, factors, out=out[1][rows])
    return out


def row_products(left: FloatArray, right: FloatArray, *, n_threads: int = 1) -> FloatArray:
    if right.nbytes > _BYTES or not right.size:
        return np.asarray(left @ right)
    out = np.empty((len(left), right.shape[1]))
    _core.row_products(out, _whole(left), _whole(right), **how(n_threads, float(left.size * right.shape[1])))
    return out


def factor_sums(
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    *,
    n_threads: int = 1,
) -> PosteriorSums:
    (n, m), r = values.shape, factors.shape[1]
    p = r * (r + 1) // 2
    if _fits(factors):
        sums = (np.empty((m, 1 + r + p)), np.empty((m, 1 + r)), np.empty(m), np.empty(m), np.empty(1 + r + p))
        arrays = map(_whole, (values, sigma, mean, psi, factors))
        evidence = _core.factor_sums(*sums, *arrays, **how(n_threads, n * m * (3.0 * p + 5.0 * r + 16.0)))
        return PosteriorSums(np.array([evidence]), *sums)
    parts = [
        sums_of(
            *weigh_points(values[rows], sigma[rows], mean, psi, n_threads=n_threads),
            factors,
            latent_posterior,
        )
        for rows in _blocks(n)
    ]
    return PosteriorSums(*(sum(own[1:], start=own[0]) for own in zip(*parts, strict=True)))


def leverage_losses(
    values: FloatArray,
    sigma: FloatArray,
    mean: FloatArray,
    psi: FloatArray,
    factors: FloatArray,
    position: FloatArray,
    *,
    n_threads: int = 1,
) -> FloatArray:
    (n, m), r = values.shape, factors.shape[1]
    q = (r + 1) * (r + 2) // 2
    out = np.empty(n)
    if _fits(factors):
        normal = np.empty((m, q))
        arrays = _whole(values), _whole(sigma), _whole(mean), _whole(psi), _whole(factors), _whole(position)
        _core.factor_normal(normal, *arrays, **how(n_threads, n * m * (q + 8.0)))
        inverse = folded_inverse(normal)
        cost = n * m * (q + r + 16.0)
        _core.factor_leverage(out, *arrays, inverse, largest=LARGEST_LEVERAGE, **how(n_threads, cost))
        return out
    normal = np.zeros((m, q))
    for rows in _blocks(n):
        weight = weigh_points(values[rows], sigma[rows], mean, psi, n_threads=n_threads)[0]
        normal += weight.T @ moments_at(position[rows])
    inverse = folded_inverse(normal)
    for rows in _blocks(n):
        weight, scaled, _ = weigh_points(values[rows], sigma[rows], mean, psi, n_threads=n_threads)
        out[rows] = losses_of(weight, scaled, factors, moments_at(position[rows]), inverse)
    return out


def _blocks(n: int) -> Iterator[slice]:
    """Slices of n objects, one at least."""
    return (slice(start, start + _ROWS) for start in range(0, max(n, 1), _ROWS))


def _fits(factors: FloatArray) -> bool:
    m, r = factors.shape
    return bool(1 <= r <= _core.latent_max_rank and 8 * m * r * (r + 1) // 2 <= _BYTES)

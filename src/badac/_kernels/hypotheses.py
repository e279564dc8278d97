"""The kernels of the anomaly hypotheses: a deviation integrated out of latent likelihoods, and bumps as a matched filter.

An object has the likelihood ``exp(-(offset - 2 b'z + z'A z) / 2)`` of its latent position (`badac._kernels.latent`). If the
first dimensions of ``z`` are a deviation with the prior ``N(0, diag amplitude^2)``, `latent_without` integrates them and
returns the likelihood of the others. `bump_ratios` gives the signal-to-noise ratio of bumps ``g`` in the object, given
components of the class,

    ratio = g'R (d - c) / sqrt(g'R g) ,     R = (W T W' + S)^-1 ,

and `bump_average` the log of the mean of ``exp(shrink ratio^2 / 2)`` over the bumps that the object can show. The functions
here are the clear NumPy definitions; they run on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.latent import pack, triangle, unpack

# A bump of which less than this share of its own precision is left cannot be told from the class.
_TOLD = 1e-6


class Filtering(NamedTuple):
    """What bumps are sought through: the objects, and the components of the class that are asked about each.

    Attributes
    ----------
    weight, scaled : (n, m)
        Precision of each point, and that times its distance from the class's mean; both 0 where missing.
    factors : (m, r)
    precision, shift : (n, p), (n, r)
        The objects' latent likelihoods.
    which : (n, c) int
        The components that are asked about each object.
    component_precision, component_shift : (k, p), (k, r)
    """

    weight: FloatArray
    scaled: FloatArray
    factors: FloatArray
    precision: FloatArray
    shift: FloatArray
    which: IntArray
    component_precision: FloatArray
    component_shift: FloatArray


class Layout(NamedTuple):
    """Where the precision of some dimensions is among sums (n, s): each entry is one of the sums, or the sum of two.

    Attributes
    ----------
    chosen : (d,) int
        Which dimensions, as columns of `shift`.
    first, second : (d (d + 1) / 2,) int
        Columns of the sums, for the upper triangle row by row; -1 in `second` where there is none.
    """

    chosen: IntArray
    first: IntArray
    second: IntArray

    @classmethod
    def packed(cls, size: int, chosen: IntArray) -> Layout:
        """For sums that are the packed precision of `size` dimensions."""
        rows, columns = triangle(chosen.size)
        low, high = np.minimum(chosen[rows], chosen[columns]), np.maximum(chosen[rows], chosen[columns])
        first = low * size - low * (low - 1) // 2 + high - low
        return cls(chosen, first, np.full_like(first, -1))

    def of(self, chosen: IntArray) -> Layout:
        """For some of the dimensions, by their numbers here."""
        entries = Layout.packed(self.chosen.size, chosen).first
        return Layout(self.chosen[chosen], self.first[entries], self.second[entries])


def latent_without(
    sums: FloatArray,
    shift: FloatArray,
    offset: FloatArray,
    amplitude: FloatArray,
    layout: Layout,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Integrate the first of the chosen dimensions over ``N(0, diag amplitude^2)``; dimensions not chosen are fixed at 0.

    Parameters
    ----------
    sums, shift, offset : (n, s), (n, all), (n,)
        What ``A_i`` is put together from, ``b_i`` and the offset.
    amplitude : (n, q)
        Prior standard deviations of the first q chosen dimensions.
    layout : Layout
        The q + r dimensions that there are, and where their precision is in `sums`.

    Returns
    -------
    (n, r (r + 1) / 2), (n, r), (n,)
        Precision, shift and offset of the other r; r may be 0.
    """
    checked_threads(n_threads)
    n, columns = amplitude.shape
    chosen, first, second = layout
    size = chosen.size
    scale = np.ones((n, size))
    scale[:, :columns] = amplitude
    full = unpack(sums[:, first] + np.where(second >= 0, sums[:, second], 0.0))
    # One Cholesky factor of [[I + P, b], [b', c]] holds everything: its last row is L^-1 b, its last block the Schur
    # complement. Any c that keeps it positive will do; it drops out.
    bordered = np.empty((n, size + 1, size + 1))
    bordered[:, :size, :size] = full * scale[:, :, None] * scale[:, None, :]
    bordered[:, size, :size] = bordered[:, :size, size] = scaled = shift[:, chosen] * scale
    diagonal = np.arange(size)
    bordered[:, diagonal, diagonal] += 1.0
    bordered[:, size, size] = (scaled**2).sum(axis=1) + 1.0
    lower = np.linalg.cholesky(bordered)
    pivots = np.diagonal(lower, axis1=1, axis2=2)[:, :columns]
    left = offset + 2.0 * np.log(pivots).sum(axis=1) - (lower[:, size, :columns] ** 2).sum(axis=1)
    rest = lower[:, columns:size, columns:size]
    schur = rest @ rest.transpose(0, 2, 1) - np.eye(size - columns)
    return pack(schur), (rest @ lower[:, size, columns:size, None])[..., 0], left


def bump_ratios(through: Filtering, shapes: FloatArray, *, n_threads: int = 1) -> FloatArray:
    """Signal-to-noise ratio of every bump in every object, given the components that are asked.

    Parameters
    ----------
    through : Filtering
    shapes : (m, b)
        The bumps.

    Returns
    -------
    (n, c, b)
        NaN for a bump that the object cannot show: at missing points, or one that the class itself explains.
    """
    checked_threads(n_threads)
    weight, scaled, factors, precision, shift, which, *components = through
    n, r, b = len(weight), factors.shape[1], shapes.shape[1]
    crossed = (factors[:, :, None] * shapes[:, None, :]).reshape(-1, r * b)
    products = scaled @ shapes, weight @ shapes**2, (weight @ crossed).reshape(n, r, b)
    return filtered_ratios(products, precision, shift, which, *components)


def filtered_ratios(
    products: tuple[FloatArray, FloatArray, FloatArray],
    precision: FloatArray,
    shift: FloatArray,
    which: IntArray,
    component_precision: FloatArray,
    component_shift: FloatArray,
) -> FloatArray:
    """As `bump_ratios`, from the products of the bumps with residuals (n, b), themselves (n, b) and factors (n, r, b)."""
    with_residual, with_itself, with_factors = products
    ratio = np.empty((*which.shape, with_itself.shape[1]))
    for column in range(which.shape[1]):
        asked = which[:, column]
        root = np.linalg.inv(np.linalg.cholesky(unpack(precision + component_precision[asked])))
        pulled = (root @ (shift + component_shift[asked])[..., None])[..., 0]
        turned = root @ with_factors
        height = with_residual - (pulled[:, None, :] @ turned)[:, 0]
        left = with_itself - np.einsum("irb,irb->ib", turned, turned)
        told = left > _TOLD * with_itself.max(axis=1, keepdims=True, initial=0.0)
        ratio[:, column] = np.where(told, height / np.sqrt(np.where(told, left, 1.0)), np.nan)
    return ratio


def bump_average(through: Filtering, shapes: FloatArray, shrink: float, *, n_threads: int = 1) -> FloatArray:
    """Log of the mean of ``exp(shrink ratio^2 / 2)`` over the bumps, (n, c); NaN if the object can show none.

    Parameters as in `bump_ratios`.
    """
    checked_threads(n_threads)
    return log_mean_exp_squares(bump_ratios(through, shapes), shrink)


def log_mean_exp_squares(ratio: FloatArray, shrink: float) -> FloatArray:
    """Log of the mean of ``exp(shrink ratio^2 / 2)`` over the last axis, NaN left out; NaN where all are."""
    told = ~np.isnan(ratio)
    count = told.sum(axis=-1)
    exponent = 0.5 * shrink * np.where(told, ratio, 0.0) ** 2
    top = exponent.max(axis=-1, initial=0.0)
    terms = np.where(told, np.exp(exponent - top[..., None]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top + np.log(terms.sum(axis=-1) / count))

"""The kernels of the anomaly hypotheses: a deviation integrated out of latent likelihoods, and bumps as a matched filter.

An object has the likelihood ``exp(-(offset - 2 b'z + z'A z) / 2)`` of its latent position (`badac._kernels.latent`). If the
first dimensions of ``z`` are a deviation with the prior ``N(0, diag amplitude^2)``, `latent_without` integrates them and
returns the likelihood of the others. `bump_ratios` gives the signal-to-noise ratio of bumps ``g`` in the object, given
components of the class,

    ratio = g'R (d - c) / sqrt(g'R g) ,     R = (W T W' + S)^-1 ,

and `bump_average` the Bayes factor of any of the bumps that the object can show, averaged over them and the components.
`curve_log_evidence` goes from the points of objects to their evidence with a random curve in one pass. The functions here are
the clear NumPy definitions; they run on one thread, whatever `n_threads` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.latent import Components, latent_log_evidence, pack, triangle, unpack, weigh_points
from badac._kernels.rows import row_log_sums
from badac._kernels.stretches import Stretches

# A bump of which less than this share of its own precision is left cannot be told from the class.
_TOLD = 1e-6


class GridPoints(NamedTuple):
    """Objects on a common grid, around a mean with a variance of its own at each point.

    Attributes
    ----------
    values, sigma : (all, m)
        NaN, or an infinite sigma, where missing.
    mean, psi : (m,)
    rows : (n,) int
        Which of all the objects are asked.
    """

    values: FloatArray
    sigma: FloatArray
    mean: FloatArray
    psi: FloatArray
    rows: IntArray

    def weighed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return precision and precision times residual of each point (n, m), and offset (n,), as `weigh_points` does."""
        return weigh_points(self.values[self.rows], self.sigma[self.rows], self.mean, self.psi)


class Features(NamedTuple):
    """What random curves are made of on a grid, beside the factors of a class (`badac.anomalies.curves_on_a_grid`).

    Attributes
    ----------
    columns : (m, all)
        Features, then the factors.
    products : (m, s)
        Of which the layouts put the precisions together.
    layouts : tuple of Layout
        Of each alternative: its features, then the factors.
    """

    columns: FloatArray
    products: FloatArray
    layouts: tuple[Layout, ...]


class Sizes(NamedTuple):
    """How large random curves are: an object's unit, ``sqrt(base + share * mean variance of its points)``, times a vector.

    Attributes
    ----------
    of_features : tuple of (q,)
        Prior standard deviations of the features of each alternative, in the object's unit.
    base, share : float
    """

    of_features: tuple[FloatArray, ...]
    base: float
    share: float


class Filtering(NamedTuple):
    """What bumps are sought through: the objects, and the components of the class that are asked about each.

    Attributes
    ----------
    points : GridPoints
        The objects around the class's mean; n of them are asked.
    factors : (m, r)
    precision, shift : (all, p), (all, r)
        The objects' latent likelihoods.
    which : (n, c) int
        The components that are asked about each object.
    component_precision, component_shift : (k, p), (k, r)
    """

    points: GridPoints
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


def curve_log_evidence(
    points: GridPoints, features: Features, sizes: Sizes, components: Components | None, *, n_threads: int = 1
) -> FloatArray:
    """Log evidence of objects that are a random curve on top of a class, or a random curve alone.

    Parameters
    ----------
    points : GridPoints
        The n objects, around the class's mean or a level.
    features : Features
    sizes : Sizes
    components : Components or None
        Of the class's mixture, in the dimensions that are left; None where none are.

    Returns
    -------
    (n,)
        The log of the mean over the alternatives.
    """
    checked_threads(n_threads)
    weight, scaled, offset = points.weighed()
    unit = np.sqrt(sizes.base + sizes.share * mean_variance(weight))
    sums, shift = weight @ features.products, scaled @ features.columns
    out = np.empty((len(weight), len(features.layouts)))
    for column, (layout, size) in enumerate(zip(features.layouts, sizes.of_features, strict=True)):
        precision, pulled, left = latent_without(sums, shift, offset, unit[:, None] * size, layout)
        out[:, column] = -0.5 * left
        if components is not None:
            out[:, column] += latent_log_evidence(precision, pulled, components)
    return np.asarray(row_log_sums(out) - np.log(out.shape[1]))


def mean_variance(weight: FloatArray) -> FloatArray:
    """Return (n,): the variance that has the mean precision of the points with a precision ``weight`` (n, m) at all."""
    if weight.size and weight.min() > 0:
        return np.asarray(weight.shape[1] / weight.sum(axis=1))
    count = np.maximum((weight > 0).sum(axis=1), 1)
    return np.asarray(count / np.maximum(weight.sum(axis=1), 1e-300))


def bump_ratios(through: Filtering, shapes: Stretches, *, n_threads: int = 1) -> FloatArray:
    """Signal-to-noise ratio of every bump in every object, given the components that are asked.

    Parameters
    ----------
    through : Filtering
    shapes : Stretches
        (m, b)
        The bumps.

    Returns
    -------
    (n, c, b)
        NaN for a bump that the object cannot show: at missing points, or one that the class itself explains.
    """
    checked_threads(n_threads)
    points, factors, precision, shift, which, *components = through
    (weight, scaled, _), rows = points.weighed(), points.rows
    bumps = shapes.dense()
    n, r, b = len(weight), factors.shape[1], bumps.shape[1]
    crossed = (factors[:, :, None] * bumps[:, None, :]).reshape(-1, r * b)
    products = scaled @ bumps, weight @ bumps**2, (weight @ crossed).reshape(n, r, b)
    return filtered_ratios(products, precision[rows], shift[rows], which, *components)


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


def bump_average(
    through: Filtering, log_share: FloatArray, shapes: Stretches, shrink: float, *, n_threads: int = 1
) -> FloatArray:
    """Log Bayes factor of any of the bumps against none (n,): ``sqrt(1 - shrink) exp(shrink ratio^2 / 2)`` on average.

    Parameters
    ----------
    through : Filtering
    log_share : (n, c)
        Of the components that are asked about each object: those that the average over the components has.
    shapes : Stretches
        (m, b)
    shrink : float
        ``k^2 / (1 + k^2)`` for a prior of k times the noise on the height, from 0 to below 1.

    Returns
    -------
    (n,)
        0 for an object that can show no bump, but for what the shares do not sum to one.
    """
    checked_threads(n_threads)
    mean = log_mean_exp_squares(bump_ratios(through, shapes), shrink)
    return row_log_sums(np.where(np.isnan(mean), 0.0, mean + 0.5 * np.log1p(-shrink)) + log_share)


def log_mean_exp_squares(ratio: FloatArray, shrink: float) -> FloatArray:
    """Log of the mean of ``exp(shrink ratio^2 / 2)`` over the last axis, NaN left out; NaN where all are."""
    told = ~np.isnan(ratio)
    count = told.sum(axis=-1)
    exponent = 0.5 * shrink * np.where(told, ratio, 0.0) ** 2
    top = exponent.max(axis=-1, initial=0.0)
    terms = np.where(told, np.exp(exponent - top[..., None]), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top + np.log(terms.sum(axis=-1) / count))

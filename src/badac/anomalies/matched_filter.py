"""A shape of unknown height in an object of a known class: the matched filter and its Bayes factor.

With ``R = (W T W' + diag psi + Sigma_d)^-1`` for a component of the class, centred at ``c``, a shape ``g`` of height
``a ~ N(0, A^2)`` has the Bayes factor against none

    log BF = z^2 / 2 * k^2 / (1 + k^2) - log(1 + k^2) / 2
    z = g'R (d - c) / sqrt(g'R g) ,     k^2 = A^2 g'R g

``z`` is the height's signal-to-noise ratio, N(0, 1) for a normal object. The prior on the height is set in the same unit:
``k`` is a constant, so that a normal object's score does not depend on its error bars, and one value of ``k`` is enough. The
class enters by the components of its mixture that are responsible for the object.
"""

from __future__ import annotations

import numpy as np

from badac._kernels import IntArray, bump_average, bump_ratios
from badac._kernels.hypotheses import Filtering, filtered_ratios, log_mean_exp_squares
from badac._kernels.stretches import Stretches
from badac.anomalies.hypothesis import ShapeOnClass
from badac.anomalies.model import FloatArray
from badac.latent.class_summary import NAMED, ObjectsUnderClass
from badac.latent.mixture import logsumexp_rows


def log_bayes_factor(ratio: FloatArray, signal_to_noise: float) -> FloatArray:
    """Log Bayes factor of a shape with this signal-to-noise ratio (any shape of array) against none."""
    squared = signal_to_noise**2
    return np.asarray(0.5 * squared / (1.0 + squared) * ratio**2 - 0.5 * np.log1p(squared))


def averaged_log_bayes_factor(squared_ratio: FloatArray, signal_to_noise: float) -> FloatArray:
    """Return (b,): log Bayes factor of any of p shapes, from squared ratios (b, p); 0 where all are -inf: none can be seen."""
    told, squared = (squared_ratio >= 0.0).sum(axis=1), signal_to_noise**2
    total = logsumexp_rows(0.5 * squared / (1.0 + squared) * squared_ratio) - 0.5 * np.log1p(squared)
    return np.where(told > 0, total - np.log(np.maximum(told, 1)), 0.0)


def log_bayes_factor_of_any(under: ObjectsUnderClass, shapes: Stretches, added: ShapeOnClass) -> FloatArray:
    """Return (n,): log P(d | class plus any of the shapes) - log P(d | class); 0 for an object that can show none."""
    top, log_share = responsible(under, added.components)
    squared = added.signal_to_noise**2
    shrink = squared / (1.0 + squared)
    if not under.correlated:
        return bump_average(filtering(under, top), log_share, shapes, shrink, n_threads=under.n_threads)
    mean = log_mean_exp_squares(_ratios_of_correlated(under, top, shapes), shrink)
    mean = np.where(np.isnan(mean), 0.0, mean - 0.5 * np.log1p(squared))
    return logsumexp_rows(mean + log_share)


def ratios(under: ObjectsUnderClass, shapes: Stretches) -> FloatArray:
    """Signal-to-noise ratio of shapes (m, p) in each object, given the component most responsible for it.

    Returns
    -------
    (n, p)
        NaN for a shape that the object cannot show: at missing points, or one that the class itself explains.
    """
    top, _ = responsible(under, 1)
    if not under.correlated:
        return bump_ratios(filtering(under, top), shapes, n_threads=under.n_threads)[:, 0]
    return _ratios_of_correlated(under, top, shapes)[:, 0]


def responsible(under: ObjectsUnderClass, count: int) -> tuple[IntArray, FloatArray]:
    """Return the components (n, count) of the class most responsible for each object, and their log shares (n, count)."""
    if count <= NAMED:
        _, top, log_share = under.responsible
        top, log_share = top[:, :count], log_share[:, :count]
    else:
        match = under.log_match
        top = _largest(match, min(count, match.shape[1]))
        log_share = np.take_along_axis(match, top, axis=1)
    return top, log_share - logsumexp_rows(log_share)[:, None]


def _largest(match: FloatArray, count: int) -> IntArray:
    """Return (n, count): the columns of the largest numbers of each row (n, k), the largest first."""
    if count == match.shape[1]:
        return np.argsort(-match, axis=1)
    left, found = match.copy(), np.empty((len(match), count), dtype=np.int64)
    rows = np.arange(len(match))
    for column in range(count):
        found[:, column] = left.argmax(axis=1)
        left[rows, found[:, column]] = -np.inf
    return found


def filtering(under: ObjectsUnderClass, top: IntArray) -> Filtering:
    """Return what the kernels take of the objects and of the components (n, c) that are asked."""
    # Points that are taken for bad ones under the class stay so: the Bayes factor compares like with like.
    own, shift, _ = under.summary.components
    whole = under.whole or under
    factors, latent = under.summary.factor.factors, whole.latent
    return Filtering(under.points, factors, latent.precision, latent.shift, top, own, shift)


def _ratios_of_correlated(under: ObjectsUnderClass, top: IntArray, shapes: Stretches) -> FloatArray:
    """As `badac._kernels.bump_ratios`, for objects with covariances: one Cholesky factor per object."""
    objects, factor = under.gaussian[0], under.summary.factor
    assert objects.covariance is not None
    n, r, p = objects.n_objects, factor.rank, shapes.shape[1]
    bumps = shapes.dense()
    products = np.empty((n, p)), np.empty((n, p)), np.empty((n, r, p))
    full = np.broadcast_to(objects.covariance, (n, objects.n_points, objects.n_points))
    for row, points in enumerate(objects.observed):
        root = np.linalg.cholesky(full[row][np.ix_(points, points)] + np.diag(factor.psi[points]))
        columns = np.column_stack(
            [objects.values[row, points] - factor.mean[points], factor.factors[points], bumps[points]]
        )
        white = np.linalg.solve(root, columns)
        shape = white[:, r + 1 :]
        products[0][row], products[1][row], products[2][row] = (
            white[:, 0] @ shape,
            (shape**2).sum(axis=0),
            white[:, 1 : r + 1].T @ shape,
        )
    own, shift, _ = under.summary.components
    return filtered_ratios(products, under.latent.precision, under.latent.shift, top, own, shift)

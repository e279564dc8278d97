"""A known class plus a bump of unknown place, width and height: a matched filter, averaged over its grid.

With ``R = (W T W' + diag psi + Sigma_d)^-1`` for a component of the class, centred at ``c``, a bump of shape ``g`` and height
``a ~ N(0, A^2)`` has the Bayes factor against no bump

    log BF = z^2 / 2 * k^2 / (1 + k^2) - log(1 + k^2) / 2
    z = g'R (d - c) / sqrt(g'R g) ,     k^2 = A^2 g'R g

``z`` is the height's signal-to-noise ratio, N(0, 1) for a normal object. The prior on the height is set in the same unit:
``k`` is a constant, so that a normal object's score does not depend on its error bars, and one value of ``k`` is enough. The
class enters by the components of its mixture that are responsible for the object. For features without an order a bump is
one point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac._kernels.latent import unpack
from badac.anomalies.described import View
from badac.anomalies.hypothesis import Ground, over_classes
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import bump_grid, bumps
from badac.classes.factor import Factor
from badac.classes.latent import weigh
from badac.classes.mixture import logsumexp_rows
from badac.data.measurements import Measurements


@dataclass(frozen=True, eq=False)
class Bump:
    """A known class plus a bump.

    Parameters
    ----------
    signal_to_noise : float
        Prior standard deviation of the height, in units of the error with which it would be measured.
    step : float
        Distance of neighbouring places, in units of the width.
    widest : float
        Largest width, in units of the range of the coordinates.
    components : int
        Number of components of the class's mixture that are tried per object.
    shapes : (m, p)
        After `fit`: the bumps at the points.
    places, widths : (p,)
        After `fit`: in units of the range of the coordinates; the index of the point and 0 for features without an order.
    """

    signal_to_noise: float = 5.0
    step: float = 1.0
    widest: float = 0.1
    components: int = 2
    shapes: FloatArray | None = None
    places: FloatArray | None = None
    widths: FloatArray | None = None
    ground: Ground | None = None

    def fit(self, ground: Ground) -> Self:
        if ground.where is None:
            m = ground.centre.size
            return replace(
                self,
                shapes=np.eye(m),
                places=np.arange(m, dtype=np.float64),
                widths=np.zeros(m),
                ground=ground,
            )
        places, widths = bump_grid(ground.where, self.step, self.widest)
        shapes = bumps(ground.where, places, widths)
        # A place between two distant points, at which no bump would be seen.
        seen = shapes.max(axis=0) > 0.5
        return replace(self, shapes=shapes[:, seen], places=places[seen], widths=widths[seen], ground=ground)

    def log_evidence(self, objects: Measurements, views: tuple[View, ...]) -> FloatArray:
        return over_classes(views, lambda view: view.log_evidence + self.log_bayes_factor(view))

    def log_bayes_factor(self, view: View) -> FloatArray:
        """Return (n,): log P(d | class plus bump) - log P(d | class)."""
        return averaged(*self.signal(view), self.signal_to_noise)

    def signal(self, view: View) -> tuple[FloatArray, FloatArray]:
        """Signal-to-noise ratio of every bump given each of the components that are responsible for the object.

        Returns
        -------
        ratio : (n, components, p)
            NaN for a bump that the object cannot show: at missing points, or one that the class itself explains.
        log_share : (n, components)
            Their log responsibilities, which sum to one.
        """
        assert self.shapes is not None and self.ground is not None, "fit first"
        factor, mixture = view.described.factor, view.described.mixture
        # Points that are taken for bad ones under the class stay so: the Bayes factor compares like with like.
        gaussian, _ = view.gaussian
        latent, match = view.latent, view.log_match
        top = np.argsort(-match, axis=1)[:, : self.components]
        log_share = np.take_along_axis(match, top, axis=1)
        log_share -= logsumexp_rows(log_share)[:, None]
        with_residual, with_itself, with_factors = filtered(gaussian, factor, self.shapes)
        own, shift, _ = mixture.components()
        ratio = np.empty((*top.shape, self.shapes.shape[1]))
        for column in range(top.shape[1]):
            which = top[:, column]
            root = np.linalg.inv(np.linalg.cholesky(unpack(latent.precision + own[which])))
            pulled = (root @ (latent.shift + shift[which])[..., None])[..., 0]
            turned = root @ with_factors
            height = with_residual - (pulled[:, None, :] @ turned)[:, 0]
            precision = with_itself - np.einsum("irp,irp->ip", turned, turned)
            told = precision > 1e-6 * with_itself.max(axis=1, keepdims=True)
            ratio[:, column] = np.where(told, height / np.sqrt(np.where(told, precision, 1.0)), np.nan)
        return ratio, log_share


def filtered(
    objects: Measurements, factor: Factor, shapes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Products of shapes (m, p) with residuals, themselves and the factors, in the metric of noise and psi.

    Returns
    -------
    (n, p), (n, p), (n, r, p)
    """
    n, r, p = objects.n_objects, factor.rank, shapes.shape[1]
    if objects.covariance is not None:
        return _filtered_correlated(objects, factor, shapes)
    weight, residual = weigh(objects, factor.mean, factor.psi)
    crossed = (factor.factors[:, :, None] * shapes[:, None, :]).reshape(-1, r * p)
    return (weight * residual) @ shapes, weight @ shapes**2, (weight @ crossed).reshape(n, r, p)


def _filtered_correlated(
    objects: Measurements, factor: Factor, shapes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `filtered`, for objects with covariances: one Cholesky factor per object."""
    assert objects.covariance is not None
    n, r, p = objects.n_objects, factor.rank, shapes.shape[1]
    out = np.empty((n, p)), np.empty((n, p)), np.empty((n, r, p))
    full = np.broadcast_to(objects.covariance, (n, objects.n_points, objects.n_points))
    for row, points in enumerate(objects.observed):
        root = np.linalg.cholesky(full[row][np.ix_(points, points)] + np.diag(factor.psi[points]))
        columns = np.column_stack(
            [objects.values[row, points] - factor.mean[points], factor.factors[points], shapes[points]]
        )
        white = np.linalg.solve(root, columns)
        shape = white[:, r + 1 :]
        out[0][row], out[1][row], out[2][row] = (
            white[:, 0] @ shape,
            (shape**2).sum(axis=0),
            white[:, 1 : r + 1].T @ shape,
        )
    return out


def averaged(ratio: FloatArray, log_share: FloatArray, signal_to_noise: float) -> FloatArray:
    """Average the bumps' Bayes factors with equal shares.

    Parameters
    ----------
    ratio : (n, components, p)
        Signal-to-noise ratios; NaN for a bump that the object cannot show.
    log_share : (n, components)
        Log responsibilities of the components.
    signal_to_noise : float
        k, of the prior.

    Returns
    -------
    (n,)
        Log Bayes factor; 0 for an object that can show no bump.
    """
    exponent = log_bayes_factor(ratio, signal_to_noise)
    told = ~np.isnan(ratio)
    count = told.sum(axis=2)
    exponent = np.where(told, exponent, -np.inf)
    of_component = logsumexp_rows(exponent.reshape(-1, ratio.shape[2])).reshape(count.shape)
    of_component -= np.log(np.maximum(count, 1))
    return logsumexp_rows(np.where(count > 0, of_component, 0.0) + log_share)


def log_bayes_factor(ratio: FloatArray, signal_to_noise: float) -> FloatArray:
    """Log Bayes factor of a bump with this signal-to-noise ratio (any shape) against none."""
    squared = signal_to_noise**2
    return np.asarray(0.5 * squared / (1.0 + squared) * ratio**2 - 0.5 * np.log1p(squared))

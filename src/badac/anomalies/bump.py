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

from badac._kernels import IntArray, bump_average, bump_ratios
from badac._kernels.hypotheses import Filtering, filtered_ratios, log_mean_exp_squares
from badac.anomalies.class_summary import View
from badac.anomalies.hypothesis import Ground, over_classes
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import bump_grid, bumps
from badac.data.measurements import Measurements
from badac.latent.mixture import logsumexp_rows
from badac.registry import registered


@registered("hypothesis")
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
        """Return (n,): log P(d | class plus bump) - log P(d | class); 0 for an object that can show no bump."""
        assert self.shapes is not None, "fit first"
        top, log_share = responsible(view, self.components)
        squared = self.signal_to_noise**2
        shrink = squared / (1.0 + squared)
        if view.gaussian[0].covariance is None:
            mean = bump_average(filtering(view, top), self.shapes, shrink)
        else:
            mean = log_mean_exp_squares(_ratios_of_correlated(view, top, self.shapes), shrink)
        mean = np.where(np.isnan(mean), 0.0, mean - 0.5 * np.log1p(squared))
        return logsumexp_rows(mean + log_share)

    def signal(self, view: View) -> tuple[FloatArray, FloatArray]:
        """Signal-to-noise ratio of every bump given each of the components that are responsible for the object.

        Returns
        -------
        ratio : (n, components, p)
            NaN for a bump that the object cannot show: at missing points, or one that the class itself explains.
        log_share : (n, components)
            Their log responsibilities, which sum to one.
        """
        assert self.shapes is not None, "fit first"
        top, log_share = responsible(view, self.components)
        if view.gaussian[0].covariance is None:
            return bump_ratios(filtering(view, top), self.shapes), log_share
        return _ratios_of_correlated(view, top, self.shapes), log_share


def responsible(view: View, count: int) -> tuple[IntArray, FloatArray]:
    """Return the components (n, count) of the class most responsible for each object, and their log shares (n, count)."""
    match = view.log_match
    top = np.argsort(-match, axis=1)[:, :count]
    log_share = np.take_along_axis(match, top, axis=1)
    return top, log_share - logsumexp_rows(log_share)[:, None]


def filtering(view: View, top: IntArray) -> Filtering:
    """Return what the kernels of bumps take of the objects and of the components (n, c) that are asked."""
    # Points that are taken for bad ones under the class stay so: the Bayes factor compares like with like.
    weight, scaled, _ = view.weighed
    own, shift, _ = view.described.components
    factors, latent = view.described.factor.factors, view.latent
    return Filtering(weight, scaled, factors, latent.precision, latent.shift, top, own, shift)


def _ratios_of_correlated(view: View, top: IntArray, shapes: FloatArray) -> FloatArray:
    """As `badac._kernels.bump_ratios`, for objects with covariances: one Cholesky factor per object."""
    objects, factor = view.gaussian[0], view.described.factor
    assert objects.covariance is not None
    n, r, p = objects.n_objects, factor.rank, shapes.shape[1]
    products = np.empty((n, p)), np.empty((n, p)), np.empty((n, r, p))
    full = np.broadcast_to(objects.covariance, (n, objects.n_points, objects.n_points))
    for row, points in enumerate(objects.observed):
        root = np.linalg.cholesky(full[row][np.ix_(points, points)] + np.diag(factor.psi[points]))
        columns = np.column_stack(
            [objects.values[row, points] - factor.mean[points], factor.factors[points], shapes[points]]
        )
        white = np.linalg.solve(root, columns)
        shape = white[:, r + 1 :]
        products[0][row], products[1][row], products[2][row] = (
            white[:, 0] @ shape,
            (shape**2).sum(axis=0),
            white[:, 1 : r + 1].T @ shape,
        )
    own, shift, _ = view.described.components
    return filtered_ratios(*products, view.latent.precision, view.latent.shift, top, own, shift)


def log_bayes_factor(ratio: FloatArray, signal_to_noise: float) -> FloatArray:
    """Log Bayes factor of a bump with this signal-to-noise ratio (any shape) against none."""
    squared = signal_to_noise**2
    return np.asarray(0.5 * squared / (1.0 + squared) * ratio**2 - 0.5 * np.log1p(squared))

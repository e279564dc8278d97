"""Poisson counts with exposure and background.

    P(d | y) = Poisson(d ; E_d y + b),     y >= 0 a rate, flat a priori

Values are counts; they bring their own width. Exposures of each object come with them, ``Measurements(counts, exposure=...)``.
Where they are not known and the totals of a class's members scatter more than counting does, the object's own total stands
for its exposure: rates are then shares of the total (`badac.noise.counts.depths_differ`). Without a background
the integral is closed: a curve of c counts in exposure E_c knows its rate as Gamma(c + 1, E_c), so an object's count is
negative binomial,

    P(d | c) = Gamma(c + d + 1) / (Gamma(c + 1) d!) (E_c / (E_c + E_d))^(c + 1) (E_d / (E_c + E_d))^d

With a background it is integrated on a grid that is even in the square root of the rate, where a Poisson count has a
constant width; the error is below 1e-6 in the log. Use it below some 20 counts per bin, where a Gaussian of width
sqrt(counts) is wrong: it takes zero counts for certain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from badac.data.measurements import Measurements
from badac.noise.counts import (
    FROM_OBJECTS,
    FROM_SIGMA,
    FROM_TOTAL,
    amount_of,
    check_amount,
    check_counts,
    check_curves,
    counts_given_truth,
    depths_differ,
    log_factorial,
    total_exposure,
    usual_shares,
)
from badac.noise.model import FloatArray, IntArray
from badac.noise.numeric import log_overlap
from badac.registry import registered

_NODES_PER_PANEL = 8
_LEAST_RATE = 1e-300


@registered("noise", "poisson", version=2, holds={"exposure": "> 0", "background": ">= 0"})
@dataclass(frozen=True, eq=False)
class Poisson:
    """Counting noise.

    Parameters
    ----------
    exposure : float, (m,), "objects", "1/sigma" or "total"
        Counts per unit of rate. "objects": what the objects say (``Measurements(counts, exposure=...)``); without, 1, or
        the total of each object if `fit` finds that the depths of the training objects differ. "1/sigma": differs between
        objects and is given as ``sigma = 1 / exposure``, as `Measurements` keeps it. "total": the object's own total.
    background : float or (m,)
        Expected background counts, known.
    share : (m,), optional
        With "total": the usual share of each point in it, by which gaps are made up for; learned from the training objects.

    Examples
    --------
    >>> from badac import Measurements
    >>> from badac.noise import Poisson
    >>> short, long = Measurements([[2.0]], exposure=[1.0]), Measurements([[40.0]], exposure=[20.0])
    >>> other = Measurements([[200.0]], exposure=[20.0])
    >>> noise = Poisson()
    >>> bool(noise.log_match(short, long)[0, 0] > noise.log_match(short, other)[0, 0])  # 2 in one hour is 40 in twenty
    True
    """

    exposure: float | FloatArray | str = FROM_OBJECTS
    background: float | FloatArray = 0.0
    share: FloatArray | None = None

    has_own_width = True

    def __post_init__(self) -> None:
        check_amount(self.exposure, "exposure")
        check_amount(self.background, "background", allow_zero=True)

    def check(self, objects: Measurements) -> None:
        check_counts(objects, "Poisson counts")

    def for_training(self, training: Measurements, label: IntArray) -> Poisson:
        """Return the noise with exposures as the training objects (n, m), of classes `label` (n,), have them."""
        if not (isinstance(self.exposure, str) and self.exposure == FROM_OBJECTS):
            if training.counted and not isinstance(self.exposure, str):
                raise ValueError(
                    f"the objects have an exposure of their own, and the noise says exposure={self.exposure!r} for all: give "
                    'one of the two. Poisson() and noise="poisson" take that of the objects.'
                )
            share = usual_shares(training) if self._by_total and self.share is None else self.share
            return replace(self, share=share)
        if training.counted:
            return replace(self, exposure=FROM_SIGMA)
        if depths_differ(training, label):
            return replace(self, exposure=FROM_TOTAL, share=usual_shares(training))
        return replace(self, exposure=1.0)

    @property
    def _by_total(self) -> bool:
        return isinstance(self.exposure, str) and self.exposure == FROM_TOTAL

    def exposure_of(self, side: Measurements) -> FloatArray:
        """Return (n, m) or (1, m): the exposure behind every count."""
        if self._by_total:
            return total_exposure(side, self.share)
        if isinstance(self.exposure, str) and self.exposure == FROM_OBJECTS:
            return amount_of(FROM_SIGMA if side.counted else 1.0, side, "exposure")
        return amount_of(self.exposure, side, "exposure")

    def log_match(self, objects: Measurements, curves: Measurements) -> FloatArray:
        self.check(objects)
        check_curves(curves, "Poisson counts")
        of_objects = self.exposure_of(objects)
        of_curves = self.exposure_of(curves)
        background = amount_of(self.background, objects, "background")[0]
        out = np.zeros((objects.n_objects, curves.n_objects))
        observed = objects.observed
        e_objects = np.broadcast_to(of_objects, objects.shape)
        e_curves = np.broadcast_to(of_curves, curves.shape)
        # Exposures that are the same at all points, as those of a cell or a frame are, share their logarithms.
        alike = all(bool((each == each[:, :1]).all()) for each in (e_objects, e_curves))
        shares = log_shares(e_objects[:, :1], e_curves[:, 0]) if alike and objects.n_points else None
        for point in range(objects.n_points):
            rows = np.flatnonzero(observed[:, point])
            if not rows.size:
                continue
            d, e_d = objects.values[rows, point], e_objects[rows, point]
            c, e_c = curves.values[:, point], e_curves[:, point]
            if background[point] > 0:
                out[rows] += background_log_match(d, e_d, c, e_c, float(background[point]))
            else:
                known = (
                    log_shares(e_d[:, None], e_c) if shares is None else tuple(each[rows] for each in shares)
                )
                out[rows] += poisson_log_match(d[:, None], c, *known)
        return out

    def draw(self, truth: FloatArray, like: Measurements, rng: np.random.Generator) -> FloatArray:
        if (np.where(like.observed, truth, 0.0) < 0).any():
            raise ValueError("the truth of Poisson counts is a rate and must be >= 0: got a negative one.")
        exposure = self.exposure_of(like)
        background = amount_of(self.background, like, "background")
        mean = np.where(like.observed, exposure * truth + background, 0.0)
        return np.where(like.observed, rng.poisson(mean), np.nan)

    def log_given_truth(self, objects: Measurements, truth: FloatArray) -> FloatArray:
        return counts_given_truth(
            self, objects, truth, lambda rate: np.asarray(np.log(np.maximum(rate, _LEAST_RATE)))
        )

    # -- in the space of log rates --------------------------------------------------------------------------------

    def first_guess(self, objects: Measurements) -> Measurements:
        """Return log rates with sigma; half a count more than there are, so that none is a number too."""
        counts, exposure, background = self._parts(objects)
        net = np.maximum(counts - background, 0.0) + 0.5
        sigma = np.sqrt(net + background) / net
        return Measurements(
            np.where(objects.observed, np.log(net / exposure), np.nan),
            np.where(objects.observed, sigma, np.inf),
            at=objects.at,
        )

    def working(
        self, objects: Measurements, link: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        counts, exposure, background = self._parts(objects)
        # The mean of exp(link) over its uncertainty, not exp of its mean: low counts leave the link wide.
        source = exposure * np.exp(np.clip(link + 0.5 * variance, -50.0, 50.0))
        total = source + background
        return source * (counts / total - 1.0), source * source / total

    def log_likelihood(self, objects: Measurements, link: FloatArray) -> FloatArray:
        counts, exposure, background = self._parts(objects)
        mean = exposure * np.exp(np.clip(link, -50.0, 50.0)) + background
        return np.asarray(counts * np.log(mean) - mean - log_factorial(counts))

    def plain_counts(self, objects: Measurements) -> tuple[FloatArray, FloatArray] | None:
        counts, exposure, background = self._parts(objects)
        return None if background.any() else (counts, np.where(objects.observed, exposure, 0.0))

    def mean_counts(self, objects: Measurements, link: FloatArray) -> FloatArray:
        _, exposure, background = self._parts(objects)
        return np.asarray(exposure * np.exp(np.clip(link, -50.0, 50.0)) + background)

    def _parts(self, objects: Measurements) -> tuple[FloatArray, FloatArray, FloatArray]:
        counts = np.where(objects.observed, objects.values, 0.0)
        return (
            counts,
            self.exposure_of(objects),
            amount_of(self.background, objects, "background"),
        )


def log_shares(e_d: FloatArray, e_c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log of the share of the curve's exposure e_c, and of the object's e_d, in both together."""
    total = e_c + e_d
    return np.log(e_c / total), np.log(e_d / total)


def poisson_log_match(
    d: FloatArray, c: FloatArray, of_curve: FloatArray, of_object: FloatArray
) -> FloatArray:
    """Log probability of a count d, given c counts and a flat prior on the rate, by the `log_shares` of their exposures."""
    return np.asarray(
        log_factorial(c + d) - gammaln(c + 1.0) - gammaln(d + 1.0) + (c + 1.0) * of_curve + d * of_object
    )


def background_log_match(
    d: FloatArray, e_d: FloatArray, c: FloatArray, e_c: FloatArray, background: float
) -> FloatArray:
    """Return (n, k): the same with a known background on both sides, by Gauss-Legendre panels in the root of the rate."""
    largest = max(float((d / e_d).max()), float((c / e_c).max()))
    densest = max(float(e_d.max()), float(e_c.max()))
    thinnest = min(float(e_d.min()), float(e_c.min()))
    root_top = np.sqrt(largest + 40.0 / thinnest) + 4.0 / np.sqrt(thinnest)
    panels = int(np.ceil(root_top * np.sqrt(densest))) + 1
    node, weight = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    width = root_top / panels
    root = (np.arange(panels)[:, None] + 0.5 * (node + 1.0)).ravel() * width
    # dy = 2 root d(root)
    log_weight = np.log(np.tile(0.5 * width * weight, panels) * 2.0 * root)
    rate = root**2
    of_objects = _log_poisson(d, e_d[:, None] * rate + background)
    of_curves = _log_poisson(c, e_c[:, None] * rate + background)
    norm = logsumexp(of_curves + log_weight, axis=1, keepdims=True)
    return log_overlap(of_objects, of_curves - norm, log_weight)


def _log_poisson(count: FloatArray, mean: FloatArray) -> FloatArray:
    return np.asarray(xlogy(count[:, None], mean) - mean - gammaln(count + 1.0)[:, None])

"""Why an object with points of its own is strange: the class that fits best, each point's pull, the window, the expected curve.

With the mean ``c`` and the covariance ``K`` of the class at the object's points, noise included, and ``T`` without it,

    pull_j = [K^-1 (d - c)]_j / sqrt([K^-1]_jj) ,     expected = c + T_k K_kk^-1 (d - c)_k ,   k: the points outside the window

Two curves without a common grid are alike if their smooth predictions under the class, with their uncertainties, are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from badac._kernels import pair_log_match
from badac.anomalies.bump import Bump, log_bayes_factor
from badac.anomalies.model import FloatArray
from badac.anomalies.own_class import OwnClass, Seen, taken
from badac.anomalies.own_points import OwnPoints
from badac.classes.gp import WIDTHS
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.correlation import correlation
from badac.latent.mixture import logsumexp_rows
from badac.latent.process import Block

_KNOTS = 20


@dataclass(frozen=True, eq=False)
class Reasons:
    """Of n objects of m points: class (n,), pull, expected, its sigma (n, m), window (n, 2) and its log Bayes factor (n,)."""

    best: IntArray
    pull: FloatArray
    window: FloatArray
    window_log_bayes_factor: FloatArray
    expected: FloatArray
    expected_sigma: FloatArray


def reasons(own: OwnPoints, objects: Measurements, *, widest: float, reach: float, strange: float) -> Reasons:
    """Find them.

    Parameters
    ----------
    own : OwnPoints
    objects : Measurements
        (n, m)
    widest : float
        Of the windows, in units of the range.
    reach : float
        How far a window reaches, in widths of its bump.
    strange : float
        Points in the window are left out of the prediction if its log Bayes factor is above this.
    """
    n, m = objects.shape
    out = Reasons(
        np.zeros(n, dtype=np.int64),
        np.full((n, m), np.nan),
        np.full((n, 2), np.nan),
        np.zeros(n),
        np.full((n, m), np.nan),
        np.full((n, m), np.nan),
    )
    bump = Bump(widest=widest)
    places, widths = own.bumps(bump)
    for block in own.blocks(objects):
        joint = own.joint(own.see(block))
        top = joint.argmax(axis=1)
        counts = [len(one.log_shares) for one in own.classes]
        of_class = np.repeat(np.arange(len(own.classes)), counts)
        of_width = np.concatenate([np.arange(count) for count in counts])
        edges = np.cumsum([0, *counts])
        total = np.stack([logsumexp_rows(joint[:, a:b]) for a, b in pairwise(edges)], axis=1)
        out.best[block.rows] = total.argmax(axis=1)
        for which in np.unique(top):
            some = taken(block, np.flatnonzero(top == which))
            seen = own.classes[of_class[which]].see(some, WIDTHS[of_width[which]])
            ratio = np.nan_to_num(own.ratios(bump, some, seen))
            strongest = np.abs(ratio).argmax(axis=1)
            factor = log_bayes_factor(ratio[np.arange(len(strongest)), strongest], bump.signal_to_noise)
            centre, far = places[strongest], reach * widths[strongest]
            low, high = np.maximum(centre - far, 0.0), np.minimum(centre + far, 1.0)
            out.window[some.rows] = own.lower + own.span * np.stack([low, high], axis=1)
            out.window_log_bayes_factor[some.rows] = factor
            x = own.scaled(some.at)
            inside = (x >= low[:, None]) & (x <= high[:, None]) & some.seen
            few = inside.sum(axis=1) < 0.5 * some.seen.sum(axis=1)
            hidden = inside & (few & (factor > strange))[:, None]
            mean, sigma = predicted(some, seen, hidden)
            # A block holds an object's observed points in their order.
            for row, values, spread, pull in zip(some.rows, mean, sigma, pulls(seen), strict=True):
                points = np.flatnonzero(objects.observed[row])
                out.expected[row, points] = values[: points.size]
                out.expected_sigma[row, points] = spread[: points.size]
                out.pull[row, points] = pull[: points.size]
    return out


def pulls(seen: Seen) -> FloatArray:
    """Return (b, p): the deviation of each point from what the class and all other points predict."""
    inverse = np.linalg.inv(seen.full)
    turned = (inverse @ seen.residual[..., None])[..., 0]
    return np.asarray(turned / np.sqrt(np.diagonal(inverse, axis1=1, axis2=2)))


def predicted(block: Block, seen: Seen, hidden: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (b, p) of the true values under the class, given the points not hidden."""
    keep = block.seen & ~hidden
    diagonal = np.arange(seen.full.shape[1])
    true = seen.full.copy()
    true[:, diagonal, diagonal] -= block.variance
    if block.extra is not None:
        true -= block.extra
    both = keep[:, :, None] & keep[:, None, :]
    noisy = np.where(both, seen.full, 0.0)
    noisy[:, diagonal, diagonal] += ~keep
    across = np.where(keep[:, None, :], true, 0.0)
    solved = np.linalg.solve(noisy, across.transpose(0, 2, 1))
    moved = (solved.transpose(0, 2, 1) @ np.where(keep, seen.residual, 0.0)[..., None])[..., 0]
    left = np.diagonal(true, axis1=1, axis2=2) - np.einsum("bij,bji->bi", across, solved)
    return block.values - seen.residual + moved, np.sqrt(np.maximum(left, 0.0))


def most_alike(own: OwnPoints, index: int, objects: Measurements, members: Measurements) -> IntArray:
    """Return (n,): the member whose smooth prediction under class `index` matches that of each object best."""
    one = own.classes[index]
    mean, sigma = at_knots(own, one, objects)
    of_members, their_sigma = at_knots(own, one, members)
    match = pair_log_match(mean, sigma, of_members, their_sigma)
    return np.asarray(match.argmax(axis=1))


def at_knots(own: OwnPoints, one: OwnClass, objects: Measurements) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (n, knots x bands) of the objects' smooth curves on a common grid."""
    process = one.at_width(1.0)
    bands = process.basis.n_bands
    at = np.tile(own.lower + own.span * np.linspace(0.0, 1.0, _KNOTS), bands)
    band = np.repeat(np.arange(bands), _KNOTS)
    features = process.basis(at, band)
    shapes = features @ process.factors
    prior = process.bands[band, band] + (shapes**2).sum(axis=1)
    mean, sigma = np.empty((len(objects), at.size)), np.empty((len(objects), at.size))
    for block in own.blocks(objects):
        seen = one.see(block, 1.0)
        near, _ = correlation(
            process.kernel, at[:, None] - block.at[:, None, :], process.length, process.period
        )
        across = near * process.bands[band[:, None], block.band[:, None, :]]
        across += shapes @ (block.features(process.basis) @ process.factors).transpose(0, 2, 1)
        across *= block.seen[:, None, :]
        white = np.linalg.solve(seen.root, across.transpose(0, 2, 1))
        known = one.curve.origin + features @ one.curve.coefficients
        mean[block.rows] = known + np.einsum("bpk,bp->bk", white, seen.white)
        left = prior - (white**2).sum(axis=1)
        sigma[block.rows] = np.sqrt(np.maximum(left, 1e-6 * own.variance))
    return mean, sigma

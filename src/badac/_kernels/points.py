"""What objects with points of their own say of their latent positions: the definition.

The curves of a class are functions of the coordinate with a kernel ``k`` at knots, in every band ``b``,

    (mean, h, g)(t) = (1, k(t, knots)) @ coefficients_b           a mean, shapes h (r), local shapes g (j)

A point has a value, a variance ``v`` and a coordinate. Shapes are common to all points of its object, local shapes to those
of one group (the object in one band). With the coefficients of local shapes drawn from N(0, I) for every group and integrated
out, the remainder of a group has the covariance ``S = diag(v) + s (diag psi + G G')``, its width ``s``, and

    precision = sum H' S^-1 H ,   shift = sum H' S^-1 d ,   offset = sum d' S^-1 d + log det S + m log 2 pi      over the groups

with ``d`` the values less the mean. ``S^-1 = W - W G (I / s + G' W G)^-1 G' W``, ``W = diag 1 / (v + s psi)`` (Woodbury), so an
object of m points costs ``m (r + j)^2 / 2`` multiplications, never ``m^3``.

The core takes the rows of curves with a Matern kernel from two knots, whatever their number: a polynomial times an exponential
is one again from the next knot on, so all knots on one side of a point are three rows of the nearest (points_kernel.hpp).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.arguments import FloatArray, IntArray, checked_threads
from badac._kernels.latent import pack, unpack

_LOG_2PI = float(np.log(2.0 * np.pi))
_HOPELESS = 20.0  # nats: a shift so much less likely has no weight among the others
_FARTHEST = 1e6  # in lengths: no correlation is left, and its square is still a number


class GroupedPoints(NamedTuple):
    """Points of all objects one after the other, those of a group together.

    Attributes
    ----------
    values, variance, at : (N,)
    first : (g + 1,)
        The first point of each group, from 0 to N.
    group : (n + 1,)
        The first group of each object, from 0 to g.
    band : (g,)
        Of each group.
    """

    values: FloatArray
    variance: FloatArray
    at: FloatArray
    first: IntArray
    group: IntArray
    band: IntArray


class Curves(NamedTuple):
    """Curves of a class as functions of the coordinate.

    Attributes
    ----------
    knots : (q,)
    length, period : float
        Of the kernel: Matern 5/2 if the period is infinite, else the periodic one.
    coefficients : (bands, 1 + q, 1 + r + j)
        Of the mean, the shapes and the local shapes; first those of the constant.
    rank : int
        Number of shapes, r.
    psi : (bands,)
        Variance of what is left, positive.
    """

    knots: FloatArray
    length: float
    period: float
    coefficients: FloatArray
    rank: int
    psi: FloatArray


def grouped_points(
    values: FloatArray,
    sigma: FloatArray,
    at: FloatArray,
    band: IntArray | None,
    n_bands: int,
    *,
    n_threads: int = 1,
) -> GroupedPoints:
    """Return the points of objects whose values (n, m) are numbers, those of one band together and otherwise in their order.

    Parameters
    ----------
    values, sigma, at : (n, m)
        Or what broadcasts to it, but for the values.
    band : (n, m) or None
        From 0 to `n_bands` - 1 where there is a value.
    """
    checked_threads(n_threads)
    n = len(values)
    row, column = np.nonzero(~np.isnan(values))
    place = n_bands * row
    if band is not None and n_bands > 1:
        place = place + np.broadcast_to(band, values.shape)[row, column]
    order = np.argsort(place, kind="stable")
    row, column, place = row[order], column[order], place[order]
    new = np.flatnonzero(np.diff(place, prepend=-1))
    owner, band_of_group = np.divmod(place[new], n_bands)
    return GroupedPoints(
        values[row, column],
        np.broadcast_to(sigma, values.shape)[row, column] ** 2,
        np.broadcast_to(at, values.shape)[row, column],
        np.append(new, len(row)).astype(np.int64),
        np.searchsorted(owner, np.arange(n + 1)).astype(np.int64),
        band_of_group,
    )


def points_likelihood(
    points: GroupedPoints, curves: Curves, widths: FloatArray, *, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precision (s, n, p), packed, shift (s, n, r) and offset (s, n) of each object under each of `widths` (s,)."""
    checked_threads(n_threads)
    n, r, s = len(points.group) - 1, curves.rank, len(widths)
    precision, shift, offset = np.zeros((s, n, r, r)), np.zeros((s, n, r)), np.zeros((s, n))
    owner = np.repeat(np.arange(n), np.diff(points.group))
    for number, one in enumerate(owner):
        rows = slice(points.first[number], points.first[number + 1])
        band = points.band[number]
        along = features_at(points.at[rows], curves) @ curves.coefficients[band]
        both = np.column_stack([along[:, 1 : 1 + r], points.values[rows] - along[:, 0]])
        local = along[:, 1 + r :]
        for place, width in enumerate(widths):
            variance = points.variance[rows] + width * curves.psi[band]
            inner = np.eye(local.shape[1]) / width + (local / variance[:, None]).T @ local
            across = local.T @ (both / variance[:, None])
            seen = both.T @ (both / variance[:, None]) - across.T @ np.linalg.solve(inner, across)
            precision[place, one] += seen[:r, :r]
            shift[place, one] += seen[:r, r]
            log_det = np.linalg.slogdet(width * inner)[1] + np.log(variance).sum()
            offset[place, one] += seen[r, r] + log_det + len(variance) * _LOG_2PI
    return pack(precision), shift, offset


def shifted_evidence(
    points: GroupedPoints, curves: Curves, shifts: FloatArray, unit: float, *, n_threads: int = 1
) -> FloatArray:
    """Return (n, s): log evidence of each object if all of it happened earlier by each of `shifts` (s,), no local shapes.

    Its points are then at ``unit asinh((at - shift) / unit)``, or at ``at - shift`` where the unit is 0, and its latent
    position is drawn from N(0, I). Every second shift is looked at, and those between two of which one is likely: a shift
    both of whose neighbours are 20 nats behind the best is said to be as likely as the better of them.
    """
    checked_threads(n_threads)
    if curves.coefficients.shape[2] != 1 + curves.rank:
        raise ValueError(
            f"`curves` must have no local shapes: got {curves.coefficients.shape[2] - 1 - curves.rank}."
        )
    out = np.empty((len(points.group) - 1, len(shifts)))
    for column, by in enumerate(shifts):
        at = points.at - by
        there = points._replace(at=unit * np.arcsinh(at / unit) if unit > 0 else at)
        packed, shift, offset = points_likelihood(there, curves, np.ones(1))
        inner = np.eye(curves.rank) + unpack(packed[0])
        gain = np.einsum("ia,ia->i", shift[0], np.linalg.solve(inner, shift[0][..., None])[..., 0])
        out[:, column] = -0.5 * (offset[0] - gain + np.linalg.slogdet(inner)[1])
    coarse = out[:, ::2]
    for column in range(1, len(shifts), 2):
        near = out[:, column - 1 : column + 2 : 2].max(axis=1)
        out[:, column] = np.where(near < coarse.max(axis=1) - _HOPELESS, near, out[:, column])
    return out


def features_at(at: FloatArray, curves: Curves) -> FloatArray:
    """Return (m, 1 + q): the constant and the kernel at the knots."""
    lag = at[:, None] - curves.knots
    if np.isfinite(curves.period):
        chord = np.sin(np.pi * lag / curves.period) * (curves.period / (np.pi * curves.length))
        near = np.exp(-0.5 * chord * chord)
    else:
        a = np.minimum(np.abs(lag) * (np.sqrt(5.0) / curves.length), _FARTHEST)
        near = (1.0 + a + a * a / 3.0) * np.exp(-a)
    return np.column_stack([np.ones(len(at)), near])

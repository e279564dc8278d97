"""A gain and an offset of each object's own, integrated out in closed form where the class allows it.

    d = (1 + gain g) y + offset o + noise,     g, o ~ N(0, 1) for each object

Through a factor model the offset is one more column of the factors. With ``z' = (1 + gain g) z`` the gain is another one, along
the mean: the object is reduced to its latent likelihood once, and the sum over ``g`` that is left costs as much as the latent
space (trapezoid rule; spacing by how well the object knows its gain). Around one curve, whose scatter is all psi, the objects
are corrected gain by gain. For exact curves both are a rank-2 covariance around each, six sums over the points and a 2 x 2
system by Woodbury's identity:

    P(d | curve y) = N(d ; y , diag(sigma_d^2 + (1 + gain^2) sigma_y^2) + gain^2 y y' + offset^2 1 1')

What no factor explains (psi), and the error bars of curves, are taken at their mean square over the gains, ``1 + gain^2`` times
what they were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from badac._kernels.latent import pack, unpack
from badac.data.measurements import Measurements
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.likelihood import LatentLikelihood, weigh
from badac.latent.marginalise import marginalise
from badac.latent.mixture import logsumexp_rows
from badac.latent.nodes import groups, log_average, normal_nodes
from badac.noise.model import Noise
from badac.threads import over_blocks
from badac.training import FloatArray

# Below this a gain leaves nothing of the object to be divided by it.
SMALLEST_GAIN = 0.02
_LOG_2PI = float(np.log(2.0 * np.pi))
_NUMBERS_PER_BLOCK = 1 << 21  # block size
# Of a gain before the object is seen, in its own standard deviations: from -5 to 5.
_SPAN = 10.0


class GainOffset(NamedTuple):
    """Standard deviations of the gains around 1 and of the offsets around 0, before an object is seen."""

    gain: float
    offset: float


def corrected(objects: Measurements, gain: FloatArray, offset: FloatArray) -> Measurements:
    """Return the objects with their offsets (n,) subtracted and their gains (n,) divided out, errors included."""
    objects.refuse_counts()
    covariance = objects.covariance
    if covariance is not None:
        covariance = covariance / gain[:, None, None] ** 2
    return objects._changed(
        values=(objects.values - offset[:, None]) / gain[:, None],
        sigma=objects.sigma / gain[:, None],
        covariance=covariance,
    )


def factor_log_evidence(
    objects: Measurements,
    factor: Factor,
    density: LatentDensity,
    noise: Noise | None,
    widths: GainOffset,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n,): log evidence under a factor model with a density of the latent positions."""
    gain, offset = widths
    psi = (1.0 + gain**2) * factor.psi
    columns = [np.full(len(psi), offset)] if offset else []
    if gain:
        columns.append(gain * factor.mean)
    wide = Factor(factor.mean, np.column_stack([*columns, factor.factors]), psi)
    every = latent_likelihood(objects, wide, noise, n_threads=n_threads)
    latent = marginalise(every, 1 if offset else 0)
    if not gain:
        return density.log_evidence(latent, n_threads=n_threads)
    # How well an object knows its gain: the squared curve in units of the noise.
    power = factor.mean**2 + (factor.factors**2).sum(axis=1)
    known = gain**2 * (weigh(objects, factor.mean, psi)[0] @ power)
    out = np.empty(objects.n_objects)
    for rows, count in groups(_SPAN * np.sqrt(1.0 + known)):
        out[rows] = _over_gains(latent[rows], density, gain, count, n_threads)
    return out


def _over_gains(
    latent: LatentLikelihood, density: LatentDensity, gain: float, count: int, n_threads: int
) -> FloatArray:
    full = unpack(latent.precision)
    own, inner = full[:, 0, 0], pack(full[:, 1:, 1:])
    nodes, log_weights = normal_nodes(count)
    usable = 1.0 + gain * nodes > SMALLEST_GAIN
    terms = []
    for x in nodes[usable]:
        scale = 1.0 + gain * x
        offset = latent.offset - 2.0 * latent.shift[:, 0] * x + own * x**2
        shift = scale * (latent.shift[:, 1:] - full[:, 1:, 0] * x)
        part = LatentLikelihood(scale**2 * inner, shift, offset)
        terms.append(density.log_evidence(part, n_threads=n_threads))
    return log_average(terms, log_weights[usable])


def curve_log_evidence(
    objects: Measurements,
    mean: FloatArray,
    psi: FloatArray,
    noise: Noise | None,
    widths: GainOffset,
    *,
    n_threads: int = 1,
) -> FloatArray:
    """Return (n,): log evidence around one curve (m,) with variances (m,), summed over gains of corrected objects."""
    gain, offset = widths
    known = gain**2 * (weigh(objects, mean, psi)[0] @ mean**2)
    out = np.empty(objects.n_objects)
    for rows, count in groups(_SPAN * np.sqrt(1.0 + known)) if gain else [(slice(None), 1)]:
        nodes, log_weights = normal_nodes(count) if gain else (np.zeros(1), np.zeros(1))
        usable = 1.0 + gain * nodes > SMALLEST_GAIN
        some, terms = objects[rows], []
        points = some.observed.sum(axis=1)
        for scale in 1.0 + gain * nodes[usable]:
            ones = np.ones(some.n_objects)
            one = Factor(mean, offset / scale * np.ones((psi.size, 1)), psi)
            moved = corrected(some, scale * ones, 0.0 * ones)
            latent = latent_likelihood(moved, one, noise, n_threads=n_threads)
            terms.append(latent.gaussian_log_evidence(n_threads=n_threads) - points * np.log(scale))
        out[rows] = log_average(terms, log_weights[usable])
    return out


def curves_log_evidence(
    objects: Measurements, curves: Measurements, widths: GainOffset, *, n_threads: int = 1
) -> FloatArray:
    """Return (n,): log of the mean match of each object (n, m) with the curves (k, m), gain and offset integrated out."""
    n, k = objects.n_objects, curves.n_objects
    out = np.empty(n)
    step = max(1, _NUMBERS_PER_BLOCK // (k * objects.n_points))

    def work(start: int, _: int) -> None:
        block = slice(start, start + step)
        out[block] = logsumexp_rows(_log_match(objects[block], curves, widths)) - np.log(k)

    over_blocks(work, range(0, n, step), n_threads)
    return out


def _log_match(objects: Measurements, curves: Measurements, widths: GainOffset) -> FloatArray:
    gain, offset = widths
    seen = objects.observed[:, None, :]
    variance = np.where(seen, objects.sigma[:, None, :], 1.0) ** 2 + (1.0 + gain**2) * curves.sigma**2
    if not (variance > 0).all():
        raise ValueError(
            "sigma must not be 0 in an object and in a curve of the class: give one side its measurement error."
        )
    weight = np.where(seen, 1.0 / variance, 0.0)
    residual = np.where(seen, objects.values[:, None, :] - curves.values, 0.0)
    along = gain * curves.values
    weighed = weight * residual
    squares = np.einsum("nkm,nkm->nk", weighed, residual)
    b_gain = np.einsum("nkm,km->nk", weighed, along)
    b_offset = offset * weighed.sum(axis=2)
    a_gain = 1.0 + np.einsum("nkm,km->nk", weight, along**2)
    a_both = offset * np.einsum("nkm,km->nk", weight, along)
    a_offset = 1.0 + offset**2 * weight.sum(axis=2)
    determinant = a_gain * a_offset - a_both**2
    explained = (a_offset * b_gain**2 - 2.0 * a_both * b_gain * b_offset + a_gain * b_offset**2) / determinant
    logs = np.where(seen, np.log(variance) + _LOG_2PI, 0.0).sum(axis=2)
    return np.asarray(-0.5 * (squares - explained + np.log(determinant) + logs))

"""What a class predicts of an object with points of its own: each point from all others, the hidden ones, a common grid.

With the mean ``c`` and the covariance ``K`` of the class at the object's points, noise included, and ``T`` without it,

    pull_j = [K^-1 (d - c)]_j / sqrt([K^-1]_jj) ,     expected = c + T_k K_kk^-1 (d - c)_k ,   k: the points not hidden

Two curves without a common grid are alike if their predictions on one, with their uncertainties, are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from badac.anomalies.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.correlation import correlation
from badac.latent.process import blocks
from badac.latent.process_summary import PointsUnderClass, ProcessSummary


def predicted(under: PointsUnderClass, hidden: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (b, p) of the true values under the class, given the points not hidden."""
    block = under.block
    moved, left = under.whitened.predicted(block, block.seen & ~hidden)
    return block.values - under.whitened.residual + moved, np.sqrt(np.maximum(left, 0.0))


def on_common_grid(
    summary: ProcessSummary, objects: Measurements, grid: FloatArray, least_variance: float
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (n, g x bands) of the objects' smooth curves at coordinates `grid` (g,)."""
    process = summary.at_width(1.0)
    bands = process.basis.n_bands
    at, band = np.tile(grid, bands), np.repeat(np.arange(bands), grid.size)
    features = process.basis(at, band)
    shapes = features @ process.factors
    prior = process.bands[band, band] + (shapes**2).sum(axis=1)
    known = summary.curve.origin + features @ summary.curve.coefficients
    mean, sigma = np.empty((len(objects), at.size)), np.empty((len(objects), at.size))
    for block in blocks(objects, process.basis):
        (whitened,) = summary.whitened(block, (1.0,))
        lag = at[:, None] - block.at[:, None, :]
        near, _ = correlation(process.kernel, lag, process.length, process.period)
        across = near * process.bands[band[:, None], block.band[:, None, :]]
        across += shapes @ (block.features(process.basis) @ process.factors).transpose(0, 2, 1)
        across *= block.seen[:, None, :]
        moved, told = whitened.filtered(across.transpose(0, 2, 1))
        mean[block.rows] = known + moved
        sigma[block.rows] = np.sqrt(np.maximum(prior - told, least_variance))
    return mean, sigma

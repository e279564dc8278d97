"""Low rank plus diagonal at points of an object's own, against the covariance itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac._kernels.low_rank import LowRankPoints
from badac.latent.low_rank import LowRank
from badac.latent.process import Block
from badac.latent.process_summary import Whitened


def a_block(rng: np.random.Generator, b: int = 5, p: int = 14) -> tuple[Block, LowRankPoints]:
    """Objects with 9 to 14 points in two bands, packed, and shapes that are 0 in the padding."""
    count = rng.integers(9, p + 1, b)
    seen = np.arange(p) < count[:, None]
    values = np.where(seen, rng.normal(0, 2, (b, p)), 0.0)
    variance = np.where(seen, rng.uniform(0.05, 2.0, (b, p)), 1.0)
    at = np.where(seen, rng.random((b, p)), 0.0)
    shapes = rng.normal(0, 1, (b, p, 4)) * seen[..., None]
    local = rng.normal(0, 1, (b, p, 2)) * seen[..., None]
    band = np.where(seen, rng.integers(0, 2, (b, p)), 0)
    columns = np.broadcast_to(np.arange(p), (b, p))
    noise = np.where(seen, 0.7 * variance, 1.0)
    block = Block(np.arange(b), columns, values, noise, at, band, seen, None)
    return block, LowRankPoints(values, variance, np.where(seen, band, -1), shapes, local)


@pytest.fixture
def twins():
    rng = np.random.default_rng(3)
    block, points = a_block(rng)
    low = LowRank.of(points)
    return block, low, Whitened.of(block, block.values, low.full), rng


def test_density_is_that_of_the_covariance(twins):
    block, low, dense, _ = twins
    np.testing.assert_allclose(low.log_evidence, dense.log_evidence, rtol=1e-11)
    points = block.seen[0]
    expected = multivariate_normal.logpdf(block.values[0][points], cov=low.full[0][np.ix_(points, points)])
    np.testing.assert_allclose(low.log_evidence[0], expected, rtol=1e-10)


def test_what_is_said_of_columns_is_the_same(twins):
    block, low, dense, rng = twins
    columns = rng.normal(0, 1, (*block.seen.shape, 6)) * block.seen[..., None]
    for mine, theirs in zip(low.filtered(columns), dense.filtered(columns), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)


def test_coefficients_integrated_out_are_one_more_covariance(twins):
    block, low, dense, rng = twins
    columns = rng.normal(0, 1, (*block.seen.shape, 3)) * block.seen[..., None]
    sizes = rng.uniform(0.1, 3.0, (len(columns), 2, 3))
    for number in range(2):
        wider = columns * sizes[:, number, None, :]
        full = dense.full + wider @ wider.transpose(0, 2, 1)
        expected = Whitened.of(block, block.values, full).log_evidence
        for one in (low, dense):
            found = one.log_evidence + one.log_gain(columns, sizes)[:, number]
            np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_coefficients_that_bands_share_in_part(twins):
    block, low, dense, rng = twins
    columns = rng.normal(0, 1, (*block.seen.shape, 3)) * block.seen[..., None]
    sizes = rng.uniform(0.1, 3.0, (len(columns), 1, 3))
    wider = columns * sizes
    same = block.band[:, :, None] == block.band[:, None, :]
    full = dense.full + np.where(same, 1.0, 0.3) * (wider @ wider.transpose(0, 2, 1))
    found = low.log_evidence + low.log_gain(columns, sizes, common=0.3)[:, 0]
    np.testing.assert_allclose(found, Whitened.of(block, block.values, full).log_evidence, rtol=1e-10)


def test_predictions_and_pulls_are_those_of_the_covariance(twins):
    block, low, dense, rng = twins
    np.testing.assert_allclose(low.pulls()[block.seen], dense.pulls()[block.seen], rtol=1e-9)
    keep = block.seen & (rng.random(block.seen.shape) < 0.7)
    for mine, theirs in zip(low.predicted(block, keep), dense.predicted(block, keep), strict=True):
        np.testing.assert_allclose(mine[block.seen], theirs[block.seen], rtol=1e-9, atol=1e-12)


def test_some_of_the_objects_are_those_objects(twins):
    low = twins[1]
    rows = np.array([3, 0])
    part = low.take(rows)
    np.testing.assert_array_equal(part.log_evidence, low.log_evidence[rows])
    np.testing.assert_array_equal(part.full, low.full[rows])
    columns = np.ones((*low.residual.shape, 1))
    np.testing.assert_array_equal(part.filtered(columns, rows)[0], low.filtered(columns)[0][rows])

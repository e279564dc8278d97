"""Low rank plus diagonal at points of an object's own, against the covariance itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac.latent.low_rank import LowRank, log_gain
from badac.latent.process import Block
from badac.latent.process_summary import Whitened


def a_block(rng: np.random.Generator, b: int = 5, p: int = 14) -> tuple[Block, np.ndarray, np.ndarray]:
    """Objects with 9 to 14 points, packed, and shapes that are 0 in the padding."""
    count = rng.integers(9, p + 1, b)
    seen = np.arange(p) < count[:, None]
    values = np.where(seen, rng.normal(0, 2, (b, p)), 0.0)
    variance = np.where(seen, rng.uniform(0.05, 2.0, (b, p)), 1.0)
    at = np.where(seen, rng.random((b, p)), 0.0)
    shapes = rng.normal(0, 1, (b, p, 4)) * seen[..., None]
    return (
        Block(np.arange(b), values, variance, at, np.zeros((b, p), dtype=np.int64), seen, None),
        variance,
        shapes,
    )


@pytest.fixture
def twins():
    rng = np.random.default_rng(3)
    block, variance, shapes = a_block(rng)
    low = LowRank.of(block, block.values, variance, shapes)
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
    for mine, theirs in zip(low.said_of(columns), dense.said_of(columns), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)
    precision = low.said_of(columns)[0]
    np.testing.assert_allclose(np.diagonal(precision, axis1=1, axis2=2), low.filtered(columns)[1], rtol=1e-9)


def test_coefficients_integrated_out_are_one_more_covariance(twins):
    block, low, dense, rng = twins
    columns = rng.normal(0, 1, (*block.seen.shape, 3)) * block.seen[..., None]
    sizes = rng.uniform(0.1, 3.0, (len(columns), 3))
    wider = columns * sizes[:, None, :]
    expected = Whitened.of(block, block.values, dense.full + wider @ wider.transpose(0, 2, 1)).log_evidence
    np.testing.assert_allclose(
        low.log_evidence + log_gain(*low.said_of(columns), sizes), expected, rtol=1e-10
    )


def test_some_of_the_objects_are_those_objects(twins):
    low = twins[1]
    rows = np.array([3, 0])
    part = low.take(rows)
    np.testing.assert_array_equal(part.log_evidence, low.log_evidence[rows])
    np.testing.assert_array_equal(part.full, low.full[rows])

"""Random curves at points of an object's own: by features within the range, by the kernel beyond it, the same density."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.anomalies import KernelCurves, ProcessAlone, ProcessOnClass, SmoothCurves
from badac.anomalies.curves_at_points import (
    CurvesAtPoints,
    NoClass,
    curve_alone,
    curve_on_class,
    log_gain_of_bands,
)
from badac.latent.low_rank import LowRank

LENGTHS = (0.05, 0.15, 0.4)


def as_kernels(lengths: tuple[float, ...]) -> tuple[KernelCurves, ...]:
    return tuple(KernelCurves(lambda a, b, l=length: np.exp(-0.5 * ((a - b) / l) ** 2)) for length in lengths)


@pytest.fixture(scope="module")
def fitted() -> tuple[BADACClassifier, Measurements]:
    rng = np.random.default_rng(5)
    n, m = 60, 45
    at, band = np.sort(rng.uniform(0, 8, (n, m)), axis=1), rng.integers(0, 2, (n, m))
    label = np.arange(n) % 2
    truth = np.sin(at + label[:, None]) * rng.normal(1, 0.3, (n, 1)) + 0.5 * band
    curves = Measurements(truth + 0.1 * rng.standard_normal(at.shape), 0.1, at=at, band=band)
    return BADACClassifier("population", random_state=0).fit(curves, label), curves[:12]


def test_features_are_the_kernel_within_the_range():
    x = np.linspace(0, 1, 61)[None]
    curves = SmoothCurves(LENGTHS)
    for (features, power), near in zip(curves.features_at(x), curves.at_points(x), strict=True):
        assert np.abs((features * power) @ features.transpose(0, 2, 1) - near).max() < 4e-4


def test_on_a_class_features_and_kernel_agree(fitted):
    model, curves = fitted
    points = model.anomaly_model_.points
    _, block = next(iter(points.blocks(curves)))
    x = points.scaled(block.at)
    one = points.under(block)[0]
    assert isinstance(one.whitened, LowRank)
    by_features = CurvesAtPoints.of(ProcessOnClass((SmoothCurves(LENGTHS),), (1.0,)), block, x)
    by_kernel = CurvesAtPoints.of(ProcessOnClass(as_kernels(LENGTHS), (1.0,)), block, x)
    assert by_features.by_features.all() and not by_kernel.by_features.any()
    np.testing.assert_allclose(
        curve_on_class(one, by_features), curve_on_class(one, by_kernel), rtol=0, atol=5e-3
    )


def test_alone_in_two_bands_features_and_kernel_agree(fitted):
    model, curves = fitted
    points = model.anomaly_model_.points
    _, block = next(iter(points.blocks(curves)))
    x = points.scaled(block.at)
    residual = np.where(block.seen, block.values - points.level[block.band], 0.0)
    objects = NoClass(block, residual, points.scales.variance, 2)
    mine = curve_alone(objects, CurvesAtPoints.of(ProcessAlone((SmoothCurves((0.15, 0.4)),)), block, x))
    kernel = curve_alone(objects, CurvesAtPoints.of(ProcessAlone(as_kernels((0.15, 0.4))), block, x))
    # 3e-4 of a variance that is a hundred times the noise, in 45 points.
    np.testing.assert_allclose(mine, kernel, rtol=0, atol=1.0)


def test_bands_that_share_a_part_of_their_variance_against_the_whole_matrix():
    rng = np.random.default_rng(0)
    n, q, common = 4, 3, 0.3
    parts, whole = [], np.zeros((n, 3 * q, 3 * q))
    shift = np.zeros((n, 3 * q))
    for band in range(2):
        root = rng.normal(0, 1, (n, q, q))
        precision, pull = root @ root.transpose(0, 2, 1), rng.normal(0, 2, (n, q))
        parts.append((precision, pull))
        own = slice((band + 1) * q, (band + 2) * q)
        whole[:, :q, :q] += precision
        whole[:, :q, own] += precision
        whole[:, own, :q] += precision
        whole[:, own, own] += precision
        shift[:, :q] += pull
        shift[:, own] += pull
    sizes = rng.uniform(0.3, 2.0, (n, q))
    all_sizes = np.hstack([np.sqrt(common) * sizes, *(np.sqrt(1 - common) * sizes for _ in range(2))])
    inner = np.eye(3 * q) + all_sizes[:, :, None] * whole * all_sizes[:, None, :]
    pulled = (all_sizes * shift)[..., None]
    expected = (
        0.5 * (pulled * np.linalg.solve(inner, pulled)).sum(axis=(1, 2)) - 0.5 * np.linalg.slogdet(inner)[1]
    )
    np.testing.assert_allclose(log_gain_of_bands(parts, sizes, common), expected, rtol=1e-10)


def test_beyond_the_range_the_kernel_is_taken_and_the_others_do_not_change(fitted):
    model, curves = fitted
    anomaly = model.anomaly_model_
    moved = curves.at.copy()
    moved[3, -1] = 30.0
    beyond = Measurements(curves.values, curves.sigma, at=moved, band=curves.band)
    before, after = anomaly.by_hypothesis(curves), anomaly.by_hypothesis(beyond)
    others = np.arange(len(curves)) != 3
    np.testing.assert_allclose(after[others], before[others], rtol=0, atol=1e-8)
    assert np.isfinite(after).all()

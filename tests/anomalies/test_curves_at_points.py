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
    curve_on_classes,
)
from badac.latent.low_rank import LowRank
from badac.latent.process import covariance
from badac.latent.process_summary import Whitened

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
        curve_on_classes((one,), by_features), curve_on_classes((one,), by_kernel), rtol=0, atol=5e-3
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


def test_a_band_with_one_point_is_a_variance_of_that_point(fitted):
    model, curves = fitted
    evaluator = model.anomaly_model_.points
    values = curves.values.copy()
    second = np.cumsum(curves.band == 1, axis=1)
    values[(curves.band == 1) & (second > 1)] = np.nan
    few = Measurements(values, 0.1, at=curves.at, band=curves.band)
    _, block = next(iter(evaluator.blocks(few)))
    assert ((block.band == 1) & block.seen).sum(axis=1).max() == 1
    summary = evaluator.classes[0]
    features = block.features(summary.process.basis)
    residual = block.values - summary.curve.origin - features @ summary.curve.coefficients
    for low, width in zip(summary.whitened(block), summary.widths, strict=True):
        full, _, _ = covariance(summary.at_width(width), block, features)
        dense = Whitened.of(block, np.where(block.seen, residual, 0.0), full)
        np.testing.assert_allclose(low.log_evidence, dense.log_evidence, rtol=1e-9)
        np.testing.assert_allclose(low.pulls()[block.seen], dense.pulls()[block.seen], rtol=1e-7, atol=1e-8)
        for mine, theirs in zip(
            low.predicted(block, block.seen), dense.predicted(block, block.seen), strict=True
        ):
            np.testing.assert_allclose(mine[block.seen], theirs[block.seen], rtol=1e-6, atol=1e-9)

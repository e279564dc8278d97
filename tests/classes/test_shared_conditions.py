"""Shared conditions: found with their errors, gone from the objects, and worth it for the classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from badac import BADACClassifier, Measurements
from badac.classes import separate_conditions
from badac.classes.shared_conditions import add_information, coefficients, common_shapes
from badac.latent.factor import Factor
from badac.simulate import experiment

AT = np.linspace(0, 1, 20)


def batches(
    n: int, size: int, sigma: float, structure: str, seed: int
) -> tuple[Measurements, np.ndarray, ...]:
    """Two classes of lines, in batches with a common part."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    truth = np.where(label[:, None] == 0, AT, 1 - AT) * rng.normal(1, 0.3, (n, 1))
    batch = np.arange(n) // size
    clean = Measurements(truth + 0.1 * rng.standard_normal(truth.shape), 0.1, at=AT)
    shapes = common_shapes(structure, clean)
    common = sigma * rng.standard_normal((batch.max() + 1, shapes.shape[1])) @ shapes.T
    return Measurements(clean.values + common[batch], 0.1, at=AT), label, batch, common, clean


@pytest.mark.parametrize("structure", ["smooth", "constant", "independent"])
def test_the_common_part_is_found_with_its_error_and_its_size(structure: str) -> None:
    objects, label, batch, common, _ = batches(1000, 50, 0.4, structure, seed=1)
    found = separate_conditions(objects, label, batch, structure=structure)
    assert found.sigma == pytest.approx(0.4, rel=4 / np.sqrt(2 * 20))  # 20 batches of at least one number
    pull = (found.common - common) / found.error
    # The mean over all batches is shared by all of them: 20 pulls that move together.
    assert 0.2 < np.sqrt(np.mean(pull**2)) < 2.0
    assert np.abs(found.common - common).std() < 0.3 * common.std()
    left = found.common[batch] / np.sqrt(20)
    np.testing.assert_allclose(found.objects.values, objects.values - found.common[batch] + left)
    assert (found.objects.sigma > 0.1).all()


def test_no_common_part_is_no_correction() -> None:
    objects, label, batch, _, _ = batches(600, 50, 0.0, "smooth", seed=2)
    found = separate_conditions(objects, label, batch)
    assert found.sigma < 0.03
    assert np.abs(found.common).max() < 0.1
    same = separate_conditions(objects, label, batch, sigma=0.0)
    np.testing.assert_array_equal(same.objects.values, objects.values)


def test_posterior_is_that_of_the_joint_gaussian() -> None:
    rng = np.random.default_rng(3)
    factor = Factor(rng.normal(0, 1, 4), rng.normal(0, 1, (4, 2)), np.full(4, 0.1))
    sigma = rng.uniform(0.1, 0.3, (3, 4))
    values = rng.normal(0, 1, (3, 4))
    shapes = rng.normal(0, 1, (4, 2))
    precision, right = np.zeros((1, 2, 2)), np.zeros((1, 2))
    add_information(
        Measurements(values, sigma), np.zeros(3, dtype=np.int64), factor, shapes, precision, right
    )
    mean, covariance = coefficients(precision, right, 0.7)
    # All members in one vector: a block for each one's own scatter, and the common part between all of them.
    own = factor.factors @ factor.factors.T + np.diag(factor.psi)
    full = np.kron(np.eye(3), own) + np.diag(sigma.ravel() ** 2)
    stacked = np.tile(shapes, (3, 1))
    total = full + 0.49 * stacked @ stacked.T
    gain = 0.49 * stacked.T @ np.linalg.inv(total)
    residual = (values - factor.mean).ravel()
    np.testing.assert_allclose(mean[0], gain @ residual, rtol=1e-8)
    np.testing.assert_allclose(covariance[0], 0.49 * np.eye(2) - gain @ stacked * 0.49, rtol=1e-7, atol=1e-12)
    assert stats.multivariate_normal(np.zeros(12), total).logpdf(residual) > -np.inf


def test_order_of_the_objects_does_not_matter() -> None:
    objects, label, batch, _, _ = batches(200, 20, 0.3, "constant", seed=4)
    order = np.random.default_rng(0).permutation(200)
    found = separate_conditions(objects, label, batch, structure="constant")
    again = separate_conditions(objects[order], label[order], batch[order].astype(str), structure="constant")
    sorted_names = np.argsort(np.unique(batch).astype(str))
    np.testing.assert_allclose(again.common, found.common[sorted_names], atol=0.02)


def test_mistakes_are_named() -> None:
    objects, label, batch, _, _ = batches(40, 20, 0.3, "constant", seed=5)
    with pytest.raises(ValueError, match="`batch` must be one per object"):
        separate_conditions(objects, label, batch[:-1])
    with pytest.raises(ValueError, match="'smooth', 'constant'"):
        separate_conditions(objects, label, batch, structure="linear")
    with pytest.raises(ValueError, match=r"\(20, q\)"):
        separate_conditions(objects, label, batch, structure=np.ones((3, 1)))


@pytest.mark.slow
def test_batches_cost_less_when_they_are_known() -> None:
    data = experiment(1, "released", n_train=600, n_test=500, contamination=0.0, rng=np.random.default_rng(6))
    rng = np.random.default_rng(7)
    batch = np.arange(600) // 50
    shapes = common_shapes("smooth", data.train)
    common = 0.3 * rng.standard_normal((12, shapes.shape[1])) @ shapes.T
    train = Measurements(data.train.values + common[batch], data.train.sigma, at=data.at)

    def log_loss(**keywords: object) -> float:
        model = BADACClassifier("population", anomaly="evidence", random_state=0)
        model.fit(train, data.train_label, **keywords)
        found = model.predict_log_proba(data.test)
        return -float(np.mean(found[np.arange(500), data.test_label]))

    assert log_loss(batch=batch) < 0.8 * log_loss()

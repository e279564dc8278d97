"""Losses under a tempered posterior: the formula as it is written, also where most objects need not be asked."""

import numpy as np
import pytest

from badac.calibration.tempered_losses import TemperedLosses


def as_written(
    relative: np.ndarray, label: np.ndarray, log_prior: np.ndarray, exponent: np.ndarray, share: float
) -> np.ndarray:
    tempered = exponent[:, None] * relative
    match = np.exp(tempered - tempered.max(axis=1, keepdims=True))
    joint = ((1.0 - share) * match + share) * np.exp(log_prior)
    return np.log(joint.sum(axis=1) / joint[np.arange(len(label)), label])


@pytest.mark.parametrize("apart", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("share", [1e-4, 0.2])
@pytest.mark.parametrize("k", [2, 5])
def test_losses_are_those_of_the_formula(apart: float, share: float, k: int) -> None:
    rng = np.random.default_rng(k)
    label = rng.integers(k, size=300)
    relative = apart * rng.standard_normal((300, k)) - apart
    relative[np.arange(300), label] = 0.0
    log_prior = np.log(rng.dirichlet(np.ones(k)))
    losses = TemperedLosses(relative, label, log_prior)
    for exponent in (0.01, 1.0):
        expected = as_written(relative, label, log_prior, np.full(300, exponent), share)
        np.testing.assert_allclose(losses.at(exponent, share), expected, rtol=1e-10, atol=1e-13)
    own = rng.uniform(0.1, 2.0, 300)
    expected = as_written(relative, label, log_prior, own, share)
    np.testing.assert_allclose(losses.at(own, share), expected, rtol=1e-10, atol=1e-13)
    step = 1e-5
    above, below = losses.at(own + step, share), losses.at(own - step, share)
    np.testing.assert_allclose(
        losses.slopes(own, share), (above - below) / (2.0 * step), rtol=1e-4, atol=1e-4 * apart
    )


def test_shares_have_the_same_sums() -> None:
    losses = TemperedLosses(
        np.array([[0.0, -1.0], [3.0, 0.0], [0.0, -99.0]]), np.array([0, 1, 0]), np.log([0.3, 0.7])
    )
    together = losses.of_shares(0.7, (0.01, 0.1))
    np.testing.assert_array_equal(together, [losses.at(0.7, 0.01), losses.at(0.7, 0.1)])
    np.testing.assert_allclose(losses.totals(0.7, (0.01, 0.1)), together.sum(axis=1), rtol=1e-12)
    assert losses.at(0.7, 0.1)[1] < losses.at(0.7, 0.01)[1]  # a contaminated object costs less

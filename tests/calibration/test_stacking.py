import numpy as np
import pytest
from scipy.special import logsumexp

from badac import Measurements
from badac.calibration.stacking.base_models import groups
from badac.calibration.stacking.weights import Stacking, hats, learn_stacking, log_losses, soften

EVEN = np.log([0.5, 0.5])


def two_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log evidence of objects of two classes N(-1, 1), N(1, 1), and their labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    values = np.where(label == 0, -1.0, 1.0) + rng.standard_normal(n)
    return -0.5 * np.stack([values + 1.0, values - 1.0], axis=1) ** 2, label


def test_softening_keeps_order_and_differences_near_the_best() -> None:
    evidence = np.array([[-3.0, -3.1, -1000.0], [-np.inf, -5.0, -np.inf], [-np.inf, -np.inf, -np.inf]])
    soft = soften(evidence, 8.0)
    assert soft[0, 0] == 0.0
    assert soft[0, 1] == pytest.approx(-0.1, rel=0.01)
    assert -60 < soft[0, 2] < -30
    assert np.isfinite(soft).all()
    assert soft[1].argmax() == 1
    np.testing.assert_array_equal(soft[2], 0.0)
    np.testing.assert_allclose(soften(evidence[:1] + 7.0, 8.0), soft[:1], atol=1e-12)


def test_hats_interpolate() -> None:
    knots = np.array([-2.0, 0.0, 1.0])
    share = hats(np.array([-5.0, -1.0, 0.5, 9.0]), knots)
    np.testing.assert_allclose(share, [[1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]])
    np.testing.assert_array_equal(hats(np.array([3.0]), np.array([0.0])), [[1.0]])


def test_an_opinion_that_knows_nothing_is_not_heard() -> None:
    evidence, label = two_classes(3000, 0)
    noise = np.random.default_rng(1).standard_normal(evidence.shape) * 3
    found = learn_stacking(np.stack([evidence, noise], axis=1), label, EVEN, np.zeros(3000), 3000)
    # The penalty holds a weight near 0.15; 3,000 objects push the useless one far below the useful one.
    assert found.weights[1, 0] < 0.05 * found.weights[0, 0]
    fresh, truth = two_classes(4000, 2)
    useless = np.random.default_rng(3).standard_normal(fresh.shape) * 3
    stacked = log_losses(found.apply(np.stack([fresh, useless], axis=1), np.zeros(4000)) + EVEN, truth)
    ideal = log_losses(fresh + EVEN, truth)
    gap = stacked - ideal
    assert gap.mean() < 0.01 + 3 * gap.std() / np.sqrt(len(gap))


def test_weights_follow_the_noise() -> None:
    """One opinion is right where objects are quiet, the other where they are loud."""
    quiet, label = two_classes(2000, 4)
    wrong = np.random.default_rng(5).standard_normal(quiet.shape)
    level = np.repeat([-3.0, 1.0], 1000)
    first = np.where(level[:, None] < 0, quiet, wrong)
    second = np.where(level[:, None] < 0, wrong, quiet)
    found = learn_stacking(np.stack([first, second], axis=1), label, EVEN, level, 2000)
    assert found.weights[0, 0] > 3 * found.weights[1, 0]
    assert found.weights[1, -1] > 3 * found.weights[0, -1]


def test_biases_mend_a_class_that_is_favoured() -> None:
    evidence, label = two_classes(3000, 6)
    found = learn_stacking((evidence + np.array([0.0, 2.0]))[:, None, :], label, EVEN, np.zeros(3000), 3000)
    joint = found.apply((evidence + np.array([0.0, 2.0]))[:, None, :], np.zeros(3000)) + EVEN
    share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(share, np.bincount(label) / len(label), atol=0.02)


def test_apply_is_the_formula() -> None:
    stacking = Stacking(np.array([[0.5, 1.0]]), np.array([0.1, 0.05]), np.array([0.0, 1.0]), 3.0)
    evidence = np.array([[[-1.0, -4.0]]])
    soft = -3.0 * np.log1p(3.0 / 3.0)
    np.testing.assert_allclose(stacking.apply(evidence, np.array([0.5])), [[0.1, 0.75 * soft + 0.05]])


def test_error_bars_are_no_clue_to_the_class() -> None:
    """The noise level names the class, the evidence says nothing: the answer stays the prior."""
    rng = np.random.default_rng(7)
    label = rng.integers(0, 2, 2000)
    level = np.where(label == 0, -1.0, 0.0)
    nothing = np.zeros((2000, 1, 2))
    found = learn_stacking(nothing, label, EVEN, level, 2000)
    joint = found.apply(nothing, level) + EVEN
    share = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(share, 0.5, atol=0.05)


def test_groups_of_members_point_by_point() -> None:
    """As one would write it: at each point the observed members in order of value, so many at a time."""
    rng = np.random.default_rng(4)
    values, sigma = rng.standard_normal((23, 6)), rng.uniform(0.1, 1.0, (23, 6))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[:, 2] = np.nan
    values[3:, 4] = np.nan
    found = groups(Measurements(values, sigma), 5)
    for point in range(6):
        seen = np.flatnonzero(~np.isnan(values[:, point]))
        if not len(seen):
            assert not found.observed[:, point].any()
            continue
        order = seen[np.argsort(values[seen, point], kind="stable")]
        number = min(5, len(order))
        first = np.arange(number) * len(order) // number
        for place, rows in enumerate(np.split(order, first[1:])):
            own = values[rows, point]
            assert found.values[place, point] == pytest.approx(own.mean())
            variance = np.mean(sigma[rows, point] ** 2 + (own - own.mean()) ** 2)
            assert found.sigma[place, point] == pytest.approx(np.sqrt(variance))
        assert not found.observed[number:, point].any()

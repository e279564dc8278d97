import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from badac import Measurements
from badac.calibration.coarsening import learn_coarsening, relative_noise

EVEN = np.log([0.5, 0.5])


def two_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log evidence of objects of two classes N(-1, 1), N(1, 1), and their labels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    values = np.where(label == 0, -1.0, 1.0) + rng.standard_normal(n)
    return -0.5 * np.stack([values + 1.0, values - 1.0], axis=1) ** 2, label


def log_loss(evidence: np.ndarray, label: np.ndarray) -> float:
    log_posterior = evidence - logsumexp(evidence, axis=1, keepdims=True)
    return float(-log_posterior[np.arange(len(label)), label].mean())


@pytest.mark.parametrize("seed", range(5))
def test_one_on_data_that_follow_the_model(seed: int) -> None:
    evidence, label = two_classes(2000, seed)
    found = learn_coarsening(evidence, label, EVEN)
    assert found.exponent == 1.0
    assert found.estimate + 4 * found.uncertainty > 1.0
    # Nothing but half an object in all of them is allowed for: a probability moves by no more than its share.
    assert found.contaminated == pytest.approx(0.5 / 2001 / 2)
    moved = softmax(found.apply(evidence), axis=1) - softmax(evidence, axis=1)
    assert 0.0 < np.abs(moved).max() <= found.contaminated


def test_no_probability_is_nearer_to_certainty_than_the_objects_can_show() -> None:
    """Classes far apart: of n objects none was mistaken, which is what half a mistake in all of them may look like too."""
    label = np.arange(60) % 2
    evidence = np.where(label[:, None] == np.arange(2), 0.0, -300.0)
    found = learn_coarsening(evidence, label, EVEN)
    told = softmax(found.apply(evidence), axis=1)
    np.testing.assert_allclose(told.min(axis=1), 0.25 / 61 / (1.0 + 0.25 / 61), rtol=1e-9)


def test_finds_the_exponent_of_overconfident_evidence() -> None:
    evidence, label = two_classes(4000, seed=9)
    found = learn_coarsening(4.0 * evidence, label, EVEN)
    assert found.exponent == pytest.approx(0.25, abs=5 * found.uncertainty)
    assert found.uncertainty < 0.02
    assert log_loss(found.apply(4.0 * evidence), label) < log_loss(4.0 * evidence, label)


def test_finds_the_exponent_of_evidence_that_is_not_sure_enough() -> None:
    evidence, label = two_classes(4000, seed=9)
    found = learn_coarsening(0.6 * evidence, label, EVEN, np.zeros(4000))
    assert found.exponent == pytest.approx(1.0 / 0.6, abs=5 * found.uncertainty)
    assert log_loss(found.apply(0.6 * evidence), label) < log_loss(0.6 * evidence, label)
    # What a density is too smooth by drowns in noise.
    told = [np.ptp(found.apply(evidence[:1], np.array([level]))) for level in (-1.0, 0.0, 1.0, 9.0)]
    assert told[0] == told[1] > told[2] > told[3]
    assert told[3] == pytest.approx(np.ptp(evidence[0]), rel=0.1)


def test_a_sharper_exponent_is_learned_as_it_is_used() -> None:
    """What it is above 1 fades with noise, so it belongs to the middling noise; one exponent for all would be too small."""
    evidence, label = two_classes(4000, seed=9)
    noise = np.random.default_rng(1).uniform(-2.0, 2.0, 4000)
    faded = 1.0 + 2.0 * np.exp(-1.5 * np.maximum(noise - np.median(noise), 0.0))
    found = learn_coarsening(evidence / faded[:, None], label, EVEN, noise)
    assert found.exponent == pytest.approx(3.0, abs=4 * found.uncertainty)
    assert found.uncertainty < 0.2
    sharpened = found.apply(evidence / faded[:, None], noise)
    assert log_loss(sharpened, label) == pytest.approx(log_loss(evidence, label), abs=0.002)


def test_priors_count() -> None:
    evidence, label = two_classes(3000, seed=11)
    rare = np.concatenate([np.flatnonzero(label == 0), np.flatnonzero(label == 1)[:100]])
    share = np.array([np.mean(label[rare] == 0), np.mean(label[rare] == 1)])
    found = learn_coarsening(evidence[rare], label[rare], np.log(share))
    assert found.estimate + 4 * found.uncertainty > 1.0


def test_only_members_and_impossible_classes_say_nothing() -> None:
    evidence, label = two_classes(500, seed=12)
    more = np.vstack([evidence, [[-np.inf, -3.0]]])
    labels = np.append(label, 0)
    assert learn_coarsening(more, labels, EVEN) == learn_coarsening(evidence, label, EVEN)
    apart = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    found = learn_coarsening(apart, np.array([0, 1]), EVEN)
    assert found.exponent == 1.0
    nothing = learn_coarsening(np.empty((0, 2)), np.empty(0, dtype=np.int64), EVEN)
    assert nothing.exponent == 1.0


def misfit(n: int, noise: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes N(-1, .), N(1, .) whose objects stray by 1 though the model knows only their measurement noise."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    values = np.where(label == 0, -1.0, 1.0) + rng.standard_normal(n) + noise * rng.standard_normal(n)
    width = np.hypot(0.3, noise)[:, None]
    return -0.5 * (np.stack([values + 1.0, values - 1.0], axis=1) / width) ** 2, label


def test_noisier_objects_are_trusted_more() -> None:
    noise = np.full(2000, 0.05)
    evidence, label = misfit(2000, noise, 3)
    found = learn_coarsening(evidence, label, EVEN, np.log(noise))
    assert found.slope > 0
    loud = np.full(4000, 3.0)
    noisy, truth = misfit(4000, loud, 4)
    by_noise = log_loss(found.apply(noisy, np.log(loud)), truth)
    assert by_noise < log_loss(found.apply(noisy), truth)
    tempered = found.exponent * evidence
    share, best = found.contaminated, tempered.max(axis=1, keepdims=True)
    expected = np.log((1.0 - share) * np.exp(tempered - best) + share) + best
    np.testing.assert_allclose(found.apply(evidence, np.log(noise)), expected)


def test_relative_noise_is_in_units_of_the_spread() -> None:
    objects = Measurements([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]], [[0.2, 0.4, 9.0], [1, 1, 1]])
    found = relative_noise(objects, np.array([1.0, 2.0, 1.0]))
    assert found == pytest.approx(np.log([0.201, 1.001]))


def test_one_wild_object_does_not_temper_all() -> None:
    evidence, label = two_classes(1000, 5)
    evidence[0, 1 - label[0]] = evidence[0, label[0]] + 2000.0
    found = learn_coarsening(evidence, label, EVEN)
    assert found.exponent == 1.0


def test_wrong_labels_are_wild_objects() -> None:
    evidence, label = two_classes(1000, 6)
    wrong = np.arange(0, 1000, 20)
    evidence[wrong, 1 - label[wrong]] = evidence[wrong, label[wrong]] + 200.0
    found = learn_coarsening(evidence, label, EVEN)
    # 50 of 1,000, of the shares that are tried the nearest are 0.03 and 0.1.
    assert 0.03 <= found.contaminated <= 0.1
    assert found.exponent > 0.5
    assert log_loss(found.apply(evidence), label) < 0.5 * log_loss(0.05 * evidence, label)
    told = found.apply(evidence)
    # Nothing speaks more against a class than that the object may be wild.
    assert (told.max(axis=1) - told.min(axis=1)).max() <= -np.log(found.contaminated) + 1e-9


def test_relative_noise_is_the_median_of_the_points_that_there_are() -> None:
    rng = np.random.default_rng(8)
    for m in (1, 2, 7, 30):
        values, sigma = rng.standard_normal((40, m)), rng.uniform(0.1, 2.0, (40, m))
        values[rng.random(values.shape) < 0.3] = np.nan
        values[0] = 0.0
        objects = Measurements(values, sigma)
        left = np.where(np.isnan(values), np.nan, sigma)
        left[np.isnan(values).all(axis=1)] = 1.0
        found = relative_noise(objects, np.ones(m))
        # A thousandth of the spread is added: exact values have a noise level too.
        np.testing.assert_allclose(np.exp(found), np.nanmedian(left, axis=1) + 1e-3, rtol=1e-12)

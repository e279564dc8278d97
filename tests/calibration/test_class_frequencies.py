"""Class frequencies of new objects from their evidence, and new objects that training does not support."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from badac import BADACClassifier, Measurements
from badac.calibration.class_frequencies import _Evidence, _Shares, estimate_frequencies
from badac.estimators.classifier import TrainingSupportWarning


def objects(label: np.ndarray, rng: np.random.Generator, sigma: float = 0.5) -> Measurements:
    return Measurements(0.5 * label[:, None] + sigma * rng.standard_normal((len(label), 5)), sigma)


def test_frequencies_are_found_within_their_errors() -> None:
    rng = np.random.default_rng(3)
    truth = np.array([0.85, 0.15])
    label = (rng.random(4000) < truth[1]).astype(int)
    # Known densities: the means are one standard deviation apart.
    value = rng.standard_normal(4000) + label
    match = -0.5 * (value[:, None] - np.array([0.0, 1.0])) ** 2
    found = estimate_frequencies(match, np.log([0.5, 0.5]))
    assert 0.005 < found.standard_error[0] < 0.05
    assert abs(found.share[0] - truth[0]) < 4.0 * found.standard_error[0]
    assert abs(found.share.sum() - 1.0) < 1e-6


def overlapping(share: np.ndarray, n: int, rng: np.random.Generator, apart: float = 1.0) -> np.ndarray:
    """Log evidence (n, k) of objects of Gaussian classes, each so many standard deviations from the last."""
    label = rng.choice(len(share), n, p=share)
    value = rng.standard_normal(n) + apart * label
    return np.asarray(-0.5 * (value[:, None] - apart * np.arange(len(share))) ** 2)


@pytest.mark.parametrize("worth", [8.0, 60.0, 400.0])
def test_the_evidence_of_a_belief_is_its_integral(worth: float) -> None:
    match = np.exp(overlapping(np.array([0.6, 0.4]), 120, np.random.default_rng(8)))
    match /= match.max(axis=1, keepdims=True)
    expected = np.array([0.7, 0.3])
    found = _Shares.most_probable(_Evidence(match, 0.5), expected, worth)
    belief = worth * expected

    def joint(first: float) -> float:
        shares = np.array([first, 1.0 - first])
        log_density = ((belief - 1.0) * np.log(shares)).sum() + gammaln(worth) - gammaln(belief).sum()
        return float(np.exp(0.5 * np.log(match @ shares).sum() + log_density - found.log_evidence))

    whole = quad(joint, 0.0, 1.0, points=[found.share[0]], epsabs=1e-10)[0]
    # Laplace's method is off by some 1 / (effective number of objects), at least eight of which there are here.
    assert abs(np.log(whole)) < 1.0 / worth + 0.02
    mean = quad(lambda first: first * joint(first), 0.0, 1.0, points=[found.share[0]])[0] / whole
    variance = quad(lambda first: (first - mean) ** 2 * joint(first), 0.0, 1.0)[0] / whole
    assert abs(np.sqrt(variance) / np.sqrt(found.variance[0]) - 1.0) < 0.15


def test_the_most_probable_shares_are_those_of_expectation_maximisation() -> None:
    rng = np.random.default_rng(9)
    match = np.exp(overlapping(np.array([0.5, 0.3, 0.19, 0.01]), 300, rng))
    match /= match.max(axis=1, keepdims=True)
    expected = np.full(4, 0.25)
    share, belief = expected, 5.0 * expected
    for _ in range(20_000):
        responsibility = match * share
        responsibility /= responsibility.sum(axis=1, keepdims=True)
        share = 0.5 * responsibility.sum(axis=0) + belief
        share /= share.sum()
    np.testing.assert_allclose(
        _Shares.most_probable(_Evidence(match, 0.5), expected, 5.0).share, share, rtol=1e-5
    )


def test_a_rare_class_among_overlapping_ones_keeps_its_frequency() -> None:
    # The likelihood alone would send shares of a hundredth to zero in every second such set.
    share = np.array([0.4, 0.02, 0.3, 0.02, 0.26])
    for seed in range(20):
        match = overlapping(share, 200, np.random.default_rng(700 + seed), apart=0.7)
        found = estimate_frequencies(match, np.log(share), 400)
        # A false alarm has a prior of a half, so this allows for a Bayes factor of some tens by chance.
        assert np.abs(np.log(found.share / share)).max() < 1.0
        assert (found.standard_error > 0.2 * np.abs(found.share - share)).all()


def test_other_frequencies_are_found_from_many_objects_whatever_was_expected() -> None:
    share = np.array([0.1, 0.2, 0.7])
    expected = np.array([0.8, 0.1, 0.1])
    match = overlapping(share, 5000, np.random.default_rng(10), apart=2.0)
    for n_known in (30, 100_000, None):
        found = estimate_frequencies(match, np.log(expected), n_known)
        assert (np.abs(found.share - share) < 4.0 * found.standard_error).all()
        # Thirty training objects teach classes that no number of new ones makes sharper.
        assert found.standard_error.max() < (0.15 if n_known == 30 else 0.03)


def test_no_objects_and_objects_that_tell_nothing_leave_what_is_known() -> None:
    known = np.array([0.2, 0.5, 0.3])
    for match in (np.empty((0, 3)), np.zeros((50, 3))):
        found = estimate_frequencies(match, np.log(known), 100)
        np.testing.assert_allclose(found.share, known, rtol=1e-6)


def test_objects_that_no_class_explains_tell_nothing() -> None:
    match = overlapping(np.array([0.6, 0.4]), 100, np.random.default_rng(11))
    found = estimate_frequencies(match, np.log([0.5, 0.5]), 200)
    lost = np.vstack([match, np.full((3, 2), -np.inf)])
    np.testing.assert_array_equal(estimate_frequencies(lost, np.log([0.5, 0.5]), 200).share, found.share)


def test_an_impossible_class_stays_impossible() -> None:
    with np.errstate(divide="ignore"):
        found = estimate_frequencies(np.zeros((9, 2)), np.log([1.0, 0.0]))
    assert found.share.tolist() == [1.0, 0.0]
    assert found.standard_error[1] == 0.0


def test_adapt_and_estimate_mend_the_frequencies_of_a_biased_training_set() -> None:
    rng = np.random.default_rng(5)
    known, sky = np.arange(200) % 2, (rng.random(1500) < 0.05).astype(int)
    training, new = objects(known, rng), objects(sky, rng)
    model = BADACClassifier(random_state=0).fit(training, known)

    def loss(proba: np.ndarray) -> float:
        return float(-np.log(proba[np.arange(len(sky)), sky]).mean())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapted = model.adapt(new)
    before = loss(model.predict_proba(new))
    assert loss(adapted.predict_proba(new)) < 0.6 * before
    assert abs(adapted.class_frequencies_.share[1] - sky.mean()) < 0.05
    np.testing.assert_allclose(np.exp(model.class_log_prior_), 0.5)
    estimating = BADACClassifier(random_state=0, priors="estimate").fit(training, known)
    np.testing.assert_allclose(
        estimating.predict_proba(new), adapted.predict_proba(new), rtol=1e-6, atol=1e-9
    )
    with pytest.raises(AttributeError, match="after adapt"):
        _ = model.class_frequencies_


def test_new_objects_that_training_does_not_support_are_said() -> None:
    rng = np.random.default_rng(6)
    known = np.arange(100) % 2
    model = BADACClassifier(random_state=0).fit(objects(known, rng), known)
    noisy = objects(known, rng, sigma=2.0)
    with pytest.warns(TrainingSupportWarning, match="noise: 100% of the new objects are above"):
        model.adapt(noisy)

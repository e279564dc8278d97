"""Class frequencies of new objects from their evidence, and new objects that training does not support."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.calibration.class_frequencies import estimate_frequencies
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

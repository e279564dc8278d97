"""The Bayes limit: known values, calibrated posteriors, and what it leaves aside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import entr

from badac.data.measurements import Measurements
from badac.metrics import calibration_error_by_chance, expected_calibration_error
from badac.simulate import (
    BadPoints,
    Bump,
    Normal,
    Parabola,
    Sine,
    Uniform,
    WeddingCake,
    draw_experiment,
    experiment,
    recipe,
)
from reproduction.limits import bayes_limit, generating_log_evidence

# Accuracy from 60,000 objects, known to 0.0005 or better: small beside the error of the runs below.
KNOWN = {
    (1, "printed"): 0.9844,
    (2, "printed"): 0.9844,
    (3, "printed"): 0.9817,
    (4, "printed"): 0.9923,
    (1, "released"): 0.9967,
    (2, "released"): 0.9967,
    (3, "released"): 0.9954,
    (4, "released"): 0.9999,
}


@pytest.mark.slow
@pytest.mark.parametrize(("number", "setting"), KNOWN)
def test_known_accuracy(number, setting):
    n = 1000 if number == 3 else 4000
    data = experiment(number, setting, n_train=1, n_test=n, rng=np.random.default_rng(number))
    limit = bayes_limit(data)
    expected = KNOWN[number, setting]
    assert limit.n_objects == n - round(0.01 * n)
    # Four binomial standard errors, and those of the known value.
    error = np.hypot(np.sqrt(expected * (1 - expected) / limit.n_objects), 0.0005)
    assert abs(limit.accuracy - expected) < 4 * error


def equal_noise(noise, sigma=0.4, m=30):
    """Both classes with the same, large error bars, so that many posteriors are far from certain."""
    same = Normal(sigma, 0.1 * sigma)
    return replace(recipe(1), anomalies=(), sigma=(same, same), noise=noise), m


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [None, BadPoints(), WeddingCake(height=0.02), WeddingCake(kind=1, height=0.02)],
    ids=["gaussian", "bad points", "cake on the sines", "cake on the parabolas"],
)
def test_posteriors_are_calibrated(noise):
    made, m = equal_noise(noise)
    data = draw_experiment(
        made, n_train=1, n_test=3000, contamination=0.0, n_points=m, rng=np.random.default_rng(7)
    )
    evidence = generating_log_evidence(data.test, made)
    p = 1.0 / (1.0 + np.exp(evidence[:, 0] - evidence[:, 1]))
    # Certain posteriors would pass what follows by themselves: there must be doubt.
    assert np.mean((p > 0.05) & (p < 0.95)) > 0.1
    chance = calibration_error_by_chance(p)
    assert expected_calibration_error(data.test_label, p) < chance.mean + 4 * chance.sd
    # The sum of label minus probability has mean zero and variance sum p (1 - p), and so within any set of objects
    # that the posterior picks.
    for chosen in (p > 0.0, p < 0.3, p > 0.7):
        z = np.sum(data.test_label[chosen] - p[chosen]) / np.sqrt(np.sum(p[chosen] * (1 - p[chosen])))
        assert abs(z) < 4
    # The log-loss of a calibrated posterior is its mean entropy.
    limit = bayes_limit(data)
    entropy = np.mean(entr(p) + entr(1 - p))
    assert abs(limit.log_loss - entropy) < 4 * limit.log_loss_error
    assert limit.accuracy == np.mean((p > 0.5) == data.test_label)


def test_the_wrong_noise_is_worse():
    made, m = equal_noise(BadPoints(0.3, 8.0))
    data = draw_experiment(
        made, n_train=1, n_test=2000, contamination=0.0, n_points=m, rng=np.random.default_rng(8)
    )
    right = bayes_limit(data)
    wrong = bayes_limit(replace(data, recipe=replace(made, noise=None)))
    assert wrong.log_loss > right.log_loss + 4 * (right.log_loss_error + wrong.log_loss_error)


def test_the_noise_level_would_name_the_class_in_the_printed_setting():
    # Each class with its own sigma, as if the scatter of the points were a clue: every object is right.
    data = experiment(1, "printed", n_train=1, n_test=400, contamination=0.0, rng=np.random.default_rng(9))
    made = data.recipe
    columns = [
        generating_log_evidence(Measurements(data.test.values, sigma, at=data.at), made)[:, kind]
        for kind, sigma in enumerate((0.3, 0.5))
    ]
    assert np.mean(np.argmax(columns, axis=0) == data.test_label) == 1.0


def test_experiments_1_and_2_share_their_normal_classes():
    data = experiment(2, "released", n_train=1, n_test=50, rng=np.random.default_rng(10))
    np.testing.assert_array_equal(
        generating_log_evidence(data.test, data.recipe),
        generating_log_evidence(data.test, recipe(1, "released")),
    )


def test_order_of_classes_and_objects_does_not_matter():
    made, m = equal_noise(WeddingCake())
    data = draw_experiment(
        made, n_train=1, n_test=20, contamination=0.0, n_points=m, rng=np.random.default_rng(11)
    )
    straight = generating_log_evidence(data.test, made)
    turned = replace(made, inliers=made.inliers[::-1], noise=WeddingCake(kind=1))
    np.testing.assert_allclose(generating_log_evidence(data.test, turned), straight[:, ::-1])
    np.testing.assert_allclose(generating_log_evidence(data.test[::-1], made), straight[::-1], rtol=1e-12)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (Measurements([[1.0, 2.0]], 0.1), "shared coordinates"),
        (Measurements([[1.0, 2.0]], 0.0, at=[0.0, 1.0]), "positive sigma"),
        (Measurements([[1.0, np.nan]], 0.1, at=[0.0, 1.0]), "no missing"),
        (Measurements([[1.0, 2.0]], 0.1, at=[[0.0, 1.0]]), "shared coordinates"),
    ],
)
def test_objects_that_no_simulator_makes_are_refused(objects, message):
    with pytest.raises(ValueError, match=message):
        generating_log_evidence(objects, recipe(1))


def test_families_without_known_evidence_are_refused():
    objects = Measurements([[1.0, 2.0]], 0.1, at=[0.0, 1.0])
    made = replace(recipe(1), anomalies=(), sigma=(Normal(0.1, 0.0), Normal(0.1, 0.0)))
    with pytest.raises(ValueError, match="Sine and Parabola: got Bump"):
        generating_log_evidence(objects, replace(made, inliers=(Bump(), Parabola())))
    with pytest.raises(ValueError, match="normal parameters: got Uniform"):
        generating_log_evidence(objects, replace(made, inliers=(Sine(Uniform(0.0, 1.0)), Parabola())))


def test_a_test_set_of_anomalies_has_no_limit():
    data = experiment(1, n_train=1, n_test=10, contamination=1.0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="anomalies only"):
        bayes_limit(data)

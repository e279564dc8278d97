"""The gate before the default's noise is learned, and what the default does with it."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.noise import CheckedNoise, Gaussian, Outliers
from badac.noise_learning import learn_noise
from badac.noise_learning.bad_points import has_bad_points
from badac.simulate import experiment
from badac.training import TrainingScales


def _asked(objects: Measurements, label: np.ndarray) -> bool:
    return has_bad_points(objects, label, TrainingScales.of(objects))


def _curves(n: int = 160, m: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, noise of one and labels of two classes of curves."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    x = np.linspace(0.0, 1.0, m)
    truth = rng.normal(1.0, 0.5, (n, 1)) * np.sin(3.0 * x + label[:, None])
    return truth, rng.standard_normal((n, m)), label


@pytest.mark.parametrize("setting", ["printed", "released"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_only_experiment_3_has_bad_points(number: int, setting: Literal["printed", "released"]) -> None:
    made = experiment(number, setting, n_train=400, n_test=10, rng=np.random.default_rng(600 + number))
    assert _asked(made.train, made.train_label) == (number == 3)


def test_some_points_of_a_tenth_of_the_error_bars_are_bad_points() -> None:
    truth, noise, label = _curves()
    bad = np.random.default_rng(1).random(truth.shape) < 0.05
    assert not _asked(Measurements(truth + 0.1 * noise, 0.1), label)
    assert _asked(Measurements(truth + np.where(bad, 1.0, 0.1) * noise, 0.1), label)


def test_what_is_not_bad_points_does_not_open_the_gate() -> None:
    truth, noise, label = _curves()
    rng = np.random.default_rng(2)
    n, m = truth.shape
    # Error bars that differ between objects by ten, all of them half of what they should be, variety beyond the error bars,
    # objects that stray as a whole, and nothing but strays.
    sigma = 0.02 * 10.0 ** rng.random((n, 1)) * np.ones(m)
    assert not _asked(Measurements(truth + sigma * noise, sigma), label)
    assert not _asked(Measurements(truth + 0.1 * noise, 0.05), label)
    heavy = truth + rng.standard_t(2.0, (n, m))
    assert not _asked(Measurements(heavy + 0.01 * noise, 0.01), label)
    stray = np.where(np.arange(n)[:, None] % 20 == 0, 3.0, 0.0) * rng.standard_normal((n, m))
    assert not _asked(Measurements(truth + stray + 0.1 * noise, 0.1), label)
    assert not _asked(Measurements(truth + 0.1 * noise), label)  # no error bars
    assert not _asked(Measurements(truth[:, :5] + 0.1 * noise[:, :5], 0.1), label)  # too few points


def test_gaps_are_no_bad_points() -> None:
    truth, noise, label = _curves()
    values = truth + 0.1 * noise
    values[np.random.default_rng(3).random(values.shape) < 0.6] = np.nan
    values[:, 4] = np.nan
    assert not _asked(Measurements(values, 0.1), label)


def test_the_default_learns_bad_points_and_a_named_model_does_not() -> None:
    truth, noise, label = _curves()
    bad = np.random.default_rng(1).random(truth.shape) < 0.1
    objects = Measurements(truth + np.where(bad, 1.0, 0.1) * noise, 0.1)
    default = BADACClassifier(random_state=0).fit(objects, label)
    assert isinstance(default.noise_, Outliers) and 0.05 < default.noise_.share < 0.2
    for parameters in ({"noise": "gaussian"}, {"class_model": "instances"}, {"class_model": "population"}):
        assert isinstance(BADACClassifier(random_state=0, **parameters).fit(objects, label).noise_, Gaussian)
    clean = Measurements(truth + 0.1 * noise, 0.1)
    assert isinstance(BADACClassifier(random_state=0).fit(clean, label).noise_, Gaussian)


def test_checked_noise_without_bad_points_is_gaussian_noise_to_the_last_bit() -> None:
    truth, noise, label = _curves(60)
    objects = Measurements(truth + 0.1 * noise, 0.1)
    found = [
        BADACClassifier(noise=each, random_state=0).fit(objects, label).predict_proba(objects)
        for each in ("checked", "gaussian")
    ]
    np.testing.assert_array_equal(*found)


def test_classes_under_other_noise_are_learned_again_with_new_members() -> None:
    """Clean classes, then members of one of them with bad points: the other may not stay under Gaussian noise."""
    truth, noise, label = _curves(300)
    bad = np.random.default_rng(1).random(truth.shape) < 0.15
    first, rest = slice(0, 100), slice(100, 300)
    objects = Measurements(truth + np.where(bad, 1.0, 0.1) * noise, 0.1)
    clean = Measurements(truth[first] + 0.1 * noise[first], 0.1)
    model = BADACClassifier(random_state=0).fit(clean, label[first])
    kept = model.class_models_[1]
    again = model.partial_fit(clean[label[first] == 0], label[first][label[first] == 0])
    assert again.class_models_[1] is kept
    model.partial_fit(objects[rest], label[rest])
    assert isinstance(model.noise_, Outliers)
    assert all(one.noise == model.noise_ for one in model.class_models_)


def test_checked_noise_must_be_learned() -> None:
    objects = Measurements(np.zeros((2, 3)), 0.1)
    with pytest.raises(ValueError, match="CheckedNoise is open"):
        CheckedNoise().log_match(objects, objects)
    learned = learn_noise(CheckedNoise(), objects, np.zeros(2, dtype=np.int64), np.random.default_rng(0))
    assert isinstance(learned, Gaussian)

"""When a stack is learned, and with it what the score is: no cliff stands at any number of objects."""

from bisect import bisect_left

import numpy as np
import pytest
from scipy.stats import spearmanr

from badac import BADACClassifier, Measurements
from badac.calibration.coarsening import MOST_OBJECTS
from badac.calibration.stacking.learning import LEAST_GAIN, is_worth_a_stack
from badac.calibration.stacking.samples import LEAST_MEMBERS, objects_to_learn_from
from badac.noise import Gaussian
from badac.simulate import experiment
from badac.training import TrainingScales, TrainingSet


def straying(n: int, seed: int, points: int = 9) -> tuple[Measurements, np.ndarray]:
    """Classes in two groups each, whose members stray at single points, far from what their models say."""
    rng = np.random.default_rng(seed)
    label, side = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    height = side * np.where(label == 1, 1.0, 0.3)
    return Measurements(height[:, None] + 0.4 * rng.standard_t(1.5, (n, points)), 0.05), label


def test_the_score_keeps_its_meaning_beyond_the_most_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than `MOST_OBJECTS` (4,000) tell the weights, and as many instances are kept; here a fifth, for its time."""
    most = MOST_OBJECTS // 5
    monkeypatch.setattr("badac.calibration.posterior.MOST_OBJECTS", most)
    monkeypatch.setattr("badac.calibration.stacking.base_models.MOST_INSTANCES", most)
    objects, label = straying(most + 20, 1, points=10)
    few, many = (BADACClassifier(random_state=0).fit(objects[:n], label[:n]) for n in (most - 20, most + 20))
    for model in (few, many):
        assert "rank among left-out training objects" in model.score_meaning_
        assert model.ensemble_ is not None and model.ensemble_.in_posterior
    new, _ = straying(500, 2, points=10)
    # Two models of nearly the same objects, whose trees, noise and left-out objects were drawn anew.
    assert np.abs(few.predict_proba(new) - many.predict_proba(new)).mean() < 0.05
    assert spearmanr(few.anomaly_score(new), many.anomaly_score(new)).statistic > 0.95
    # A bounded cost of an object, whatever the size of the training set.
    assert many.ensemble_ is not None
    members = [one.curves.n_objects for one in many.ensemble_.base_models.models[0]]  # type: ignore[attr-defined]
    assert sum(members) == most


def test_the_score_keeps_its_meaning_below_sixty_objects() -> None:
    objects, label = straying(65, 5, points=8)
    for n in (40, 59, 60):
        model = BADACClassifier(random_state=0).fit(objects[:n], label[:n])
        assert "rank among left-out training objects" in model.score_meaning_, n
        assert np.isfinite(model.anomaly_score(objects)).all()


@pytest.mark.parametrize("n", [4, 8, 10, 12])
def test_few_objects_are_learned_whatever_they_gain(n: int) -> None:
    objects, _ = straying(n, 4)
    model = BADACClassifier(random_state=0).fit(objects, np.arange(n) % 2)
    new, _ = straying(20, 5)
    assert np.isfinite(model.anomaly_score(new)).all()
    assert np.isfinite(model.predict_proba(new)).all()


@pytest.mark.slow
def test_many_objects_that_follow_their_models_have_no_stack() -> None:
    data = experiment(1, "released", n_train=5000, n_test=10, rng=np.random.default_rng(0))
    model = BADACClassifier(random_state=0).fit(data.train, data.train_label)
    assert model.coarsening_.gain < LEAST_GAIN
    assert model.ensemble_ is None
    assert "from the evidence of both" in model.score_meaning_


def test_the_gain_that_is_needed_has_no_cliff() -> None:
    gains = np.geomspace(1e-3, 10.0, 2000)
    # More gain is worth it where less is: the first that is worth it is found by halving.
    least = [
        bisect_left(gains, True, key=lambda gain, n=n: is_worth_a_stack(gain, n)) for n in range(10, 5000, 7)
    ]
    needed = np.append(gains, np.inf)[least]
    # Falling with the number of objects by no more than their number grows, and level where a gain is too small to matter.
    ratio = needed[:-1] / needed[1:]
    step = gains[1] / gains[0]
    assert np.all(ratio >= 1.0) and np.all(ratio <= 17 / 10 * step)
    assert needed[-1] == pytest.approx(LEAST_GAIN, rel=step - 1.0)


def test_a_part_of_the_objects_has_members_of_every_class() -> None:
    label = np.repeat([0, 1, 2, 3], [5000, 900, 30, 1])
    objects = Measurements(np.zeros((len(label), 1)), 1.0)
    training = TrainingSet(
        objects, label, np.arange(4), Gaussian(), TrainingScales.of(objects), np.random.default_rng(0)
    )
    rows = np.arange(4000)
    found = objects_to_learn_from(training, rows)
    assert np.array_equal(found, np.unique(found)) and np.isin(rows, found).all()
    assert np.bincount(label[found]).tolist() == [4000, LEAST_MEMBERS, LEAST_MEMBERS, 1]
    everything = np.arange(len(label))
    assert objects_to_learn_from(training, everything) is everything

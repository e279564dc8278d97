import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from badac import Measurements, _kernels
from badac._kernels.trees import Growth
from badac.calibration.stacking.trees import Copies, Trees, draw, grow, not_drawn, numbers
from badac.classes import Population, TrainingScales
from badac.noise import Gaussian
from badac.training import TrainingSet


def two_kinds(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    """Class 1 is far from zero on either side, class 0 is near: no mean tells them apart."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    height = np.where(label == 1, rng.choice([-1.0, 1.0], n), 0.2 * rng.standard_normal(n))
    values = height[:, None] * np.ones(5) + 0.1 * rng.standard_normal((n, 5))
    return Measurements(values, 0.1), label


def with_gaps(objects: Measurements, seed: int) -> Measurements:
    hidden = np.random.default_rng(seed).random(objects.shape) < 0.3
    return Measurements(np.where(hidden, np.nan, objects.values), objects.sigma)


def training_set(objects: Measurements, label: np.ndarray, seed: int) -> TrainingSet:
    scales = TrainingScales.of(objects)
    return TrainingSet(objects, label, np.arange(2), Gaussian(), scales, np.random.default_rng(seed))


def grown(objects: Measurements, label: np.ndarray, *, sees_gaps: bool) -> Trees:
    training = training_set(objects, label, 1)
    blind = Population().fit(objects, training.noise, training.rng, training.scales)
    return grow(training, Copies.of(training, blind, (0.0, 0.5)), sees_gaps=sees_gaps)[0]


def test_trees_and_more_of_them_vote_together() -> None:
    objects, label = two_kinds(60, 2)
    first, rest = (grown(with_gaps(objects, seed), label, sees_gaps=True).first(5) for seed in (3, 4))
    both = first.and_more(rest)
    asked = np.ones((60, 10), dtype=bool)
    votes = [
        _kernels.walk_trees(numbers(objects, first.blind, first.scales, sees_gaps=True), trees.nodes, None)
        for trees in (first, rest, both)
    ]
    np.testing.assert_allclose(votes[2], votes[0] + votes[1], rtol=1e-6)
    assert both.broken() == "" and both.log_evidence(objects, asked).shape == (60, 2)


def test_trees_are_those_of_scikit_learn() -> None:
    """Not the same trees, but as good: extremely randomised ones, of the same leaves, on the same rows."""
    rng = np.random.default_rng(0)
    seen, new = (rng.standard_normal((n, 6)).astype(np.float32) for n in (600, 2000))
    label, truth = ((rows[:, 0] * rows[:, 1] > 0).astype(np.int64) + (rows[:, 2] > 1) for rows in (seen, new))
    seen[rng.random(seen.shape) < 0.1], new[rng.random(new.shape) < 0.1] = np.nan, np.nan
    forest = ExtraTreesClassifier(100, min_samples_leaf=2, max_features=2, random_state=0).fit(seen, label)
    everyone = np.tile(np.arange(600), (100, 1))
    nodes = _kernels.grow_trees(Growth(seen, label, everyone, np.arange(100), 3, 2, 2))
    share = _kernels.walk_trees(new, nodes, None) / 100.0
    losses = [-np.log(p[np.arange(2000), truth] + 1e-3) for p in (share, forest.predict_proba(new))]
    # Two draws of a hundred trees: the standard error of their difference is 0.004 here.
    assert abs(np.mean(losses[0] - losses[1])) < 0.015


def test_every_object_is_left_to_trees_that_had_not_seen_it() -> None:
    label = np.repeat([0, 1, 2, 3], [30, 2, 1, 3])
    drawn = draw(label, 50, 1000, np.random.default_rng(0))
    unseen = not_drawn(drawn, len(label))
    assert drawn.shape == (50, 24 + 1 + 1 + 2)
    for tree, rows in enumerate(drawn):
        assert len(set(rows)) == len(rows) and not unseen[rows, tree].any()
    assert (np.bincount(label[drawn[0]]) > 0).all()
    # Four fifths of 30 members; one of two; an only member is always seen.
    assert np.allclose(unseen[:30].mean(), 0.2)
    assert unseen[label == 1].any(axis=1).all() and not unseen[label == 2].any()
    assert draw(label, 3, 12, np.random.default_rng(0)).shape[1] < 19


def test_tell_what_no_mean_tells() -> None:
    objects, label = two_kinds(300, 0)
    new, truth = two_kinds(500, 1)
    told = grown(objects, label, sees_gaps=False).log_evidence(new)
    # Half a class lies 8 sigma from the other class: errors are a few objects in the overlap near 0.8.
    assert (told.argmax(axis=1) == truth).mean() > 0.97


def test_gaps_are_hidden_or_seen() -> None:
    objects, label = two_kinds(300, 2)
    gappy = with_gaps(objects, 3)
    scales = TrainingScales.of(gappy)
    blind = Population().fit(gappy, Gaussian(), np.random.default_rng(0), scales)
    assert np.isfinite(numbers(gappy, blind, scales, sees_gaps=False)).all()
    seen = numbers(gappy, blind, scales, sees_gaps=True)
    np.testing.assert_array_equal(np.isnan(seen[:, 5:]), ~gappy.observed)
    for sees_gaps in (False, True):
        told = grown(gappy, label, sees_gaps=sees_gaps).log_evidence(gappy)
        assert np.isfinite(told).all()


def test_far_values_and_nothing_observed() -> None:
    objects, label = two_kinds(100, 4)
    odd = Measurements(np.array([[1e40] * 5, [np.nan] * 5, [-1e40] * 5]), 0.1)
    told = grown(objects, label, sees_gaps=False).log_evidence(odd)
    assert np.isfinite(told).all()


def test_more_noise_is_less_sure() -> None:
    objects, label = two_kinds(300, 5)
    new, _ = two_kinds(300, 6)
    trees = grown(objects, label, sees_gaps=False)
    rng = np.random.default_rng(7)
    noisy = Measurements(new.values + rng.standard_normal(new.shape), np.hypot(0.1, 1.0))
    gap = [np.abs(np.diff(trees.log_evidence(some), axis=1)).mean() for some in (new, noisy)]
    assert gap[1] < gap[0]


@pytest.mark.parametrize("levels", [(0.0,), (0.0, 0.1, 1.0)])
def test_one_class_may_have_no_member_left(levels: tuple[float, ...]) -> None:
    objects, _ = two_kinds(40, 8)
    label = np.zeros(40, dtype=np.int64)
    training = training_set(objects, label, 0)
    blind = Population().fit(objects, training.noise, training.rng, training.scales)
    trees, _ = grow(training, Copies.of(training, blind, levels), sees_gaps=False)
    assert np.isfinite(trees.log_evidence(objects)).all()

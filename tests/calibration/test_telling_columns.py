"""Classes in the few columns that tell them apart: which columns those are, and what is gained by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import badac
from badac import BADACClassifier, Measurements, _kernels
from badac._kernels.trees import Growth, Nodes
from badac.calibration.stacking.gate import Gate
from badac.calibration.stacking.telling_columns import InColumns, importance, left_out_in
from badac.calibration.stacking.trees import draw
from badac.classes.instances import Instances, widen
from badac.noise import Gaussian
from badac.training import TrainingScales, TrainingSet

TELLING = [3, 17]


def crosswise(n: int, seed: int, m: int = 24) -> tuple[Measurements, np.ndarray]:
    """Two classes on opposite corners of a square in two of the columns; the others tell nothing."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, m))
    label = rng.integers(2, size=n)
    side = rng.choice([-1.0, 1.0], n)
    values[:, TELLING] = 0.4 * values[:, TELLING] + np.stack(
        [side, np.where(label == 1, side, -side)], axis=1
    )
    sigma = rng.uniform(0.1, 0.4, (n, m))
    return Measurements(values + sigma * rng.standard_normal((n, m)), sigma), label


def training(objects: Measurements, label: np.ndarray) -> TrainingSet:
    scales = TrainingScales.of(objects)
    return TrainingSet(objects, label, np.arange(2), Gaussian(), scales, np.random.default_rng(0))


def log_loss(model: BADACClassifier, new: Measurements, truth: np.ndarray) -> float:
    return float(-np.log(model.predict_proba(new)[np.arange(len(truth)), truth]).mean())


def decrease_of(nodes: Nodes, node: int, seen: np.ndarray, label: np.ndarray, out: np.ndarray) -> None:
    """The definition: how much purer the rows below each question are, one node at a time."""
    asked = int(nodes.question[node])
    if asked < 0:
        return

    def impurity(of: np.ndarray) -> float:
        count = np.bincount(of, minlength=2)
        return float(count.sum() - (count**2).sum() / max(count.sum(), 1))

    yes = seen[:, asked] <= nodes.threshold[node]
    out[asked] += impurity(label) - impurity(label[yes]) - impurity(label[~yes])
    decrease_of(nodes, int(nodes.yes[node]), seen[yes], label[yes], out)
    decrease_of(nodes, int(nodes.no[node]), seen[~yes], label[~yes], out)


def test_importance_is_the_decrease_of_impurity() -> None:
    objects, label = crosswise(80, seed=1, m=5 + 15)
    seen = objects.values.astype(np.float32)
    rng = np.random.default_rng(2)
    drawn = draw(label, 6, 60, rng)
    nodes = _kernels.grow_trees(Growth(seen, label, drawn, rng.integers(2**62, size=6), 2, 4, 2))
    slow = np.zeros(seen.shape[1])
    for root in nodes.root.tolist():
        decrease_of(nodes, root, seen, label, slow)
    np.testing.assert_allclose(importance(nodes, seen, label, 2), slow, atol=1e-9)


def test_members_in_columns_are_left_out_of_their_own_class() -> None:
    objects, label = crosswise(40, seed=3)
    label[5] = 2  # alone in its class: nothing can be said of it
    set_of_three = TrainingSet(
        objects, label, np.arange(3), Gaussian(), TrainingScales.of(objects), np.random.default_rng(0)
    )
    columns = np.array(TELLING)
    found = left_out_in(columns, set_of_three)
    few, width = objects.points(columns), 0.2 * set_of_three.scales.scale[columns]
    for row in (0, 1, 2):
        expected = np.empty(2)
        for number in (0, 1):
            rest = (label == number) & (np.arange(40) != row)
            exact = Instances().fit(few[rest], Gaussian(), np.random.default_rng(0))
            assert exact.curves is not None
            other = Instances(
                curves=widen(exact.curves, width), own=exact.own, noise=exact.noise, width=width
            )
            expected[number] = other.log_evidence(few[row])[0]
        np.testing.assert_allclose(np.diff(found[row, :2]), np.diff(expected), rtol=1e-7)
    assert found[5, 2] == -30.0 and found.max() == 0.0


def test_columns_that_tell_are_found() -> None:
    objects, label = crosswise(500, seed=4)
    gate = Gate.of(training(objects, label), np.zeros((500, 2)), 0.02)
    assert gate is not None
    columns = gate.telling_columns()
    assert columns is not None and set(TELLING) <= set(columns.tolist())
    assert len(columns) <= 4


def test_no_columns_are_told_apart_where_all_of_them_tell() -> None:
    rng = np.random.default_rng(5)
    label = rng.integers(2, size=500)
    objects = Measurements(0.3 * label[:, None] + rng.standard_normal((500, 24)), 0.01)
    exact = 0.3 * (objects.values - 0.15).sum(axis=1)
    gate = Gate.of(training(objects, label), np.stack([np.zeros(500), exact], axis=1), 0.02)
    assert gate is not None and gate.telling_columns() is None


def test_classes_in_few_columns_count_in_the_posterior_and_in_files(tmp_path: Path) -> None:
    objects, label = crosswise(500, seed=6)
    new, truth = crosswise(600, seed=7)
    model = BADACClassifier(random_state=0).fit(objects, label)
    assert model.ensemble_ is not None and model.ensemble_.in_posterior
    assert any(name.startswith("mixture in ") for name in model.ensemble_.names)
    assert "Columns that tell the classes apart most: 3" in model.describe()
    columns = np.array(TELLING)
    told = BADACClassifier(random_state=0).fit(objects.points(columns), label)
    loss, best = log_loss(model, new, truth), log_loss(told, new.points(columns), truth)
    # Of 600 objects a difference of .03 nats is some two standard errors; all columns alike lose half a nat.
    assert loss < best + 0.05
    assert loss < 0.3
    path = tmp_path / "model.badac"
    badac.save(model, path)
    np.testing.assert_array_equal(badac.load(path).predict_proba(new), model.predict_proba(new))
    two = BADACClassifier(random_state=0, n_jobs=2).fit(objects, label)
    np.testing.assert_array_equal(two.predict_proba(new), model.predict_proba(new))


def test_gaps_in_the_columns_that_tell() -> None:
    objects, label = crosswise(500, seed=8)
    new, truth = crosswise(600, seed=9)
    rng = np.random.default_rng(10)

    def with_gaps(of: Measurements) -> Measurements:
        return Measurements(np.where(rng.random(of.shape) < 0.1, np.nan, of.values), of.sigma)

    model = BADACClassifier(random_state=0).fit(with_gaps(objects), label)
    assert log_loss(model, with_gaps(new), truth) < 0.4
    nothing = new.values[:4].copy()
    nothing[:, TELLING] = np.nan
    proba = model.predict_proba(Measurements(nothing, 0.1))
    assert np.abs(proba - 0.5).max() < 0.25


@pytest.mark.parametrize("count", [2, 3])
def test_a_class_learned_again_keeps_its_columns(count: int) -> None:
    objects, label = crosswise(300, seed=11)
    columns, scales, rng = np.arange(count), TrainingScales.of(objects), np.random.default_rng(0)
    members = objects[label == 0]
    whole = InColumns(columns).fit(members, Gaussian(), rng, scales)
    again = whole.again(members[20:], Gaussian(), rng, scales)
    assert again.columns is whole.columns and again.name == f"mixture in {count} columns"
    gap = again.log_evidence(members[:20]) - whole.log_evidence(members[:20])
    assert np.abs(gap).max() < 3.0

from pathlib import Path

import numpy as np
import pytest

from badac import BADACClassifier, Measurements, load, save
from badac.calibration.stacking.base_models import groups
from badac.checks import check_class_model
from badac.classes import TrainingScales
from badac.classes.pointwise import Pointwise
from badac.noise import Gaussian


def losses(model: BADACClassifier, objects: Measurements, label: np.ndarray) -> np.ndarray:
    return -model.predict_log_proba(objects)[np.arange(len(label)), label]


def test_no_stack_on_data_that_follow_the_models() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1], 100)
    curves = Measurements(0.4 * label[:, None] + 0.5 * rng.standard_normal((200, 6)), 0.5)
    model = BADACClassifier(anomaly="tophat", random_state=0).fit(curves, label)
    assert model.coarsening_.exponent == 1.0
    assert model.ensemble_ is None


def overlapping(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    """Each class falls into two groups, its members stray at single points: no single model has it right."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    height = np.where(label == 1, 1.0, -0.3) * rng.choice([-1.0, 1.0], n)
    truth = height[:, None] * np.linspace(0.2, 1.0, 8) + 0.5 * rng.standard_normal((n, 1))
    truth += 0.3 * rng.standard_t(2, (n, 8))
    return Measurements(truth + 0.05 * rng.standard_normal(truth.shape), 0.05), label


@pytest.fixture(scope="module")
def stacked() -> BADACClassifier:
    objects, label = overlapping(300, 1)
    return BADACClassifier(anomaly="tophat", random_state=0).fit(objects, label)


def test_a_stack_where_the_models_are_wrong_and_then_better(stacked: BADACClassifier) -> None:
    assert stacked.coarsening_.exponent < 1.0
    assert stacked.ensemble_ is not None
    assert stacked.ensemble_.gain > stacked.ensemble_.standard_error
    new, truth = overlapping(1000, 2)
    outputs = losses(stacked, new, truth)
    ensemble, stacked.ensemble_ = stacked.ensemble_, None
    alone = losses(stacked, new, truth)
    stacked.ensemble_ = ensemble
    gain = alone - outputs
    assert gain.mean() > 2 * gain.std() / np.sqrt(len(gain))


def test_evidence_stays_and_probabilities_are_probabilities(stacked: BADACClassifier) -> None:
    new, _ = overlapping(50, 3)
    expected = np.column_stack([model.log_evidence(new) for model in stacked.class_models_])
    np.testing.assert_array_equal(stacked.log_evidence(new), expected)
    far = Measurements(np.full((1, 8), 1e6), 0.1)
    nothing = Measurements(np.full((1, 8), np.nan), 0.1)
    for objects in (new, far, nothing):
        np.testing.assert_allclose(stacked.predict_proba(objects).sum(axis=1), 1.0, rtol=1e-12)


def test_saved_and_loaded(stacked: BADACClassifier, tmp_path: Path) -> None:
    save(stacked, tmp_path / "model.badac")
    new, _ = overlapping(20, 4)
    np.testing.assert_array_equal(
        load(tmp_path / "model.badac").predict_proba(new), stacked.predict_proba(new)
    )


def test_only_auto_stacks() -> None:
    objects, label = overlapping(300, 1)
    assert (
        BADACClassifier(class_model="population", anomaly="tophat", random_state=0)
        .fit(objects, label)
        .ensemble_
        is None
    )


def test_a_class_of_one_member() -> None:
    objects, label = overlapping(200, 5)
    label = label.copy()
    label[0] = 2
    model = BADACClassifier(anomaly="tophat", random_state=0).fit(objects, label)
    assert np.isfinite(model.predict_proba(objects)).all()


def test_pointwise_keeps_the_laws() -> None:
    rng = np.random.default_rng(6)
    members = Measurements(rng.standard_normal((12, 3)), rng.uniform(0.1, 0.4, (12, 3)))
    objects = Measurements(rng.standard_normal((5, 3)), rng.uniform(0.1, 0.4, (5, 3)))
    assert check_class_model(Pointwise(), members, objects, Gaussian(), rng)


def test_pointwise_leaves_out() -> None:
    rng = np.random.default_rng(7)
    values = rng.standard_normal((9, 4))
    values[2, 1] = values[5, 0] = np.nan
    members = Measurements(values, 0.3)
    scales = TrainingScales.of(members)
    fitted = Pointwise(width=0.0).fit(members, Gaussian(), rng, scales)
    for row in (0, 2):
        without = Pointwise(width=0.0).fit(members[np.arange(9) != row], Gaussian(), rng, scales)
        assert fitted.leave_one_out()[row] == pytest.approx(without.log_evidence(members[[row]])[0], rel=1e-9)


def test_no_stack_where_error_bars_name_the_class() -> None:
    objects, label = overlapping(300, 1)
    named = Measurements(objects.values, np.where(label == 0, 0.05, 0.08)[:, None] * np.ones(8))
    assert BADACClassifier(anomaly="tophat", random_state=0).fit(named, label).ensemble_ is None


def test_groups_of_neighbours_keep_mean_and_variance_of_each_point() -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal((101, 3))
    values[::7, 1] = np.nan
    values[:, 2] = np.nan
    values[:4, 2] = [4.0, 1.0, 3.0, 2.0]
    few = groups(Measurements(values, 0.3), 10)
    assert few.observed.sum(axis=0).tolist() == [10, 10, 4]
    np.testing.assert_allclose(few.values[:4, 2], [1.0, 2.0, 3.0, 4.0])
    # With 100 of 101 members in groups of ten but one, mean and variance hold to the share of the odd one.
    total = few.values[:, 0].var() + np.mean(few.sigma[:, 0] ** 2)
    assert abs(few.values[:, 0].mean() - values[:, 0].mean()) < 3.0 / 101
    assert abs(total - values[:, 0].var() - 0.09) < 9.0 / 101


def test_curves_at_their_own_times_are_stacked_with_trees_on_their_positions() -> None:
    rng = np.random.default_rng(10)

    def curves(n: int) -> tuple[Measurements, np.ndarray]:
        label, turn = np.arange(n) % 2, rng.uniform(0.0, 6.3, (n, 1))
        size = np.where(label == 1, 1.0, rng.choice([0.3, 1.7], n))[:, None]
        at = rng.uniform(0.0, 6.0, (n, 14))
        truth = size * np.sin(at + turn) + 0.15 * rng.standard_t(2.0, at.shape)
        return Measurements(truth + 0.05 * rng.standard_normal(at.shape), 0.05, at=at), label

    training, label = curves(160)
    model = BADACClassifier(random_state=0).fit(training, label)
    assert model.ensemble_ is not None
    assert model.ensemble_.names == ("class models", "trees")
    assert model.ensemble_.columns is not None
    new, truth = curves(200)
    # Only the size of the swing tells the classes, at any phase and among points that stray: positions alone say .6, with
    # quantiles .94 (three draws, 160 objects: .935 to .949, error .017).
    assert (model.predict(new) == truth).mean() > 0.85
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0, rtol=1e-12)
    pvalue = model.anomaly_pvalue(new)
    assert abs((pvalue <= 0.5).mean() - 0.5) < 4 * 0.5 * np.sqrt(1 / 200 + 1 / 160)


def heavy_strays(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    """Swings of two sizes at their own times, whose points stray as a Cauchy distribution does: one of them moves its class."""
    label, turn = np.arange(n) % 2, rng.uniform(0.0, 6.3, (n, 1))
    size = np.where(label == 1, 1.0, rng.choice([0.3, 1.7], n))[:, None]
    at = rng.uniform(0.0, 6.0, (n, 14))
    truth = size * np.sin(at + turn) + 0.3 * rng.standard_t(1.0, at.shape)
    return Measurements(truth + 0.05 * rng.standard_normal(at.shape), 0.05, at=at), label


@pytest.mark.parametrize("seed", [1, 3])
def test_a_stack_at_own_points_is_no_surer_than_it_may_be_where_single_members_move_a_class(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    model = BADACClassifier(random_state=0).fit(*heavy_strays(160, rng))
    new, truth = heavy_strays(200, rng)
    loss = -np.log(model.predict_proba(new)[np.arange(200), truth])
    # Knowing nothing costs log 2, and left-out objects tell what the stack is worth to .03. Where an object's own class alone
    # had been learned without it, these were 1.8 and 1.4.
    assert loss.mean() < np.log(2.0) + 2 * 0.03

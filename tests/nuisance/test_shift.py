"""Shifts along the coordinate, and training curves aligned with what is not known of their alignment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from spoiled import curves, spoiled_test

from badac import BADACClassifier, Measurements
from badac.checks import check_class_model
from badac.classes import (
    Auto,
    ClassModel,
    Instances,
    LinearModel,
    Parametric,
    Population,
    Subclasses,
    Template,
)
from badac.classes.moving import move_columns, move_objects
from badac.classes.pointwise import Pointwise
from badac.latent.nodes import even_nodes, groups, normal_nodes
from badac.noise import Gaussian
from badac.nuisance import Calibration, Shift, align

AT = np.linspace(0, 1, 21)
RNG = np.random.default_rng(0)
MEMBERS = Measurements(
    np.sin(RNG.normal(5, 1, (60, 1)) * AT) + 0.1 * RNG.standard_normal((60, 21)), 0.1, at=AT
)
OBJECTS = Measurements(np.sin(5 * (AT - 0.07)) + 0.1 * RNG.standard_normal((4, 21)), 0.1, at=AT)
# A population that is quick to learn.
QUICK = Population(rank=3, shape="gaussian")


def fitted(model: ClassModel) -> ClassModel:
    return model.fit(MEMBERS, Gaussian(), np.random.default_rng(1))


@pytest.mark.parametrize("by", [0.03, -0.08])
def test_a_line_moves_exactly_and_leaves_nothing_unknown(by: float) -> None:
    columns = np.column_stack([2 + 3 * AT, 1 - AT])
    moved, missing = move_columns(columns, AT, by)
    np.testing.assert_allclose(moved, np.column_stack([2 + 3 * (AT - by), 1 - (AT - by)]), atol=1e-9)
    np.testing.assert_allclose(missing, 0, atol=1e-9)


def test_beyond_the_ends_the_class_knows_how_little_it_knows() -> None:
    curve = np.sin(6 * AT)[:, None]
    moved, missing = move_columns(curve, AT, -0.15)
    truth = np.sin(6 * (AT + 0.15))
    beyond = AT + 0.15 > 1
    np.testing.assert_allclose(moved[~beyond, 0], truth[~beyond], atol=1e-3)
    assert (missing[~beyond] == 0).all() and (missing[beyond] > 0).all()
    # Within three of the stated deviations, which grow with the distance.
    assert (np.abs(moved[beyond, 0] - truth[beyond]) < 3 * missing[beyond]).all()
    assert (np.diff(missing[beyond]) > 0).all()


def test_whole_steps_move_noisy_objects_without_mixing_them() -> None:
    moved = move_objects(MEMBERS, AT, 0.1)
    np.testing.assert_allclose(moved.values[:, 2:], MEMBERS.values[:, :-2], atol=1e-12)
    np.testing.assert_allclose(moved.sigma[:, 2:], 0.1)
    assert np.isnan(moved.values[:, :2]).all()
    half = move_objects(MEMBERS, AT, 0.025)
    np.testing.assert_allclose(half.values[:, 1:], (MEMBERS.values[:, 1:] + MEMBERS.values[:, :-1]) / 2)
    np.testing.assert_allclose(half.sigma[:, 1:], 0.1 / np.sqrt(2))


@pytest.mark.parametrize("model", [QUICK, Template(), Instances(), Subclasses("template"), Auto()])
def test_evidence_is_the_mean_over_shifted_classes(model: ClassModel) -> None:
    plain = fitted(model)
    found = Shift(0.1).wrap(plain, MEMBERS).log_evidence(OBJECTS)
    nodes, log_weights = even_nodes(256)
    terms = [plain.moved(AT, 0.1 * node).log_evidence(OBJECTS) for node in nodes]
    np.testing.assert_allclose(found, logsumexp(np.stack(terms, 1) + log_weights, axis=1), atol=0.02)
    assert (found > plain.log_evidence(OBJECTS)).any()


def test_a_parametric_class_is_asked_at_other_coordinates() -> None:
    def sine(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.sin(theta[0] * at)

    plain = fitted(Parametric(sine, [norm(5, 1e-6)]))
    found = Shift(0.05, "gaussian").wrap(plain, MEMBERS).log_evidence(OBJECTS)
    s = np.linspace(-0.25, 0.25, 4001)
    density = norm.logpdf(OBJECTS.values[:, None], np.sin(5 * (AT - s[:, None])), 0.1).sum(axis=2)
    expected = logsumexp(density + norm.logpdf(s, 0, 0.05), axis=1) + np.log(s[1] - s[0])
    np.testing.assert_allclose(found, expected, atol=0.01)


@pytest.mark.parametrize("model", [QUICK, Template(), Instances(), Calibration(0.1, of=QUICK)])
def test_laws_of_a_class_model(model: ClassModel) -> None:
    rng = np.random.default_rng(3)
    objects = OBJECTS[:3]
    # Scaled objects lose their coordinates in the check.
    check_class_model(
        Shift(0.05, of=model), MEMBERS, objects, Gaussian(), rng, skip=["scaling"], tolerance=1e-4
    )


def test_no_width_changes_nothing() -> None:
    for model in (QUICK, Template(), Instances()):
        plain = fitted(model)
        wrapped = Shift(0.0).wrap(plain, MEMBERS)
        np.testing.assert_array_equal(wrapped.log_evidence(OBJECTS), plain.log_evidence(OBJECTS))
        np.testing.assert_array_equal(wrapped.leave_one_out(), plain.leave_one_out())
        assert plain.moved(AT, 0.0) is plain


def test_mistakes_are_named() -> None:
    bare = Measurements(MEMBERS.values, 0.1)
    with pytest.raises(ValueError, match="give `at`"):
        Shift(0.1, of=Template()).fit(bare, Gaussian(), RNG)
    with pytest.raises(ValueError, match="increasing order"):
        Shift(0.1, of=Template()).fit(Measurements(MEMBERS.values, 0.1, at=AT[::-1]), Gaussian(), RNG)
    with pytest.raises(ValueError, match="uniform, gaussian"):
        Shift(0.1, "flat")


@pytest.mark.parametrize("model", [Pointwise(), LinearModel(np.ones((21, 1)), [0.0], [1.0])])
def test_a_class_that_would_not_notice_a_shift_is_refused(model: ClassModel) -> None:
    with pytest.raises(ValueError, match=f"a Shift of {type(model).__name__} is not possible"):
        Shift(0.1, of=model).fit(MEMBERS, Gaussian(), RNG)
    assert np.isfinite(Shift(0.0, of=model).fit(MEMBERS, Gaussian(), RNG).log_evidence(OBJECTS)).all()


def test_nodes_integrate_what_they_are_for() -> None:
    for rows, count in groups(np.array([1.0, 50.0, 3000.0, np.inf])):
        assert rows.size and count in (16, 64, 1024)
    nodes, log_weights = normal_nodes(64)
    np.testing.assert_allclose(np.exp(log_weights) @ nodes**2, 1.0, atol=1e-4)
    nodes, log_weights = even_nodes(64)
    np.testing.assert_allclose(np.exp(log_weights) @ nodes**2, 1 / 3, atol=1e-3)


def shifted_members(seed: int, n: int) -> tuple[Measurements, np.ndarray]:
    rng = np.random.default_rng(seed)
    late = rng.uniform(-0.1, 0.1, n)
    truth = np.exp(-(((AT - late[:, None] - 0.5) / 0.12) ** 2))
    return Measurements(truth + 0.05 * rng.standard_normal(truth.shape), 0.05, at=AT), late


def test_alignment_finds_the_shifts_and_knows_their_errors() -> None:
    members, late = shifted_members(4, 150)
    nodes, log_weights = even_nodes(64)
    found = align(members, Gaussian(), 0.12 * nodes, log_weights)
    pull = (found.shift - (late - late.mean())) / found.error
    # A pull's scatter is one; 150 of them tell it to 1 / sqrt(300).
    assert 0.6 < pull.std() < 1 + 5 / np.sqrt(300)
    assert found.error.mean() < 0.02
    assert found.members.covariance.shape == (150, 21, 21)


def test_aligned_classes_are_narrower_and_their_objects_more_probable() -> None:
    members, _ = shifted_members(5, 150)
    new, _ = shifted_members(6, 100)
    rng = np.random.default_rng(0)
    smeared = Template().fit(members, Gaussian(), rng).log_evidence(new)
    aligned = Shift(0.12, align=True, of=Template()).fit(members, Gaussian(), rng)
    assert np.mean(aligned.log_evidence(new)) > np.mean(smeared) + 5
    assert np.isfinite(aligned.leave_one_out()).all()


def test_the_error_of_the_alignment_goes_along_the_slope() -> None:
    members, _ = shifted_members(7, 60)
    nodes, log_weights = even_nodes(64)
    found = align(members, Gaussian(), 0.12 * nodes, log_weights)
    covariance = found.members.covariance[0]
    # Points on one flank move together, those on two against each other, and one direction is all there is.
    assert covariance[8, 12] < 0 < covariance[8, 7]
    np.testing.assert_allclose(
        covariance[7, 12] * covariance[8, 13], covariance[7, 13] * covariance[8, 12], rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["printed", "released"])
def test_shifted_objects_are_told_apart_again(setting: str) -> None:
    data = curves(setting, 1000, 800, seed=7)
    shifted = spoiled_test(data, np.random.default_rng(1), shift=0.1)
    plain = BADACClassifier("population", anomaly="evidence", random_state=0)
    plain.fit(data.train, data.train_label)
    wrapped = BADACClassifier("population", anomaly="evidence", nuisance={"shift": 0.1}, random_state=0)
    wrapped.fit(data.train, data.train_label)
    unspoiled = np.mean(plain.predict(data.test) == data.test_label)
    assert np.mean(wrapped.predict(shifted) == data.test_label) > unspoiled - 0.01

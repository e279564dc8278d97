"""Laws that every registered class model, noise, anomaly model, hypothesis and nuisance keeps inside an estimator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from registered_cases import (
    CASES,
    FUNCTIONS,
    KINDS,
    LABEL,
    M,
    N,
    World,
    answers,
    at_home,
    estimator,
    home,
    made,
    registered,
)
from sklearn.base import clone

import badac
from badac import Measurements, registry

RNG = np.random.default_rng(5)
MEMBERS = RNG.permutation(N)
POINTS = tuple(RNG.permutation(M).tolist())
EVERY = pytest.mark.parametrize("name", CASES)
# Populations: they draw the folds that choose their rank, their shape and their tails.
POPULATIONS = (
    *("Population", "Auto", "Subclasses", "GaussianProcess", "IrregularPopulation"),
    *("Deviations", "Bump", "SmoothDeviation", "SomethingElse"),
)
EXCUSED = {
    "order of points": {"Shift": "needs coordinates in increasing order"},
    "order of classes": {"PerClass": "noise by the number of the class"},
}
"""Who does not keep a law, and why."""


def tolerance(name: str) -> float:
    # A process stops climbing by a part of its log evidence, which moves with the unit; Imputed draws its 50 fillings.
    return {"GaussianProcess": 0.1, "IrregularPopulation": 0.1, "Imputed": 0.1}.get(name, 1e-8)


def assert_close(found: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...], atol: float = 1e-8) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=atol)


def excuse(law: str, name: str) -> None:
    if name in EXCUSED[law]:
        pytest.skip(EXCUSED[law][name])


def test_everything_registered_is_under_the_laws() -> None:
    """Nothing is left out: what is registered is a case, every case can be made, and excuses name who is there."""
    assert set(registry.KINDS) == {*KINDS, "estimator", "part"}
    assert set(CASES) == {entry.part for kind in KINDS for entry in registry.entries(kind) if entry.ours}
    for name, entry in CASES.items():
        assert isinstance(made(entry, World()), entry.cls), name
    for law, names in EXCUSED.items():
        assert set(names) <= set(CASES), law


def test_a_registered_class_that_cannot_be_made_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unheard:
        def __init__(self, width: float) -> None:
            self.width = width

    Unheard.__module__ = "badac.unheard"
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    registry.registered("nuisance")(Unheard)
    with pytest.raises(AssertionError, match="Unheard is registered and needs arguments: add it to MADE"):
        made(registered("nuisance")["Unheard"], World())


@EVERY
def test_save_and_load_is_the_identity(name: str, tmp_path: Path) -> None:
    model, new, expected = at_home(name)
    badac.save(model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac", functions=FUNCTIONS)
    for one, other in zip(answers(again, new), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    badac.save(again, tmp_path / "again.badac")
    assert (tmp_path / "again.badac").read_bytes() == (tmp_path / "model.badac").read_bytes()


@EVERY
def test_a_clone_learns_the_same_with_two_threads(name: str) -> None:
    model, new, expected = at_home(name)
    twin = clone(model)
    assert not hasattr(twin, "classes_")
    twin.set_params(n_jobs=2).fit(home(name).objects(0), LABEL)
    assert_close(answers(twin, new), expected, atol=1e-9)


@EVERY
def test_objects_do_not_see_each_other(name: str) -> None:
    model, new, expected = at_home(name)
    alone = [answers(model, new[row]) for row in range(len(new))]
    assert_close(tuple(np.concatenate(column) for column in zip(*alone, strict=True)), expected)


@EVERY
def test_units_shift_the_evidence_and_change_no_answer(name: str) -> None:
    world = home(name, unit=1000.0)
    if world.counted:
        pytest.skip("counts have no unit")
    model, new, (evidence, proba, score) = at_home(name)
    scaled = estimator(name, world).fit(world.objects(0), LABEL)
    shift = new.observed.sum(axis=1) * np.log(world.unit)
    if model.anomaly_model_ is None:
        score = score + shift
    expected = (evidence - shift[:, None], proba, score)
    assert_close(answers(scaled, world.objects(1, 6)), expected, tolerance(name))


@EVERY
def test_the_order_of_members_does_not_matter(name: str) -> None:
    _, new, expected = at_home(name)
    objects = home(name).objects(0)
    model = estimator(name, home(name)).fit(objects[MEMBERS], LABEL[MEMBERS])
    assert_close(answers(model, new), expected, tolerance(name))


@EVERY
def test_the_order_of_points_does_not_matter(name: str) -> None:
    excuse("order of points", name)
    _, _, expected = at_home(name)
    # Where neighbouring points lend each other strength (badac.classes.population.smoothness), they must stay neighbours.
    world = home(name, order=tuple(reversed(range(M))) if name in POPULATIONS else POINTS)
    model = estimator(name, world).fit(world.objects(0), LABEL)
    assert_close(answers(model, world.objects(1, 6)), expected, tolerance(name))


@EVERY
def test_the_order_of_classes_does_not_matter(name: str) -> None:
    excuse("order of classes", name)
    _, new, expected = at_home(name)
    model = estimator(name, home(name)).fit(home(name).objects(0), 1 - LABEL)
    evidence, proba, score = answers(model, new)
    if name in POPULATIONS:
        # The classes draw from one generator, one after the other: the second one draws other folds than the first did.
        np.testing.assert_allclose(proba[:, ::-1], expected[1], atol=0.02)
        return
    assert_close((evidence[:, ::-1], proba[:, ::-1], score), expected, tolerance(name))


@EVERY
def test_a_missing_point_is_an_absent_one(name: str) -> None:
    """What stands in a gap does not matter, and an object of which nothing was measured is told by the prior alone."""
    model, new, _ = at_home(name)
    values, sigma = new.values.copy(), new.sigma.copy()
    values[:, 3] = np.nan
    gap = Measurements(values, new.sigma if new.has_errors else None, at=new.at)
    if new.has_errors:
        values[:, 3] = 1e6
        sigma[:, 3] = np.inf
        assert_close(answers(model, Measurements(values, sigma, at=new.at)), answers(model, gap), atol=0.0)
    nothing = Measurements(np.full(new.shape, np.nan), 1.0 if new.has_errors else None, at=new.at)
    evidence, proba, _ = answers(model, nothing)
    np.testing.assert_allclose(evidence, 0.0, atol=1e-9)
    np.testing.assert_allclose(proba, 0.5, atol=1e-9)

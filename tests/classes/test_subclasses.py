"""Subclasses: the right number by evidence, each a class model within a class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import badac
from badac import BADACClassifier, Measurements
from badac.checks import check_class_model
from badac.classes import Population, Subclasses, Template
from badac.classes.subclasses.gap import gap_evidence, single_peak
from badac.data.concatenation import concatenate
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.noise import Gaussian, Outliers
from populations import sines

AT = np.linspace(0.0, 1.0, 40)


def families(
    n: int, count: int, seed: int, *, sigma: float = 0.3, missing: float = 0.0
) -> tuple[Measurements, np.ndarray]:
    """Members of a few kinds of curves with a little scatter in each, and their kinds."""
    rng = np.random.default_rng(seed)

    def drawn(mean: float, sd: float) -> np.ndarray:
        return rng.normal(mean, sd, (n, 1))

    kinds = np.stack(
        [
            np.sin(drawn(5.0, 0.3) * AT),
            drawn(1.0, 0.1) * np.exp(-(((AT - drawn(0.5, 0.03)) / 0.15) ** 2)),
            np.sin(drawn(10.0, 0.3) * AT),
            drawn(-1.0, 0.1) + drawn(0.5, 0.1) * AT,
        ]
    )[:count]
    label = rng.integers(count, size=n)
    truth = kinds[label, np.arange(n)]
    values = truth + sigma * rng.standard_normal(truth.shape)
    values[rng.random(values.shape) < missing] = np.nan
    return Measurements(values, sigma, at=AT), label


def fit(members: Measurements, seed: int = 0, **parameters: object) -> Subclasses:
    return Subclasses(**parameters).fit(members, Gaussian(), np.random.default_rng(seed))


def test_laws_of_a_class_model() -> None:
    members, objects = sines(40, seed=1, m=8), sines(4, seed=2, m=8)
    check_class_model(Subclasses(), members, objects, Gaussian(), np.random.default_rng(0), tolerance=1e-5)


def test_laws_hold_for_several_subclasses() -> None:
    members = families(60, 2, seed=1)[0].points(slice(0, None, 2))
    objects = families(3, 2, seed=2)[0].points(slice(0, None, 2))
    assert fit(members).division.number == 2
    check_class_model(Subclasses(), members, objects, Gaussian(), np.random.default_rng(0), tolerance=1e-5)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_number_and_the_members_of_families(count: int) -> None:
    members, label = families(160, count, seed=3)
    model = fit(members)
    assert model.division.number == len(model.models) == count
    found = model.division.label
    # The same division, whatever the names: every pair (kind, subclass) that occurs is one to one.
    assert len({*zip(label.tolist(), found.tolist(), strict=True)}) == count
    assert (np.diff(model.weights) <= 0).all() and model.weights.sum() == pytest.approx(1.0)
    proba = model.subclass_proba(members)
    np.testing.assert_array_equal(proba.argmax(axis=1), found)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_gaps_and_noise_do_not_make_subclasses() -> None:
    rng = np.random.default_rng(4)
    truth = np.sin(rng.normal(5.0, 0.3, (200, 1)) * AT)
    sigma = 0.3 * np.exp(rng.normal(0.0, 0.8, (200, 1)))
    values = truth + sigma * rng.standard_normal(truth.shape)
    values[rng.random(values.shape) < 0.3] = np.nan
    values[::2, :20] = np.nan
    assert fit(Measurements(values, np.broadcast_to(sigma, values.shape), at=AT)).division.number == 1


def test_families_are_found_through_missing_points_and_bad_ones() -> None:
    members, label = families(160, 2, seed=5, missing=0.4)
    assert fit(members).division.number == 2
    rng = np.random.default_rng(6)
    more = np.where(rng.random(members.shape) < 0.1, 2.1 * rng.standard_normal(members.shape), 0.0)
    spoiled = Measurements(members.values + more, members.sigma, at=AT)
    noise = Outliers(0.1, 7.0)
    found = Subclasses().fit(spoiled, noise, np.random.default_rng(0)).division
    assert found.number == 2 and abs(np.corrcoef(label, found.label)[0, 1]) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["frequency", "amplitude", "place"])
def test_one_strongly_varying_parameter_is_one_class(kind: str) -> None:
    rng = np.random.default_rng(7)
    truth = {
        "frequency": lambda: np.sin(rng.normal(5.0, 2.0, (140, 1)) * AT),
        "amplitude": lambda: np.exp(rng.normal(0.0, 0.8, (140, 1))) * np.sin(5.0 * AT),
        "place": lambda: np.exp(-(((AT - rng.normal(0.5, 0.15, (140, 1))) / 0.1) ** 2)),
    }[kind]()
    assert fit(Measurements(truth + 0.3 * rng.standard_normal(truth.shape), 0.3, at=AT)).division.number == 1


def test_one_subclass_is_its_part() -> None:
    members, objects = families(60, 1, seed=8)[0], families(5, 1, seed=9)[0]
    for part, alone in (("population", Population()), ("template", Template())):
        model = fit(members, part=part)
        # The same random numbers as the part got: those after the division's.
        rng = np.random.default_rng(0)
        Subclasses("template").fit(members, Gaussian(), rng)
        expected = alone.fit(members, Gaussian(), rng)
        np.testing.assert_allclose(model.log_evidence(objects), expected.log_evidence(objects), atol=1e-9)
        np.testing.assert_allclose(model.leave_one_out(), expected.leave_one_out(), atol=1e-9)


def test_left_out_members_lose_what_one_member_is_worth() -> None:
    members = families(120, 3, seed=10)[0]
    model = fit(members, part="template")
    loss = model.log_evidence(members) - model.leave_one_out()
    # A template of 40 members, 40 points: a mean known to 1 / 40 of a variance at each.
    assert 0.0 < loss.mean() < 3.0


def test_templates_within_a_class_beat_one_template() -> None:
    members, objects = families(150, 3, seed=11)[0], families(100, 3, seed=12)[0]
    one = Template().fit(members, Gaussian(), np.random.default_rng(0))
    assert fit(members, part="template").log_evidence(objects).mean() > one.log_evidence(objects).mean() + 5.0


def test_the_estimator_uses_stores_and_explains_it(tmp_path: Path) -> None:
    mixed, _ = families(80, 2, seed=13)
    other = Measurements(np.random.default_rng(14).normal(0.0, 0.3, (40, AT.size)), 0.3, at=AT)
    both = concatenate([mixed, other])
    label = np.repeat(["mixed", "flat"], [80, 40])
    model = BADACClassifier(class_model="subclasses", random_state=0).fit(both, label)
    assert [part.division.number for part in model.class_models_] == [1, 2]
    assert (model.predict(both) == label).mean() > 0.95
    model.explain(both[:2])
    badac.save(model, tmp_path / "model.badac")
    again = badac.load(tmp_path / "model.badac")
    np.testing.assert_array_equal(again.predict_log_proba(both), model.predict_log_proba(both))


def test_gap_evidence_tells_two_heaps_from_one_ridge() -> None:
    rng = np.random.default_rng(15)
    mixture = Mixture(
        np.array([0.5, 0.5]), np.array([[-3.0, 0.0], [3.0, 0.0]]), np.tile(np.eye(2), (2, 1, 1))
    )

    def latent(position: np.ndarray) -> LatentLikelihood:
        """Positions measured to 0.3."""
        seen = position + 0.3 * rng.standard_normal(position.shape)
        precision = np.tile([1 / 0.09, 0.0, 1 / 0.09], (len(position), 1))
        return LatentLikelihood(precision, seen / 0.09, np.zeros(len(position)))

    side = np.where(np.arange(100) % 2, 3.0, -3.0)
    heaps = np.column_stack([side + rng.standard_normal(100), rng.standard_normal(100)])
    ridge = np.column_stack([rng.uniform(-5.0, 5.0, 100), rng.standard_normal(100)])
    assert gap_evidence(latent(heaps), mixture, 0, 1) > 10.0
    assert gap_evidence(latent(ridge), mixture, 0, 1) < 5.0


def test_the_single_peak_is_the_best_one() -> None:
    count = np.array([1.0, 5.0, 3.0, 4.0, 9.0, 2.0, 3.0])
    weights = single_peak(count)
    # By hand: 5, 3 and 4 must not fall before the peak at 9, and 2, 3 pool after it.
    np.testing.assert_allclose(weights * count.sum(), [1.0, 4.0, 4.0, 4.0, 9.0, 2.5, 2.5])


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="population, template: got 'gp'"):
        Subclasses(part="gp")

from dataclasses import replace

import numpy as np
import pytest

from badac.classes.population.rank import choose_rank
from badac.latent.factor import (
    Climb,
    all_statistics,
    drawn_together,
    expectation_maximisation,
    log_evidence,
    maximise,
    statistics,
)
from badac.latent.likelihood import project
from badac.latent.moments import Spectrum, leading_eigenvectors
from badac.training import TrainingScales
from populations import gaussian


def test_sums_of_blocks_are_the_sum_of_all() -> None:
    members = gaussian(60, seed=1, psi=0.02, missing=0.1)[0]
    factor = Spectrum.of(members, TrainingScales.of(members), 2).factor(2)
    whole = statistics(members, factor)
    parts = statistics(members[:25], factor) + statistics(members[25:], factor)
    for name, total in vars(whole).items():
        np.testing.assert_allclose(getattr(parts, name), total, rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_evidence_in_the_sums_is_the_members_own() -> None:
    members, *truth = gaussian(40, seed=2, psi=0.02, missing=0.2)
    factor = Spectrum.of(members, TrainingScales.of(members), 2).factor(2)
    expected = project(members, factor.mean, factor.factors, factor.psi).gaussian_log_evidence().sum()
    assert all_statistics(members, factor).log_evidence == pytest.approx(expected, rel=1e-10)
    assert len(truth) == 3


@pytest.mark.parametrize("max_steps", [1, 2, 4])
def test_the_last_step_asks_for_nothing_but_the_evidence(max_steps: int) -> None:
    """The same model as of steps that make all sums; the evidence differs by the order of its sum alone."""
    members = gaussian(300, seed=3, psi=0.05, missing=0.2)[0]
    scales = TrainingScales.of(members)
    start = Spectrum.of(members[:12], scales, 2).factor(2)
    together = all_statistics(members, start).log_evidence
    assert log_evidence(members, start) == pytest.approx(together, rel=1e-12)
    climb = Climb.begin(start)
    for _ in range(max_steps):
        climb = climb.step(all_statistics(members, climb.factor), scales, -np.inf)
    found = expectation_maximisation(members, start, scales, max_steps=max_steps, tolerance=-np.inf)
    for name in ("mean", "factors", "psi"):
        np.testing.assert_array_equal(getattr(found, name), getattr(climb.best, name))
    assert expectation_maximisation(members, start, scales, max_steps=0) is start


def test_an_em_ends_where_its_next_gain_is_foretold_to_be_nothing() -> None:
    members = gaussian(300, seed=3, psi=0.1)[0]
    scales, tolerance = TrainingScales.of(members), 0.01
    start, asked = Spectrum.of(members[:30], scales, 2).factor(2), [0, 0]
    found = []
    for way, foretold in enumerate((True, False)):
        climb = Climb.begin(start)
        while not climb.arrived:
            climb = climb.step(all_statistics(members, climb.factor), scales, tolerance)
            climb = climb if foretold else replace(climb, gain=np.inf)
            asked[way] += 1
        found.append(log_evidence(members, climb.best) / members.n_objects)
    assert asked[0] < asked[1]
    assert found[0] > found[1] - tolerance


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_steps_from_a_poor_start_gain_evidence(missing: float) -> None:
    members = gaussian(300, seed=3, psi=0.05, missing=missing)[0]
    scales = TrainingScales.of(members)
    poor = Spectrum.of(members[:12], scales, 2).factor(2)
    before = all_statistics(members, poor).log_evidence
    after = all_statistics(members, maximise(all_statistics(members, poor), poor, scales)).log_evidence
    assert after > before


@pytest.mark.parametrize("psi", [0.0, 0.1])
def test_learns_the_population_through_the_noise(psi: float) -> None:
    n = 2000
    members, mean, factors, truth = gaussian(n, seed=4, psi=psi)
    scales = TrainingScales.of(members)
    found = expectation_maximisation(members, Spectrum.of(members, scales, 2).factor(2), scales)
    covariance = factors @ factors.T
    # Five standard errors of a mean and of a covariance of variance up to 1.6 (factors, psi and noise).
    assert np.abs(found.mean - mean).max() < 5 * np.sqrt(1.7 / n)
    assert np.abs(found.factors @ found.factors.T - covariance).max() < 5 * np.sqrt(2.0 / n) * 1.7
    assert np.abs(found.psi - truth).max() < 5 * np.sqrt(2.0 / n) * (0.15 + psi)


def test_estimates_that_scatter_by_chance_are_drawn_together() -> None:
    rng = np.random.default_rng(5)
    chance = 3.0 + 0.1 * rng.standard_normal(50)
    drawn = drawn_together(chance, np.full(50, 0.01))
    assert drawn.std() < 0.5 * chance.std()
    real = 3.0 + rng.standard_normal(50)
    np.testing.assert_allclose(drawn_together(real, np.full(50, 1e-4)), real, atol=0.01)


def test_rank_by_held_out_evidence() -> None:
    members = gaussian(600, seed=6, rank=3, psi=0.02)[0]
    rank, floor, evidence = choose_rank(members, TrainingScales.of(members), np.random.default_rng(0))
    assert rank == 3
    assert not floor.any()
    assert evidence[3] > evidence[0]


@pytest.mark.parametrize("m", [40, 400])
def test_leading_eigenvectors(m: int) -> None:
    rng = np.random.default_rng(7)
    axes = np.linalg.qr(rng.standard_normal((m, m)))[0]
    values = np.concatenate([[50.0, 20.0, 8.0], rng.uniform(-1.0, 1.0, m - 3)])
    found, vectors, _ = leading_eigenvectors((axes * values) @ axes.T, 3)
    np.testing.assert_allclose(found, values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(vectors * axes[:, :3], axis=0)), 1.0, rtol=1e-8)

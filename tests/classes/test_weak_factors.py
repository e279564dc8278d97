"""Factors that no member says anything about leave; those that a few members tell stay."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.classes import Population
from badac.classes.population.weak_factors import without_weak_factors
from badac.latent import Factor
from badac.noise import Gaussian

M = 12


def factors(rng: np.random.Generator, *sizes: float) -> Factor:
    """Factors of these sizes, beside errors of 0.1, along axes that are at right angles."""
    axes = np.linalg.qr(rng.standard_normal((M, len(sizes))))[0]
    return Factor(rng.standard_normal(M), axes * np.array(sizes), np.full(M, 1e-6))


def members(rng: np.random.Generator, n: int = 300, sigma: float = 0.1) -> Measurements:
    return Measurements(rng.standard_normal((n, M)), sigma)


def test_evidence_is_the_same_without_them(rng: np.random.Generator) -> None:
    factor, some = factors(rng, 1.0, 0.5, 2e-3), members(rng)
    found = without_weak_factors(factor, np.full(M, 0.01), some)
    assert found.rank == 2
    difference = found.project(some).gaussian_log_evidence() - factor.project(some).gaussian_log_evidence()
    # Precision (2e-3 / 0.1)^2 = 4e-4: evidence moves by half of it times chi^2 of one dimension less one. Chi^2 of these,
    # drawn without the class, is (1 / 0.1)^2 on average, at most 14 times that among 300.
    assert np.abs(difference).max() < 0.5 * 4e-4 * 100.0 * 20.0
    # The variance of what has left is in psi.
    assert np.allclose(found.psi.sum() - factor.psi.sum(), (2e-3) ** 2)


def test_covariance_of_true_values_keeps_its_diagonal(rng: np.random.Generator) -> None:
    factor = factors(rng, 1.0, 1e-3, 1e-3, 0.3)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    mixed = Factor(factor.mean, factor.factors @ turn, factor.psi)  # the same class, along other axes
    found = without_weak_factors(mixed, np.full(M, 0.01), members(rng))
    assert found.rank == 2
    before, after = (np.sum(one.factors**2, axis=1) + one.psi for one in (factor, found))
    assert np.allclose(before, after)


def test_what_a_few_precise_members_tell_stays(rng: np.random.Generator) -> None:
    factor, n = factors(rng, 1.0, 2e-3), 300
    sigma = np.full((n, M), 0.1)
    sigma[: n // 50] = 1e-3  # one in fifty
    precise = Measurements(rng.standard_normal((n, M)), sigma)
    assert without_weak_factors(factor, np.full(M, 0.01), precise).rank == 2


def test_one_factor_always_stays_and_strong_ones_are_as_they_were(rng: np.random.Generator) -> None:
    nothing = Factor(np.zeros(M), np.zeros((M, 3)), np.full(M, 0.1))
    assert without_weak_factors(nothing, np.full(M, 0.01), members(rng)).rank == 1
    strong = factors(rng, 1.0, 0.5)
    assert without_weak_factors(strong, np.full(M, 0.01), members(rng)) is strong


@pytest.mark.parametrize(("asked", "found"), [(None, 1), (4, 4)])
def test_a_number_of_factors_that_somebody_asked_for_is_kept(
    asked: int | None, found: int, rng: np.random.Generator
) -> None:
    x = np.linspace(0.0, 1.0, M)
    values = rng.standard_normal((200, 1)) * x + 0.1 * rng.standard_normal((200, M))
    model = Population(rank=asked).fit(Measurements(values, 0.1), Gaussian(), np.random.default_rng(0))
    assert model.factors is not None and model.density is not None and model.plan is not None
    assert model.factors.shape[1] == model.density.rank == found
    assert model.plan.all_factors == (asked is not None)


def test_what_an_em_may_bring_back_stays_before_it(rng: np.random.Generator) -> None:
    some = members(rng)
    # Precisions of 4e-4, a twentieth of what counts and less, and of 1.6e-3.
    for size, left in ((2e-3, 1), (4e-3, 2)):
        factor = factors(rng, 1.0, size)
        assert without_weak_factors(factor, np.full(M, 0.01), some).rank == 1
        assert without_weak_factors(factor, np.full(M, 0.01), some, before_em=True).rank == left

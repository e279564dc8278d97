"""Moments of few members at many points, which are never squared, beside those of the full matrix."""

import numpy as np
import pytest

from badac import Measurements
from badac.latent import moments as module
from badac.latent.moments import Gram, Spectrum, leading_eigenvectors, moments, strongest_eigenvectors
from badac.training import TrainingScales


def members(seed: int, n: int = 40, m: int = 200, own_errors: bool = False) -> Measurements:
    """Two factors; errors of each member, and of each point too if they are its own."""
    rng = np.random.default_rng(seed)
    factors = np.random.default_rng(seed + 1).standard_normal((2, m))
    sigma = rng.uniform(0.3, 0.6, (n, 1)) * np.ones(m)
    if own_errors:
        sigma = sigma * np.exp(1.5 * rng.standard_normal((n, m)))
    return Measurements(rng.standard_normal((n, 2)) @ factors + sigma * rng.standard_normal((n, m)), sigma)


def test_a_gram_is_the_matrix_that_it_stands_for() -> None:
    rng = np.random.default_rng(0)
    rows, diagonal = rng.standard_normal((5, 9)), rng.standard_normal(9)
    block = rng.standard_normal((9, 3))
    np.testing.assert_allclose(Gram(rows, diagonal) @ block, (rows.T @ rows + np.diag(diagonal)) @ block)


def test_leading_eigenvectors_of_a_gram_are_those_of_its_matrix() -> None:
    rng = np.random.default_rng(1)
    rows, diagonal = rng.standard_normal((6, 150)) * np.arange(1, 7)[:, None], rng.uniform(0.0, 0.1, 150)
    found = leading_eigenvectors(Gram(rows, diagonal), 4)
    values, vectors = np.linalg.eigh(rows.T @ rows + np.diag(diagonal))
    np.testing.assert_allclose(found[0], values[:-5:-1], rtol=1e-6)
    np.testing.assert_allclose(np.abs((found[1] * vectors[:, :-5:-1]).sum(axis=0)), 1.0, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_members_at_many_points_have_the_factors_of_the_full_matrix(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = members(seed)
    scales = TrainingScales.of(own)
    few = moments(own, scales)
    assert few.residuals is not None and few.covariance is None
    short = Spectrum.of(own, scales, 5).factor(2)
    monkeypatch.setattr(module, "_FEW_MEMBERS", 0.0)
    full = moments(own, scales)
    assert full.residuals is None and full.covariance is not None
    for name in ("mean", "variance", "noise", "count"):
        np.testing.assert_allclose(getattr(few, name), getattr(full, name), rtol=1e-12)
    assert few.residuals is not None
    np.testing.assert_allclose(
        (few.residuals.T @ few.residuals)[0, 1:], full.covariance[0, 1:], atol=0.05 * full.variance.max()
    )
    long = Spectrum.of(own, scales, 5).factor(2)
    covariance = [each.factors @ each.factors.T + np.diag(each.psi) for each in (short, long)]
    np.testing.assert_allclose(*covariance, atol=0.03 * np.abs(covariance[1]).max())


def test_wild_errors_of_each_point_have_the_full_matrix() -> None:
    own = members(3, own_errors=True)
    assert moments(own, TrainingScales.of(own)).residuals is None


@pytest.mark.parametrize("n", [150, 600])  # fewer than a third of the points, and more
def test_errors_that_differ_by_chance_from_point_to_point_need_no_matrix(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n)
    x = np.linspace(0.0, 1.0, 600)
    # Where the spread is small beside the errors, the weights of members differ by a factor of ten.
    truth = rng.standard_normal((n, 1)) * np.sin(6.0 * x) + 0.3 * rng.standard_normal((n, 1)) * x
    sigma = rng.uniform(0.05, 0.15, (n, 600))
    own = Measurements(truth + sigma * rng.standard_normal((n, 600)), sigma)
    scales = TrainingScales.of(own)
    assert moments(own, scales).residuals is not None
    short = Spectrum.of(own, scales, 5).factor(2)
    monkeypatch.setattr(module, "pair_sizes", lambda weight: None)
    assert moments(own, scales).residuals is None
    long = Spectrum.of(own, scales, 5).factor(2)
    np.testing.assert_allclose(
        short.factors @ short.factors.T, long.factors @ long.factors.T, atol=0.01 * long.factors.max() ** 2
    )
    np.testing.assert_allclose(short.psi, long.psi, atol=0.02 * sigma.mean() ** 2)


def test_members_that_know_different_points_have_the_full_matrix() -> None:
    rng = np.random.default_rng(4)
    values = rng.standard_normal((100, 1)) * np.ones(600) + 0.1 * rng.standard_normal((100, 600))
    values[:50, :300] = values[50:, 300:] = np.nan
    own = Measurements(values, 0.1)
    assert moments(own, TrainingScales.of(own)).residuals is None


def test_a_model_without_factors_needs_no_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Measurements(np.random.default_rng(0).standard_normal((30, 6)), 0.1)
    scales = TrainingScales.of(members)
    usual = Spectrum.of(members, scales, 2).factor(0)
    monkeypatch.setattr(module, "leading_eigenvectors", None)
    alone = Spectrum.of(members, scales, 0).factor(0)
    for name in ("mean", "factors", "psi"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(usual, name))


def test_strongest_eigenvectors_are_those_of_all() -> None:
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((100, 100)))[0]
    values = np.concatenate([[90.0, 40.0, 7.0, 2.0], np.linspace(0.2, -0.9, 96)])
    found, vectors = strongest_eigenvectors((turn * values) @ turn.T)
    np.testing.assert_allclose(found[:3], values[:3], rtol=1e-6)
    assert abs(found[3] - 2.0) < 0.05
    np.testing.assert_allclose(np.abs(vectors[:, :3].T @ turn[:, :3]), np.eye(3), atol=1e-3)
    again, _ = strongest_eigenvectors((turn * values) @ turn.T, vectors)
    assert abs(again[3] - 2.0) <= abs(found[3] - 2.0)


@pytest.mark.parametrize("rank", [2, 14])
def test_rough_rounds_give_the_factors_of_exact_ones(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(rank)
    factors = rng.standard_normal((80, rank))
    members = Measurements(
        rng.standard_normal((700, rank)) @ factors.T + 0.5 * rng.standard_normal((700, 80)), 0.5
    )
    scales = TrainingScales.of(members)
    rough = Spectrum.of(members, scales, rank)
    monkeypatch.setattr("badac.latent.moments._ROUGH_FROM", 1000)
    exact = Spectrum.of(members, scales, rank)
    np.testing.assert_allclose(
        rough.factors @ rough.factors.T, exact.factors @ exact.factors.T, rtol=1e-5, atol=1e-5
    )

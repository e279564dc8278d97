"""A class at points of their own as low rank plus diagonal: its dense twin, and what EM learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from badac import Measurements
from badac.latent.band_factors import BandFactors
from badac.latent.band_sums import KindsOfBands
from badac.latent.basis import Basis
from badac.latent.fit_band_factors import FactorLearner, log_evidence
from badac.latent.hyperparameters import Extent
from badac.latent.process import FactorProcess


def curves(n: int, seed: int, bands: int = 2) -> Measurements:
    """A hump whose height is random and the same in all bands."""
    rng = np.random.default_rng(seed)
    at, band = rng.random((n, 24)), rng.integers(0, bands, (n, 24))
    height = 1.0 + 0.3 * rng.standard_normal((n, 1))
    values = height * np.exp(-0.5 * ((at - 0.5) / 0.15) ** 2) + 0.2 * band
    values[rng.random(values.shape) < 0.2] = np.nan
    return Measurements(values + 0.05 * rng.standard_normal(values.shape), 0.05, at=at, band=band)


def learner(n_knots: int = 8) -> FactorLearner:
    basis = Basis.over(0.0, 1.0, n_knots, n_bands=2)
    return FactorLearner(basis, 0.4, Extent(0.5, 1.0), np.random.default_rng(0))


def test_it_agrees_with_whole_covariances_at_every_width() -> None:
    learned = learner().learn(curves(40, 0), 2)
    process, curve, factors = learned.as_process("matern32", 1.0, 0.2)
    back = BandFactors.of_process(process, curve, factors)
    assert back is not None
    new = curves(9, 1)
    for width, found in zip((1.0, 4.0), back.project_objects(new, (1.0, 4.0)), strict=True):
        wide = replace(process, psi=width * process.psi, factors=np.sqrt(width) * process.factors)
        expected = FactorProcess(wide, curve, factors).project(new)
        np.testing.assert_allclose(found.precision, expected.precision, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.shift, expected.shift, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.offset, expected.offset, rtol=1e-7, atol=1e-6)


def test_a_process_with_a_kernel_is_not_low_rank() -> None:
    process, curve, factors = learner().learn(curves(20, 0), 1).as_process("matern32", 1.0, 0.2)
    assert BandFactors.of_process(replace(process, bands=np.eye(2)), curve, factors) is None


def test_the_one_way_to_deviate_is_found() -> None:
    members, new = curves(150, 2), curves(150, 3)
    one = learner()
    learned = one.learn(members, "learn")
    assert 1 <= learned.rank <= 4
    single = one.learn(members, 1)
    # More factors than there are cost new objects next to nothing.
    assert log_evidence(learned, new).mean() > log_evidence(single, new).mean() - 0.3
    none = one.learn(members, 0)
    assert log_evidence(learned, new).mean() > log_evidence(none, new).mean() + 1.0
    # The factor is the hump itself, as high as heights scatter, in both bands.
    peak = one.basis.of_one_band(np.array([0.5]))[0]
    spread = np.sqrt(((peak @ learned.factors) ** 2).sum(axis=1))
    np.testing.assert_allclose(spread, 0.3, rtol=0.35)
    # What is left is the noise that the error bars tell of.
    assert (np.sqrt(learned.psi) < 0.04).all()


def test_threads_and_blocks_change_nothing() -> None:
    learned = learner().learn(curves(30, 4), 1)
    new = curves(600, 5)
    alone = learned.project_objects(new)[0]
    together = learned.project_objects(new, n_threads=3)[0]
    np.testing.assert_array_equal(alone.shift, together.shift)
    np.testing.assert_array_equal(learned.project_objects(new[590:])[0].offset, alone.offset[590:])


def test_members_far_from_the_start_of_a_fit_are_learned() -> None:
    """A class that a fit starts far away from: its positions lie beyond the prior, and their spread stays positive."""
    first = learner().learn(curves(30, 1), 2)
    far, along = curves(2, 2), 60.0 * first.factors[..., 0]
    one = learner()
    # Members are 60 standard deviations from where the step starts.
    here = replace(first, mean=first.mean - along)
    again = one._step(here, one.sums(far, KindsOfBands.of(far, one.basis), here))
    assert np.isfinite(again.mean).all() and np.isfinite(again.factors).all()


def with_numbers(n: int, seed: int) -> Measurements:
    """Curves with two numbers of each member beside them, in bands of their own; some members lack the second."""
    rng, one = np.random.default_rng(seed), curves(n, seed)
    values = np.column_stack([one.values, rng.normal(0.5, 0.2, (n, 2))])
    values[::5, -1] = np.nan
    band = np.column_stack([np.broadcast_to(one.band, one.shape), np.full(n, 2), np.full(n, 3)])
    at = np.column_stack([np.broadcast_to(one.at, one.shape), np.full((n, 2), 0.3)])
    return Measurements(values, np.full(values.shape, 0.05), at=at, band=band)


def learner_with_numbers() -> FactorLearner:
    basis = Basis.over(0.0, 1.0, 8, n_bands=4)
    return FactorLearner(basis, 0.4, Extent(0.5, 1.0), np.random.default_rng(0))


def test_bands_of_one_number_are_told_from_curves() -> None:
    members, basis = with_numbers(30, 0), learner_with_numbers().basis
    kinds = KindsOfBands.of(members, basis)
    assert kinds.curves.tolist() == [0, 1] and kinds.numbers.tolist() == [2, 3]
    np.testing.assert_allclose(kinds.features, basis.of_one_band(np.full(2, 0.3)))
    # A second place, or a second point of one member, makes a curve of it.
    at = np.array(members.at)
    at[3, -1] = 0.4
    moved = Measurements(members.values, members.sigma, at=at, band=members.band)
    assert KindsOfBands.of(moved, basis).numbers.tolist() == [2]
    band = np.array(members.band)
    band[3, -1] = 2
    assert KindsOfBands.of(
        Measurements(members.values, members.sigma, at=members.at, band=band), basis
    ).numbers.tolist() == [3]


def test_a_band_of_one_number_is_learned_as_the_curve_that_it_stands_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = with_numbers(40, 1)
    quick = learner_with_numbers().learn(members, 2)

    def all_curves(members: Measurements, basis: Basis) -> KindsOfBands:
        none = np.empty(0, dtype=np.int64)
        return KindsOfBands(np.arange(basis.n_bands), none, np.empty((0, len(basis.knots) + 1)))

    monkeypatch.setattr(KindsOfBands, "of", all_curves)
    slow = learner_with_numbers().learn(members, 2)
    np.testing.assert_allclose(quick.mean, slow.mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(quick.factors, slow.factors, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(quick.psi, slow.psi, rtol=1e-8)
    np.testing.assert_allclose(quick.precision, slow.precision, rtol=1e-8, atol=1e-6)


def test_objects_that_are_numbers_alone_are_learned() -> None:
    rng = np.random.default_rng(0)
    members = Measurements(rng.normal(0.5, 0.2, (20, 1)), 0.05, at=np.full((20, 1), 0.5))
    one = FactorLearner(Basis.over(0.0, 1.0, 4), 0.4, Extent(0.5, 1.0), rng).learn(members, 1)
    middle = one.basis.of_one_band(np.array([0.5]))[0] @ one.mean[0] + one.origin
    np.testing.assert_allclose(middle, members.values.mean(), atol=0.05)

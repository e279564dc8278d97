"""A class at points of their own as low rank plus diagonal: its dense twin, and what EM learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from badac import Measurements
from badac.latent.band_factors import BandFactors
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
    again = one._step(here, one.sums(far, here))
    assert np.isfinite(again.mean).all() and np.isfinite(again.factors).all()

"""The Gaussian process: definition, gradient, laws, missing points, bands, model files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import badac
from badac import BADACClassifier, Measurements
from badac.checks import check_class_model
from badac.classes import GaussianProcess, TrainingScales
from badac.classes.gp import learn_shares
from badac.latent.basis import Basis
from badac.latent.correlation import KERNELS, correlation
from badac.latent.fit_process import Learner, leave_one_out, log_evidence
from badac.latent.hyperparameters import Extent, climb, evidence, pack, prior, start, unpack
from badac.latent.process import Process, blocks, scaled
from badac.noise import Gaussian, Outliers

SCALES = Extent(1.0, 10.0)


def irregular(n: int, rng: np.random.Generator, shift: float = 0.0, m: int = 10) -> Measurements:
    """Sines of random amplitude at random times in two bands, with gaps."""
    at = rng.uniform(0.0, 10.0, (n, m))
    band = rng.integers(0, 2, (n, m))
    truth = np.sin(at + shift) * rng.normal(1.0, 0.3, (n, 1)) + 0.5 * band
    values = np.where(rng.random((n, m)) < 0.2, np.nan, truth + 0.1 * rng.standard_normal((n, m)))
    return Measurements(values, 0.1, at=at, band=band)


def example(kernel: str = "matern32", rank: int = 2) -> Process:
    basis = Basis.over(0.0, 10.0, 5, n_bands=2, period=10.0 if kernel == "periodic" else np.inf)
    blank = Process(basis, kernel, 10.0, 1.0, np.eye(2), np.ones(2), np.zeros((basis.size, 0)))
    factors = 0.2 * np.random.default_rng(4).standard_normal((basis.size, rank))
    return replace(start(blank, SCALES), factors=factors)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_correlations_with_the_stated_slope(kernel: str, rng: np.random.Generator) -> None:
    at = rng.uniform(0, 10, 30)
    lag = at[:, None] - at
    value, slope = correlation(kernel, lag, 1.3, 10.0)
    assert np.diagonal(value) == pytest.approx(1.0)
    assert np.linalg.eigvalsh(value).min() > -1e-10
    up, down = (correlation(kernel, lag, 1.3 * np.exp(h), 10.0)[0] for h in (1e-6, -1e-6))
    np.testing.assert_allclose(slope, (up - down) / 2e-6, atol=1e-8)


def test_periodic_kernel_and_basis_come_back_after_a_period() -> None:
    value, _ = correlation("periodic", np.array([0.0, 10.0, 3.0, 13.0]), 1.0, 10.0)
    assert value[1] == pytest.approx(1.0) and value[2] == pytest.approx(value[3])
    basis = Basis.over(0.0, 1.0, 6, period=1.0)
    np.testing.assert_allclose(basis(np.array([0.1, 0.9])), basis(np.array([1.1, -0.1])), atol=1e-9)


def test_unknown_kernel() -> None:
    with pytest.raises(ValueError, match="`kernel` must be one of"):
        correlation("linear", np.zeros(1), 1.0)


def test_the_basis_fits_a_smooth_curve() -> None:
    basis = Basis.over(0.0, 10.0, 15)
    at = np.linspace(0, 10, 60)
    coefficients = np.linalg.lstsq(basis(at), np.sin(at), rcond=None)[0]
    assert np.abs(basis(at) @ coefficients - np.sin(at)).max() < 0.02


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_of_the_evidence(kernel: str, rng: np.random.Generator) -> None:
    process, members = example(kernel), irregular(6, rng)
    packed = [(b, b.features(process.basis)) for b in blocks(members, process.basis)]
    precision = process.basis.prior_scale() ** -2.0
    vector = pack(process, SCALES)

    def value(x: np.ndarray) -> float:
        return evidence(unpack(x, process, SCALES), packed, 0.1, precision)[0]

    _, slopes = evidence(process, packed, 0.1, precision)
    step = 1e-5
    numeric = np.array(
        [(value(vector + step * e) - value(vector - step * e)) / (2 * step) for e in np.eye(vector.size)]
    )
    assert numeric[0] == pytest.approx(float(slopes["length"]), rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(numeric[4:6], 2 * process.psi * slopes["psi"], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        numeric[6:], (2 * slopes["basis"] @ process.factors).ravel(), rtol=1e-3, atol=1e-4
    )


def test_prior_gradient(rng: np.random.Generator) -> None:
    x = rng.standard_normal(12)
    numeric = [(prior(x + 1e-6 * e, 2)[0] - prior(x - 1e-6 * e, 2)[0]) / 2e-6 for e in np.eye(12)]
    np.testing.assert_allclose(prior(x, 2)[1], numeric, atol=1e-6)


def test_the_climb_climbs(rng: np.random.Generator) -> None:
    process = example()
    packed = [(b, b.features(process.basis)) for b in blocks(irregular(12, rng), process.basis)]
    precision = process.basis.prior_scale() ** -2.0
    best, _ = climb(process, packed, 0.0, precision, SCALES, max_steps=10)
    before, after = (evidence(p, packed, 0.0, precision)[0] for p in (process, best))
    assert after > before + 1.0


def learner(process: Process, rng: np.random.Generator) -> Learner:
    return Learner(process.basis, 0.2, process.basis.prior_scale() ** -2.0, SCALES, rng)


def test_evidence_is_the_multivariate_normal(rng: np.random.Generator) -> None:
    process, members, new = example(), irregular(8, rng), irregular(5, rng)
    curve = learner(process, rng).curve(members, process)
    found = log_evidence(new, process, curve)
    for row in range(5):
        seen = new.observed[row]
        at, band = new.at[row, seen], new.band[row, seen]
        near, _ = correlation(process.kernel, at[:, None] - at, process.length)
        features = process.basis(at, band)
        known = np.linalg.inv(curve.precision) + process.factors @ process.factors.T
        full = near * process.bands[np.ix_(band, band)] + features @ known @ features.T
        full += np.diag(process.psi[band] + new.sigma[row, seen] ** 2)
        expected = multivariate_normal(0.2 + features @ curve.coefficients, full)
        assert found[row] == pytest.approx(expected.logpdf(new.values[row, seen]), abs=1e-8)


@pytest.mark.parametrize("width", [1.0, 4.0])
def test_leave_one_out_is_exact_in_the_mean(width: float, rng: np.random.Generator) -> None:
    process, members = example(), irregular(9, rng)
    learn = learner(process, rng)
    found = leave_one_out(members, process, learn.curve(members, process), width)
    rest = learn.curve(members[np.arange(9) != 4], process)
    expected = float(log_evidence(members[4], scaled(process, width), rest)[0])
    assert found[4] == pytest.approx(expected, abs=1e-8)


def test_small_classes_leave_members_out_of_the_hyper_parameters(rng: np.random.Generator) -> None:
    members = irregular(24, rng)
    model = GaussianProcess(rank=3, n_knots=8, tails=False).fit(members, Gaussian(), rng)
    assert model.leave_one_out().mean() < model.log_evidence(members).mean()
    new = irregular(100, rng)
    # Honest: what members get is what new objects get, within three standard errors of the two means.
    ahead = model.leave_one_out().mean() - model.log_evidence(new).mean()
    error = np.hypot(model.leave_one_out().std() / 24**0.5, model.log_evidence(new).std() / 10)
    assert ahead < 3 * error


def test_shares_of_widths() -> None:
    rng = np.random.default_rng(8)
    wide = rng.random(400) < 0.25
    values = rng.standard_normal((400, 20)) * np.where(wide, 4.0, 1.0)[:, None]
    widths = np.array([1.0, 0.25, 4.0, 16.0])
    evidence = -0.5 * ((values**2).sum(axis=1)[:, None] / widths + 20 * np.log(widths))
    shares = np.exp(learn_shares(evidence))
    assert shares.sum() == pytest.approx(1.0)
    # 400 objects told apart for certain: binomial error 0.022.
    assert shares[3] == pytest.approx(wide.mean(), abs=0.01) and shares[0] == pytest.approx(0.75, abs=0.07)


def test_tails_forgive_a_member_far_off(rng: np.random.Generator) -> None:
    members = irregular(40, rng)
    far = Measurements(members.values[:8] * 4.0, 0.1, at=members.at[:8], band=members.band[:8])
    everyone = badac.data.concatenate([members[8:], far])
    with_tails = GaussianProcess(rank=1, n_knots=8).fit(everyone, Gaussian(), np.random.default_rng(1))
    without = GaussianProcess(rank=1, n_knots=8, tails=False).fit(
        everyone, Gaussian(), np.random.default_rng(1)
    )
    assert with_tails.leave_one_out().sum() > without.leave_one_out().sum()


def test_correlated_errors_are_used(rng: np.random.Generator) -> None:
    at = np.linspace(0, 1, 4)
    values = rng.standard_normal((12, 4))
    diagonal = Measurements(values, 0.3, at=at)
    full = Measurements(values, covariance=0.09 * np.eye(4), at=at)
    model = GaussianProcess(rank=0, n_knots=3).fit(diagonal, Gaussian(), rng)
    np.testing.assert_allclose(model.log_evidence(full), model.log_evidence(diagonal), atol=1e-9)
    tilted = Measurements(values, covariance=0.09 * (np.eye(4) + 0.5), at=at)
    assert np.abs(model.log_evidence(tilted) - model.log_evidence(diagonal)).max() > 0.01


def test_laws(rng: np.random.Generator) -> None:
    at = np.linspace(0, 10, 6)
    values = np.sin(at) * rng.normal(1, 0.3, (20, 1)) + 0.1 * rng.standard_normal((20, 6))
    data = Measurements(values, 0.1, at=at)
    # An iterated climb ends within its stopping rule, not at the same digit.
    names = check_class_model(
        GaussianProcess(rank=1, n_knots=5), data[:16], data[16:], Gaussian(), rng, tolerance=0.02
    )
    assert "a density integrates to one" in names


def test_order_of_points_and_padding_do_not_matter(rng: np.random.Generator) -> None:
    members, new = irregular(20, rng), irregular(6, rng)
    model = GaussianProcess(rank=0, n_knots=6).fit(members, Gaussian(), rng)
    order = rng.permutation(10)
    np.testing.assert_allclose(model.log_evidence(new.points(order)), model.log_evidence(new), atol=1e-8)
    padded = badac.data.concatenate([new, irregular(1, rng, m=25)])[:6]
    np.testing.assert_allclose(model.log_evidence(padded), model.log_evidence(new), atol=1e-8)


def test_irregular_classes_are_told_apart_and_stored(rng: np.random.Generator, tmp_path: Path) -> None:
    train = badac.data.concatenate([irregular(40, rng), irregular(40, rng, shift=1.5, m=14)])
    label = np.repeat(["early", "late"], 40)
    model = BADACClassifier(class_model="gp", anomaly="tophat", random_state=0).fit(train, label)
    new = badac.data.concatenate([irregular(50, rng), irregular(50, rng, shift=1.5)])
    truth = np.repeat(["early", "late"], 50)
    assert model.score(new, truth) > 0.9
    badac.save(model, tmp_path / "gp.badac")
    again = badac.load(tmp_path / "gp.badac")
    np.testing.assert_array_equal(again.log_evidence(new), model.log_evidence(new))


def test_rank_is_found(rng: np.random.Generator) -> None:
    at = rng.uniform(0, 10, (60, 12))
    truth = np.sin(at) + rng.standard_normal((60, 1)) * at / 5
    members = Measurements(truth + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    model = GaussianProcess(n_knots=8).fit(members, Gaussian(), rng)
    assert model.process is not None and model.process.factors.shape[1] >= 1
    slope = model.process.basis(np.array([0.0, 10.0])) @ model.process.factors
    spread = np.sqrt((slope**2).sum(axis=1))
    assert spread[1] == pytest.approx(2.0, rel=0.35) and spread[0] < 0.3


def test_what_is_refused(rng: np.random.Generator) -> None:
    members = irregular(9, rng)
    with pytest.raises(ValueError, match="takes Gaussian error bars only: got noise Outliers"):
        GaussianProcess().fit(members, Outliers(0.1, 5.0), rng)
    with pytest.raises(ValueError, match="`rank` must be"):
        GaussianProcess(rank=-1).fit(members, Gaussian(), rng)
    model = GaussianProcess(rank=0, n_knots=4).fit(members, Gaussian(), rng)
    strange = Measurements([[1.0, 2.0]], 0.1, at=[[1.0, 2.0]], band=[[0, 7]])
    with pytest.raises(ValueError, match="one that training objects had, 0 to 1: got 7 at object 0, point 1"):
        model.log_evidence(strange)


def test_a_class_that_lacks_a_band_still_answers(rng: np.random.Generator) -> None:
    members = irregular(20, rng)
    scales = TrainingScales.of(members)
    only = Measurements(
        np.where(members.band == 0, members.values, np.nan), 0.1, at=members.at, band=members.band
    )
    model = GaussianProcess(rank=0, n_knots=5).fit(only, Gaussian(), rng, scales)
    assert np.isfinite(model.log_evidence(members)).all()


def test_objects_with_one_point_or_none(rng: np.random.Generator) -> None:
    members = irregular(12, rng)
    values = np.full((2, 3), np.nan)
    values[0, 1] = 1.0
    few = Measurements(values, 0.1, at=np.zeros((2, 3)), band=np.zeros((2, 3)))
    model = GaussianProcess(rank=0, n_knots=5).fit(badac.data.concatenate([members, few]), Gaussian(), rng)
    found = model.log_evidence(few)
    assert np.isfinite(found[0]) and found[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "values", [np.zeros((20, 6)), np.ones((20, 6)) * np.arange(6), np.eye(6)[np.arange(20) % 2]]
)
def test_members_that_agree_to_the_last_digit_are_a_class(values: np.ndarray) -> None:
    members = Measurements(values)
    model = GaussianProcess().fit(members, Gaussian(), np.random.default_rng(0))
    assert np.isfinite(model.log_evidence(members)).all()

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2
from scipy.special import logsumexp

from badac.latent.kernel_density import BANDWIDTHS, KernelDensity
from badac.latent.likelihood import LatentLikelihood, project
from badac.latent.mixture import Mixture, _spread_out, averaged, deconvolve, logsumexp_rows, start_mixture
from badac.latent.mixture_weights import best_weights
from badac.latent.moments import Spectrum
from badac.latent.shape import Shape, choose_shape
from badac.training import TrainingScales
from populations import gaussian, sines


def latent_of(members, rank: int) -> LatentLikelihood:
    factor = Spectrum.of(members, TrainingScales.of(members), rank).factor(rank)
    return project(members, factor.mean, factor.factors, factor.psi)


def test_one_standard_component_is_the_gaussian() -> None:
    latent = latent_of(gaussian(50, seed=1, psi=0.1)[0], 2)
    np.testing.assert_allclose(
        Mixture.standard(2).log_evidence(latent), latent.gaussian_log_evidence(), rtol=1e-10
    )


def test_finds_two_groups_that_the_noise_blurs() -> None:
    # Positions at -2 and +2 with spread 0.3, each measured with noise of variance 1.
    rng = np.random.default_rng(2)
    n = 1500
    truth = np.where(rng.random(n) < 0.3, -2.0, 2.0) + 0.3 * rng.standard_normal(n)
    measured = truth + rng.standard_normal(n)
    latent = LatentLikelihood(np.ones((n, 1)), measured[:, None], np.zeros(n))
    found = deconvolve(latent, start_mixture(latent, 2, rng), max_steps=100, tolerance=1e-5)
    order = np.argsort(found.means[:, 0])
    # Standard errors: 0.012 of the weight, 1.04 / sqrt(450) = 0.05 of a mean, 0.07 of a variance; five of each.
    assert found.weights[order][0] == pytest.approx(0.3, abs=0.06)
    np.testing.assert_allclose(found.means[order, 0], [-2.0, 2.0], atol=0.25)
    assert found.covariances.max() < 0.09 + 0.35


def test_deconvolution_never_ends_below_its_start() -> None:
    latent = latent_of(sines(400, seed=3), 4)
    start = start_mixture(latent, 6, np.random.default_rng(0))
    end = deconvolve(latent, start)
    assert end.log_evidence(latent).mean() > start.log_evidence(latent).mean()
    assert end.weights.sum() == pytest.approx(1.0)
    assert np.linalg.eigvalsh(end.covariances).min() > 0


def test_more_components_than_positions() -> None:
    latent = latent_of(gaussian(5, seed=4)[0], 1)
    found = deconvolve(latent, start_mixture(latent, 4, np.random.default_rng(0)))
    assert np.isfinite(found.log_evidence(latent)).all()


def test_a_broad_component_reaches_far() -> None:
    narrow = Mixture.standard(1)
    far = LatentLikelihood(np.array([[100.0]]), np.array([[1000.0]]), np.zeros(1))
    assert narrow.with_broad(0.01, 3.0).log_evidence(far) > narrow.log_evidence(far) + 10.0


@pytest.mark.parametrize("rank", [1, 3])
def test_curves_are_the_mixture_they_stand_for(rank: int) -> None:
    latent = latent_of(sines(30, seed=5), rank)
    curves = KernelDensity.of(latent, np.random.default_rng(0))
    np.testing.assert_allclose(
        curves.log_evidence(latent), curves.as_mixture().log_evidence(latent), rtol=1e-9, atol=1e-8
    )


def test_every_bandwidth_keeps_mean_and_covariance_of_the_population() -> None:
    latent = latent_of(gaussian(3000, seed=6)[0], 2)
    curves = KernelDensity.of(latent, np.random.default_rng(0))
    centred = curves.positions - curves.positions.mean(axis=0)
    population = centred.T @ centred / len(centred) + curves.spread
    for h in BANDWIDTHS:
        spread = curves.spread + h * h * (np.eye(2) - curves.spread)
        total = (1 - h * h) * centred.T @ centred / len(centred) + spread
        # Exact if the population's covariance is the identity; it is to the sampling error of 2,000 curves.
        assert np.abs(total - population).max() < 5 * np.sqrt(2 / 2000)


def test_the_widest_bandwidth_is_the_template() -> None:
    latent = latent_of(gaussian(40, seed=7)[0], 2)
    curves = KernelDensity.of(latent, np.random.default_rng(0))
    widest = curves.log_evidence_by_bandwidth(latent)[:, BANDWIDTHS.index(1.0)]
    np.testing.assert_allclose(widest, latent.gaussian_log_evidence(), rtol=1e-9, atol=1e-9)


def test_leaving_a_curve_out() -> None:
    latent = latent_of(sines(6, seed=8), 2)
    curves = KernelDensity.of(latent, np.random.default_rng(0))
    found = curves.log_evidence_by_bandwidth(latent, skip=np.arange(6))
    others = KernelDensity(curves.positions[1:], curves.spread, curves.weights)
    np.testing.assert_allclose(found[0], others.log_evidence_by_bandwidth(latent[slice(0, 1)])[0], rtol=1e-9)


def test_best_weights_beat_even_ones() -> None:
    evidence = np.random.default_rng(9).normal(0.0, 3.0, (200, 3)) + np.array([2.0, 0.0, -1.0])
    weights = best_weights(evidence)
    even = logsumexp_rows(evidence - np.log(3.0)).sum()
    assert logsumexp_rows(evidence + np.log(weights)).sum() > even
    assert weights.sum() == pytest.approx(1.0)
    assert weights.argmax() == 0


def test_the_shape_follows_the_population() -> None:
    straight = latent_of(gaussian(600, seed=10)[0], 2)
    bent = latent_of(sines(600, seed=11), 4)
    rng = np.random.default_rng(0)
    chosen, tried = choose_shape(straight[slice(0, 400)], straight[slice(400, 600)], rng)
    assert chosen.kind == "gaussian"
    assert "mixture of 2" in tried
    assert choose_shape(bent[slice(0, 400)], bent[slice(400, 600)], rng)[0].kind != "gaussian"


def test_components_grow_with_the_members() -> None:
    assert Shape("mixture", 8).for_members(1500, 1000) == Shape("mixture", 10)
    assert Shape("mixture", 8).for_members(4000, 1000) == Shape("mixture", 16, copies=2)
    assert Shape("mixture", 32).for_members(10**6, 1000) == Shape("mixture", 40, copies=2)
    assert Shape("gaussian").for_members(10**6, 1000) == Shape("gaussian")


def test_an_average_of_mixtures_is_the_mean_of_their_densities() -> None:
    latent = latent_of(sines(40, seed=12), 2)
    parts = [start_mixture(latent, 3, np.random.default_rng(seed)) for seed in range(2)]
    each = np.stack([part.log_evidence(latent) for part in parts], axis=1)
    expected = logsumexp_rows(each) - np.log(2.0)
    np.testing.assert_allclose(averaged(parts).log_evidence(latent), expected, rtol=1e-10)
    assert averaged(parts[:1]) is parts[0]


@pytest.mark.parametrize("count", [1, 2, 9, 40])
def test_places_to_start_from_are_those_of_scipy(count: int) -> None:
    places = np.random.default_rng(3).standard_normal((400, 4))
    mine, theirs = np.random.default_rng(4), np.random.default_rng(4)
    found = kmeans2(places, _spread_out(places, count, mine), minit="matrix", iter=3)[0]
    np.testing.assert_array_equal(found, kmeans2(places, count, minit="++", rng=theirs, iter=3)[0])
    assert mine.random() == theirs.random()


@pytest.mark.parametrize("columns", [1, 3, 7, 8, 41])
def test_log_sums_of_rows(columns: int) -> None:
    terms = 50.0 * np.random.default_rng(columns).standard_normal((30, columns))
    terms[3], terms[4, 0] = -np.inf, -np.inf
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(logsumexp_rows(terms), logsumexp(terms, axis=1), rtol=1e-13)

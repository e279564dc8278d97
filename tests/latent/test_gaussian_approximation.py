"""Populations under noise that is not Gaussian, against integrals over the latent position taken by brute force."""

import numpy as np
import pytest
from scipy.special import logsumexp

from badac import Measurements
from badac.checks import check_class_model
from badac.classes.population.population import Population
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.noise import Binomial, Gaussian, Numeric, Outliers, Poisson, Student
from badac.noise.widths import log_density


def factor_model(m, rank, rng, level=0.0):
    at = np.linspace(0.0, 1.0, m)
    factors = np.stack([np.cos((k + 1) * 2.0 * at) for k in range(rank)], axis=1)
    return Factor(level + np.sin(3 * at), factors, np.full(m, 0.02))


def latent_grid(rank, step):
    """Points (G, rank) and log weights of a sum over N(0, I), fine against the posterior."""
    axis = np.arange(-5.0, 5.0 + step / 2, step)
    points = np.stack([g.ravel() for g in np.meshgrid(*([axis] * rank), indexing="ij")], axis=1)
    log_weight = -0.5 * (points**2).sum(axis=1)
    return points, log_weight - logsumexp(log_weight)


def brute_force(objects, factor, point_density):
    points, log_weight = latent_grid(factor.rank, 0.02 if factor.rank == 1 else 0.1)
    out = np.empty(objects.n_objects)
    for row in range(objects.n_objects):
        seen = objects.observed[row]
        centre = (factor.mean + points @ factor.factors.T)[:, seen]
        out[row] = logsumexp(
            log_weight + point_density(objects[row].points(seen), centre, factor.psi[seen]).sum(axis=1)
        )
    return out


def errors(noise, m, rank, seed=0):
    """Errors of the log evidence of 40 drawn objects."""
    rng = np.random.default_rng(seed)
    factor = factor_model(m, rank, rng)
    truth = factor.mean + rng.standard_normal((40, rank)) @ factor.factors.T
    truth = truth + np.sqrt(factor.psi) * rng.standard_normal(truth.shape)
    sigma = rng.uniform(0.2, 0.6, truth.shape)
    like = Measurements(np.where(rng.random(truth.shape) < 0.1, np.nan, 0.0), sigma)
    objects = Measurements(noise.draw(truth, like, rng), sigma)
    scales = noise.gaussian_scales()

    def density(one, centre, psi):
        return log_density(one.values - centre, np.broadcast_to(one.sigma, centre.shape), *scales, psi)

    return latent_likelihood(objects, factor, noise).gaussian_log_evidence() - brute_force(
        objects, factor, density
    )


@pytest.mark.parametrize("noise", [Outliers(0.2, 5.0), Student(3.0)])
def test_evidence_is_near_the_integral(noise):
    # With enough points to say where the object is: hundredths of a nat.
    many = errors(noise, 60, 1)
    assert np.abs(many).mean() < 0.03
    assert np.abs(many).max() < 0.2
    # With eight points, some of them bad, the posterior has several peaks now and then: larger errors, little bias.
    few = errors(noise, 8, 2)
    assert np.abs(few).mean() < 0.2
    assert abs(few.mean()) < 0.15


def test_one_width_is_the_gaussian_population():
    assert np.abs(errors(Outliers(0.0, 5.0), 8, 2)).max() < 1e-6
    assert np.abs(errors(Gaussian(scale=1.5), 8, 2)).max() < 1e-6


@pytest.mark.parametrize("level", [-1.0, 2.0])
def test_evidence_of_counts_is_near_the_integral(level):
    rng = np.random.default_rng(0)
    factor = factor_model(20, 1, rng, level)
    link = factor.mean + 0.5 * rng.standard_normal((40, 1)) @ factor.factors.T
    hermite, weight = np.polynomial.hermite_e.hermegauss(20)
    for noise, values in (
        (Poisson(), rng.poisson(np.exp(link))),
        (Binomial(10), rng.binomial(10, 1 / (1 + np.exp(-link)))),
    ):
        objects = Measurements(values.astype(float))

        def density(one, centre, psi, noise=noise):
            many = one[np.zeros(len(centre), dtype=int)]
            parts = [
                np.log(w / weight.sum()) + noise.log_likelihood(many, centre + x * np.sqrt(psi))
                for x, w in zip(hermite, weight, strict=True)
            ]
            return logsumexp(parts, axis=0)

        error = latent_likelihood(objects, factor, noise).gaussian_log_evidence() - brute_force(
            objects, factor, density
        )
        assert np.abs(error).mean() < 0.02
        assert np.abs(error).max() < 0.3


@pytest.mark.parametrize("noise", [Outliers(0.1, 5.0), Student(4.0)])
def test_population_keeps_the_laws_of_a_class(noise):
    rng = np.random.default_rng(3)
    truth = rng.standard_normal((70, 1)) * np.linspace(0.5, 1.5, 6)
    like = Measurements(np.zeros(truth.shape), 0.3)
    data = Measurements(noise.draw(truth, like, rng), 0.3)
    # The order of members changes what is held out while choosing. Of an object with a single point the Gaussian that
    # stands for a mixture of widths is a poor one: 3 % of the probability go missing, and five error bars out the log evidence
    # of Student-t is off by 0.8 (of whole objects it is within 0.3, above).
    skip = ("order of members", "order of members left out", "scaling", "a density integrates to one")
    skip += ("the noise that was given is used",) if isinstance(noise, Student) else ()
    check_class_model(Population(), data[:60], data[60:], noise, rng, skip=skip, tolerance=1e-6)


@pytest.mark.parametrize("noise", [Poisson(3.0), Binomial(20)])
def test_population_of_counts_keeps_the_laws_of_a_class(noise):
    rng = np.random.default_rng(3)
    link = rng.standard_normal((70, 1)) * np.linspace(0.2, 0.6, 6)
    truth = np.exp(link) if isinstance(noise, Poisson) else 1 / (1 + np.exp(-link))
    data = Measurements(noise.draw(truth, Measurements(np.zeros(truth.shape)), rng))
    skip = ("order of members", "order of members left out")
    check_class_model(Population(), data[:60], data[60:], noise, rng, skip=skip, tolerance=1e-6)


def laplace(value, truth, sigma):
    return -np.sqrt(2) * np.abs(value - truth) / sigma - np.log(np.sqrt(2) * sigma)


def gumbel(value, truth, sigma):
    # Skewed: a long tail to one side.
    u = (value - truth) / sigma + 0.5772
    return -u - np.exp(-u) - np.log(sigma)


@pytest.mark.parametrize("log_density", [laplace, gumbel])
@pytest.mark.parametrize("unit", [1.0, 1e5])
def test_evidence_under_a_density_of_ones_own_is_near_the_integral(log_density, unit):
    rng = np.random.default_rng(4)
    noise = Numeric(log_density, reach=40.0)
    factor = factor_model(20, 1, rng)
    truth = factor.mean + rng.standard_normal((40, 1)) @ factor.factors.T
    truth = truth + np.sqrt(factor.psi) * rng.standard_normal(truth.shape)
    sigma = rng.uniform(0.2, 0.6, truth.shape)
    drawn = noise.draw(truth, Measurements(np.zeros(truth.shape), sigma), rng)
    hermite, weight = np.polynomial.hermite_e.hermegauss(40)

    def density(one, centre, psi):
        eps = centre[..., None] + hermite * np.sqrt(psi)[:, None]
        parts = log_density(one.values[0][:, None], eps, one.sigma[0][:, None])
        return logsumexp(parts + np.log(weight / weight.sum()), axis=-1)

    expected = brute_force(Measurements(drawn, sigma), factor, density)
    scaled = Factor(unit * factor.mean, unit * factor.factors, unit**2 * factor.psi)
    latent = latent_likelihood(Measurements(unit * drawn, unit * sigma), scaled, noise)
    error = latent.gaussian_log_evidence() + 20 * np.log(unit) - expected
    # Five nodes for eps where the Laplace density has an edge: a hundredth of a nat a point.
    assert np.abs(error).mean() < 0.15
    assert np.abs(error).max() < 0.6


def test_population_under_a_density_of_ones_own():
    rng = np.random.default_rng(5)
    truth = rng.standard_normal((500, 1)) * np.linspace(0.5, 1.5, 8)
    data = Measurements(truth + 0.3 * rng.laplace(size=truth.shape) / np.sqrt(2), 0.3)
    given = Population(rank=1, shape="gaussian")
    given = given.fit(data[:200], Numeric(laplace, reach=40.0), np.random.default_rng(0))
    plain = Population(rank=1, shape="gaussian").fit(data[:200], Gaussian(), np.random.default_rng(0))
    gain = given.log_evidence(data[200:]) - plain.log_evidence(data[200:])
    # 300 objects of 8 points; the Laplace density is worth 0.07 nats a point against a Gaussian of the same width.
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))

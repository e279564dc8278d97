"""Parametric classes: the integral against quadrature, the Bayes limit with the true functions, any points and noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from badac import BADACClassifier, Measurements, load, save
from badac.checks import check_class_model
from badac.classes import LowSampleSizeWarning, Parametric
from badac.classes.parametric.importance import integrate
from badac.noise import Gaussian, Outliers, Poisson
from badac.noise.known_truth import log_likelihood
from badac.simulate import experiment
from reproduction.limits import bayes_limit, generating_log_evidence

AT = np.linspace(0, 1, 40)


def sine(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    (frequency,) = theta
    return np.sin(frequency * at)


def parabola(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
    a, b, c = theta
    return a * at**2 + b * at + c


SINE = Parametric(sine, [stats.norm(5, 2)])
PARABOLA = Parametric(parabola, [stats.norm(0.5, 0.2), stats.norm(0.5, 0.2), stats.norm(0, 0.2)])


def fitted(model: Parametric, objects: Measurements, noise: object = None) -> Parametric:
    return model.fit(objects, noise or Gaussian(), np.random.default_rng(0))


def by_quadrature(objects: Measurements, noise: object, prior: object, low: float, high: float) -> np.ndarray:
    grid = np.linspace(low, high, 20_001)
    own = np.where(np.isfinite(objects.at), objects.at, 0.0)
    terms = []
    for row in range(objects.n_objects):
        at = own[row] if own.ndim == 2 else own
        likelihood = log_likelihood(noise, objects[row], np.sin(grid[:, None] * at))[0]
        terms.append(logsumexp(likelihood + prior.logpdf(grid)) + np.log(grid[1] - grid[0]))
    return np.array(terms)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["printed", "released"])
def test_true_functions_and_priors_reach_the_bayes_limit(setting: str) -> None:
    data = experiment(1, setting, n_train=20, n_test=120, rng=np.random.default_rng(11))
    model = BADACClassifier(
        {0: SINE, 1: PARABOLA}, anomaly="evidence", priors="uniform", missingness="ignore", random_state=0
    ).fit(data.train, data.train_label)
    # Among them the anomalies and every object under the wrong class: far from the prior, and peaked.
    np.testing.assert_allclose(
        model.log_evidence(data.test), generating_log_evidence(data.test, data.recipe), atol=0.05
    )
    normal = ~data.is_anomaly
    accuracy = np.mean(model.predict(data.test[normal]) == data.test_label[normal])
    limit = bayes_limit(data)
    assert abs(accuracy - limit.accuracy) <= max(limit.accuracy_error, 1 / normal.sum())


def test_missing_points_and_points_of_their_own() -> None:
    rng = np.random.default_rng(1)
    at = np.sort(rng.uniform(0, 1, (6, 25)), axis=1)
    values = np.sin(rng.normal(5, 2, (6, 1)) * at) + 0.1 * rng.standard_normal(at.shape)
    values[rng.random(values.shape) < 0.2] = np.nan
    objects = Measurements(values, 0.1, at=at)
    expected = by_quadrature(objects, Gaussian(), stats.norm(5, 2), -15, 25)
    np.testing.assert_allclose(fitted(SINE, objects).log_evidence(objects), expected, atol=0.01)


def test_bad_points_and_a_prior_with_edges() -> None:
    rng = np.random.default_rng(2)
    values = np.sin(rng.uniform(2, 8, (8, 1)) * AT) + 0.1 * rng.standard_normal((8, 40))
    values[:, ::9] += 1.0
    objects, noise = Measurements(values, 0.1, at=AT), Outliers(0.2, 5.0)
    prior = stats.uniform(2, 6)
    expected = by_quadrature(objects, noise, prior, 2, 8)
    model = fitted(Parametric(sine, [prior]), objects, noise)
    np.testing.assert_allclose(model.log_evidence(objects), expected, atol=0.02)


def test_counts() -> None:
    rng = np.random.default_rng(3)

    def rate(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
        (height,) = theta
        return height * np.exp(-at)

    counts = Measurements(rng.poisson(rate(np.full((1, 5, 1), 6.0), AT)).astype(float), at=AT)
    prior = stats.gamma(3, scale=2)
    found = fitted(Parametric(rate, [prior]), counts, Poisson()).log_evidence(counts)
    grid = np.linspace(1e-3, 40, 8001)
    likelihood = log_likelihood(Poisson(), counts, grid[:, None] * np.exp(-AT))
    expected = logsumexp(likelihood + prior.logpdf(grid), axis=1) + np.log(grid[1] - grid[0])
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_two_peaks_are_both_found() -> None:
    # theta and -theta are the same curve: half of the evidence each.
    def even(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
        return theta[0] ** 2 * at

    objects = Measurements([4.0 * AT], 0.05, at=AT)
    prior = stats.norm(0, 2)
    grid = np.linspace(-8, 8, 80_001)
    likelihood = log_likelihood(Gaussian(), objects, grid[:, None] ** 2 * AT)[0]
    expected = logsumexp(likelihood + prior.logpdf(grid)) + np.log(grid[1] - grid[0])
    found = fitted(Parametric(even, [prior]), objects).integral(objects)
    assert abs(found.log_evidence[0] - expected) < 0.02
    assert found.covariance[0, 0, 0] == pytest.approx(1.0, rel=0.1)  # +-2 in units of the prior's 2


def test_laws_of_a_class_model() -> None:
    rng = np.random.default_rng(5)
    objects = Measurements(rng.normal(0, 0.5, (5, 8)), 0.3, at=np.linspace(0, 1, 8))
    # A formula has units of its own: scaled data are another class.
    check_class_model(SINE, objects, objects, Gaussian(), rng, skip=["scaling"])


def test_estimates_cover_the_truth() -> None:
    rng = np.random.default_rng(6)
    theta = np.column_stack([rng.normal(0.5, 0.2, 200), rng.normal(0.5, 0.2, 200), rng.normal(0, 0.2, 200)])
    truth = parabola(theta.T[..., None], AT)
    objects = Measurements(truth + 0.1 * rng.standard_normal(truth.shape), 0.1, at=AT)
    found = fitted(PARABOLA, objects).estimate(objects)
    pull = (found.values - theta) / found.sigma
    # 600 pulls, three of each object correlated: the error of their scatter is at most 1 / sqrt(2 * 200).
    assert abs(pull.std() - 1) < 4 / np.sqrt(400)


def test_a_sampler_and_its_warning() -> None:
    def prior(n: int, rng: np.random.Generator) -> np.ndarray:
        frequency = rng.normal(5, 2, n)
        return frequency[:, None]

    objects = Measurements([np.sin(5 * AT)], 0.5, at=AT)
    model = fitted(Parametric(sine, prior), objects)
    exact = fitted(SINE, objects).log_evidence(objects)
    size = model.integral(objects).effective_size[0]
    assert abs(model.log_evidence(objects)[0] - exact[0]) < 4 / np.sqrt(size)
    sharp = Measurements([np.sin(11.5 * AT)], 0.001, at=AT)
    with pytest.warns(LowSampleSizeWarning, match="1 of 1 objects"):
        model.log_evidence(sharp)


def test_scatter_of_a_class_that_follows_the_formula_roughly() -> None:
    objects = Measurements([np.sin(5 * AT)], 0.3, at=AT)
    wider = Measurements(objects.values, 0.5, at=AT)
    rough = fitted(Parametric(sine, [stats.norm(5, 2)], sigma_star=0.4), objects)
    np.testing.assert_allclose(
        rough.log_evidence(objects), fitted(SINE, wider).log_evidence(wider), rtol=1e-9
    )


def test_mistakes_are_named() -> None:
    objects = Measurements([np.sin(5 * AT)], 0.3, at=AT)
    with pytest.raises(ValueError, match="frozen scipy"):
        fitted(Parametric(sine, [5.0]), objects)
    with pytest.raises(ValueError, match="broadcast"):
        fitted(Parametric(lambda theta, at: np.zeros(3), [stats.norm()]), objects).log_evidence(objects)
    with pytest.raises(ValueError, match="finite values"):
        fitted(Parametric(lambda theta, at: np.inf + at * theta[0], [stats.norm()]), objects).log_evidence(
            objects
        )
    with pytest.raises(ValueError, match="none of them has"):
        BADACClassifier({"x": SINE}).fit([[0.0], [1.0]], ["a", "b"])


def test_integrate_a_gaussian_in_many_dimensions() -> None:
    rng = np.random.default_rng(8)
    centre = rng.normal(0, 1, (4, 6))

    def likelihood(rows: np.ndarray, points: np.ndarray) -> np.ndarray:
        points = np.broadcast_to(points, (len(rows), *points.shape[-2:]))
        return stats.norm.logpdf(points, centre[rows][:, None], 0.1).sum(axis=2)

    found = integrate(likelihood, (4, 6), n_prior=1024, n_refined=1024, block=3)
    expected = stats.norm.logpdf(centre, 0, np.sqrt(1.01)).sum(axis=1)
    np.testing.assert_allclose(found.log_evidence, expected, atol=0.05)
    assert (found.effective_size > 100).all()


def test_a_model_with_functions_is_stored_by_their_names(tmp_path: object) -> None:
    data = experiment(1, "released", n_train=12, n_test=6, n_points=20, rng=np.random.default_rng(0))
    model = BADACClassifier({0: SINE, 1: "template"}, anomaly="evidence").fit(data.train, data.train_label)
    save(model, tmp_path / "model.badac")
    with pytest.raises(ValueError, match=r"functions=\[sine\]"):
        load(tmp_path / "model.badac")
    again = load(tmp_path / "model.badac", functions=[sine])
    np.testing.assert_array_equal(again.log_evidence(data.test), model.log_evidence(data.test))
    nameless = BADACClassifier(
        {0: Parametric(lambda theta, at: theta[0] + at, [stats.norm()])}, anomaly="evidence"
    )
    with pytest.raises(TypeError, match="named functions"):
        save(nameless.fit(data.train, data.train_label), tmp_path / "other.badac")

"""Linear classes in closed form, and curves as coefficients with a covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from badac import Measurements
from badac.checks import check_class_model
from badac.classes import Expansion, LinearModel, Parametric, Population
from badac.noise import Correlated, Gaussian, Outliers

AT = np.linspace(0, 1, 12)
RNG = np.random.default_rng(0)


def quadratic(at: np.ndarray) -> np.ndarray:
    return np.stack([at**2, at, np.ones_like(at)], axis=-1)


MODEL = LinearModel(quadratic, [0.5, 0.5, 0.0], [0.2, 0.2, 0.2], sigma_star=0.05)
OBJECTS = Measurements(RNG.normal(0.5, 0.5, (6, 12)), RNG.uniform(0.1, 0.4, (6, 12)), at=AT)


def fitted(model: LinearModel, objects: Measurements = OBJECTS, noise: object = None) -> LinearModel:
    return model.fit(objects, noise or Gaussian(), np.random.default_rng(0))


def dense(objects: Measurements, extra: np.ndarray | float = 0.0) -> np.ndarray:
    shapes = quadratic(AT)
    return np.array(
        [
            stats.multivariate_normal(
                shapes @ [0.5, 0.5, 0.0],
                0.04 * shapes @ shapes.T + 0.05**2 * np.eye(12) + np.diag(s**2) + extra,
            ).logpdf(d)
            for d, s in zip(objects.values, objects.sigma, strict=True)
        ]
    )


def test_closed_form_is_the_gaussian_of_its_covariance() -> None:
    np.testing.assert_allclose(fitted(MODEL).log_evidence(OBJECTS), dense(OBJECTS), rtol=1e-9)
    added = 0.1 * np.ones((12, 12))
    found = fitted(MODEL, noise=Correlated(added)).log_evidence(OBJECTS)
    np.testing.assert_allclose(found, dense(OBJECTS, added), rtol=1e-9)


def test_points_of_their_own_are_the_same_points() -> None:
    own = Measurements(OBJECTS.values, OBJECTS.sigma, at=np.tile(AT, (6, 1)))
    np.testing.assert_allclose(
        fitted(MODEL).log_evidence(own), fitted(MODEL).log_evidence(OBJECTS), rtol=1e-10
    )
    with pytest.raises(ValueError, match="Parametric"):
        fitted(MODEL, own, Outliers(0.1, 5.0)).log_evidence(own)


def test_it_is_the_parametric_model_without_points() -> None:
    def curve(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
        a, b, c = theta
        return a * at**2 + b * at + c

    prior = [stats.norm(0.5, 0.2), stats.norm(0.5, 0.2), stats.norm(0, 0.2)]
    points = Parametric(curve, prior, sigma_star=0.05).fit(OBJECTS, Gaussian(), np.random.default_rng(0))
    np.testing.assert_allclose(points.log_evidence(OBJECTS), fitted(MODEL).log_evidence(OBJECTS), atol=0.03)
    np.testing.assert_allclose(
        points.estimate(OBJECTS).values, fitted(MODEL).estimate(OBJECTS).values, atol=0.03
    )


def test_laws_of_a_class_model() -> None:
    check_class_model(MODEL, OBJECTS, OBJECTS, Gaussian(), RNG, skip=["scaling"])


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match="standard deviations"):
        fitted(LinearModel(quadratic, [0.0, 0.0], [1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="`design` must give"):
        fitted(LinearModel(np.ones((5, 2)), [0.0, 0.0], [1.0, 1.0])).log_evidence(OBJECTS)


@pytest.mark.parametrize("n_points", [1, 2, 7, 16, 25])
def test_haar_is_orthonormal_on_any_grid(n_points: int) -> None:
    design = Expansion.haar(n_points).design
    np.testing.assert_allclose(design.T @ design, np.eye(n_points), atol=1e-12)


def test_coefficients_keep_the_curve_and_its_errors() -> None:
    basis = Expansion.haar(12, widest=1e4)
    found = basis.transform(OBJECTS)
    np.testing.assert_allclose(basis.curves(found.values), OBJECTS.values, atol=1e-6)
    back = basis.design @ found.covariance @ basis.design.T
    np.testing.assert_allclose(np.diagonal(back, axis1=1, axis2=2), OBJECTS.sigma**2, rtol=1e-6)


def test_a_gap_makes_coefficients_uncertain_and_nothing_else() -> None:
    values = np.array(OBJECTS.values)
    values[:, 3] = np.nan
    basis = Expansion.haar(12, widest=100.0)
    found = basis.transform(Measurements(values, OBJECTS.sigma))
    curve = basis.curves(found.values)
    np.testing.assert_allclose(np.delete(curve, 3, axis=1), np.delete(OBJECTS.values, 3, axis=1), atol=1e-3)
    spread = np.diagonal(basis.design @ found.covariance @ basis.design.T, axis1=1, axis2=2)
    assert (spread[:, 3] > 100).all() and (np.delete(spread, 3, axis=1) < 1).all()


def test_principal_components_through_the_noise() -> None:
    rng = np.random.default_rng(2)
    truth = rng.standard_normal((400, 2)) @ np.stack([np.sin(6 * AT), np.cos(6 * AT)])
    members = Measurements(truth + 0.2 * rng.standard_normal(truth.shape), 0.2)
    basis = Expansion.principal(members, 2)
    found = basis.transform(members)
    assert found.shape == (400, 2) and found.covariance.shape == (400, 2, 2)
    # Shrunk by no prior, the coefficients scatter by the population (one) and their own errors.
    np.testing.assert_allclose(
        found.values.var(axis=0), 1 + np.mean(found.sigma**2, axis=0), atol=4 * np.sqrt(2 / 400) * 1.1
    )
    model = Population().fit(found, Gaussian(), rng)
    assert np.isfinite(model.log_evidence(found)).all()


@pytest.mark.parametrize("own", [False, True])
def test_values_without_error_bars_need_a_width_of_the_class(own):
    at = np.linspace(0.0, 1.0, 5)
    exact = Measurements(np.stack([1.0 + at, 2.0 - at]), at=np.stack([at, at + 0.1]) if own else at)

    def evidence(sigma_star):
        model = LinearModel(lambda at: np.stack([np.ones_like(at), at], axis=-1), [0, 0], [3, 3], sigma_star)
        return model.fit(exact, Gaussian(), np.random.default_rng(0)).log_evidence(exact)

    with pytest.raises(ValueError, match="without error bars.*sigma_star > 0"):
        evidence(0.0)
    assert np.isfinite(evidence(0.1)).all()

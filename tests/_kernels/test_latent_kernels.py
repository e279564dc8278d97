"""The latent kernels: the definition against dense Gaussians, and what all of them make of odd input."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac import _kernels
from badac._kernels import latent


def problem(n: int, k: int, r: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1000 * r + n)
    wide = rng.standard_normal((n, r, r + 2))
    own = rng.standard_normal((k, r, r + 2))
    return {
        "precision": latent.pack(wide @ wide.transpose(0, 2, 1)),
        "shift": 3.0 * rng.standard_normal((n, r)),
        "component_precision": latent.pack(own @ own.transpose(0, 2, 1) + 0.1 * np.eye(r)),
        "component_shift": rng.standard_normal((k, r)),
    }


def test_unpack_undoes_pack() -> None:
    matrices = np.random.default_rng(0).standard_normal((4, 5, 5))
    matrices = matrices + matrices.transpose(0, 2, 1)
    np.testing.assert_array_equal(latent.unpack(latent.pack(matrices)), matrices)


def test_match_is_the_gaussian_convolution() -> None:
    # An object with precision A and shift b is, up to a constant, a measurement A^-1 b of z with covariance A^-1.
    rng = np.random.default_rng(3)
    precision, covariance = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[0.7, -0.2], [-0.2, 0.4]])
    mean, shift, weight = rng.standard_normal(2), rng.standard_normal(2), 0.25
    own = np.linalg.inv(covariance)
    constant = np.log(weight) - 0.5 * (mean @ own @ mean + np.linalg.slogdet(covariance)[1])
    found = latent.latent_log_match(
        latent.pack(precision[None]),
        shift[None],
        latent.Components(latent.pack(own[None]), (own @ mean)[None], np.array([constant])),
    )
    noise = np.linalg.inv(precision)
    measured = noise @ shift
    expected = np.log(weight) + multivariate_normal(mean, covariance + noise).logpdf(measured)
    likelihood_height = multivariate_normal(measured, noise).logpdf(measured) - 0.5 * shift @ measured
    assert found[0, 0] == pytest.approx(expected - likelihood_height, abs=1e-12)


def given_of(n: int, k: int, r: int) -> tuple[np.ndarray, np.ndarray, latent.Components]:
    arrays = problem(n, k, r)
    own = arrays["component_precision"], arrays["component_shift"], np.linspace(-1.0, 1.0, k)
    return arrays["precision"], arrays["shift"], latent.Components(*own)


def test_components_that_are_not_near_are_not_looked_at() -> None:
    given = given_of(6, 2, 3)
    near = np.array([[True, False]])
    evidence, (count, first, _, spread) = _kernels.latent_step(*given, latent.Near(near, refresh=False))
    np.testing.assert_allclose(evidence, latent.latent_log_match(*given)[:, 0], rtol=1e-10)
    assert count.tolist() == [6.0, 0.0]
    assert not first[1].any()
    assert not spread[1].any()


def test_a_missing_point_weighs_nothing() -> None:
    rng = np.random.default_rng(2)
    values, sigma = rng.standard_normal((2, 101)), rng.uniform(0.1, 2.0, (2, 101)) * 1e90
    gone = rng.random((2, 101)) < 0.3
    values[gone], sigma[gone] = np.nan, np.inf
    weight, scaled, offset = _kernels.weigh_points(values, sigma, np.zeros(101), np.zeros(101))
    assert not weight[gone].any()
    assert not scaled[gone].any()
    chi2 = np.where(gone, 0.0, (np.nan_to_num(values) / sigma) ** 2 + np.log(2.0 * np.pi * sigma**2))
    np.testing.assert_allclose(offset, np.nansum(chi2, axis=1), rtol=1e-12)


def test_leaving_a_member_out_costs_it_evidence() -> None:
    # Two members share one component: without it, each sees the other only.
    given = given_of(2, 1, 2)
    means = np.linalg.solve(latent.unpack(given[2].precision)[0], given[2].shift[0])[None]
    with_it = _kernels.latent_log_evidence(*given)
    assert (_kernels.latent_left_out(*given, means, np.array([2.0])) < with_it).all()


def test_no_objects() -> None:
    precision, shift, components = given_of(1, 2, 3)
    none = _kernels.latent_log_match(precision[:0], shift[:0], components)
    assert none.shape == (0, 2)

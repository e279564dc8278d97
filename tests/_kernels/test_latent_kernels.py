"""The latent kernels: the definition against dense Gaussians, and the compiled ones against the definition."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac import _kernels
from badac._kernels import latent

CASES = [(1, 1, 1), (5, 3, 2), (17, 4, 6), (9, 2, 12), (6, 3, 15), (4, 2, 33)]


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
        latent.pack(own[None]),
        (own @ mean)[None],
        np.array([constant]),
    )
    noise = np.linalg.inv(precision)
    measured = noise @ shift
    expected = np.log(weight) + multivariate_normal(mean, covariance + noise).logpdf(measured)
    likelihood_height = multivariate_normal(measured, noise).logpdf(measured) - 0.5 * shift @ measured
    assert found[0, 0] == pytest.approx(expected - likelihood_height, abs=1e-12)


@pytest.mark.parametrize(("n", "k", "r"), CASES)
def test_installed_kernels_agree_with_the_definition(n: int, k: int, r: int) -> None:
    arrays = problem(n, k, r)
    constant = np.linspace(-1.0, 1.0, k)
    found = _kernels.latent_log_match(**arrays, log_constant=constant, n_threads=2)
    expected = latent.latent_log_match(**arrays, log_constant=constant)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    share = np.random.default_rng(0).dirichlet(np.full(k, 0.3), n)
    for ours, definition in zip(
        _kernels.latent_sums(**arrays, responsibility=share, threshold=1e-3),
        latent.latent_sums(**arrays, responsibility=share, threshold=1e-3),
        strict=True,
    ):
        np.testing.assert_allclose(ours, definition, rtol=1e-9, atol=1e-10)


def test_pairs_below_the_threshold_are_left_out() -> None:
    arrays = problem(6, 2, 3)
    share = np.tile([1.0, 1e-6], (6, 1))
    count, first, _, spread = _kernels.latent_sums(**arrays, responsibility=share, threshold=1e-5)
    assert count.tolist() == [6.0, 0.0]
    assert not first[1].any()
    assert not spread[1].any()


def test_no_objects() -> None:
    arrays = problem(1, 2, 3)
    none = _kernels.latent_log_match(
        arrays["precision"][:0],
        arrays["shift"][:0],
        arrays["component_precision"],
        arrays["component_shift"],
        np.zeros(2),
    )
    assert none.shape == (0, 2)

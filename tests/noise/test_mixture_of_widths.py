"""Outliers and Student-t: mixtures of widths against brute-force integrals."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student_t

from badac import Measurements
from badac.noise import Gaussian, Outliers, Student
from badac.noise.student import scale_error
from badac.noise.widths import log_density

GRID = np.linspace(-300.0, 300.0, 600_001)
PAIRS = [(0.0, 1.0, 1.0), (0.7, 0.3, 0.5), (6.0, 1.0, 0.1), (30.0, 0.5, 1.0)]


def brute_force(density, residual, d_sigma, y_sigma):
    """Log of the integral over the truth of both densities, on a grid."""
    return np.log(np.sum(density(residual - GRID, d_sigma) * density(GRID, y_sigma)) * (GRID[1] - GRID[0]))


def match(noise, residual, d_sigma, y_sigma):
    return noise.log_match(Measurements([[residual]], d_sigma), Measurements([[0.0]], y_sigma))[0, 0]


@pytest.mark.parametrize("pair", PAIRS)
def test_outliers_are_the_convolution_of_two_mixtures(pair):
    def density(x, sigma):
        return 0.8 * norm.pdf(x, scale=sigma) + 0.2 * norm.pdf(x, scale=5 * sigma)

    assert match(Outliers(0.2, 5.0), *pair) == pytest.approx(brute_force(density, *pair), abs=1e-8)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("df", [2.0, 4.0, 30.0])
def test_student_is_the_convolution_of_two_student_densities(pair, df):
    def density(x, sigma):
        return student_t.pdf(x / sigma, df) / sigma

    # 2e-4: the table's stated error.
    assert match(Student(df), *pair) == pytest.approx(brute_force(density, *pair), abs=2e-4)


def test_widths_of_a_student_are_as_good_as_stated():
    for df in (2.0, 3.0, 5.0, 10.0, 30.0, 100.0):
        assert scale_error(df, 16, reach=30.0) < 0.01
    log_share, scale = Student(3.0, n_widths=40).gaussian_scales()
    assert log_density(np.array(2.0), np.array(1.0), log_share, scale) == pytest.approx(
        student_t.logpdf(2.0, 3.0), abs=1e-4
    )


def test_no_bad_points_is_gaussian():
    rng = np.random.default_rng(0)
    a, b = Measurements(rng.standard_normal((4, 3)), 0.5), Measurements(rng.standard_normal((5, 3)), 0.3)
    for same in (Outliers(0.0, 5.0), Outliers(0.3, 1.0)):
        np.testing.assert_allclose(same.log_match(a, b), Gaussian().log_match(a, b), atol=1e-10)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="share.*between 0 and 1: got 1.2"):
        Outliers(1.2, 5.0)
    with pytest.raises(ValueError, match="width.*>= 1"):
        Outliers(0.2, 0.5)
    with pytest.raises(ValueError, match="df"):
        Student(-1.0)
    with pytest.raises(ValueError, match="leaves parameters open"):
        Outliers(0.2).log_match(Measurements([[0.0]], 1.0), Measurements([[0.0]], 1.0))
    with pytest.raises(ValueError, match="independent"):
        Outliers(0.2, 5.0).log_match(Measurements([[0.0]], covariance=[[1.0]]), Measurements([[0.0]], 1.0))

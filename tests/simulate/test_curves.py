"""Curves against their formulas, and the moments of many draws against theory."""

from __future__ import annotations

import numpy as np
import pytest

from badac.simulate import (
    ABSORPTION,
    EMISSION,
    Bump,
    CompactAnomaly,
    Normal,
    Parabola,
    Sine,
    SineSum,
    Step,
    draw_curves,
)

AT = np.linspace(0.0, 1.0, 100)
N = 20_000
FAMILIES = [Sine(), Parabola(), Step(), Bump(), SineSum(), EMISSION, ABSORPTION]


def characteristic(w_mean, w_sd, x):
    """``E exp(i w x)`` of a normal ``w``."""
    return np.exp(1j * w_mean * x - 0.5 * (w_sd * x) ** 2)


def sine_moments(w_mean, w_sd):
    """Mean and variance of ``sin(w x)`` for normal ``w``, from its characteristic function."""
    mean = characteristic(w_mean, w_sd, AT).imag
    square = 0.5 * (1.0 - characteristic(w_mean, w_sd, 2.0 * AT).real)
    return mean, square - mean**2


def bump_moments(height, centre, width, n=4001):
    """Mean and variance of a bump with normal parameters, by quadrature over centre and width."""
    z = np.linspace(-7.0, 7.0, n)
    weight = np.exp(-0.5 * z**2)
    weight /= weight.sum()
    coarse, coarse_weight = z[::20], weight[::20] / weight[::20].sum()
    w = (width.mean + width.sd * z)[:, None, None]
    u = (centre.mean + centre.sd * coarse)[None, :, None]
    mean, square = np.empty(AT.size), np.empty(AT.size)
    for j, x in enumerate(AT):
        shape = np.exp(-(((x - u) / w) ** 2))[:, :, 0]
        mean[j] = weight @ shape @ coarse_weight
        square[j] = weight @ shape**2 @ coarse_weight
    first, second = height.mean, height.mean**2 + height.sd**2
    return first * mean, second * square - (first * mean) ** 2


def assert_moments(drawn, mean, variance):
    """Mean and variance of bounded-kurtosis draws, each within five of its own standard errors."""
    n = len(drawn)
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - mean), 5.0 * np.sqrt(variance / n) + 1e-9)
    fourth = np.mean((drawn - mean) ** 4, axis=0)
    error = np.sqrt(np.maximum(fourth - variance**2, 0.0) / n)
    np.testing.assert_array_less(np.abs(np.mean((drawn - mean) ** 2, axis=0) - variance), 5.0 * error + 1e-9)


def test_sine_moments():
    drawn, parameters = draw_curves(Sine(), N, AT, np.random.default_rng(1))
    assert_moments(drawn, *sine_moments(5.0, 2.0))
    np.testing.assert_allclose(drawn, np.sin(parameters[:, :1] * AT))


def test_parabola_moments_and_covariance():
    drawn, parameters = draw_curves(Parabola(), N, AT, np.random.default_rng(2))
    basis = np.column_stack([AT**2, AT, np.ones(100)])
    covariance = 0.04 * basis @ basis.T
    assert_moments(drawn, basis @ [0.5, 0.5, 0.0], np.diag(covariance))
    # An entry of a normal sample covariance has variance (C_ii C_jj + C_ij^2) / n.
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / N)
    assert np.max(np.abs(np.cov(drawn.T) - covariance) / error) < 5.0
    np.testing.assert_allclose(drawn[0], parameters[0, 0] * AT**2 + parameters[0, 1] * AT + parameters[0, 2])


def test_step_moments():
    from scipy.stats import norm

    drawn, parameters = draw_curves(Step(), N, AT, np.random.default_rng(3))
    reach = norm.sf(AT, 0.5, 0.2)
    assert_moments(drawn, reach, (1.0 + 0.09) * reach - reach**2)
    height, edge = parameters[0]
    np.testing.assert_array_equal(drawn[0], [height if x <= edge else 0.0 for x in AT])


@pytest.mark.parametrize(
    "bump", [Bump(), Bump(Normal(1.0, 0.5), Normal(0.5, 0.2), Normal(0.1, 0.05))], ids=["printed", "released"]
)
def test_bump_moments(bump):
    drawn, _ = draw_curves(bump, N, AT, np.random.default_rng(4))
    assert_moments(drawn, *bump_moments(bump.height, bump.centre, bump.width, n=2001))


def test_sum_of_sines_moments():
    drawn, parameters = draw_curves(SineSum(), N, AT, np.random.default_rng(5))
    mean, variance = sine_moments(30.0, 20.0)
    assert_moments(drawn, 5 * 0.2 * mean, 5 * 0.2**2 * variance)
    np.testing.assert_allclose(drawn[0], 0.2 * sum(np.sin(w * AT) for w in parameters[0]))


@pytest.mark.parametrize(("anomaly", "sign"), [(EMISSION, 1.0), (ABSORPTION, -1.0)])
def test_compact_anomaly_is_its_host_and_its_bump(anomaly, sign):
    drawn, parameters = draw_curves(anomaly, N, AT, np.random.default_rng(6))
    assert anomaly.names == ("frequency", "height", "centre", "width")
    frequency, height, centre, width = parameters[:3].T[..., None]
    expected = np.sin(frequency * AT) + height * np.exp(-(((AT - centre) / width) ** 2))
    np.testing.assert_allclose(drawn[:3], expected)
    # Table values of the paper, each mean within five standard errors, each spread within five of 1 / sqrt(2 n).
    for column, mean, sd in [(0, 5.0, 2.0), (1, sign * 1.5, 0.5), (3, 0.03, 0.01)]:
        assert abs(parameters[:, column].mean() - mean) < 5 * sd / np.sqrt(N)
        assert abs(parameters[:, column].std() / sd - 1.0) < 5 / np.sqrt(2 * N)
    assert 0.0 <= parameters[:, 2].min() < parameters[:, 2].max() <= 1.0
    assert abs(parameters[:, 2].mean() - 0.5) < 5 / np.sqrt(12 * N)


def test_compact_anomaly_on_another_host():
    anomaly = CompactAnomaly(host=Parabola())
    drawn, parameters = draw_curves(anomaly, 4, AT, np.random.default_rng(7))
    host = Parabola().truth(parameters[:, :3], AT)
    np.testing.assert_allclose(drawn - host, Bump().truth(parameters[:, 3:], AT), atol=1e-14)


def test_negative_width_is_its_absolute_value():
    parameters = np.array([[1.2, 0.4, 0.07]])
    np.testing.assert_array_equal(Bump().truth(parameters, AT), Bump().truth(parameters * [1, 1, -1], AT))


@pytest.mark.parametrize("width", [0.0, -0.0, 5e-324])
def test_zero_width_is_a_spike_at_the_centre(width):
    at = np.array([0.0, 0.25, 0.5])
    np.testing.assert_array_equal(Bump().truth(np.array([[2.0, 0.25, width]]), at), [[0.0, 2.0, 0.0]])
    np.testing.assert_array_equal(Bump().truth(np.array([[2.0, 0.3, width]]), at), [[0.0, 0.0, 0.0]])


def test_negative_widths_are_drawn_as_often_as_the_normal_says():
    # P(w < 0) = P(z < -2) = 0.02275 for N(1, 0.5): five binomial standard errors.
    widths = Bump().draw_parameters(N, np.random.default_rng(8))[:, 2]
    assert abs(np.mean(widths < 0) - 0.02275) < 5 * np.sqrt(0.02275 / N)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
def test_every_family_keeps_the_protocol(family):
    truth, parameters = draw_curves(family, 7, AT, np.random.default_rng(9))
    assert truth.shape == (7, 100)
    assert parameters.shape == (7, len(family.names))
    assert np.isfinite(truth).all()
    again, _ = draw_curves(family, 7, AT, np.random.default_rng(9))
    np.testing.assert_array_equal(truth, again)
    assert draw_curves(family, 0, AT, np.random.default_rng(9))[0].shape == (0, 100)
    np.testing.assert_allclose(family.truth(parameters, AT[::3]), truth[:, ::3], rtol=1e-13, atol=1e-15)

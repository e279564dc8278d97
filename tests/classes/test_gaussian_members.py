"""Bad points do not hide a weak factor."""

import numpy as np
import pytest

from badac import Measurements
from badac.classes.population.gaussian_members import as_gaussian, choose_factors, principal_directions
from badac.latent.factor import Factor
from badac.noise import Gaussian, Outliers
from badac.training import TrainingScales

AT = np.linspace(0.0, 1.0, 60)


def members(n, rng):
    """A strong factor and a weak one, a fifth of the points bad."""
    z = rng.standard_normal((n, 2)) * [0.6, 0.25]
    truth = z[:, :1] + z[:, 1:] * np.cos(np.pi * AT)
    noise = Outliers(0.2, 5.0)
    return Measurements(noise.draw(truth, Measurements(np.zeros(truth.shape), 0.4), rng), 0.4, at=AT), noise


def test_the_weak_factor_is_found():
    data, noise = members(900, np.random.default_rng(0))
    factor, rank = choose_factors(data, noise, TrainingScales.of(data), np.random.default_rng(0))
    # Of 60 points a weak factor of 0.25 on errors of 0.4 and 2.0 is worth half a nat a member.
    assert rank >= 2
    size = np.linalg.svd(factor.factors)[1][:2] / np.sqrt([AT.size, (np.cos(np.pi * AT) ** 2).sum()])
    assert size == pytest.approx([0.6, 0.25], abs=0.06)


def test_gaussian_noise_is_left_alone():
    data, _ = members(30, np.random.default_rng(1))
    found, rank = as_gaussian(data, Gaussian(), TrainingScales.of(data), np.random.default_rng(0))
    assert found is data
    assert rank == 0


def test_directions_order_the_factors():
    factors = np.array([[0.1, 1.0], [0.2, -1.0], [0.1, 1.0]])
    turned = factors @ principal_directions(Factor(np.zeros(3), factors, np.zeros(3)), np.ones(3))
    size = np.linalg.norm(turned, axis=0)
    assert size[0] > size[1]
    np.testing.assert_allclose(turned @ turned.T, factors @ factors.T, atol=1e-12)

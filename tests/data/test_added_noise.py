import numpy as np
import pytest

from badac import Measurements
from badac.data import add_noise


def test_values_scatter_as_the_error_bars_grow() -> None:
    objects = Measurements(np.zeros((20_000, 2)), np.array([0.3, 0.0]))
    worse = add_noise(objects, [0.4, 0.5], np.random.default_rng(0))
    np.testing.assert_allclose(worse.sigma[0], [0.5, 0.5])
    # The standard error of a standard deviation is sigma / sqrt(2 n).
    scatter = worse.values.std(axis=0)
    assert np.all(np.abs(scatter - [0.4, 0.5]) < 4 * np.array([0.4, 0.5]) / np.sqrt(40_000))
    assert not objects.values.any()


def test_gaps_stay_and_no_noise_changes_nothing() -> None:
    objects = Measurements([[1.0, np.nan]], 0.1)
    assert add_noise(objects, 0.0, np.random.default_rng(0)) is objects
    assert add_noise(objects, 1.0, np.random.default_rng(0)).observed.tolist() == [[True, False]]


def test_covariances_are_refused() -> None:
    objects = Measurements([[1.0, 2.0]], covariance=np.eye(2))
    with pytest.raises(ValueError, match="diagonal"):
        add_noise(objects, 1.0, np.random.default_rng(0))

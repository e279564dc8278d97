"""Statistics of all columns at once are those of each column by itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import median_abs_deviation, trim_mean

from badac import Measurements
from badac.comparison.column_statistics import ColumnStatistics, different_values


def _objects(n: int, missing: float) -> Measurements:
    rng = np.random.default_rng(3)
    values = np.round(rng.standard_normal((n, 7)), 1)
    values[rng.random(values.shape) < missing] = np.nan
    values[:, 2] = np.nan
    return Measurements(values, rng.uniform(0.1, 2.0, (n, 7)))


@pytest.mark.parametrize("n", [1, 2, 24, 25])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_as_of_each_column(n: int, missing: float) -> None:
    objects = _objects(n, missing)
    found, (different, count) = ColumnStatistics.of(objects), different_values(objects)
    for column in range(7):
        observed = objects.observed[:, column]
        values, sigma = objects.values[observed, column], objects.sigma[observed, column]
        assert found.count[column] == count[column] == values.size
        assert different[column] == len(np.unique(values))
        if not values.size:
            assert np.isnan([found.median[column], found.scatter[column], found.noise[column]]).all()
            continue
        assert found.median[column] == pytest.approx(np.median(values), rel=1e-12)
        assert found.scatter[column] == pytest.approx(1.4826 * median_abs_deviation(values), rel=1e-12)
        assert found.noise[column] == pytest.approx(trim_mean(sigma, 0.25) ** 2, rel=1e-12)


def test_objects_are_left_as_they_are() -> None:
    # One column: its transpose is in memory what it is itself.
    objects = Measurements([[3.0], [1.0], [2.0]], 0.1)
    ColumnStatistics.of(objects)
    different_values(objects)
    assert objects.values.ravel().tolist() == [3.0, 1.0, 2.0]

"""Columns of objects with points of their own: quantiles by rank, band by band."""

from __future__ import annotations

import numpy as np

from badac import Measurements
from badac.calibration.stacking.latent_columns import _QUANTILES, _quantiles
from badac.latent.points import OBJECTS_PER_BLOCK


def test_quantiles_are_those_of_each_band_alone(rng: np.random.Generator) -> None:
    n, m, bands = OBJECTS_PER_BLOCK + 7, 9, 4
    values = np.where(rng.random((n, m)) < 0.4, np.nan, rng.standard_normal((n, m)))
    values[3] = np.nan
    band = rng.integers(0, bands, (n, m))
    objects = Measurements(values, 0.1, at=rng.random((n, m)), band=band)
    found = _quantiles(objects, [0, 3, 1], bands).reshape(n, 3, len(_QUANTILES))
    for row in range(n):
        for column, number in enumerate([0, 3, 1]):
            own = np.sort(values[row, (band[row] == number) & ~np.isnan(values[row])])
            expected = [own[round((own.size - 1) * q)] if own.size else np.nan for q in _QUANTILES]
            np.testing.assert_array_equal(found[row, column], expected)


def test_quantiles_ask_for_values_alone(rng: np.random.Generator) -> None:
    values, at = rng.standard_normal((3, 5)), rng.random((3, 5))
    plain = _quantiles(Measurements(values, 0.1, at=at), [0], 1)
    correlated = Measurements(values, covariance=0.01 * np.eye(5), at=at)
    np.testing.assert_array_equal(_quantiles(correlated, [0], 1), plain)

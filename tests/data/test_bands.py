"""Points of one's own and bands in the container."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.data import concatenate

NAN = float("nan")


def irregular(n_points: int, n: int = 3) -> Measurements:
    values = np.arange(n * n_points, dtype=float).reshape(n, n_points)
    return Measurements(values, 0.1, at=values / 10, band=np.arange(n_points) % 2)


def test_band_follows_objects_and_points() -> None:
    objects = Measurements(np.ones((3, 2)), 0.1, at=[0.0, 1.0], band=[[0, 1], [1, 0], [1, 1]])
    assert objects[1:].points([1]).band.tolist() == [[0], [1]]
    assert objects.with_sigma(np.ones((3, 2))).band is not None
    assert not objects.own_points and irregular(2).own_points


def test_band_is_missing_where_the_value_is() -> None:
    objects = Measurements([[1.0, NAN]], 0.1, band=[[0, NAN]])
    assert objects.band.tolist() == [[0, -1]]


@pytest.mark.parametrize("band", [[0.5, 0], [-1, 0], [NAN, 0]])
def test_a_measured_point_needs_the_number_of_its_band(band: list[float]) -> None:
    with pytest.raises(ValueError, match="`band` must be a whole number >= 0 .* at object 0, point 0"):
        Measurements([[1.0, 2.0]], 0.1, band=band)


def test_band_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"`band` must have shape \(2,\)"):
        Measurements([[1.0, 2.0]], 0.1, band=[0, 1, 2])


def test_concatenate_pads_objects_with_points_of_their_own() -> None:
    both = concatenate([irregular(2), irregular(4)])
    assert both.shape == (6, 4)
    assert both.observed.sum() == 6 + 12
    assert both.band[0].tolist() == [0, 1, -1, -1]
    np.testing.assert_array_equal(both[:3].points([0, 1]).values, irregular(2).values)


def test_concatenate_refuses_bands_in_one_part_only() -> None:
    with pytest.raises(ValueError, match="`band`, or none: part 1"):
        concatenate([Measurements([[1.0]], 0.1, band=[0]), Measurements([[1.0]], 0.1)])


def test_a_grid_model_refuses_points_of_ones_own() -> None:
    from badac import BADACClassifier

    with pytest.raises(ValueError, match="needs a common grid"):
        BADACClassifier(class_model="instances").fit(irregular(2, 4), [0, 0, 1, 1])

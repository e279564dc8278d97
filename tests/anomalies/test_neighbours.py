"""Nearest members: those of a comparison of all pairs, whatever the threads."""

import numpy as np
import pytest

from badac._kernels.spare_threads import sparing
from badac.anomalies.neighbours import Neighbours, nearest_members


def test_neighbours_are_those_of_all_pairs_for_any_number_of_threads() -> None:
    place = np.random.default_rng(0).standard_normal((4100, 3))
    distance, near = nearest_members(place, 4)
    pairs = np.linalg.norm(place[:300, None] - place, axis=2)
    pairs[np.arange(300), np.arange(300)] = np.inf
    expected = np.argsort(pairs, axis=1)[:, :4]
    np.testing.assert_array_equal(near[:300], expected)
    np.testing.assert_allclose(distance[:300], np.take_along_axis(pairs, expected, 1))
    with sparing(2):
        other = nearest_members(place, 4)
    np.testing.assert_array_equal(other[0], distance)
    np.testing.assert_array_equal(other[1], near)


@pytest.mark.parametrize("share", [0.95, 0.8, 0.2])
def test_neighbours_among_some_are_those_that_are_looked_for_among_them(share: float) -> None:
    rng = np.random.default_rng(1)
    place, kept = rng.standard_normal((500, 3)), rng.random(500) < share
    # With a fifth of them left, hardly anybody has three of eight neighbours.
    found = Neighbours.of(place, 8).among(kept, 3)
    distance, near = nearest_members(place[kept], 3)
    np.testing.assert_array_equal(found.place, place[kept])
    np.testing.assert_array_equal(found.near.T, near)
    np.testing.assert_allclose(found.distance.T, distance, rtol=1e-12)

"""Nearest members: those of a comparison of all pairs, whatever the threads."""

import numpy as np

from badac._kernels.spare_threads import sparing
from badac.anomalies.neighbours import nearest_members


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

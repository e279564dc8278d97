"""Beyond the ends of a family: both ends found whatever bends there are, and drawn out as the last members go."""

from __future__ import annotations

import numpy as np
import pytest

from badac.anomalies.family_ends import LEAST_MEMBERS, PLACES, beyond_ends

NOISE, APART = 0.5, 3.0


def hairpin(n: int) -> np.ndarray:
    """Two straight branches (n, 2) of length 100, five apart, joined by half a circle: a long way round, a short one across."""
    t = np.linspace(0.0, 200.0 + 2.5 * np.pi, n)
    angle = np.clip((t - 100.0) / 2.5, 0.0, np.pi)
    x = np.where(t < 100.0, t, np.where(angle < np.pi, 100.0 + 2.5 * np.sin(angle), 200.0 + 2.5 * np.pi - t))
    return np.column_stack([x, 2.5 - 2.5 * np.cos(angle)])


def test_the_ends_of_a_bent_family_are_found_along_it() -> None:
    rng = np.random.default_rng(0)
    place = hairpin(120) + 0.1 * rng.standard_normal((120, 2))
    means, covariances = beyond_ends(place, NOISE, APART)
    assert means.shape == (2 * PLACES, 2) and covariances.shape == (2 * PLACES, 2, 2)
    # Both ends are at x = 0, on branches five apart, and the family goes on to the left of them.
    assert (means[:, 0] < 0.0).all()
    assert {round(y / 5.0) for y in means[:, 1]} == {0, 1}
    np.linalg.cholesky(covariances)
    # The farther out the less is known, ahead and aside.
    for spread in (covariances[:PLACES, 0, 0], covariances[:PLACES, 1, 1]):
        assert (np.diff(spread) > 0.0).all()


def test_the_order_of_the_members_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    place = hairpin(120) + 0.1 * rng.standard_normal((120, 2))
    means, _ = beyond_ends(place, NOISE, APART)
    moved, _ = beyond_ends(place[rng.permutation(120)], NOISE, APART)
    np.testing.assert_allclose(np.sort(moved, axis=0), np.sort(means, axis=0), atol=1e-9)


def test_members_within_the_noise_show_no_end() -> None:
    rng = np.random.default_rng(2)
    means, covariances = beyond_ends(0.3 * rng.standard_normal((60, 3)), NOISE, APART)
    assert means.shape == (0, 3) and covariances.shape == (0, 3, 3)


@pytest.mark.parametrize("apart", [30.0, 1e6])
def test_groups_that_no_neighbour_joins_are_judged_by_the_largest(apart: float) -> None:
    line = np.column_stack([np.linspace(0.0, 100.0, 60), np.zeros(60)])
    group = np.column_stack([np.linspace(0.0, 5.0, 20), np.full(20, apart)])
    means, _ = beyond_ends(np.vstack([group, line]), NOISE, APART)
    np.testing.assert_allclose(means[:, 1], 0.0, atol=1e-6)
    assert (means[:, 0] < 0.0).sum() == (means[:, 0] > 100.0).sum() == PLACES


def test_members_at_one_place_are_one_end() -> None:
    line = np.repeat(np.column_stack([np.arange(LEAST_MEMBERS) * 4.0, np.zeros(LEAST_MEMBERS)]), 2, axis=0)
    means, covariances = beyond_ends(line, NOISE, APART)
    assert np.isfinite(means).all() and np.isfinite(covariances).all()
    assert means[:, 0].min() < 0.0 and means[:, 0].max() > 4.0 * (LEAST_MEMBERS - 1)

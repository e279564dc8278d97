import numpy as np

from badac import Measurements
from badac.data.gridding import Grid


def curves(n: int, seed: int) -> Measurements:
    rng = np.random.default_rng(seed)
    at = rng.uniform(0.0, 10.0, (n, 30))
    band = rng.integers(0, 2, at.shape)
    values = np.sin(at) + 2.0 * band + 0.1 * rng.standard_normal(at.shape)
    values[:, 20:] = np.where(rng.random((n, 10)) < 0.5, np.nan, values[:, 20:])
    return Measurements(values, 0.1, at=at, band=band)


def test_weighted_means_of_the_points_in_a_bin() -> None:
    objects = Measurements(
        [[1.0, 3.0, 7.0, np.nan]], [[1.0, 0.5, 1.0, 1.0]], at=[[0.2, 0.4, 1.5, 0.3]], band=[[0, 0, 1, 0]]
    )
    found = Grid(np.array([0.0, 1.0, 2.0]), 2, np.ones(4, dtype=bool)).apply(objects)
    # Weights 1 and 4: (1 + 12) / 5, with the error 1 / sqrt(5).
    np.testing.assert_allclose(found.values, [[2.6, np.nan, np.nan, 7.0]])
    np.testing.assert_allclose(found.sigma, [[5.0**-0.5, np.inf, np.inf, 1.0]])
    assert found.at.tolist() == [0.5, 1.5, 0.5, 1.5]
    assert found.band.tolist() == [0, 0, 1, 1]


def test_as_many_bins_as_a_middling_object_has_points_in_a_band() -> None:
    objects = curves(200, 0)
    grid = Grid.of(objects)
    count = [((objects.band == b) & objects.observed).sum(axis=1) for b in range(2)]
    assert len(grid.edges) - 1 == int(np.median(np.concatenate(count)))
    gridded = grid.apply(objects)
    inside = (objects.at >= grid.edges[0]) & (objects.at <= grid.edges[-1]) & objects.observed
    # Nothing is lost: every point inside has its weight in some bin.
    total = np.where(gridded.observed, gridded.sigma**-2.0, 0.0).sum(axis=1)
    np.testing.assert_allclose(total, inside.sum(axis=1) / 0.01)


def test_objects_without_a_point_a_band_or_an_error() -> None:
    grid = Grid.of(curves(50, 1))
    lone = Measurements([[np.nan, np.nan]], 0.1, at=[[0.0, 1.0]], band=[[0, 1]])
    assert not grid.apply(lone).observed.any()
    plain = Measurements([[1.0, 2.0], [3.0, 4.0]], 0.1, at=[[0.0, 1.0], [0.5, 2.0]])
    assert Grid.of(plain).n_bands == 1
    exact = Measurements([[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 1.0]], at=[[0.5, 0.6], [0.5, 0.7]])
    found = Grid(np.array([0.0, 1.0]), 1, np.ones(1, dtype=bool)).apply(exact)
    assert abs(found.values[0, 0] - 1.0) < 1e-9
    same_time = Measurements([[1.0], [2.0]], 0.1, at=[[3.0], [3.0]])
    assert Grid.of(same_time).apply(same_time).values.ravel().tolist() == [1.0, 2.0]

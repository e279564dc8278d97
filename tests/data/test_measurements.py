"""The container: what it accepts, what it refuses, and that it slices as scikit-learn needs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from badac import Measurements
from badac.data import concatenate


def test_missing_is_said_by_value_or_by_sigma() -> None:
    found = Measurements([[1.0, np.nan, 3.0]], sigma=[[0.1, 0.1, np.inf]])
    assert found.observed.tolist() == [[True, False, False]]
    assert np.isnan(found.values[0, 1:]).all()
    assert np.isinf(found.sigma[0, 1:]).all()
    assert not found.complete


def test_a_missing_point_may_have_any_sigma() -> None:
    found = Measurements([[1.0, np.nan, np.nan]], sigma=[[0.1, np.nan, -1.0]])
    assert found.sigma.tolist() == [[0.1, np.inf, np.inf]]


@pytest.mark.parametrize("sigma", [0.5, [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5]]])
def test_sigma_is_shared_by_broadcasting(sigma: object) -> None:
    assert (Measurements(np.zeros((3, 2)), sigma).sigma == 0.5).all()


@pytest.mark.parametrize(
    ("values", "keywords", "message"),
    [
        ([1.0, 2.0], {}, r"two dimensions.*shape \(2,\)"),
        (np.zeros((2, 0)), {}, "at least one point"),
        ([[1.0, np.inf]], {}, "finite.*got inf at object 0, point 1"),
        (
            [[1.0, 2.0]],
            {"sigma": [[0.1, -0.1]]},
            "`sigma` must be >= 0 where measured: got -0.1 at object 0, point 1",
        ),
        ([[1.0, 2.0]], {"sigma": [[0.1, np.nan]]}, "must be a number.*object 0, point 1"),
        ([[1.0, 2.0]], {"sigma": [[0.1, 0.1, 0.1]]}, "shape"),
        (np.zeros((2, 3)), {"sigma": np.zeros((3, 2))}, r"\(2, 3\).*\(3, 2\)"),
        ([["a", "b"]], {}, "numbers"),
        ([[1 + 2j, 0]], {}, "[Cc]omplex"),
        ([[1.0, 2.0], [3.0]], {}, "rectangular"),
        ([[1.0, 2.0]], {"covariance": np.eye(3)}, "shape"),
        ([[1.0, 2.0]], {"covariance": [[1.0, 0.5], [0.2, 1.0]]}, r"symmetric: got 0.5 at \(0, 1\)"),
        ([[1.0, 2.0]], {"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "positive definite.*-1"),
        ([[1.0, 2.0]], {"covariance": [[1.0, np.nan], [np.nan, 1.0]]}, "finite"),
        ([[1.0, 2.0]], {"sigma": 1.0, "covariance": np.eye(2)}, "not both"),
        ([[1.0, 2.0]], {"at": [0.0, 1.0, 2.0]}, "`at` must have shape"),
        ([[1.0, 2.0]], {"at": [0.0, np.nan]}, "`at` must be finite.*point 1"),
    ],
)
def test_bad_input_is_refused_with_place_and_fix(values: object, keywords: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Measurements(values, **keywords)


def test_inputs_are_never_changed_and_not_copied_when_clean() -> None:
    values, sigma = np.ones((4, 3)), np.ones((4, 3))
    found = Measurements(values, sigma)
    assert np.shares_memory(found.values, values)
    assert values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        found.values[0, 0] = 2.0
    gappy = np.array([[1.0, np.nan]])
    Measurements(gappy, np.array([[np.inf, 1.0]]))
    assert gappy[0, 0] == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_number_types_and_layouts(dtype: type) -> None:
    values = np.asfortranarray(np.arange(12).reshape(4, 3)).astype(dtype)
    found = Measurements(values[::2], sigma=np.float32(0.5))
    assert found.values.dtype == np.float64
    assert np.array_equal(found.values, values[::2].astype(float))


def everything() -> Measurements:
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(6, 3, 3))
    covariance = factor @ factor.transpose(0, 2, 1) + np.eye(3)
    return Measurements(rng.normal(size=(6, 3)), covariance=covariance, at=rng.normal(size=(6, 3)))


@pytest.mark.parametrize(
    "key",
    [slice(1, 4), slice(None, None, -1), [0, 2], np.array([True] * 3 + [False] * 3), 2, -1, np.int64(3)],
)
def test_indexing_selects_objects_whole(key: object) -> None:
    whole, rows = everything(), np.atleast_1d(np.arange(6)[key])
    for part in (whole[key], whole[key, ...], whole[key, :]):
        assert isinstance(part, Measurements)
        for name in ("values", "sigma", "covariance", "at"):
            assert np.array_equal(getattr(part, name), getattr(whole, name)[rows])


def test_points_selects_columns_of_everything() -> None:
    part = everything().points([2, 0])
    assert np.array_equal(part.values, everything().values[:, [2, 0]])
    assert np.array_equal(part.covariance, everything().covariance[:, [2, 0]][:, :, [2, 0]])
    assert np.array_equal(everything()[:, [2, 0]].at, part.at)


def test_out_of_range_and_odd_keys() -> None:
    with pytest.raises(IndexError, match="object 6 is out of range"):
        everything()[6]
    with pytest.raises(IndexError, match="3 indices"):
        everything()[1, 2, 3]


def test_it_does_not_turn_into_an_array_silently() -> None:
    with pytest.raises(TypeError, match="error bars would be lost"):
        np.asarray(everything())


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))
def test_concatenate_undoes_slicing(first: int, second: int, points: int) -> None:
    values = np.arange((first + second) * points, dtype=float).reshape(-1, points)
    whole = Measurements(values, sigma=values + 1, at=np.arange(points))
    joined = concatenate([whole[:first], whole[first:]])
    assert np.array_equal(joined.values, values)
    assert np.array_equal(joined.sigma, whole.sigma)
    assert joined.at.ndim == 1


def test_concatenate_refuses_what_does_not_fit() -> None:
    one = Measurements([[1.0, 2.0]], 0.1)
    for other, message in [
        (Measurements([[1.0]], 0.1), "same points"),
        (Measurements([[1.0, 2.0]]), "same kind of errors"),
        (Measurements([[1.0, 2.0]], 0.1, at=[0, 1]), "coordinates"),
    ]:
        with pytest.raises(ValueError, match=message):
            concatenate([one, other])


def test_repr_says_what_matters() -> None:
    assert (
        repr(Measurements([[1.0, np.nan]], 0.1))
        == "Measurements(1 objects x 2 points, 1 missing, with sigma)"
    )
    assert "without errors" in repr(Measurements([[1.0]]))
    assert "with covariance" in repr(everything())


def test_masked_cells_are_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, True], [False, False]])
    np.testing.assert_array_equal(Measurements(masked, 0.1).observed, [[True, False], [True, True]])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            np.array([["2020-01-01"]], dtype="datetime64[s]"),
            "must hold numbers: got datetime64.*days or seconds",
        ),
        (scipy.sparse.csr_matrix(np.eye(2)), "`values` must be dense: got csr_matrix. Use .toarray()"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(values: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Measurements(values)


def test_an_index_of_nothing_is_refused() -> None:
    with pytest.raises(IndexError, match="selected by numbers"):
        Measurements(np.ones((2, 2)))[None]


def test_rows_one_after_another_are_not_copied() -> None:
    whole = Measurements(np.arange(12.0).reshape(6, 2), np.arange(1.0, 13.0).reshape(6, 2))
    mask = np.array([False, True, True, True, False, False])
    for rows in (np.arange(1, 4), mask):
        assert np.shares_memory(whole[rows].values, whole.values)
        np.testing.assert_array_equal(whole[rows].sigma, whole.sigma[1:4])
    for rows in (
        np.array([1, 3]),
        np.array([3, 2, 1]),
        np.array([-2, -1]),
        np.array([-1, 0]),
        np.array([2, 2]),
    ):
        np.testing.assert_array_equal(whole[rows].values, whole.values[rows])
    for wrong in (np.arange(4, 8), np.array([6]), np.array([-7]), np.array([True, False])):
        with pytest.raises(IndexError):
            whole[wrong]

"""The kernels of the anomaly hypotheses: the compiled ones against the definition, and what they make of odd input."""

import numpy as np
import pytest

from badac import _kernels
from badac._kernels import hypotheses
from badac._kernels.latent import pack


def likelihoods(n: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    wide = rng.standard_normal((n, size, size + 3))
    return (
        pack(wide @ wide.transpose(0, 2, 1)),
        rng.standard_normal((n, size)) * 4.0,
        rng.standard_normal(n),
    )


@pytest.mark.parametrize(
    ("n", "all_of_them", "columns", "rest"),
    [(1, 1, 1, 0), (7, 5, 3, 2), (9, 14, 4, 6), (5, 30, 23, 0), (3, 99, 90, 9)],
)
def test_deviations_are_integrated_as_the_definition_says(
    n: int, all_of_them: int, columns: int, rest: int
) -> None:
    precision, shift, offset = likelihoods(n, all_of_them, seed=columns)
    rng = np.random.default_rng(1)
    chosen = rng.permutation(all_of_them)[: columns + rest]
    amplitude = rng.uniform(0.0, 2.0, (n, columns))
    amplitude[:, 0] = 0.0
    ours = _kernels.latent_without(precision, shift, offset, amplitude, chosen, n_threads=2)
    definition = hypotheses.latent_without(precision, shift, offset, amplitude, chosen)
    for found, expected in zip(ours, definition, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("n", "m", "r", "asked"), [(1, 6, 1, 1), (13, 30, 4, 2), (6, 40, 14, 2), (5, 20, 3, 3)]
)
def test_bumps_are_filtered_as_the_definition_says(n: int, m: int, r: int, asked: int) -> None:
    rng = np.random.default_rng(r)
    factors = rng.standard_normal((m, r))
    weight = rng.uniform(0.5, 3.0, (n, m))
    weight[0, m // 2 :] = 0.0
    scaled = weight * rng.standard_normal((n, m))
    precision = pack(np.einsum("ij,ja,jb->iab", weight, factors, factors))
    shift = scaled @ factors
    shapes = np.zeros((m, m + 2))
    for place in range(m):
        shapes[max(0, place - 1) : place + 2, place] = rng.uniform(
            0.2, 1.0, min(m, place + 2) - max(0, place - 1)
        )
    shapes[:, m] = factors[:, 0]  # a bump that is nothing but the class's own factor, half explained
    k = 4
    own = rng.standard_normal((k, r, r + 2))
    through = hypotheses.Filtering(
        weight,
        scaled,
        factors,
        precision,
        shift,
        which=rng.integers(0, k, (n, asked)),
        component_precision=pack(own @ own.transpose(0, 2, 1)),
        component_shift=rng.standard_normal((k, r)),
    )
    ratio = _kernels.bump_ratios(through, shapes, n_threads=2)
    expected = hypotheses.bump_ratios(through, shapes)
    # The object without its second half shows no bump there; the empty shape is no bump at all.
    assert np.isnan(expected[0, :, m // 2 + 1 : m]).all()
    assert np.isnan(expected[:, :, m + 1]).all()
    np.testing.assert_allclose(ratio, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        _kernels.bump_average(through, shapes, 0.9),
        hypotheses.bump_average(through, shapes, 0.9),
        rtol=1e-8,
        atol=1e-8,
    )


def test_an_object_without_points_shows_no_bump() -> None:
    through = hypotheses.Filtering(
        weight=np.zeros((1, 3)),
        scaled=np.zeros((1, 3)),
        factors=np.ones((3, 1)),
        precision=np.zeros((1, 1)),
        shift=np.zeros((1, 1)),
        which=np.zeros((1, 1), dtype=np.int64),
        component_precision=np.ones((1, 1)),
        component_shift=np.zeros((1, 1)),
    )
    assert np.isnan(_kernels.bump_average(through, np.eye(3), 0.9)).all()


def test_a_strong_bump_does_not_overflow() -> None:
    ratio = np.array([[100.0, 1.0, np.nan]])
    found = hypotheses.log_mean_exp_squares(ratio, 1.0)
    assert found[0] == pytest.approx(5000.0 - np.log(2.0), abs=1e-9)

import numpy as np

from badac.classes.population.smoothness import choose_penalty, smoothed, whittaker
from badac.latent.factor import Factor
from badac.latent.moments import Spectrum
from badac.training import TrainingScales
from populations import gaussian


def test_whittaker_solves_its_normal_equations() -> None:
    column = np.random.default_rng(0).standard_normal(12)
    differences = np.diff(np.eye(12), 2, axis=0)
    expected = np.linalg.solve(np.eye(12) + 3.0 * differences.T @ differences, column)
    np.testing.assert_allclose(whittaker(column, 3.0), expected, rtol=1e-12)


def test_a_straight_line_is_smooth_already() -> None:
    line = np.linspace(-1.0, 2.0, 20)
    np.testing.assert_allclose(whittaker(line, 1e6), line, atol=1e-8)


def test_no_penalty_changes_nothing() -> None:
    members, mean, factors, psi = gaussian(30, seed=1)
    factor = Factor(mean, factors, psi + 0.1)
    assert smoothed(factor, np.full(15, 0.1), 30, 0.0) is factor
    assert members.n_objects == 30


def test_smooth_factors_are_smoothed_and_shuffled_ones_are_not() -> None:
    members = gaussian(90, seed=2, m=40, sigma=0.6)[0]
    scales = TrainingScales.of(members)
    shuffle = np.random.default_rng(0).permutation(40)
    chosen = []
    for points in (np.arange(40), shuffle):
        ordered = members.points(points)
        scales = TrainingScales.of(ordered)
        spectrum = Spectrum.of(ordered[:60], scales, 2)
        chosen.append(choose_penalty(spectrum.factor(2), spectrum.moments.noise, 60, ordered[60:]))
    assert chosen[0] >= 100.0
    assert chosen[1] <= 1.0

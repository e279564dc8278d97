"""Noise parameters are found where they are, and real variability within a class is left alone."""

from dataclasses import dataclass

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.noise import AutoNoise, Correlated, Gaussian, Outliers, PerClass, Student
from badac.noise.widths import MixtureOfWidths
from badac.noise_learning import compare_families, learn_noise

AT = np.linspace(0.0, 1.0, 40)


def population(n, rng, white=0.0):
    """Two classes that vary along two smooth directions, and at each point by `white`: real, not noise."""
    label = np.arange(n) % 2
    z = rng.standard_normal((n, 2))
    truth = (
        np.where(label[:, None] == 0, np.sin(5 * AT), AT**2) + z[:, :1] * AT + 0.5 * z[:, 1:] * np.cos(3 * AT)
    )
    return truth + white * rng.standard_normal(truth.shape), label


def noisy(noise, truth, sigma, rng):
    like = Measurements(np.zeros(truth.shape), sigma)
    return Measurements(noise.draw(truth, like, rng), sigma, at=AT)


def test_known_noise_is_left_alone():
    noise = Outliers(0.1, 4.0)
    two = Measurements(np.zeros((2, 3)), 1.0)
    assert learn_noise(noise, two, np.array([0, 1]), np.random.default_rng(0)) is noise


@pytest.mark.parametrize("white", [0.0, 0.15])
def test_bad_points_are_found_and_variability_is_not_eaten(white):
    rng = np.random.default_rng(0)
    truth, label = population(400, rng, white)
    sigma = rng.uniform(0.1, 0.4, truth.shape)
    found = learn_noise(Outliers(), noisy(Outliers(0.15, 6.0), truth, sigma, rng), label, rng)
    # 16,000 points, 2,400 bad: the share to 0.15 +- 0.003 if all were recognised; half of it is overlap.
    assert isinstance(found, Outliers)
    assert found.share == pytest.approx(0.15, abs=0.02)
    assert found.width == pytest.approx(6.0, abs=0.4)


@pytest.mark.parametrize("white", [0.0, 0.15])
def test_no_bad_points_are_seen_where_there_is_only_variability(white):
    rng = np.random.default_rng(1)
    truth, label = population(120, rng, white)
    training = noisy(Gaussian(), truth, rng.uniform(0.1, 0.4, truth.shape), rng)
    assert learn_noise(AutoNoise(), training, label, rng) == Gaussian()


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_error_bars_off_by_a_factor(factor):
    rng = np.random.default_rng(2)
    truth, label = population(200, rng, white=0.1)
    sigma = rng.uniform(0.1, 0.4, truth.shape)
    drawn = noisy(Gaussian(), truth, sigma, rng)
    training = Measurements(drawn.values, sigma / factor, at=AT)
    found = learn_noise(AutoNoise(), training, label, rng)
    assert isinstance(found, Gaussian)
    assert found.scale == pytest.approx(factor, rel=0.08)


def test_student_tails():
    rng = np.random.default_rng(3)
    truth, label = population(400, rng)
    training = noisy(Student(3.0), truth, np.full(truth.shape, 0.2), rng)
    found = learn_noise(Student(), training, label, rng)
    assert isinstance(found, Student), found
    assert found.df == pytest.approx(3.0, abs=0.5)


def test_classes_keep_their_own_parameters_where_they_differ():
    rng = np.random.default_rng(4)
    truth, label = population(400, rng)
    sigma = np.full(truth.shape, 0.2)
    values = np.where(
        label[:, None] == 0,
        noisy(Outliers(0.3, 5.0), truth, sigma, rng).values,
        noisy(Outliers(0.05, 5.0), truth, sigma, rng).values,
    )
    found = learn_noise(Outliers(), Measurements(values, sigma, at=AT), label, rng)
    assert isinstance(found, PerClass)
    assert found.noises[0].share == pytest.approx(0.3, abs=0.03)
    assert found.noises[1].share == pytest.approx(0.05, abs=0.02)


def test_correlated_errors_of_one_class():
    rng = np.random.default_rng(5)
    truth, label = population(240, rng)
    steps = np.arange(40) // 8
    cake = 0.1 * (1 + np.minimum.outer(steps, steps))
    sigma = np.full(truth.shape, 0.1)
    values = np.where(
        label[:, None] == 0,
        noisy(Correlated(cake), truth, sigma, rng).values,
        noisy(Gaussian(), truth, sigma, rng).values,
    )
    training = Measurements(values, sigma, at=AT)
    assert compare_families(training, label, rng, families=("gaussian", "correlated")).best == "correlated"
    found = learn_noise(AutoNoise(), training, label, rng)
    assert isinstance(found, PerClass)
    assert isinstance(found.noises[0], Correlated)
    assert found.noises[1] == Gaussian()


def test_too_few_members_is_gaussian():
    rng = np.random.default_rng(6)
    training = Measurements(rng.standard_normal((6, 3)), 0.1)
    label = np.array([0, 0, 0, 1, 1, 1])
    assert learn_noise(AutoNoise(), training, label, rng) == Gaussian()
    assert learn_noise(Outliers(), training, label, rng) == Outliers(0.0, 1.0)


def test_open_noise_without_errors_is_refused():
    rng = np.random.default_rng(7)
    training = Measurements(rng.standard_normal((50, 3)))
    with pytest.raises(ValueError, match="comparing scatter with `sigma`"):
        learn_noise(Outliers(), training, np.zeros(50, dtype=int), rng)
    assert learn_noise(AutoNoise(), training, np.zeros(50, dtype=int), rng) == Gaussian()


def test_nothing_observed_teaches_nothing():
    nothing = Measurements(np.full((30, 5), np.nan), 0.1)
    found = learn_noise(Student(), nothing, np.zeros(30, dtype=np.int64), np.random.default_rng(0))
    assert np.isfinite(found.df)


@dataclass(frozen=True)
class Wrecked(MixtureOfWidths):
    """Learnable noise of a user's own: bad points ten times as wide, of an unknown share."""

    share: float | None = None

    @property
    def learned(self):
        return self.share is not None

    def gaussian_scales(self):
        return np.log([1.0 - self.share, self.share]), np.array([1.0, 10.0])

    def initial(self):
        return Wrecked(0.1)

    def improved(self, current, residuals):
        return Wrecked(float(residuals.responsibility[..., 1].sum() / residuals.observed.sum()))

    def distance(self, other):
        return abs(other.share / self.share - 1)

    def pooled(self, learned, weight):
        return Wrecked(float(weight @ [each.share for each in learned]))

    def fallback(self):
        return Wrecked(1e-6)


class WithWrecked(AutoNoise):
    def families(self):
        return {**super().families(), "wrecked": Wrecked()}


def test_a_learnable_noise_of_ones_own_needs_nothing_but_its_methods():
    rng = np.random.default_rng(8)
    truth, label = population(200, rng)
    training = noisy(Wrecked(0.1), truth, np.full(truth.shape, 0.2), rng)
    found = learn_noise(Wrecked(), training, label, rng)
    # 8,000 points, 800 of them bad and easily told.
    assert isinstance(found, Wrecked)
    assert found.share == pytest.approx(0.1, abs=0.015)
    assert learn_noise(Wrecked(), training[:6], np.zeros(6, dtype=int), rng) == Wrecked(1e-6)
    model = BADACClassifier(noise=Wrecked(), random_state=0).fit(training[:80], label[:80])
    assert isinstance(model.noise_, Wrecked)
    comparison = compare_families(
        training[:80], label[:80], rng, families=("gaussian", "wrecked"), choice=WithWrecked()
    )
    assert comparison.best == "wrecked"


def test_open_noise_that_does_not_say_how_it_is_learned_is_refused():
    class Bare:
        learned = False

        def log_match(self, objects, curves): ...

        def draw(self, truth, like, rng): ...

    rng = np.random.default_rng(9)
    training = Measurements(rng.standard_normal((50, 3)), 0.1)
    with pytest.raises(ValueError, match="does not say how they are learned"):
        learn_noise(Bare(), training, np.zeros(50, dtype=int), rng)


def test_objects_with_points_of_their_own_teach_no_noise():
    rng = np.random.default_rng(10)
    at = np.sort(rng.uniform(0, 1, (50, 8)), axis=1)
    training = Measurements(rng.standard_normal((50, 8)), 0.1, at=at)
    label = np.zeros(50, dtype=int)
    assert learn_noise(AutoNoise(), training, label, rng) == Gaussian()
    for noise in (Gaussian(scale=None), Outliers(), Student(), Correlated()):
        with pytest.raises(ValueError, match="learned point by point"):
            learn_noise(noise, training, label, rng)

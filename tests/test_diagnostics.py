"""diagnose names the noise that was put in, and says so in one sentence."""

import re

import numpy as np
import pytest

from badac import Measurements
from badac.diagnostics import diagnose
from badac.diagnostics.diagnose import scatter
from badac.simulate import experiment


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "family", "advice"),
    [
        (1, "gaussian", "error bars hold"),
        (3, "outliers", r"About (18|19|20|21|22) % of the points .* factor of (4.[89]|5.[012])"),
        (4, "correlated", "correlated in class 0,"),
    ],
)
def test_experiments_are_recognised(number, family, advice):
    data = experiment(number, "released", n_train=400, n_test=10, rng=np.random.default_rng(1))
    found = diagnose(data.train, data.train_label, np.random.default_rng(1))
    assert found.best == family
    assert found.advice in str(found)
    assert len(found.pulls) > 0.8 * 2 * 100 * 100  # a sample of both classes, at nearly all points

    assert re.search(advice, found.advice)


def test_error_bars_that_are_too_large_are_measured():
    rng = np.random.default_rng(2)
    label = np.repeat([0, 1], 60)
    sigma = rng.uniform(0.1, 0.5, (120, 8))
    truth = label[:, None] + rng.standard_normal((120, 1))
    training = Measurements(truth + sigma * rng.standard_normal((120, 8)), 2.0 * sigma)
    found = diagnose(training, np.array(["a", "b"])[label], rng)
    assert found.best == "scaled"
    # 960 pulls know their scatter to 2.5 %; the curve of each object takes an eighth of them.
    assert found.error_bar_factor == pytest.approx(0.5, abs=0.07)
    assert "too large by a factor" in found.advice
    assert "correlated" not in found.families
    assert found.autocorrelation is None


def test_the_plot_holds_the_pulls():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(3)
    training = Measurements(rng.standard_normal((60, 4)), 1.0)
    found = diagnose(training, np.zeros(60), rng)
    ax = found.plot()
    assert ax.get_xlabel() == "residual / sigma"


def test_what_cannot_be_diagnosed_is_refused():
    rng = np.random.default_rng(4)
    with pytest.raises(ValueError, match="they have none: give `sigma`"):
        diagnose(Measurements(np.zeros((30, 3))), np.zeros(30), rng)
    with pytest.raises(ValueError, match="at least 20 members"):
        diagnose(Measurements(np.zeros((10, 3)), 1.0), np.zeros(10), rng)
    irregular = np.sort(rng.uniform(size=(30, 3)), axis=1)
    with pytest.raises(ValueError, match="points of their own"):
        diagnose(Measurements(np.zeros((30, 3)), 1.0, at=irregular), np.zeros(30), rng)
    with pytest.raises(ValueError, match="not `covariance`"):
        diagnose(Measurements(np.zeros((30, 3)), covariance=np.eye(3)), np.zeros(30), rng)


def test_exact_values_say_nothing_about_error_bars():
    rng = np.random.default_rng(0)
    values, label = 0.1 * rng.standard_normal((60, 8)), np.zeros(60)
    with pytest.raises(ValueError, match="all of them are 0"):
        diagnose(Measurements(values, 0.0), label, rng)
    sigma = np.full(values.shape, 0.1)
    sigma[:, 0] = 0.0
    assert diagnose(Measurements(values, sigma), label, rng).best == "gaussian"


def varied(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Classes whose members differ far beyond small error bars, by other amounts in other columns."""
    label = np.arange(n) % 3
    centre = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 0.0, 3.0, 1.0], [0.0, 0.0, 7.0, 2.0]])
    return centre[label] + rng.standard_normal((n, 4)) * [1.0, 0.5, 2.0, 0.3], label


def test_variety_of_a_catalogue_is_not_taken_for_noise():
    rng = np.random.default_rng(5)
    truth, label = varied(300, rng)
    for right in (0.05, 0.15):  # three times the error bars or not: under such variety nothing tells
        found = diagnose(Measurements(truth + right * rng.standard_normal(truth.shape), 0.05), label, rng)
        assert not found.told_apart and found.best == "gaussian"
        assert found.advice.startswith("Whether the error bars hold cannot be told")
        assert "times the error bars would" not in str(found)


def test_error_bars_that_differ_between_members_tell_noise_from_variety():
    rng = np.random.default_rng(6)
    truth, label = varied(360, rng)
    sigma = 0.5 * np.exp(0.5 * rng.standard_normal(truth.shape)) * [1.0, 2.0, 5.0, 1.0]
    values = truth + sigma * rng.standard_normal(truth.shape)
    right = diagnose(Measurements(values, sigma), label, rng)
    assert right.advice.startswith("The error bars hold")
    small = diagnose(Measurements(values, sigma / 2.0), label, rng)
    # 12 columns and classes of 120 members in thirds know the factor to about 10 %.
    assert small.error_bar_factor == pytest.approx(2.0, rel=0.25)
    assert "too small" in small.advice


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_single_peaked_curves_of_broad_classes_have_error_bars_that_hold(spread):
    rng = np.random.default_rng(7)
    at, label = np.linspace(-20.0, 60.0, 50), np.arange(240) % 2
    peak, rise = rng.normal(0.0, 4.0, (240, 1)), rng.uniform(3.0, 8.0, (240, 1))
    fall = np.where(label[:, None] == 0, rng.uniform(10.0, 35.0, (240, 1)), rng.uniform(30.0, 90.0, (240, 1)))
    height = 10.0 * np.exp(0.6 * rng.standard_normal((240, 1)))
    truth = height * np.where(at < peak, np.exp((at - peak) / rise), np.exp(-(at - peak) / fall))
    found = diagnose(
        Measurements(truth + spread * rng.standard_normal(truth.shape), spread, at=at), label, rng
    )
    assert found.error_bar_factor == pytest.approx(1.0, abs=0.15)
    assert "times the error bars at all" not in found.advice and "too small" not in found.advice


def test_error_bars_that_are_wrong_everywhere_alike_are_told_from_the_scatter_of_all_points():
    data = experiment(1, "released", n_train=200, n_test=10, rng=np.random.default_rng(8))
    half = data.train.with_sigma(0.5 * data.train.sigma)
    found = scatter(half, data.train_label, np.random.default_rng(8))
    assert found.alike and found.factor == pytest.approx(2.0, abs=0.2)
    assert found.quiet.mean() > 0.9


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_objects_that_stray_as_a_whole_are_no_tails(factor):
    rng = np.random.default_rng(9)
    data = experiment(1, "released", n_train=200, n_test=10, rng=rng)
    values = data.train.values.copy()
    values[:3] += 0.3 * rng.standard_normal((3, 100))  # a scatter three times that of the others
    training = Measurements(values, factor * data.train.sigma, at=data.train.at)
    found = diagnose(training, data.train_label, np.random.default_rng(9))
    assert "outliers" not in found.families and "student" not in found.families
    assert found.error_bar_factor == pytest.approx(1.0 / factor, rel=0.1)

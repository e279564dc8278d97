"""diagnose names the noise that was put in, and says so in one sentence."""

import re

import numpy as np
import pytest

from badac import Measurements
from badac.diagnostics import diagnose
from badac.simulate import experiment


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "family", "advice"),
    [
        (1, "gaussian", "error bars hold"),
        (3, "outliers", r"About (19|20|21) % of the points .* factor of (4.9|5.0|5.1)"),
        (4, "correlated", "correlated in class 0:"),
    ],
)
def test_experiments_are_recognised(number, family, advice):
    data = experiment(number, "released", n_train=400, n_test=10, rng=np.random.default_rng(1))
    found = diagnose(data.train, data.train_label, np.random.default_rng(1))
    assert found.best == family
    assert found.advice in str(found)
    assert len(found.pulls) == 400 * 100

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
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    rng = np.random.default_rng(3)
    training = Measurements(rng.standard_normal((60, 4)), 1.0)
    found = diagnose(training, np.zeros(60), rng)
    ax = found.plot()
    assert ax.get_xlabel() == "residual / sigma"
    matplotlib.pyplot.close(ax.figure)


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

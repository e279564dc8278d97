"""Bad points of the training objects are noise, not strangeness: found where they are, and not where they are not."""

import numpy as np
import pytest

from badac.anomalies import Deviations, Known
from badac.anomalies.bad_points import two_widths_gain
from badac.classes import Population
from badac.data import Measurements
from badac.noise import Gaussian, Outliers
from badac.training import TrainingScales

M = 30


def test_one_width_gains_nothing_and_two_widths_gain_what_the_densities_say(rng: np.random.Generator) -> None:
    one = rng.standard_normal(20_000)
    # Two more parameters gain one nat of all points together on average; ten would be 4 standard deviations.
    assert -1e-3 < two_widths_gain(one) < 10 / 20_000
    bad = rng.uniform(size=one.size) < 0.2
    two = np.where(bad, 5.0, 1.0) * one
    log_two = np.logaddexp(np.log(0.8) - two**2 / 2, np.log(0.2 / 5.0) - two**2 / 50)
    truth = np.mean(log_two) + 0.5 * (1 + np.log(np.mean(two**2)))
    assert two_widths_gain(two) == pytest.approx(truth, abs=2e-3)


def test_no_points_tell_nothing() -> None:
    assert two_widths_gain(np.empty(0)) == 0.0


def deviations(share: float, *, ordered: bool, rng: np.random.Generator) -> Deviations:
    """Two classes of curves, of which a share of the points has five times the error that it claims."""
    n = 300
    at = np.linspace(0, 1, M)
    label = np.arange(n) % 2
    truth = np.where(label[:, None], np.sin(6 * at), np.cos(6 * at)) * rng.normal(1.0, 0.2, (n, 1))
    width = np.where(rng.uniform(size=(n, M)) < share, 5.0, 1.0)
    values = truth + 0.1 * width * rng.standard_normal((n, M))
    if not ordered:
        values = values[:, rng.permutation(M)]
    training = Measurements(values, np.full((n, M), 0.1), at=at if ordered else None)
    scales = TrainingScales.of(training)
    models = tuple(Population().fit(training[label == k], Gaussian(), rng, scales) for k in (0, 1))
    known = Known(training, label, models, np.log([0.5, 0.5]), 0.01, Gaussian(), scales)
    return Deviations().fit(known, rng)


def test_bad_points_are_learned_where_the_members_have_them(rng: np.random.Generator) -> None:
    found = deviations(0.2, ordered=True, rng=rng)
    assert found.grid is not None
    for summary in found.grid.classes:
        assert isinstance(summary.noise, Outliers)
        # 9,000 points: the share is known to 0.01, the width to 0.3, with some room for what psi takes.
        assert summary.noise.share == pytest.approx(0.2, abs=0.05)
        assert summary.noise.width == pytest.approx(5.0, abs=1.0)


@pytest.mark.parametrize(("share", "ordered"), [(0.0, True), (0.2, False)])
def test_error_bars_that_hold_and_features_without_an_order_stay_as_they_are(
    share: float, ordered: bool, rng: np.random.Generator
) -> None:
    found = deviations(share, ordered=ordered, rng=rng)
    assert found.grid is not None
    assert all(isinstance(summary.noise, Gaussian) for summary in found.grid.classes)

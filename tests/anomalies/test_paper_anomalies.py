"""The paper's anomaly models: densities that integrate to one, and the fraction that is flagged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from badac import BADACClassifier, Measurements
from badac.anomalies import Broad, Contamination, Known, Seen, TopHat
from badac.anomalies.contamination import flagging_height
from badac.anomalies.tophat import log_interval
from badac.classes import Instances, TrainingScales
from badac.noise import Gaussian


def known(values: np.ndarray, sigma: float = 0.1) -> Known:
    training = Measurements(values, sigma)
    model = Instances().fit(training, Gaussian(), np.random.default_rng(0))
    label = np.zeros(len(values), dtype=np.int64)
    scales = TrainingScales.of(training)
    return Known(training, label, (model,), np.zeros(1), 0.01, Gaussian(), scales)


NOTHING = np.zeros((1, 1))


@pytest.mark.parametrize("anomaly", [TopHat(), TopHat(times=5), Broad(), Broad(times=4)])
@pytest.mark.parametrize("sigma", [0.05, 1.0])
def test_density_integrates_to_one(anomaly: TopHat | Broad, sigma: float) -> None:
    model = anomaly.fit(known(np.array([[0.0], [1.0]])), np.random.default_rng(0))
    total = quad(
        lambda d: np.exp(model.log_evidence(Measurements([[d]], sigma), NOTHING)[0]),
        -25,
        25,
        points=[-0.5, 1.5],
        limit=400,
    )[0]
    # A thousandth is a Cauchy distribution of at most 3 in width: beyond 25 lies less than a tenth of it.
    assert 1.0 - 1e-4 < total < 1.0


def test_tophat_covers_twice_the_range_with_a_density_per_point() -> None:
    model = TopHat().fit(known(np.array([[0.0, 1.0, 3.0], [0.5, 0.5, 4.0]])), np.random.default_rng(0))
    assert (model.lower, model.upper) == (-2.0, 6.0)
    inside = model.log_evidence(Measurements([[1.0, 2.0, 3.0]], 1e-3), NOTHING)[0]
    assert inside == pytest.approx(-3 * np.log(8.0), abs=3.1e-3)
    missing = model.log_evidence(Measurements([[1.0, np.nan, 3.0]], 1e-3), NOTHING)[0]
    assert missing == pytest.approx(-2 * np.log(8.0), abs=2.1e-3)


def test_tophat_beyond_its_edge_falls_off_but_is_finite() -> None:
    model = TopHat().fit(known(np.array([[0.0], [1.0]])), np.random.default_rng(0))
    far = model.log_evidence(Measurements([[2.0], [3.0], [1e6], [-1e6]], 0.0), NOTHING)
    assert np.isfinite(far).all()
    assert far[0] > far[1] > far[2]


def test_an_object_far_beyond_the_box_is_no_normal_one() -> None:
    """Training values from -.5 to 1.5 with sigma .2: an object at 8 lies outside the top-hat, and is strange all the same."""
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=100)
    training = Measurements(label[:, None] + 0.2 * rng.standard_normal((100, 6)), 0.2)
    for anomaly in ("tophat", "broad"):
        model = BADACClassifier("population", anomaly=anomaly, random_state=0).fit(training, label)
        score = model.anomaly_score(Measurements(np.repeat([[0.0], [8.0], [80.0]], 6, axis=1), 0.2))
        assert score[0] < 0 < score[1] < score[2]


def test_tophat_of_constant_data_has_a_width() -> None:
    model = TopHat().fit(known(np.ones((3, 2))), np.random.default_rng(0))
    assert model.upper > model.lower


def test_broad_is_the_wide_gaussian() -> None:
    values = np.array([[0.0], [2.0]])
    model = Broad(times=3.0).fit(known(values), np.random.default_rng(0))
    found = model.log_evidence(Measurements([[5.0]], 0.4), NOTHING)[0]
    assert found == pytest.approx(norm.logpdf(5.0, 1.0, np.hypot(3.0, 0.4)), abs=1.1e-3)


def test_seen_anomalies_are_a_class_of_their_own(rng: np.random.Generator) -> None:
    train = Measurements(rng.normal(0, 0.1, (100, 4)), 0.1)
    seen = Measurements(rng.normal(2, 0.1, (5, 4)), 0.1)
    model = BADACClassifier(anomaly=Seen(seen)).fit(train, np.zeros(100))
    probability = model.anomaly_proba(Measurements([[2.0] * 4, [0.0] * 4], 0.1))
    assert probability[0] > 0.99 and probability[1] < 1e-6
    with pytest.raises(ValueError, match="as many points"):
        BADACClassifier(anomaly=Seen(seen.points([0]))).fit(train, np.zeros(100))


def test_contamination_flags_its_fraction_of_new_objects(rng: np.random.Generator) -> None:
    n, fraction = 4000, 0.05
    train = Measurements(rng.normal(0, 1, (n, 3)), 0.5)
    new = Measurements(rng.normal(0, 1, (n, 3)), 0.5)
    model = BADACClassifier(class_model="instances", anomaly=Contamination(fraction), anomaly_prior=0.2)
    flagged = (model.fit(train, np.zeros(n)).anomaly_proba(new) > 0.5).mean()
    # Two binomial errors: that of the quantile in training and that of the new objects.
    assert abs(flagged - fraction) < 4 * np.sqrt(2 * fraction * (1 - fraction) / n)


def test_flagging_height_is_the_quantile_even_with_underflow() -> None:
    assert flagging_height(np.array([4.0, 1.0, 3.0, 2.0]), 0.25) == 1.0
    assert np.isfinite(flagging_height(np.array([-np.inf, 1.0]), 0.5))


def test_the_probability_of_an_interval_in_the_tails_and_for_any_width() -> None:
    low = np.array([-1.0, 2.0, -40.0, 3.0, 3.0, -3.0])
    width = np.array([3.0, 1.0, 5.0, 1e-9, 1e-200, 1e200])
    # By the density at the near end, times what is left of it: exact to second order where the width is small.
    expected = [
        np.log(norm.cdf(2) - norm.cdf(-1)),
        np.log(norm.sf(2) - norm.sf(3)),
        norm.logcdf(-35.0),
        norm.logpdf(3.0) + np.log(1e-9),
        norm.logpdf(3.0) + np.log(1e-200),
        norm.logsf(-3.0),
    ]
    np.testing.assert_allclose(log_interval(low, width), expected, rtol=1e-8)
    # An end is so far out that the other one is the same number.
    np.testing.assert_allclose(log_interval(np.array([1e30, -1e30]), np.array([3.0, 3.0])), -5e59)


@pytest.mark.parametrize("sigma", [1e-200, 1e20, 1e150])
def test_the_top_hat_of_any_error_bar_is_finite(sigma: float) -> None:
    model = TopHat().fit(known(np.array([[0.0], [1.0]])), np.random.default_rng(0))
    assert np.isfinite(model.log_evidence(Measurements([[0.5], [1e20]], sigma), NOTHING)).all()

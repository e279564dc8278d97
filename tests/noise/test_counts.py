"""Poisson and binomial counts against sums and integrals taken the slow way."""

import numpy as np
import pytest
from scipy.stats import binom, poisson

from badac import BADACClassifier, Measurements
from badac.noise import Binomial, Poisson

RATE = np.linspace(0.0, 200.0, 400_001)
P = np.linspace(0.0, 1.0, 100_001)


@pytest.mark.parametrize("background", [0.0, 0.5, 6.0])
@pytest.mark.parametrize(
    ("d", "e_d", "c", "e_c"), [(0, 1, 0, 1), (3, 1, 0, 2), (12, 0.5, 9, 0.5), (40, 2, 35, 1)]
)
def test_poisson_is_the_integral_over_the_rate(d, e_d, c, e_c, background):
    objects = Measurements([[float(d)]], 1 / e_d)
    curves = Measurements([[float(c)]], 1 / e_c)
    found = Poisson("1/sigma", background).log_match(objects, curves)[0, 0]
    of_curve = poisson.pmf(c, e_c * RATE + background)
    expected = np.log(
        np.trapezoid(poisson.pmf(d, e_d * RATE + background) * of_curve) / np.trapezoid(of_curve)
    )
    assert found == pytest.approx(expected, abs=1e-5)


def test_no_exposure_is_missing():
    curves = Measurements([[4.0, 4.0]], 1.0)
    objects = Measurements([[3.0, 0.0]], [[1.0, np.inf]])
    both = Poisson("1/sigma").log_match(objects, curves)
    assert both[0, 0] == pytest.approx(Poisson().log_match(objects.points([0]), curves.points([0]))[0, 0])


@pytest.mark.parametrize(("d", "n_d", "c", "n_c"), [(0, 5, 0, 5), (5, 5, 2, 8), (30, 50, 31, 50)])
def test_binomial_is_the_integral_over_the_probability(d, n_d, c, n_c):
    found = Binomial("1/sigma").log_match(
        Measurements([[float(d)]], 1 / n_d), Measurements([[float(c)]], 1 / n_c)
    )[0, 0]
    of_curve = binom.pmf(c, n_c, P)
    expected = np.log(np.trapezoid(binom.pmf(d, n_d, P) * of_curve) / np.trapezoid(of_curve))
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("noise", "value", "message"),
    [
        (Poisson(), -1.0, "Poisson counts must be >= 0: got -1.0 at object 0, point 1"),
        (Poisson(), 1.5, "whole numbers: got 1.5 at object 0, point 1"),
        (Binomial(5), 6.0, "successes must not exceed the trials: got 6.0 at object 0, point 1"),
        (Binomial(5), -2.0, "binomial successes must be >= 0"),
    ],
)
def test_impossible_counts_are_refused(noise, value, message):
    with pytest.raises(ValueError, match=message):
        noise.log_match(Measurements([[0.0, value]]), Measurements([[1.0, 1.0]]))


def test_impossible_parameters_are_refused():
    with pytest.raises(ValueError, match="exposure.*> 0"):
        Poisson(exposure=0.0)
    with pytest.raises(ValueError, match="background.*>= 0"):
        Poisson(background=-1.0)
    with pytest.raises(ValueError, match="trials"):
        Binomial(np.array([[1, 2]]))
    with pytest.raises(ValueError, match="1/sigma.*the objects have none"):
        Poisson("1/sigma").log_match(Measurements([[1.0]]), Measurements([[1.0]]))


@pytest.mark.parametrize("class_model", ["instances", "population"])
def test_impossible_counts_are_refused_by_every_class_model(class_model):
    counts = np.random.default_rng(0).poisson(3.0, (30, 3)).astype(float)
    label = np.arange(30) % 2
    for noise, wrong, message in (
        (Poisson(), -2.0, r">= 0: got -2.0 at object 4, point 1"),
        (Poisson(), 2.5, r"whole numbers: got 2.5 at object 4, point 1"),
        (Binomial(20), 21.0, r"exceed the trials: got 21.0 at object 4, point 1"),
    ):
        bad = counts.copy()
        bad[4, 1] = wrong
        classifier = BADACClassifier(class_model, noise=noise, anomaly="evidence", random_state=0)
        with pytest.raises(ValueError, match=message):
            classifier.fit(bad, label)
        classifier.fit(counts, label)
        with pytest.raises(ValueError, match=message):
            classifier.predict(bad)


@pytest.mark.parametrize("gaps", [False, True])
def test_exposures_that_all_points_share_change_no_bit(gaps: bool) -> None:
    """Their logarithms are computed once; the match is the sum over the points, in their order, as it always was."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0, (7, 6)).astype(float)
    if gaps:
        counts[rng.random(counts.shape) < 0.2] = np.nan
    new = Measurements(counts, exposure=rng.uniform(0.5, 2.0, (7, 1)) * np.ones((1, 6)))
    curves = Measurements(
        rng.poisson(4.0, (5, 6)).astype(float), exposure=rng.uniform(0.5, 2.0, (5, 1)) * np.ones((1, 6))
    )
    expected = np.zeros((7, 5))
    for point in range(6):
        expected += Poisson().log_match(new.points([point]), curves.points([point]))
    np.testing.assert_array_equal(Poisson().log_match(new, curves), expected)

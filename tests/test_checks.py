"""Every noise model keeps the laws, and the laws catch models that do not."""

import numpy as np
import pytest

from badac import Measurements
from badac.anomalies import Broad, Contamination, Deviations, Known, TopHat
from badac.checks import LawBroken, check_anomaly_model, check_class_model, check_noise
from badac.classes import Instances, Template, TrainingScales
from badac.noise import (
    Binomial,
    Correlated,
    Gaussian,
    Marginal,
    Numeric,
    Outliers,
    PerClass,
    Poisson,
    Student,
    Widths,
    correlated_grid,
)

SIGMA = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.1], [0.15, 0.15, 0.25], [0.3, 0.2, 0.1], [0.1, 0.1, 0.1]])
LIKE = Measurements(np.zeros((5, 3)), sigma=SIGMA)
COUNTS = Measurements(np.zeros((5, 3)))
COVARIANCE = 0.04 * np.exp(-np.abs(np.subtract.outer(np.arange(3), np.arange(3))))


def logistic(value, truth, sigma):
    x = np.abs(value - truth) / sigma
    return -x - 2.0 * np.log1p(np.exp(-x)) - np.log(sigma)


CASES = {
    "gaussian": (Gaussian(), LIKE, (-3, 3), ()),
    "gaussian with covariance": (
        Gaussian(),
        Measurements(np.zeros((5, 3)), covariance=COVARIANCE),
        (-3, 3),
        ("order of points",),
    ),
    "correlated": (Correlated(COVARIANCE), LIKE, (-3, 3), ("scaling", "order of points")),
    "outliers": (Outliers(0.2, 5.0), LIKE, (-10, 10), ()),
    "no outliers": (Outliers(0.0, 5.0), LIKE, (-10, 10), ()),
    "student": (Student(3.0), LIKE, (-10, 10), ()),
    "widths": (Widths([0.5, 0.3, 0.2], [0.7, 1.5, 4.0]), LIKE, (-10, 10), ()),
    "grid of covariances": (
        correlated_grid(np.arange(3.0), [0.0, 0.1], [0.5, 2.0]),
        LIKE,
        (-3, 3),
        ("scaling", "order of points"),
    ),
    "per class": (PerClass((Outliers(0.1, 3.0), Gaussian())), LIKE, (-3, 3), ()),
    "numeric": (Numeric(logistic, reach=20), LIKE, (-2, 2), ()),
    "poisson": (Poisson(exposure=2.0), COUNTS, (0, 30), ()),
    "poisson, own exposures": (Poisson("1/sigma"), Measurements(np.zeros((5, 3)), 0.1 + SIGMA), (0, 20), ()),
    "poisson with background": (Poisson(2.0, background=3.0), COUNTS, (0, 30), ()),
    "binomial": (Binomial(12), COUNTS, (0, 1), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_noise_models_keep_the_laws(case):
    noise, like, truth_range, skip = CASES[case]
    # A function of the user's is integrated on a grid that ends where the values end.
    tail = 1.5 if isinstance(noise, Numeric) else 1000.0
    checked = check_noise(
        noise, like, truth_range, np.random.default_rng(1), skip=skip, tolerance=2e-3, tail=tail
    )
    assert "draw follows log_match" in checked
    assert "a density integrates to one" in checked


class Wrong(Gaussian):
    """Gaussian noise that counts only half the variance when it matches."""

    def log_match(self, objects, curves):
        return super().log_match(objects.with_sigma(objects.sigma / 2), curves)


class TooWide(Gaussian):
    def draw(self, truth, like, rng):
        return super().draw(truth, like.with_sigma(2 * like.sigma), rng)


class Unnormalised(Gaussian):
    def log_match(self, objects, curves):
        return super().log_match(objects, curves) + 0.1


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Wrong(), "draw follows log_match|symmetry"),
        (TooWide(), "draw follows log_match"),
        (Unnormalised(), "a density integrates to one"),
        (Marginal((Unnormalised(),)), "a density integrates to one"),
    ],
)
def test_the_laws_catch_wrong_noise(broken, law):
    with pytest.raises(LawBroken, match=law):
        check_noise(broken, LIKE, (-3, 3), np.random.default_rng(1))


def test_unknown_law_is_refused():
    with pytest.raises(ValueError, match="skip"):
        check_noise(Gaussian(), LIKE, (-3, 3), np.random.default_rng(1), skip=("no such law",))


@pytest.mark.parametrize("noise", [Gaussian(), Outliers(0.2, 4.0), Student(4.0), Correlated(COVARIANCE)])
def test_instances_keep_the_laws(noise):
    rng = np.random.default_rng(2)
    values = rng.standard_normal((12, 3))
    sigma = rng.uniform(0.2, 0.5, (12, 3))
    skip = ("scaling",) if isinstance(noise, Correlated) else ()
    members, objects = Measurements(values[:8], sigma[:8]), Measurements(values[8:], sigma[8:])
    check_class_model(Instances(), members, objects, noise, rng, skip=skip)


@pytest.mark.parametrize("noise", [Poisson(2.0), Poisson(2.0, background=1.0), Binomial(15)])
def test_instances_of_counts_keep_the_laws(noise):
    rng = np.random.default_rng(2)
    values = rng.integers(0, 14, (12, 3)).astype(float)
    check_class_model(Instances(), Measurements(values[:8]), Measurements(values[8:]), noise, rng)


def test_class_laws_catch_a_model_that_forgets_the_noise():
    class Forgetful(Instances):
        def log_evidence(self, objects, *, n_threads=1):
            return super().log_evidence(objects) + 0.05 * objects.observed.sum(axis=1)

    rng = np.random.default_rng(2)
    data = Measurements(rng.standard_normal((12, 3)), 0.3)
    with pytest.raises(LawBroken):
        check_class_model(Forgetful(), data[:8], data[8:], Gaussian(), rng)


def test_only_laws_that_speak_of_what_the_noise_has_are_named():
    widths, truth = "the widths are those of the match", "the match is an integral over the truth"
    rng = np.random.default_rng(1)
    assert {widths, truth} <= set(check_noise(Outliers(0.2, 5.0), LIKE, (-10, 10), rng))
    assert not {widths, truth, "symmetry"} & set(check_noise(Poisson(2.0), COUNTS, (0, 30), rng))
    skip = ("order of points", "scaling")
    marginal = correlated_grid(np.arange(3.0), [0.0, 0.1], [0.5])
    assert truth not in check_noise(marginal, LIKE, (-3, 3), rng, skip=skip, tolerance=2e-3)


def test_a_likelihood_that_is_not_that_of_the_match_is_caught():
    class Two(Outliers):
        def log_given_truth(self, objects, truth):
            return Gaussian().log_given_truth(objects, truth)

    with pytest.raises(LawBroken, match="the match is an integral over the truth"):
        check_noise(Two(0.2, 5.0), LIKE, (-10, 10), np.random.default_rng(1))


def known_classes():
    rng = np.random.default_rng(3)
    label = np.arange(60) % 2
    training = Measurements(label[:, None] + 0.5 * rng.standard_normal((60, 5)), 0.3, at=np.arange(5.0))
    models = tuple(Template().fit(training[label == index], Gaussian(), rng) for index in range(2))
    scales = TrainingScales.of(training)
    return Known(training, label, models, np.log([0.5, 0.5]), 0.01, Gaussian(), scales)


@pytest.mark.parametrize(
    "model", [TopHat(), Broad(), Contamination(), Deviations()], ids=lambda m: type(m).__name__
)
def test_anomaly_models_keep_the_laws(model):
    known = known_classes()
    skip = ("nothing measured, nothing learned",) if isinstance(model, Contamination) else ()
    names = check_anomaly_model(model, known, known.training[:4], np.random.default_rng(0), skip=skip)
    assert "objects do not see each other" in names


def test_anomaly_laws_catch_objects_that_see_each_other():
    class Relative(Broad):
        def log_evidence(self, objects, log_known, *, n_threads=1):
            found = super().log_evidence(objects, log_known)
            return found - found.mean()

    known = known_classes()
    with pytest.raises(LawBroken, match="objects do not see each other"):
        check_anomaly_model(Relative(), known, known.training[:4], np.random.default_rng(0))

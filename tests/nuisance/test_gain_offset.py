"""Gain and offset: closed forms against brute force, laws, nothing from nothing, and spoiled objects told apart again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from spoiled import curves, spoiled_test

from badac import BADACClassifier, Measurements, load, save
from badac.checks import check_class_model
from badac.classes import (
    ClassModel,
    GaussianProcess,
    Instances,
    LinearModel,
    Parametric,
    Population,
    Template,
)
from badac.noise import Gaussian, Outliers, Poisson
from badac.nuisance import Calibration, Shift, innermost
from badac.nuisance.calibration import corrected

AT = np.linspace(0, 1, 15)
RNG = np.random.default_rng(0)
MEMBERS = Measurements(
    np.sin(RNG.normal(5, 1, (60, 1)) * AT) + 0.1 * RNG.standard_normal((60, 15)), 0.1, at=AT
)
OBJECTS = Measurements(1.1 * MEMBERS.values[:6] - 0.4, RNG.uniform(0.1, 0.2, (6, 15)), at=AT)
WITH_GAPS = Measurements(np.where(RNG.random((6, 15)) < 0.2, np.nan, OBJECTS.values), OBJECTS.sigma, at=AT)


def fitted(model: ClassModel, noise: object = None) -> ClassModel:
    return model.fit(MEMBERS, noise or Gaussian(), np.random.default_rng(1))


def brute_force(
    model: ClassModel, objects: Measurements, gain: float, offset: float, n: int = 81
) -> np.ndarray:
    """Sum over a fine grid of gains and offsets of the evidence of corrected objects."""
    x = np.linspace(-5, 5, n)
    log_weight = norm.logpdf(x) + np.log(x[1] - x[0])
    g, o = (part.ravel() for part in np.meshgrid(1 + gain * x, offset * x, indexing="ij"))
    log_weights = (log_weight[:, None] + log_weight).ravel()
    out = []
    for row in range(objects.n_objects):
        every = corrected(objects[np.full(len(g), row)], g, o)
        found = model.log_evidence(every) - objects[row].observed.sum() * np.log(g)
        out.append(logsumexp(found + log_weights))
    return np.array(out)


# How far the closed forms may be off: they take the scatter that no factor explains at its mean square over the gain.
MODELS = {
    "population": (Population(rank=3, shape="gaussian"), 0.3),
    "template": (Template(), 0.01),
    "instances": (Instances(), 0.4),
    "linear": (LinearModel(np.stack([AT, AT**2, np.ones(15)], axis=1), [1, -1, 0], [2, 2, 1]), 0.02),
}


@pytest.mark.parametrize("name", MODELS)
def test_evidence_is_the_sum_over_gains_and_offsets(name: str) -> None:
    model, tolerance = MODELS[name]
    plain = fitted(model)
    wrapped = Calibration(0.1, 0.3).wrap(plain, MEMBERS)
    for objects in (OBJECTS[:3], WITH_GAPS[:2]):
        np.testing.assert_allclose(
            wrapped.log_evidence(objects), brute_force(plain, objects, 0.1, 0.3), atol=tolerance
        )


@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_an_offset_alone_is_exact(offset: float) -> None:
    for model in (MODELS["population"][0], Template(), Instances()):
        plain = fitted(model)
        added = 0.3**2 * np.ones((15, 15)) if offset else np.zeros((15, 15))
        full = Measurements(
            OBJECTS.values, covariance=OBJECTS.sigma[:, :, None] ** 2 * np.eye(15) + added, at=AT
        )
        found = Calibration(offset=offset).wrap(plain, MEMBERS).log_evidence(OBJECTS)
        np.testing.assert_allclose(found, plain.log_evidence(full), rtol=1e-7)


def test_a_gain_alone_on_a_template_without_scatter() -> None:
    plain = fitted(Template(sigma_star=0.0))
    plain = replace(plain, error=np.full(15, 1e-6))
    found = Calibration(gain=0.2).wrap(plain, MEMBERS).log_evidence(OBJECTS)
    full = OBJECTS.sigma[:, :, None] ** 2 * np.eye(15) + 0.04 * np.outer(plain.mean, plain.mean)
    expected = plain.log_evidence(Measurements(OBJECTS.values, covariance=full, at=AT))
    # The sum over gains ends at a gain of 0.02, at -4.9 standard deviations.
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_parametric_class_gets_two_more_parameters() -> None:
    def sine(theta: np.ndarray, at: np.ndarray) -> np.ndarray:
        return np.sin(theta[0] * at)

    plain = fitted(Parametric(sine, [norm(5, 1)]))
    wrapped = Calibration(0.1, 0.3).wrap(plain, MEMBERS)
    x = np.linspace(1, 9, 401)
    curve = np.sin(x[:, None] * AT)
    terms = []
    for d, s in zip(OBJECTS.values[:2], OBJECTS.sigma[:2], strict=True):
        cov = np.diag(s**2) + 0.09 + 0.01 * curve[:, :, None] * curve[:, None, :]
        left = d - curve
        white = np.linalg.solve(cov, left[..., None])[..., 0]
        density = -0.5 * ((left * white).sum(1) + np.linalg.slogdet(2 * np.pi * cov)[1])
        terms.append(logsumexp(density + norm.logpdf(x, 5, 1)) + np.log(x[1] - x[0]))
    np.testing.assert_allclose(wrapped.log_evidence(OBJECTS[:2]), terms, atol=0.05)


@pytest.mark.parametrize("name", ["population", "template", "instances"])
def test_laws_of_a_class_model(name: str) -> None:
    wrapped = Calibration(0.2, 0.3, of=MODELS[name][0])
    # An offset has the units of the values: scaled data have another one.
    rng = np.random.default_rng(3)
    check_class_model(wrapped, MEMBERS[:30], OBJECTS, Gaussian(), rng, skip=["scaling"], tolerance=1e-4)
    gain_only = Calibration(0.2, of=MODELS[name][0])
    assert "scaling" in check_class_model(gain_only, MEMBERS[:30], OBJECTS, Gaussian(), rng, tolerance=1e-4)


@pytest.mark.parametrize("name", ["population", "template", "instances", "gp"])
def test_no_width_changes_nothing(name: str) -> None:
    model = GaussianProcess() if name == "gp" else MODELS[name][0]
    plain = fitted(model)
    wrapped = Calibration().wrap(plain, MEMBERS)
    np.testing.assert_array_equal(wrapped.log_evidence(OBJECTS), plain.log_evidence(OBJECTS))
    np.testing.assert_array_equal(wrapped.leave_one_out(), plain.leave_one_out())
    almost = Calibration(1e-9, 1e-9).wrap(plain, MEMBERS)
    np.testing.assert_allclose(
        almost.log_evidence(OBJECTS), plain.log_evidence(OBJECTS), rtol=1e-5, atol=1e-3
    )


def test_bad_points_may_have_a_gain_too() -> None:
    plain = fitted(Population(rank=3, shape="gaussian"), Outliers(0.1, 5.0))
    found = Calibration(0.1, 0.3).wrap(plain, MEMBERS).log_evidence(OBJECTS)
    assert (found > plain.log_evidence(OBJECTS)).all()


def test_counts_have_no_gain() -> None:
    with pytest.raises(ValueError, match="counts is not possible"):
        Calibration(0.1, of=Instances()).fit(MEMBERS, Poisson(), RNG)
    with pytest.raises(ValueError, match="width >= 0"):
        Calibration(gain=-0.1)
    with pytest.raises(ValueError, match="wraps a class model"):
        Calibration(0.1).fit(MEMBERS, Gaussian(), RNG)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["printed", "released"])
def test_spoiled_objects_are_told_apart_again(setting: str) -> None:
    data = curves(setting, 1000, 1000, seed=7)
    spoiled = spoiled_test(data, np.random.default_rng(1), gain=0.2, offset=0.3)
    plain = BADACClassifier("population", anomaly="evidence", random_state=0)
    plain.fit(data.train, data.train_label)
    wrapped = BADACClassifier(
        "population", anomaly="evidence", nuisance={"gain": 0.2, "offset": 0.3}, random_state=0
    ).fit(data.train, data.train_label)

    def accuracy(model: BADACClassifier, objects: Measurements) -> float:
        return float(np.mean(model.predict(objects) == data.test_label))

    unspoiled = accuracy(plain, data.test)
    assert accuracy(wrapped, spoiled) > unspoiled - 0.01
    assert accuracy(plain, spoiled) < unspoiled - 0.005


@pytest.mark.slow
def test_the_estimator_applies_ranks_and_stores_them(tmp_path: object) -> None:
    data, some = curves("released", 80, 20, seed=2), slice(0, None, 4)
    train = data.train.points(some)
    nuisance = [Calibration(0.1, 0.2), Shift(0.01, n_nodes=3)]
    keywords = {"class_model": "population", "random_state": 0}
    wrapped = BADACClassifier(nuisance=nuisance, **keywords).fit(train, data.train_label)
    assert all(isinstance(innermost(model), Population) for model in wrapped.class_models_)
    spoiled = spoiled_test(data, np.random.default_rng(1), gain=0.1, offset=0.2).points(some)
    plain = BADACClassifier(**keywords).fit(train, data.train_label)
    # What a calibration explains is no anomaly.
    assert np.median(wrapped.anomaly_score(spoiled)) < np.median(plain.anomaly_score(spoiled))
    save(wrapped, tmp_path / "model.badac")
    again = load(tmp_path / "model.badac")
    np.testing.assert_array_equal(again.anomaly_score(spoiled), wrapped.anomaly_score(spoiled))
    idle = BADACClassifier(nuisance={"gain": 0.0, "offset": 0.0, "shift": 0.0}, **keywords).fit(
        train, data.train_label
    )
    np.testing.assert_array_equal(idle.predict_log_proba(spoiled), plain.predict_log_proba(spoiled))
    np.testing.assert_array_equal(idle.anomaly_score(spoiled), plain.anomaly_score(spoiled))


def test_a_nuisance_of_no_known_name_is_refused() -> None:
    for wrong in ({"phase": 0.1}, "gain", [Calibration]):
        with pytest.raises(ValueError, match="`nuisance` must"):
            BADACClassifier(nuisance=wrong).fit([[0.0], [1.0], [0.1], [1.1]], [0, 1, 0, 1])


@pytest.mark.parametrize("width", ["x", None, -1.0, np.nan, np.inf])
def test_a_width_is_a_number(width: object) -> None:
    with pytest.raises(ValueError, match="`gain` of a Calibration must be a width >= 0"):
        Calibration(gain=width)
    with pytest.raises(ValueError, match="`width` of a Shift must be >= 0"):
        Shift(width)

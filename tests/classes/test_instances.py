"""Exact BADAC against its definition: extended precision, scipy, and integration over the true values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from badac import Measurements
from badac.classes import Instances, TrainingScales
from badac.classes.instances import fill_gaps
from badac.noise import Gaussian


def fitted(members: Measurements, **keywords: object) -> Instances:
    return Instances(**keywords).fit(members, Gaussian(), np.random.default_rng(0))


def definition(objects: Measurements, members: Measurements) -> np.ndarray:
    """The closed form, straight from the formula, in extended precision."""
    wide = np.longdouble
    out = np.empty(len(objects), dtype=wide)
    y, s = members.values.astype(wide), members.sigma.astype(wide)
    for row in range(len(objects)):
        d, sd = objects.values[row].astype(wide), objects.sigma[row].astype(wide)
        variance = sd**2 + s**2
        match = -0.5 * ((d - y) ** 2 / variance + np.log(2 * np.pi * variance)).sum(axis=1)
        top = match.max()
        out[row] = top + np.log(np.exp(match - top).sum()) - np.log(wide(len(members)))
    return out


@pytest.mark.shared_data
@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (59_000.0, 0.01)])
def test_authors_sample_in_extended_precision(authors_sample: dict, shift: float, factor: float) -> None:
    """1e-9 relative; the second case has values around 59,000 with sigma 0.001."""
    label = authors_sample["train_label"]
    objects = Measurements(
        shift + factor * authors_sample["test_values"][:100], factor * authors_sample["test_sigma"][:100]
    )
    for name in (0, 1):
        members = Measurements(
            shift + factor * authors_sample["train_values"][label == name],
            factor * authors_sample["train_sigma"][label == name],
        )
        exact = definition(objects, members)
        found = fitted(members).log_evidence(objects)
        assert np.max(np.abs((found - exact) / exact)) < 1e-9


def test_large_values_with_small_errors(rng: np.random.Generator) -> None:
    members = Measurements(59_000 + 0.01 * rng.normal(size=(50, 30)), rng.uniform(0.0005, 0.0015, (50, 30)))
    objects = Measurements(59_000 + 0.01 * rng.normal(size=(20, 30)), rng.uniform(0.0005, 0.0015, (20, 30)))
    exact = definition(objects, members)
    assert np.max(np.abs(fitted(members).log_evidence(objects) / exact - 1)) < 1e-9


def test_against_scipy_multivariate_normal(rng: np.random.Generator) -> None:
    members = Measurements(rng.normal(size=(7, 4)), rng.uniform(0.1, 1, (7, 4)))
    objects = Measurements(rng.normal(size=(5, 4)), rng.uniform(0.1, 1, (5, 4)))
    matches = [
        [
            multivariate_normal(y, np.diag(sd**2 + s**2)).logpdf(d)
            for y, s in zip(members.values, members.sigma, strict=True)
        ]
        for d, sd in zip(objects.values, objects.sigma, strict=True)
    ]
    expected = logsumexp(matches, axis=1) - np.log(7)
    np.testing.assert_allclose(fitted(members).log_evidence(objects), expected, rtol=1e-12)


def test_one_point_against_integration_over_the_truth() -> None:
    d, sd, y, s = 0.3, 0.2, [0.1, 0.9], [0.5, 0.1]
    integral = sum(
        quad(lambda t, yi=yi, si=si: norm.pdf(d, t, sd) * norm.pdf(yi, t, si), -5, 5, epsabs=1e-13)[0] / 2
        for yi, si in zip(y, s, strict=True)
    )
    members = Measurements(np.array(y)[:, None], np.array(s)[:, None])
    found = fitted(members).log_evidence(Measurements([[d]], sd))[0]
    assert found == pytest.approx(np.log(integral), rel=1e-9)


def test_two_points_against_integration_over_the_truth() -> None:
    d, sd, y, s = [0.3, -0.1], [0.2, 0.3], [0.1, 0.4], [0.25, 0.15]

    def normal(value: float, centre: float, sigma: float) -> float:
        return math.exp(-0.5 * ((value - centre) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))

    def integrand(t1: float, t0: float) -> float:
        first = normal(d[0], t0, sd[0]) * normal(y[0], t0, s[0])
        return first * normal(d[1], t1, sd[1]) * normal(y[1], t1, s[1])

    integral = dblquad(integrand, -2, 2, -2, 2, epsabs=1e-10)[0]
    found = fitted(Measurements([y], [s])).log_evidence(Measurements([d], [sd]))[0]
    assert found == pytest.approx(np.log(integral), rel=1e-7)


def test_covariance_on_either_side(rng: np.random.Generator) -> None:
    factor = rng.normal(size=(3, 4, 4))
    covariance = factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(4)
    members = Measurements(rng.normal(size=(3, 4)), covariance=covariance)
    objects = Measurements(rng.normal(size=(2, 4)), rng.uniform(0.1, 1, (2, 4)))
    found = fitted(members).log_evidence(objects)
    for row in range(2):
        matches = [
            multivariate_normal(members.values[i], covariance[i] + np.diag(objects.sigma[row] ** 2)).logpdf(
                objects.values[row]
            )
            for i in range(3)
        ]
        assert found[row] == pytest.approx(logsumexp(matches) - np.log(3), rel=1e-10)


def test_a_missing_point_of_the_object_is_absent(rng: np.random.Generator) -> None:
    members = Measurements(rng.normal(size=(6, 4)), 0.3)
    values = rng.normal(size=(3, 4))
    gappy = values.copy()
    gappy[:, 2] = np.nan
    whole = fitted(members).log_evidence(Measurements(gappy, 0.2))
    without = fitted(members.points([0, 1, 3])).log_evidence(Measurements(values[:, [0, 1, 3]], 0.2))
    np.testing.assert_allclose(whole, without, rtol=1e-12)


def test_a_missing_point_of_a_member_gives_no_bonus(rng: np.random.Generator) -> None:
    """A stranger at the points that a member lacks stays a stranger: dropping them would forgive it everything."""
    curves = rng.normal(size=(400, 12))
    curves[0, :6] = np.nan
    model = fitted(Measurements(curves, 0.1))
    stranger = np.where(np.isnan(curves[:1]), 5.0, curves[:1])
    forgiven = -np.log(400) + 6 * norm.logpdf(0.0, 0.0, np.hypot(0.1, 0.1))
    # Each of the six points lies five standard deviations of the class away, so it must cost about 12 nats.
    assert model.log_evidence(Measurements(stranger, 0.1))[0] < forgiven - 6 * 0.5 * (5.0 / 1.2) ** 2


def test_gaps_take_the_mean_and_spread_of_the_class(rng: np.random.Generator) -> None:
    values = 5.0 + 2.0 * rng.normal(size=(20_000, 1))
    values = np.hstack([values, values])
    values[0, 1] = np.nan
    members = Measurements(values, sigma=0.5)
    filled = fill_gaps(members, TrainingScales.of(members))
    # The mean of 20,000 draws of standard deviation 2, and the spread with the noise of 0.5 taken out.
    assert abs(filled.values[0, 1] - 5.0) < 5 * 2 / np.sqrt(20_000)
    assert abs(filled.sigma[0, 1] - np.sqrt(4 - 0.25)) < 5 * 2 / np.sqrt(2 * 20_000) + 0.01
    assert filled.complete


def test_a_point_no_member_has_comes_from_the_surroundings() -> None:
    members = Measurements([[1.0, np.nan], [2.0, np.nan]], 0.1)
    scales = TrainingScales.of(Measurements([[1.0, 7.0], [2.0, 9.0]], 0.1))
    filled = fill_gaps(members, scales)
    assert filled.values[:, 1].tolist() == [8.0, 8.0]
    assert filled.sigma[:, 1].tolist() == [1.0, 1.0]


def test_leave_one_out_is_the_evidence_without_the_member(rng: np.random.Generator) -> None:
    members = Measurements(rng.normal(size=(9, 3)), rng.uniform(0.2, 0.5, (9, 3)))
    found = fitted(members).leave_one_out()
    for row in range(9):
        others = members[np.arange(9) != row]
        assert found[row] == pytest.approx(fitted(others).log_evidence(members[row])[0], rel=1e-12)
    assert np.isneginf(fitted(members[:1]).leave_one_out()).all()


def test_width_is_learned_without_errors_and_near_the_truth() -> None:
    """Members scatter by 0.3 around one of two far centres: the width must be of the order of the scatter, not of the gap."""
    rng = np.random.default_rng(5)
    centre = rng.choice([-10.0, 10.0], size=(300, 1))
    members = Measurements(centre + 0.3 * rng.normal(size=(300, 1)))
    width = fitted(members).width
    assert 0.02 < width[0] < 0.6


def test_a_given_width_is_used_as_it_is(rng: np.random.Generator) -> None:
    values = rng.normal(size=(4, 2))
    wide = fitted(Measurements(values, 0.3), sigma_star=0.4)
    same = fitted(Measurements(values, 0.5))
    objects = Measurements(rng.normal(size=(3, 2)), 0.1)
    np.testing.assert_allclose(wide.log_evidence(objects), same.log_evidence(objects), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_few_exact_members_and_constant_points(n: int) -> None:
    members = Measurements(np.tile([1.0, 2.0, 0.0], (n, 1)))
    found = fitted(members).log_evidence(Measurements([[1.0, 2.0, 0.0], [5.0, 5.0, 5.0]]))
    assert np.isfinite(found).all()
    assert found[0] > found[1]


@pytest.mark.parametrize("width", [-1.0, np.nan, np.inf, "a"])
def test_an_intraclass_width_that_is_none_is_refused(width: object) -> None:
    with pytest.raises(ValueError, match="`sigma_star` of Instances must be"):
        fitted(Measurements(np.zeros((3, 2)), 0.1), sigma_star=width)

"""Evidence of linear curves against multivariate normals, and against every pattern of bad points."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from badac.simulate import Normal, experiment
from reproduction.limits.linear import linear_log_evidence, linear_log_evidence_with_bad_points
from reproduction.limits.mixture import MixtureDensity
from reproduction.limits.sine import sine_log_evidence_with_bad_points

BAD = MixtureDensity(0.2, 5.0)


def parabola(m):
    at = np.linspace(0.0, 1.0, m)
    return 0.2 * np.column_stack([at**2, at, np.ones(m)])


def objects(n, m, seed):
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.1, 0.5, (n, m))
    return rng.normal(size=(n, 3)) @ parabola(m).T + sigma * rng.normal(size=(n, m)), sigma


def test_gaussian_errors_are_a_multivariate_normal():
    residual, sigma = objects(4, 30, seed=1)
    basis = parabola(30)
    expected = [
        multivariate_normal(np.zeros(30), basis @ basis.T + np.diag(s**2)).logpdf(r)
        for r, s in zip(residual, sigma, strict=True)
    ]
    np.testing.assert_allclose(linear_log_evidence(residual, sigma, basis), expected, rtol=1e-11)


def test_bad_points_are_the_sum_over_all_patterns():
    # Each of the 2^7 patterns of bad points is Gaussian. Seven points leave the posterior far from normal: the error
    # of the quadrature with 25 nodes a dimension is below 1e-4 here (with 41 nodes it is below 1e-6).
    residual, sigma = objects(6, 7, seed=2)
    residual[0, 3] += 4.0
    basis = parabola(7)
    terms = []
    for pattern in product([False, True], repeat=7):
        bad = np.array(pattern)
        log_prior = bad.sum() * np.log(0.2) + (~bad).sum() * np.log(0.8)
        terms.append(log_prior + linear_log_evidence(residual, np.where(bad, 5.0, 1.0) * sigma, basis))
    found = linear_log_evidence_with_bad_points(residual, sigma, basis, BAD, n_nodes=25)
    np.testing.assert_allclose(found, logsumexp(terms, axis=0), atol=1e-4)


def test_hardly_any_bad_point_is_gaussian():
    residual, sigma = objects(5, 40, seed=3)
    # A share of 1e-12 changes the log density of good points by less than 40 * 1e-12 / density ratio.
    found = linear_log_evidence_with_bad_points(residual, sigma, parabola(40), MixtureDensity(1e-12, 5.0))
    np.testing.assert_allclose(found, linear_log_evidence(residual, sigma, parabola(40)), atol=1e-7)


@pytest.mark.parametrize("setting", ["printed", "released"])
def test_default_nodes_are_enough_where_the_class_is_in_doubt(setting):
    data = experiment(3, setting, n_train=1, n_test=400, contamination=0.0, rng=np.random.default_rng(4))
    at, values, sigma = data.at, data.test.values, data.test.sigma
    residual = values - 0.5 * (at**2 + at)
    default = linear_log_evidence_with_bad_points(residual, sigma, parabola(100), BAD)
    sine = sine_log_evidence_with_bad_points(values, sigma, at, Normal(5.0, 2.0), BAD)
    doubt = np.abs(default - sine) < 20.0
    assert doubt.sum() > 20
    fine = linear_log_evidence_with_bad_points(residual[doubt], sigma[doubt], parabola(100), BAD, n_nodes=15)
    np.testing.assert_allclose(default[doubt], fine, atol=1e-3)


def test_objects_do_not_depend_on_their_block():
    residual, sigma = objects(300, 20, seed=5)
    together = linear_log_evidence_with_bad_points(residual, sigma, parabola(20), BAD)
    alone = linear_log_evidence_with_bad_points(residual[255:256], sigma[255:256], parabola(20), BAD)
    np.testing.assert_allclose(together[255:256], alone, rtol=1e-12)

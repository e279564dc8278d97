import numpy as np
import pytest
from scipy.stats import multivariate_normal

from badac.data.measurements import Measurements
from badac.latent.likelihood import project
from populations import gaussian


def dense(objects: Measurements, mean: np.ndarray, factors: np.ndarray, psi: np.ndarray) -> np.ndarray:
    out = []
    for row in range(len(objects)):
        seen = objects.observed[row]
        own = np.diag(objects.sigma[row, seen] ** 2)
        if objects.covariance is not None:
            full = objects.covariance if objects.covariance.ndim == 2 else objects.covariance[row]
            own = full[np.ix_(seen, seen)]
        covariance = factors[seen] @ factors[seen].T + np.diag(psi[seen]) + own
        out.append(multivariate_normal(mean[seen], covariance).logpdf(objects.values[row, seen]))
    return np.array(out)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_gaussian_evidence_is_the_dense_one(missing: float) -> None:
    objects, mean, factors, psi = gaussian(20, seed=1, psi=0.05, missing=missing)
    found = project(objects, mean, factors, psi).gaussian_log_evidence()
    np.testing.assert_allclose(found, dense(objects, mean, factors, psi), rtol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_correlated_errors(shared: bool) -> None:
    objects, mean, factors, psi = gaussian(8, seed=2, psi=0.05)
    m = objects.n_points
    covariance = 0.1 * np.eye(m) + 0.05
    if not shared:
        covariance = np.arange(1.0, 9.0)[:, None, None] * covariance
    values = objects.values.copy()
    values[0, 3] = np.nan
    correlated = Measurements(values, covariance=covariance)
    found = project(correlated, mean, factors, psi).gaussian_log_evidence()
    np.testing.assert_allclose(found, dense(correlated, mean, factors, psi), rtol=1e-10)


def test_a_missing_point_is_an_absent_point() -> None:
    objects, mean, factors, psi = gaussian(5, seed=3, psi=0.1)
    values = objects.values.copy()
    values[:, 4] = np.nan
    kept = np.arange(objects.n_points) != 4
    hidden = project(Measurements(values, objects.sigma), mean, factors, psi)
    absent = project(objects.points(kept), mean[kept], factors[kept], psi[kept])
    np.testing.assert_allclose(hidden.gaussian_log_evidence(), absent.gaussian_log_evidence(), rtol=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    objects, mean, factors, psi = gaussian(200, seed=4, psi=0.1)
    whole = project(objects, mean, factors, psi).gaussian_log_evidence()
    monkeypatch.setattr("badac.latent.likelihood._NUMBERS_PER_BLOCK", 1)
    np.testing.assert_allclose(
        project(objects, mean, factors, psi).gaussian_log_evidence(), whole, rtol=1e-12
    )

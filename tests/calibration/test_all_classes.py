"""Base models of all classes at once, in single precision, against each class on its own."""

from __future__ import annotations

import numpy as np
import pytest

from badac import Measurements
from badac.calibration.stacking.all_classes import log_evidence_of_kind
from badac.calibration.stacking.base_models import kinds
from badac.evidence import log_evidence
from badac.noise import Gaussian, Outliers
from badac.training import TrainingScales


def _members(rng: np.random.Generator, n: int, m: int, centre: float) -> Measurements:
    values = centre + rng.standard_normal((n, m))
    values[rng.random((n, m)) < 0.1] = np.nan
    values[:, 0] = centre
    return Measurements(values, rng.uniform(0.1, 0.5, (n, m)))


@pytest.mark.parametrize("noise", [Gaussian(), Gaussian(1.7)])
@pytest.mark.parametrize("kind", kinds().values(), ids=list(kinds()))
def test_all_at_once_is_each_on_its_own(kind, noise) -> None:
    rng = np.random.default_rng(0)
    classes = [_members(rng, n, 7, 1000.0 + 2.0 * n) for n in (2, 60, 9)]
    scales = TrainingScales.of(classes[1])
    models = [kind.fit(members, noise, rng, scales) for members in classes]
    objects = _members(rng, 40, 7, 1050.0)
    objects = Measurements(
        np.vstack([objects.values, np.full((1, 7), 1e9)]), np.vstack([objects.sigma, np.ones((1, 7))])
    )
    found = log_evidence_of_kind(models, objects)
    expected = log_evidence(models, objects)
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-5)
    assert np.array_equal(found, log_evidence_of_kind(models, objects, n_threads=2))


def test_other_noise_is_asked_class_by_class() -> None:
    rng = np.random.default_rng(0)
    noise = Outliers(0.1, 5.0)
    members = _members(rng, 30, 4, 0.0)
    kind = kinds()["instances, width 0.2"]
    models = [kind.fit(members, noise, rng, TrainingScales.of(members))]
    assert np.array_equal(log_evidence_of_kind(models, members), log_evidence(models, members))

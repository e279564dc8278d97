"""A class says what it is beyond its evidence, or has it learned from its members in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest

from badac import BADACClassifier, Measurements, classes, nuisance
from badac.anomalies import ClassSummary, Deviations, Known, ProcessSummary
from badac.anomalies.learned_summary import class_summary
from badac.classes.model import ClassModel, summary_of
from badac.latent.kernel_density import KernelDensity
from badac.latent.mixture import Mixture
from badac.noise import Gaussian
from badac.training import TrainingScales

AT = np.linspace(0.0, 1.0, 12)


@pytest.fixture(scope="module")
def members() -> Measurements:
    rng = np.random.default_rng(0)
    truth = rng.normal(1.0, 0.3, (60, 1)) * np.sin(5 * AT)
    return Measurements(truth + 0.1 * rng.standard_normal((60, 12)), 0.1, at=AT)


def fitted(model: Any, members: Measurements) -> Any:
    return model.fit(members, Gaussian(), np.random.default_rng(1))


def known(model: ClassModel, members: Measurements) -> Known:
    label = np.zeros(len(members), dtype=np.int64)
    return Known(members, label, (model,), np.zeros(1), 0.01, Gaussian(), TrainingScales.of(members))


def test_a_population_is_its_own_summary(members: Measurements) -> None:
    model = fitted(classes.Population(), members)
    summary = model.summary()
    assert isinstance(summary, ClassSummary)
    # The population without its tails.
    expected = model.density.log_evidence(model.latent(members))
    np.testing.assert_allclose(summary.log_evidence(model.latent(members)), expected, rtol=1e-10)
    assert classes.Population().summary() is None


def test_one_curve_per_member_is_a_summary_and_the_hypotheses_get_a_small_one(members: Measurements) -> None:
    model = fitted(classes.Population(shape="curves"), members)
    summary = model.summary()
    # By itself it offers the Gaussian of the same mean and covariance.
    assert isinstance(summary.density, KernelDensity) and len(summary.mixture) == 1
    rng = np.random.default_rng(0)
    small = class_summary(known(model, members), 0, model, members, rng)
    assert isinstance(small.density, Mixture) and len(small.density) <= 17
    assert small.factor.psi is model.psi


@pytest.mark.parametrize("name", ["Auto", "idle nuisance"])
def test_who_only_wraps_a_class_passes_its_summary_on(name: str, members: Measurements) -> None:
    model = fitted(classes.Population(), members)
    wrapped = classes.Auto(chosen=model) if name == "Auto" else nuisance.Shift(0.0).wrap(model, members)
    assert summary_of(wrapped).factor.psi is model.psi


def test_a_class_with_a_nuisance_at_work_has_no_summary_of_its_own(members: Measurements) -> None:
    model = fitted(classes.Population(), members)
    wrapped = nuisance.Shift(0.0).wrap(nuisance.Calibration(gain=0.5).wrap(model, members), members)
    assert summary_of(wrapped) is None
    rng = np.random.default_rng(0)
    learned = class_summary(known(wrapped, members), 0, wrapped, members, rng)
    # From members that were spoiled at random: their sizes differ by more than the class's own.
    power = [np.mean((one.factor.factors**2).sum(axis=1)) for one in (learned, model.summary())]
    assert power[0] > 1.5 * power[1]


@pytest.mark.parametrize("model", [classes.GaussianProcess(), classes.IrregularPopulation()])
def test_a_process_is_its_own_summary_at_any_points(model: Any) -> None:
    rng = np.random.default_rng(0)
    at = np.sort(rng.uniform(0, 1, (30, 9)), axis=1)
    curves = Measurements(np.sin(5 * at) + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    process = fitted(model, curves)
    summary = process.summary()
    assert isinstance(summary, ProcessSummary) and model.summary() is None
    own = Deviations().fit(known(process, curves), rng)
    assert own.points is not None and own.points.classes[0].log_shares is summary.log_shares
    # On a common grid the hypotheses want factors, and learn a population.
    grid = Measurements(curves.values, 0.1, at=AT[:9])
    assert isinstance(class_summary(known(process, grid), 0, process, grid, rng), ClassSummary)


@pytest.mark.parametrize("model", [classes.Template(), classes.Instances()])
def test_other_class_models_have_one_learned(model: Any, members: Measurements) -> None:
    model = fitted(model, members)
    assert summary_of(model) is None
    learned = class_summary(known(model, members), 0, model, members, np.random.default_rng(1))
    population = fitted(classes.Population(), members)
    np.testing.assert_array_equal(learned.factor.mean, population.mean)


@dataclass(frozen=True)
class Flat:
    """A class model of somebody else's, that knows of no summary."""

    size: int = 0

    def fit(
        self,
        members: Measurements,
        noise: Any,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        return replace(self, size=len(members))

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> np.ndarray:
        return np.full(len(objects), -3.0)

    def leave_one_out(self, *, n_threads: int = 1) -> np.ndarray:
        return np.full(self.size, -3.0)


def test_a_class_model_without_a_summary_keeps_working(members: Measurements) -> None:
    model = BADACClassifier(class_model=Flat(), random_state=0).fit(members, np.arange(60) % 2)
    assert np.isfinite(model.anomaly_score(members)).all()
    assert len(model.explain(members[:3])) == 3

"""The population of irregular curves: definition, agreement with the process, laws, a bent class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from badac import BADACClassifier, Measurements
from badac.checks import check_class_model
from badac.classes.gp import WIDTHS, GaussianProcess
from badac.classes.irregular import IrregularPopulation
from badac.data import concatenate
from badac.evidence import log_evidence as evidence_of_all
from badac.latent.fit_process import log_evidence
from badac.latent.mixture import Mixture
from badac.latent.points import OBJECTS_PER_BLOCK
from badac.latent.process import scaled
from badac.noise import Gaussian


def bent(n: int, rng: np.random.Generator) -> Measurements:
    """Sines of random frequency, at random times: a family that no Gaussian covers."""
    at = rng.random((n, 20))
    truth = np.sin(rng.normal(5.0, 2.0, (n, 1)) * at)
    return Measurements(truth + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)


def test_a_gaussian_density_is_the_gaussian_process(rng: np.random.Generator) -> None:
    members, new = bent(30, rng), bent(10, rng)
    model = IrregularPopulation(rank=2, n_knots=6, shape="gaussian").fit(members, Gaussian(), rng)
    assert model.process is not None and model.curve is not None and model.factors is not None
    one = replace(model, density=Mixture.standard(2), log_shares=np.log([1.0, 1e-300, 1e-300, 1e-300]))
    process = replace(model.process, factors=np.hstack([model.process.factors, model.factors]))
    known = replace(model.curve, precision=1e12 * np.eye(len(model.curve.coefficients)))
    np.testing.assert_allclose(one.log_evidence(new), log_evidence(new, process, known), atol=1e-6)


def test_widths_widen_the_remainder_only(rng: np.random.Generator) -> None:
    members = bent(20, rng)
    model = IrregularPopulation(rank=1, n_knots=6, shape="gaussian").fit(members, Gaussian(), rng)
    assert model.process is not None and model.log_shares is not None and model.density is not None
    new = bent(5, rng)
    columns = []
    for width in WIDTHS:
        wider = scaled(model.process, width)
        columns.append(model.density.log_evidence(replace(model, process=wider).latent(new)))
    expected = logsumexp(np.column_stack(columns) + model.log_shares, axis=1)
    np.testing.assert_allclose(model.log_evidence(new), expected, atol=1e-10)


def test_laws(rng: np.random.Generator) -> None:
    at = np.linspace(0, 1, 6)
    values = np.sin(rng.normal(5, 1, (24, 1)) * at) + 0.1 * rng.standard_normal((24, 6))
    data = Measurements(values, 0.1, at=at)
    # The climb ends within its stopping rule, not at the same digit.
    check_class_model(
        IrregularPopulation(rank=1, n_knots=5, shape="gaussian"),
        data[:20],
        data[20:],
        Gaussian(),
        rng,
        tolerance=0.05,
    )


@pytest.mark.slow
def test_a_bent_class_is_followed(rng: np.random.Generator) -> None:
    members, new = bent(150, rng), bent(150, rng)
    population = IrregularPopulation(n_knots=10).fit(members, Gaussian(), np.random.default_rng(0))
    process = GaussianProcess(n_knots=10).fit(members, Gaussian(), np.random.default_rng(0))
    gain = population.log_evidence(new) - process.log_evidence(new)
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(len(gain))


def test_a_class_of_few_members_answers(rng: np.random.Generator) -> None:
    model = IrregularPopulation(n_knots=5).fit(bent(3, rng), Gaussian(), rng)
    assert np.isfinite(model.log_evidence(bent(4, rng))).all()
    assert model.leave_one_out().shape == (3,)


@pytest.mark.slow
def test_the_default_takes_irregular_objects(rng: np.random.Generator) -> None:
    flat = bent(40, rng)
    flat = Measurements(flat.values * 0.2, 0.1, at=flat.at)
    both = concatenate([bent(40, rng), flat])
    label = np.repeat([0, 1], 40)
    model = BADACClassifier(random_state=0).fit(both, label)
    assert isinstance(model.class_models_[0], IrregularPopulation)
    assert model.score(both, label) > 0.9
    new = bent(5, rng).points(slice(0, 8))
    assert np.isfinite(model.anomaly_score(new)).all()
    assert model.predict_proba(new).shape == (5, 2)


def test_objects_without_coordinates_are_refused() -> None:
    rng = np.random.default_rng(0)
    at = rng.uniform(0, 1, (16, 5))
    curves = Measurements(np.repeat([0.0, 2.0], 8)[:, None] + 0.1 * rng.standard_normal(at.shape), 0.1, at=at)
    model = BADACClassifier(class_model=GaussianProcess(rank=0), anomaly="tophat", random_state=0)
    model.fit(curves, np.repeat([0, 1], 8))
    with pytest.raises(ValueError, match="need `at` too"):
        model.predict(Measurements(np.zeros((2, 5)), 0.1))


def test_a_class_is_learned_again_from_other_members(rng: np.random.Generator) -> None:
    members = bent(60, rng)
    model = IrregularPopulation(n_knots=8).fit(members, Gaussian(), np.random.default_rng(0))
    again = model.refit(members[:40], Gaussian(), np.random.default_rng(1))
    assert again is not None
    assert again.band_factors is not None and model.band_factors is not None
    assert again.band_factors.rank == model.band_factors.rank
    np.testing.assert_array_equal(again.band_factors.basis.knots, model.band_factors.basis.knots)
    # What was chosen is kept, and what was estimated is of these members: new curves are told nearly as well.
    new = bent(40, rng)
    assert (model.log_evidence(new) - again.log_evidence(new)).mean() < 3.0
    # A member that is far out says nothing to a class that it was left out of.
    values = members.values.copy()
    values[50] += 1000.0
    wild = Measurements(values, 0.1, at=members.at)
    moved = IrregularPopulation(n_knots=8).fit(wild, Gaussian(), np.random.default_rng(0))
    without = moved.refit(wild[:40], Gaussian(), np.random.default_rng(1))
    assert without is not None and moved.process is not None and without.process is not None
    assert without.process.psi[0] < 0.01 * moved.process.psi[0]


def in_bands(n: int, rng: np.random.Generator, n_bands: int = 3) -> Measurements:
    """Bent curves with a band of every point, some points missing; of more objects than a block holds, if so asked."""
    curves = bent(n, rng)
    values = np.where(rng.random(curves.shape) < 0.2, np.nan, curves.values)
    return Measurements(values, curves.sigma, at=curves.at, band=rng.integers(0, n_bands, curves.shape))


def test_all_classes_at_once_are_the_classes_one_by_one(rng: np.random.Generator) -> None:
    models = [
        IrregularPopulation(rank=rank, n_knots=6).fit(in_bands(30, rng), Gaussian(), rng) for rank in (1, 2)
    ]
    new = in_bands(OBJECTS_PER_BLOCK + 40, rng)
    found = IrregularPopulation.log_evidence_of_classes(models, new)
    assert found is not None
    np.testing.assert_array_equal(found, np.column_stack([one.log_evidence(new) for one in models]))
    np.testing.assert_array_equal(
        IrregularPopulation.log_evidence_of_classes(models, new, n_threads=2), found
    )


def test_classes_that_see_objects_otherwise_are_asked_one_by_one(rng: np.random.Generator) -> None:
    members = in_bands(30, rng)
    one, wider = (
        IrregularPopulation(rank=1, n_knots=6).fit(members, noise, rng)
        for noise in (Gaussian(), Gaussian(2.0))
    )
    process = GaussianProcess(rank=0).fit(members, Gaussian(), rng)
    for models in ([one, wider], [one, process]):
        assert IrregularPopulation.log_evidence_of_classes(models, members) is None
        asked = evidence_of_all(models, members)
        np.testing.assert_array_equal(asked, np.column_stack([each.log_evidence(members) for each in models]))
    # A band that no class knows is named, as it is by a class alone.
    with pytest.raises(ValueError, match="`band` must be one that training objects had"):
        IrregularPopulation.log_evidence_of_classes([one, one], in_bands(5, rng, n_bands=9))

import numpy as np
import pytest

from badac.classes.population.population import Population
from badac.classes.population.tails import WIDTHS, Tails
from badac.data.measurements import Measurements
from badac.noise import Gaussian
from badac.training import TrainingScales
from populations import gaussian


def test_a_population_without_strays_needs_no_tails() -> None:
    members = gaussian(600, seed=1, psi=0.05)[0]
    found = Population().fit(members, Gaussian(), np.random.default_rng(0))
    assert found.tails.weights.tolist() == [1.0]


def test_strays_earn_their_width() -> None:
    rng = np.random.default_rng(2)
    members = gaussian(500, seed=3, sigma=0.05)[0]
    objects = gaussian(500, seed=4, sigma=0.05)[0]
    strays = [
        Measurements(
            part.values + 0.5 * rng.standard_normal(part.shape) * (rng.random((500, 1)) < 0.1), part.sigma
        )
        for part in (members, objects)
    ]
    found = Population().fit(strays[0], Gaussian(), np.random.default_rng(0))
    assert len(found.tails.weights) > 1
    narrow = found.density.log_evidence(found.latent(strays[1]))
    assert found.log_evidence(strays[1]).mean() > narrow.mean()


def test_useless_widths_leave_and_the_rest_sums_to_one() -> None:
    tails = Tails.all(TrainingScales(np.zeros(3), np.ones(3), 0.0, 1.0))
    evidence = np.full((1000, len(WIDTHS)), -50.0)
    evidence[:, 0] = 0.0
    evidence[:100, 3] = 10.0
    kept = tails.weighted(evidence)
    assert kept.variances[:, 0].tolist() == [0.0, WIDTHS[3]]
    assert kept.weights.sum() == pytest.approx(1.0)
    assert kept.weights[1] == pytest.approx(0.1, abs=0.01)


def test_a_small_class_keeps_a_wide_tail() -> None:
    tails = Tails.all(TrainingScales(np.zeros(3), np.ones(3), 0.0, 1.0))
    evidence = np.full((50, len(WIDTHS)), -50.0)
    evidence[:, 0] = 0.0
    assert tails.weighted(evidence).variances[:, 0].tolist() == [0.0, 0.3]

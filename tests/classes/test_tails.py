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


def test_widths_that_screening_leaves_out_are_asked_for_where_any_gains() -> None:
    tails = Tails.all(TrainingScales(np.zeros(3), np.ones(3), 0.0, 1.0))
    none = np.full((60, len(WIDTHS)), -50.0)
    none[:, 0] = 0.0
    some = none.copy()
    some[:20] = -50.0
    some[:20, 2:5] = [5.0, 10.0, 5.0]
    for evidence, count in ((none, 4), (some, len(WIDTHS))):
        asked: list[float] = []

        def ask(part: Tails, evidence: np.ndarray = evidence, asked: list[float] = asked) -> np.ndarray:
            places = [WIDTHS.index(width) for width in part.variances[:, 0].tolist()]
            asked.extend(places)
            return evidence[:, places]

        kept, own = tails.left_out(ask)
        assert len(asked) == len(set(asked)) == count
        full = tails.weighted(evidence)
        np.testing.assert_array_equal(kept.variances, full.variances)
        np.testing.assert_allclose(kept.weights, full.weights, atol=1e-3)
        places = np.isin(np.array(WIDTHS), kept.variances[:, 0])
        np.testing.assert_array_equal(own, evidence[:, places])


def test_gross_outliers_keep_the_widest_and_ask_for_all() -> None:
    tails = Tails.all(TrainingScales(np.zeros(3), np.ones(3), 0.0, 1.0))
    evidence = np.full((60, len(WIDTHS)), -50.0)
    evidence[:, 0] = 0.0

    def ask(part: Tails) -> np.ndarray:
        return evidence[:, [WIDTHS.index(width) for width in part.variances[:, 0].tolist()]]

    assert tails.left_out(ask, keep_widest=True)[0].variances[:, 0].tolist() == [0.0, 0.3, 1.0]

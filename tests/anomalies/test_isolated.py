"""Members that stand apart from their class: found, placed by their own measurements, and no more than even odds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from badac import BADACClassifier
from badac.anomalies import Deviations
from badac.anomalies.isolated import isolated_members
from badac.data.measurements import Measurements
from badac.latent.class_summary import ClassSummary
from badac.latent.factor import Factor
from badac.latent.mixture import Mixture
from badac.noise import Gaussian
from badac.store.migrations import migrated
from badac.store.parts import StoredPart

AT = np.linspace(0.0, 1.0, 60)
SIGMA = 0.3


def noisy(curves: np.ndarray, rng: np.random.Generator) -> Measurements:
    return Measurements(curves + rng.normal(0.0, SIGMA, curves.shape), np.full(curves.shape, SIGMA), at=AT)


def sines(frequency: np.ndarray) -> np.ndarray:
    return np.sin(frequency[:, None] * AT)


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    """Sines around a frequency of 5, two of them upside down, and flat curves without any member that stands apart."""
    rng = np.random.default_rng(1)
    frequency = np.concatenate([rng.normal(5.0, 1.2, 298), [-0.3, -1.8]])
    curves = np.vstack([sines(frequency), rng.normal(0.0, 0.05, (200, 1)) * np.ones(60)])
    return BADACClassifier("population", random_state=0).fit(
        noisy(curves, rng), np.repeat([0, 1], [300, 200])
    )


@pytest.fixture(scope="module")
def without(model: BADACClassifier) -> Deviations:
    whole = model.anomaly_model_
    return replace(whole, grid=replace(whole.grid, isolated=()))


def test_between_two_members_that_stand_apart_an_object_is_hardly_strange(
    model: BADACClassifier, without: Deviations
) -> None:
    found = model.anomaly_model_.grid.isolated[0]
    # The log prior: three fifths of all objects are of the class, a few of its 300 members stand apart, and three may
    # be beyond either end.
    assert 2 + 3 <= np.exp(found.log_prior) * 500 <= 8 + 6
    rng = np.random.default_rng(2)
    between = noisy(sines(np.full(40, -1.5)), rng)
    before, after = without.log_bayes_factor(between), model.anomaly_model_.log_bayes_factor(between)
    assert (after <= before + 1e-9).all()
    assert after.mean() < before.mean() - 2.0
    # What no line of members reaches keeps what it has.
    other = noisy(0.5 * np.cos(25.0 * AT) + np.zeros((40, 1)), rng)
    np.testing.assert_allclose(
        model.anomaly_model_.log_bayes_factor(other), without.log_bayes_factor(other), atol=0.01
    )


def test_beyond_the_end_of_a_family_an_object_is_less_strange(
    model: BADACClassifier, without: Deviations
) -> None:
    rng = np.random.default_rng(5)
    slower = noisy(sines(np.full(40, -2.3)), rng)  # the slowest member has -1.8
    before, after = without.log_bayes_factor(slower), model.anomaly_model_.log_bayes_factor(slower)
    assert after.mean() < before.mean() - 1.0


def test_only_strange_objects_are_asked_and_none_gets_below_even_odds(
    model: BADACClassifier, without: Deviations
) -> None:
    rng = np.random.default_rng(3)
    new = noisy(sines(rng.uniform(-3.0, 8.0, 200)), rng)
    before, after = without.log_bayes_factor(new), model.anomaly_model_.log_bayes_factor(new)
    calm = before <= 0.0
    np.testing.assert_array_equal(after[calm], before[calm])
    assert (after[~calm] >= -1e-9).all()


def test_a_class_that_is_as_its_model_has_it_has_no_isolated_member() -> None:
    rng = np.random.default_rng(4)
    factors = np.column_stack([np.sin(3.0 * AT), np.cos(2.0 * AT)])
    summary = ClassSummary(Factor(np.zeros(60), factors, np.full(60, 1e-4)), Mixture.standard(2), Gaussian())
    members = noisy(rng.standard_normal((50, 2)) @ factors.T, rng)
    # Dense beside the noise: the nearest neighbours are no farther than it explains.
    crowded = noisy(0.05 * rng.standard_normal((50, 2)) @ factors.T, rng)
    assert isolated_members(crowded, summary, 0.0) == ()
    assert isolated_members(members[:5], summary, 0.0) == ()
    moved = np.vstack([crowded.values[:-1], crowded.values[-1:] + 3.0 * factors[:, 0]])
    alone = Measurements(moved, crowded.sigma, at=AT)
    (found,) = isolated_members(alone, summary, 0.0)
    # Three lines to its neighbours, and as the last of its class it is an end.
    assert len(found.summary.mixture) == 3 + 5
    assert found.log_prior == pytest.approx(np.log((1.0 + 3.0) / 50.0))
    np.testing.assert_allclose(found.summary.mixture.weights[:3], 1.0 / 3.0 / 4.0)
    place = found.summary.mixture.means[0]
    assert place[0] == pytest.approx(3.0, abs=0.5) and abs(place[1]) < 0.5


def test_files_of_models_without_them_are_read() -> None:
    old = StoredPart("OnGrid", 2, {"classes": (), "log_prior": np.empty(0), "unseen": ()})
    assert migrated(old).fields["isolated"] == ()

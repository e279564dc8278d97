"""Members unlike all that were seen: their smoothness, their share, and where they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from badac import BADACClassifier
from badac.anomalies import Deviations
from badac.anomalies.unseen import _LENGTHS
from badac.data.measurements import Measurements
from badac.latent.class_summary import ObjectsUnderClass

AT = np.linspace(0.0, 1.0, 50)
SIGMA = 0.1


def noisy(curves: np.ndarray, rng: np.random.Generator) -> Measurements:
    return Measurements(curves + rng.normal(0.0, SIGMA, curves.shape), np.full(curves.shape, SIGMA), at=AT)


def sines(frequency: np.ndarray) -> np.ndarray:
    return np.sin(frequency[:, None] * AT)


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    rng = np.random.default_rng(7)
    curves = np.vstack([sines(rng.uniform(2.0, 6.0, 120)), rng.normal(0.0, 1.0, (120, 1)) * np.ones(50)])
    return BADACClassifier(random_state=0).fit(noisy(curves, rng), np.repeat([0, 1], 120))


@pytest.fixture(scope="module")
def without(model: BADACClassifier) -> Deviations:
    whole = model.anomaly_model_
    return replace(whole, grid=replace(whole.grid, unseen=()))


def test_a_member_quicker_than_all_that_were_seen_is_less_strange_than_a_rough_curve(
    model: BADACClassifier, without: Deviations
) -> None:
    rng = np.random.default_rng(8)
    quicker = noisy(sines(np.array([9.0])), rng)
    rough = noisy(0.4 * sines(np.array([45.0])), rng)
    before, after = without.log_bayes_factor(quicker)[0], model.anomaly_model_.log_bayes_factor(quicker)[0]
    assert before > 20.0  # the factors of slower sines do not hold it
    # About log(n + 1) and what the size of the family costs remain, and half of what there was is gone at least.
    assert 0.0 <= after < 0.5 * before
    assert model.anomaly_model_.log_bayes_factor(rough)[0] > 2.0 * after


def test_only_strange_objects_are_asked_and_none_gets_below_even_odds(
    model: BADACClassifier, without: Deviations
) -> None:
    rng = np.random.default_rng(9)
    new = noisy(sines(rng.uniform(1.0, 12.0, 60)), rng)
    before, after = without.log_bayes_factor(new), model.anomaly_model_.log_bayes_factor(new)
    calm = before <= 0.0
    assert calm.any() and (~calm).any()
    np.testing.assert_array_equal(after[calm], before[calm])
    assert (after[~calm] >= -1e-9).all() and (after <= before).all()


def test_lengths_are_those_of_the_members_and_the_share_is_one_member_at_least(
    model: BADACClassifier,
) -> None:
    unseen = model.anomaly_model_.grid.unseen
    assert len(unseen) == 2 * len(_LENGTHS)
    # sin(4 x) has a slope of four times its size: as a Gaussian process of length 1/4.
    assert 0.15 <= unseen[0].length <= 0.4
    # A constant is as smooth as can be.
    assert unseen[len(_LENGTHS)].length == pytest.approx(0.8)
    shares = np.exp([one.log_prior for one in unseen]).reshape(2, -1).sum(axis=1)
    assert (shares >= 0.5 / 121.0 * 0.999).all() and (shares < 0.05).all()


def test_far_outside_nothing_is_a_member(model: BADACClassifier, without: Deviations) -> None:
    rng = np.random.default_rng(10)
    far = noisy(sines(np.array([4.0])) + 12.0, rng)
    np.testing.assert_allclose(
        model.anomaly_model_.log_bayes_factor(far), without.log_bayes_factor(far), rtol=1e-6
    )


def test_features_without_an_order_have_no_curves() -> None:
    rng = np.random.default_rng(11)
    table = Measurements(rng.normal(size=(60, 5)), np.full((60, 5), 0.1))
    fitted = BADACClassifier(random_state=0).fit(table, np.repeat([0, 1], 30))
    assert fitted.anomaly_model_.grid.unseen == ()


def test_a_fold_counts_unseen_members_as_the_whole_does(model: BADACClassifier) -> None:
    part = model.anomaly_model_.as_of_all(0.8)
    before, after = (
        np.array([one.log_prior for one in each.grid.unseen]) for each in (model.anomaly_model_, part)
    )
    np.testing.assert_allclose(after - before, np.log(0.8))
    quicker = noisy(sines(np.array([9.0])), np.random.default_rng(8))
    assert part.log_bayes_factor(quicker)[0] > model.anomaly_model_.log_bayes_factor(quicker)[0]


def test_curves_are_integrated_out_once_for_all_components(model: BADACClassifier) -> None:
    """The same number as the summary's own, which meets every component with all dimensions."""
    new = noisy(sines(np.linspace(1.0, 12.0, 20)), np.random.default_rng(10))
    for one in model.anomaly_model_.grid.unseen:
        under = ObjectsUnderClass(new, one.summary)
        _, curves, components = one._class_alone
        assert 0 < curves == one.summary.factor.rank - components.shift.shape[1]
        np.testing.assert_allclose(one._integrated(under), under.log_evidence, rtol=1e-9)

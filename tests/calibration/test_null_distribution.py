from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from badac import BADACClassifier, Measurements, load, save
from badac.calibration.null_distribution import (
    BETWEEN,
    DEVIATING,
    UNLIKE,
    NullDistribution,
    learn_nonconformity,
    log_odds,
)
from badac.calibration.stacking.base_models import BaseOutputs
from badac.data import add_noise, concatenate


def test_share_of_known_objects() -> None:
    normal = NullDistribution.of(np.array([0.0]), np.arange(1.0, 100.0)[None])
    level = np.zeros(3)
    found, extrapolated = normal.compare(np.array([0.0, 50.0, 1e9]), level)
    np.testing.assert_allclose(found[:2], [1.0, 0.51])
    # Beyond all of them the tail goes on, and says so.
    assert 0 < found[2] < 0.01
    np.testing.assert_array_equal(extrapolated, [False, False, True])


def test_surprise_rises_beyond_the_largest_known_number() -> None:
    rng = np.random.default_rng(0)
    normal = NullDistribution.of(np.array([0.0]), rng.standard_normal((1, 500)))
    number = np.linspace(-4.0, 40.0, 400)
    surprise = normal.surprise(number, np.zeros(400))
    assert np.all(np.diff(surprise) >= 0.0)
    assert np.all(np.diff(surprise[number > 4.0]) > 0.0)
    # Where there are many objects to compare with, it is their share: one tenth lies beyond the 90 % quantile.
    assert normal.surprise(np.array([1.2816]), np.zeros(1))[0] == pytest.approx(
        np.log(10), abs=4 * 3 / np.sqrt(500)
    )


def test_between_two_noise_levels() -> None:
    known = np.stack([np.linspace(0.0, 1.0, 99), np.linspace(0.0, 10.0, 99)])
    normal = NullDistribution.of(np.array([1.0, 0.0]), known[::-1])
    number = np.array([0.5, 0.5, 0.5])
    below, middle, above = normal.surprise(number, np.array([-5.0, 0.5, 9.0]))
    assert middle == pytest.approx(0.5 * (below + above))
    assert below > above


def test_bayes_factor_averages_to_one_over_known_objects() -> None:
    share = (np.arange(1_000_000) + 0.5) / 1_000_000
    factor = np.exp(log_odds(-np.log(share), 0.5))
    # The midpoint rule misses 1 / sqrt(n) of the integrable pole at zero.
    assert factor.mean() == pytest.approx(1.0, abs=2e-3)


def test_between_the_classes_is_strange_where_every_density_is_high() -> None:
    rng = np.random.default_rng(1)
    n, level = 400, np.zeros(400)
    label = np.repeat([0, 1], 200)
    objects = Measurements(np.zeros((n, 1)), 1.0)
    # Known objects fit their own class alone; the new one fits both, better than most members fit either.
    evidence = np.where(np.arange(2) == label[:, None], 0.0, -5.0) - rng.exponential(1.0, (n, 1))
    left_out = BaseOutputs(objects, np.repeat(evidence[:, None], 3, axis=1), evidence, level)
    found = learn_nonconformity([left_out], label, np.log([0.5, 0.5]), np.ones(1))
    new = np.full((1, 2), -0.1)
    known = found.surprise(found.number(left_out), left_out)
    outputs = BaseOutputs(objects[:1], np.repeat(new[:, None], 3, axis=1), new, np.zeros(1))
    assert found.surprise(found.number(outputs), outputs)[0] > np.quantile(known, 0.9)


def test_what_the_hypotheses_find_is_strange_although_the_object_fits_on_average() -> None:
    rng = np.random.default_rng(2)
    n, label = 400, np.repeat([0, 1], 200)
    objects, level = Measurements(np.zeros((n, 1)), 1.0), np.zeros(n)
    evidence = np.where(np.arange(2) == label[:, None], 0.0, -5.0) - rng.exponential(1.0, (n, 1))
    all_evidence, factor = np.repeat(evidence[:, None], 3, axis=1), rng.standard_normal(n)
    left_out = BaseOutputs(objects, all_evidence, evidence, level, factor)
    found = learn_nonconformity([left_out], label, np.log([0.5, 0.5]), np.ones(1))
    plain = learn_nonconformity([replace(left_out, deviation=None)], label, np.log([0.5, 0.5]), np.ones(1))
    assert found.deviating is not None and plain.deviating is None
    # All three are added up, and what is normal is what known objects have of the sum.
    np.testing.assert_allclose(
        found.number(left_out), plain.number(left_out) + found.deviating.surprise(factor, level)
    )
    assert found.compare(found.number(left_out), left_out)[0].mean() == pytest.approx(0.5, abs=0.01)
    middling = np.full((1, 2), -0.7) * [0.1, 8.0]
    new = BaseOutputs(
        objects[:1], np.repeat(middling[:, None], 3, axis=1), middling, np.zeros(1), np.array([30.0])
    )
    for one, low, high in ((found, 0.98, 1.0), (plain, 0.0, 0.9)):
        surprise = one.surprise(one.number(new), new)[0]
        known = one.surprise(one.number(left_out), left_out)
        assert np.quantile(known, low) <= surprise and (high == 1.0 or surprise < np.quantile(known, high))
    pvalue = found.compare(found.number(new), new)[0]
    assert found.reason(pvalue, new)[0] == DEVIATING
    assert found.reason(np.ones(1), new)[0] == ""


def test_objects_as_noisy_as_the_noisiest_left_out_one_are_compared_in_full() -> None:
    rng = np.random.default_rng(3)
    n, label, level = 600, np.arange(600) % 2, rng.uniform(-2.0, 1.0, 600)
    objects = Measurements(np.zeros((n, 1)), 1.0)
    evidence = np.where(np.arange(2) == label[:, None], 0.0, -5.0) - rng.exponential(1.0, (n, 1))
    every = BaseOutputs(objects, np.repeat(evidence[:, None], 3, axis=1), evidence, level)
    found = learn_nonconformity([every], label, np.log([0.5, 0.5]), np.ones(1))
    pvalue, _ = found.compare(found.number(every), every)
    noisy = level > 0.0
    # 200 of them: a share of a tenth is known to 0.02. Hardly any is where the middling level is the last.
    assert (pvalue[noisy] <= 0.1).mean() == pytest.approx(0.1, abs=0.06)
    louder = replace(every, level=level + 2.0)
    assert (found.compare(found.number(louder), louder)[0] >= pvalue).all()


def strays(n: int, kind: int, seed: int) -> Measurements:
    """Members of each class fall into two groups and stray at single points; kind 2 has another shape."""
    rng = np.random.default_rng(seed)
    height = np.array([-0.3, 1.0, 1.0])[kind] * rng.choice([-1.0, 1.0], n)
    shape = np.linspace(0.2, 1.0, 8) if kind < 2 else np.cos(np.arange(8.0))
    truth = height[:, None] * shape + 0.5 * rng.standard_normal((n, 1))
    truth += 0.3 * rng.standard_t(2, (n, 8))
    return Measurements(truth + 0.05 * rng.standard_normal(truth.shape), 0.05)


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    training = concatenate([strays(150, 0, 1), strays(150, 1, 2)])
    found = BADACClassifier(random_state=0).fit(training, np.repeat(["near", "far"], 150))
    assert found.ensemble_ is not None
    return found


def test_finds_a_new_class_among_members_that_stray(model: BADACClassifier) -> None:
    known = concatenate([strays(100, 0, 3), strays(100, 1, 4)])
    both = concatenate([known, strays(100, 2, 5)])
    score = model.anomaly_score(both)
    assert roc_auc_score(np.repeat([0, 1], [200, 100]), score) > 0.7
    np.testing.assert_array_equal(score, model.fitted_.judge(both).score)
    order = model.rank(both).objects
    assert np.all(np.diff(score[order]) <= 0)
    assert np.all((model.anomaly_proba(both) > 0) & (model.anomaly_proba(both) < 1))


def test_says_why(model: BADACClassifier) -> None:
    both = concatenate([strays(30, 0, 3), strays(30, 2, 5)])
    told = np.array(model.explain(both).hypothesis)
    strange = model.anomaly_pvalue(both) <= 0.1
    assert strange.any()
    assert not np.isin(told[strange], ["nothing strange"]).any()
    assert not np.isin(told[~strange], [UNLIKE, BETWEEN]).any()
    assert np.isin(told, [UNLIKE, BETWEEN]).any()


@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_pvalues_of_known_objects_are_uniform_whatever_the_noise(
    model: BADACClassifier, sigma: float
) -> None:
    known = concatenate([strays(150, 0, 6), strays(150, 1, 7)])
    pvalue = model.anomaly_pvalue(add_noise(known, sigma, np.random.default_rng(8)))
    # Against 300 left-out objects the shares themselves scatter as those of 300 new ones: the distance of two samples.
    assert kstest(pvalue, "uniform").statistic < 1.63 * np.sqrt(2 / 300)


@pytest.mark.parametrize("sigma", [5.0, 1e3, 1e6])
def test_more_noise_than_was_ever_tried_makes_nothing_strange(model: BADACClassifier, sigma: float) -> None:
    known = concatenate([strays(150, 0, 6), strays(150, 1, 7)])
    noisy = add_noise(known, sigma, np.random.default_rng(8))
    pvalue = model.anomaly_pvalue(noisy)
    assert kstest(pvalue, "uniform", alternative="greater").statistic < 1.52 * np.sqrt(2 / 300)
    with pytest.warns(UserWarning, match="noise levels that training objects do not have"):
        assert len(model.rank(noisy, fdr=0.1)) == 0


def test_nothing_measured_is_nothing_strange(model: BADACClassifier) -> None:
    nothing = Measurements(np.full((1, 8), np.nan), 0.1)
    assert model.anomaly_pvalue(nothing)[0] == 1.0
    assert model.anomaly_proba(nothing)[0] < model.anomaly_prior
    np.testing.assert_allclose(model.predict_proba(nothing)[0], 0.5)


def test_saved_and_loaded(model: BADACClassifier, tmp_path: Path) -> None:
    save(model, tmp_path / "model.badac")
    again = load(tmp_path / "model.badac")
    new = strays(20, 2, 9)
    np.testing.assert_array_equal(again.anomaly_score(new), model.anomaly_score(new))
    np.testing.assert_array_equal(again.anomaly_pvalue(new), model.anomaly_pvalue(new))


def test_an_anomaly_that_was_defined_keeps_its_definition() -> None:
    training = concatenate([strays(150, 0, 1), strays(150, 1, 2)])
    defined = BADACClassifier(anomaly="tophat", random_state=0).fit(training, np.repeat([0, 1], 150))
    assert defined.ensemble_ is not None
    new = strays(20, 2, 9)
    np.testing.assert_array_equal(defined.anomaly_score(new), defined.judge(new).log_odds)

"""Gaps that training objects do not have: kinds, and p-values that compare like with like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import badac
from badac import BADACClassifier, Measurements
from badac.calibration.pool import Pool
from badac.calibration.unusual_gaps import Gap, UsualGaps, carried_over
from badac.partition import lean

AT = np.linspace(0.0, 1.0, 40)


def curves(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    phase = rng.normal(0.0, 0.1, (n, 1))
    truth = np.exp(0.2 * rng.standard_normal((n, 1))) * np.sin((4.0 + 3.0 * label[:, None]) * (AT + phase))
    return Measurements(truth + 0.2 * rng.standard_normal((n, 40)), 0.2, at=AT), label


def lacking(objects: Measurements, gaps: np.ndarray) -> Measurements:
    return Measurements(np.where(gaps, np.nan, objects.values), objects.sigma, at=AT)


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    return BADACClassifier(random_state=0, noise="gaussian").fit(*curves(500, 1)).prepare_pvalues()


def test_a_kind_of_gap_is_the_objects_own() -> None:
    observed = np.ones((6, 40), dtype=np.bool_)
    observed[1, 10:21] = False  # a stretch: sixteenths of the range
    observed[2, ::2] = False  # half of the points, anywhere
    observed[3, 7] = False  # too small a gap to tell
    observed[4] = False  # nothing measured
    observed[5, [0, 3, 4, 9, 11, 17, 20, 21, 22, 25, 27, 28, 29, 31, 33, 34, 35, 37, 38]] = False
    usual = UsualGaps.of(np.ones((50, 40), dtype=np.bool_))
    kinds = {tuple(rows.tolist()): gap for rows, gap in usual.kinds(observed)}
    assert kinds == {(1,): Gap(tuple(range(10, 20))), (2, 5): Gap(left=20)}
    few = np.ones((1, 6), dtype=np.bool_)
    few[0, [1, 4]] = False
    ((_, gap),) = UsualGaps.of(np.ones((50, 6), dtype=np.bool_)).kinds(few)
    assert gap == Gap((1, 4))


def test_what_training_objects_lack_too_is_usual() -> None:
    rng = np.random.default_rng(0)
    usual = UsualGaps.of(rng.random((400, 40)) > 0.1)
    assert not list(usual.kinds(np.ones((5, 40), dtype=np.bool_)))
    # Each column is missing often enough, but never half of them at once.
    ((rows, gap),) = usual.kinds(np.arange(40)[None] % 2 == 0)
    assert rows.tolist() == [0] and gap == Gap(left=20)


def test_a_gap_takes_what_it_says() -> None:
    objects = curves(30, 2)[0]
    assert (~Gap((3, 4)).applied(objects).observed).sum(axis=0)[[3, 4]].tolist() == [30, 30]
    thinned = Gap(left=7).applied(objects).observed
    assert (thinned.sum(axis=1) == 7).all() and len(np.unique(thinned, axis=0)) > 20
    np.testing.assert_array_equal(thinned, Gap(left=7).applied(objects).observed)


@pytest.mark.parametrize("kind", ["stretch", "third", "half"])
def test_pvalues_of_known_objects_with_gaps_are_uniform(model: BADACClassifier, kind: str) -> None:
    new, rng = curves(2000, 3)[0], np.random.default_rng(4)
    gaps = {
        "stretch": np.broadcast_to((AT > 0.4) & (AT < 0.7), new.shape),
        "third": rng.random(new.shape) < 1.0 / 3.0,
        "half": np.broadcast_to(np.arange(40) % 2 == 1, new.shape),
    }[kind]
    objects = lacking(new, gaps)
    pvalue = model.anomaly_pvalue(objects)
    for level in (0.01, 0.05, 0.2, 0.5):
        # Four standard errors of both samples; folds know less than the whole, so fewer may be so small.
        error = np.sqrt(level * (1.0 - level) * (1.0 / 500 + 1.0 / 2000))
        assert (pvalue <= level).mean() < level + 4.0 * error
    assert abs((pvalue <= 0.5).mean() - 0.5) < 0.1
    assert model.compare(objects).promise_holds
    # The same of one object alone, and of a model that was sent around.
    np.testing.assert_allclose(model.anomaly_pvalue(objects[5:6]), pvalue[5:6], rtol=1e-12)
    np.testing.assert_allclose(lean(model).anomaly_pvalue(objects[:50]), pvalue[:50], rtol=1e-12)


def test_scores_that_were_learned_from_make_nothing_stranger() -> None:
    rng = np.random.default_rng(0)
    without = rng.standard_normal(1000)
    with_gaps = 0.5 * without
    carried = carried_over(np.array([0.0, 0.5, 3.0]), with_gaps, without)
    np.testing.assert_allclose(carried[:2], [0.0, 1.0], atol=0.1)
    assert carried[2] == pytest.approx(3.0)
    # Scores that gaps raise are lowered, as far out as anything.
    np.testing.assert_allclose(carried_over(np.array([9.0]), without + 2.0, without), [7.0], atol=1e-9)


def mixed(n: int, seed: int, strange: int = 30) -> Measurements:
    """Whole curves, curves with three kinds of gaps that training curves do not have, and strange ones among all of them."""
    new, rng = curves(n, seed)[0], np.random.default_rng(seed + 100)
    values = new.values.copy()
    values[:strange] += np.linspace(0.0, 2.0, strange)[:, None] * np.sin(20.0 * AT)
    gaps = np.zeros(new.shape, dtype=np.bool_)
    gaps[1::4] = rng.random(gaps[1::4].shape) < 1.0 / 3.0
    gaps[2::4] = (AT > 0.4) & (AT < 0.7)
    gaps[3::4] = np.arange(40) % 2 == 1
    return lacking(Measurements(values, 0.2, at=AT), gaps)


def test_no_pvalue_contradicts_the_order(model: BADACClassifier) -> None:
    objects = mixed(400, 5)
    ranking = model.rank(objects, fdr=0.5)
    found = model.verdicts(objects, pvalues=True)
    order = np.argsort(-found.score, kind="stable")
    assert found.pvalue is not None and found.anomaly_proba is not None
    assert (np.diff(found.pvalue[order]) >= 0).all()
    assert (np.diff(found.anomaly_proba[order]) <= 1e-12).all()
    assert len(np.unique(found.score)) == 400
    # A list is a beginning of the ranking.
    assert len(ranking) > 5
    np.testing.assert_array_equal(ranking.objects, order[: len(ranking)])
    # By the evidence of fewer points as it is they would.
    raw = np.argsort(-model.judge(objects).log_odds, kind="stable")
    assert (np.diff(found.pvalue[raw]) < 0).any()
    # Whole objects keep their odds, and every gap the order of those that have it.
    judged = model.judge(objects)
    whole = objects.observed.all(axis=1)
    np.testing.assert_array_equal(found.score[whole], judged.log_odds[whole])
    for kind in (0, 2, 3):  # of the second there are several: numbers of points
        np.testing.assert_array_equal(
            np.argsort(found.score[kind::4], kind="stable"),
            np.argsort(judged.log_odds[kind::4], kind="stable"),
        )


def test_the_order_is_the_same_however_objects_are_judged(model: BADACClassifier, tmp_path: Path) -> None:
    objects = mixed(120, 6)
    score = model.anomaly_score(objects)
    np.testing.assert_allclose(
        np.concatenate([model.anomaly_score(objects[row : row + 7]) for row in range(0, 120, 7)]),
        score,
        rtol=1e-9,
    )
    np.testing.assert_allclose(lean(model).anomaly_score(objects), score, rtol=1e-9)
    badac.save(model, tmp_path / "model.badac")
    np.testing.assert_allclose(badac.load(tmp_path / "model.badac").anomaly_score(objects), score, rtol=1e-9)


@pytest.mark.parametrize("anomaly", ["tophat", "evidence"])
def test_scores_do_not_depend_on_what_was_asked_before(anomaly: str) -> None:
    fresh = BADACClassifier("template", anomaly=anomaly, random_state=0).fit(*curves(200, 7))
    objects = mixed(200, 8)
    whole = objects[::4]
    fresh.anomaly_score(whole)
    assert not fresh.pvalues_ready
    ranking = fresh.rank(objects)
    assert fresh.pvalues_ready
    score = fresh.anomaly_score(objects)
    np.testing.assert_array_equal(ranking.score, score[ranking.objects])
    # Scores of other kinds are compared within a class and a range of noise (`badac.calibration.score_map`).
    judged = fresh.judge(objects, pvalues=True)
    cell = judged.predicted
    for number in np.unique(cell):
        order = np.argsort(-score[cell == number], kind="stable")
        assert (np.diff(judged.pvalue[cell == number][order]) >= -1e-12).all()


def test_ranks_among_left_out_objects_follow_the_gaps_too() -> None:
    rng = np.random.default_rng(1)
    label, side = rng.integers(0, 2, 200), rng.choice([-1.0, 1.0], 200)
    height = side * np.where(label == 1, 1.0, 0.3)
    stacked = BADACClassifier(random_state=0).fit(
        Measurements(height[:, None] + 0.4 * rng.standard_t(1.5, (200, 10)), 0.05), label
    )
    assert stacked.fitted_.ranks_left_out
    values = 0.5 * rng.standard_t(1.5, (100, 10))
    values[:, 3] = np.nan
    judged = stacked.judge(Measurements(values, 0.05))
    assert (judged.strangeness != judged.raw_strangeness).any()
    order = np.argsort(-judged.score, kind="stable")
    assert (np.diff(judged.pvalue[order]) >= -1e-12).all()
    assert (np.diff(judged.anomaly_proba[order]) <= 1e-12).all()


def test_scores_of_one_pool_as_those_of_another() -> None:
    rng = np.random.default_rng(0)
    known = rng.exponential(1.0, 3000)
    first, second = Pool.of(3.0 + 2.0 * known), Pool.of(known)
    score = np.sort(np.concatenate([3.0 + 2.0 * rng.exponential(1.0, 500), [-50.0, 40.0, 200.0, 1e4, 1e9]]))
    found = first.as_in(second, score)
    assert (np.diff(found) > 0).all()
    body = (score > first.score[0]) & (score < 60.0)
    # Two pools of the same objects: the map is their own.
    np.testing.assert_allclose(found[body], (score[body] - 3.0) / 2.0, rtol=0.01, atol=0.01)
    inside = (score > first.score[0]) & (score < 1e5)
    np.testing.assert_allclose(
        np.log(second.pvalue(found[inside])), np.log(first.pvalue(score[inside])), rtol=0.01, atol=0.01
    )
    np.testing.assert_allclose(second.as_in(second, score), score, rtol=1e-9)
    # A pool that knows nothing changes nothing, and one of ties is no trouble.
    nothing = Pool.of(np.empty(0))
    np.testing.assert_allclose(nothing.as_in(nothing, score), score)
    assert (np.diff(Pool.of(np.zeros(30)).as_in(Pool.of(np.ones(30)), score)) > 0).all()

"""Gaps that training objects do not have: kinds, and p-values that compare like with like."""

from __future__ import annotations

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
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

"""Cross-fitting: every training object is scored by a model that was learned without it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import badac
from badac import BADACClassifier, Measurements
from badac.anomalies import Deviations
from badac.estimators.cross_fitting import folds


def curves(n: int, seed: int, n_classes: int = 2) -> tuple[Measurements, np.ndarray]:
    """Straight lines of a class's own slope, with a spread of levels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(n_classes, size=n)
    x = np.linspace(0.0, 1.0, 12)
    truth = label[:, None] * x + 0.3 * rng.standard_normal((n, 1))
    return Measurements(truth + 0.2 * rng.standard_normal((n, 12)), 0.2, at=x), label


def straying(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    """Classes in two groups each, whose members stray at single points: a stack is learned there."""
    rng = np.random.default_rng(seed)
    label, side = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    height = side * np.where(label == 1, 1.0, 0.3)
    return Measurements(height[:, None] + 0.4 * rng.standard_t(1.5, (n, 10)), 0.05), label


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    return BADACClassifier(random_state=0).fit(*curves(400, 1)).prepare_pvalues()


def test_every_object_is_left_out_once_and_an_only_member_never() -> None:
    label = np.array([0] * 23 + [1] * 3 + [2])
    held = np.array(list(folds(label, 5, np.random.default_rng(0))))
    np.testing.assert_array_equal(held.sum(axis=0), [1] * 26 + [0])
    for one in held:
        assert set(label[~one]) == {0, 1, 2}


def test_all_training_objects_are_compared_with(model: BADACClassifier) -> None:
    left_out = model.left_out_
    assert left_out is not None
    np.testing.assert_array_equal(np.sort(left_out.rows), np.arange(400))
    # Left out, an object looks stranger than to a model that has learned from it.
    own = model.fitted_.judge(model.training_).raw_strangeness
    assert left_out.score.mean() > own[left_out.rows].mean()


def test_learned_once_and_again_after_a_fit(model: BADACClassifier) -> None:
    own = clone(model).set_params(class_model="template", anomaly="tophat").fit(*curves(100, 3))
    first = own.prepare_pvalues().left_out_
    assert own.prepare_pvalues().left_out_ is first
    own.partial_fit(*curves(20, 4))
    assert own.left_out_ is None
    second = own.prepare_pvalues().left_out_
    assert first is not None and second is not None and len(second) > len(first)


def test_pvalues_of_new_known_objects_are_uniform(model: BADACClassifier) -> None:
    pvalue = model.anomaly_pvalue(curves(4000, 5)[0])
    for level in (0.01, 0.05, 0.2, 0.5):
        # The pool of 400 is as uncertain as the 4,000 new ones are ten times over.
        error = np.sqrt(level * (1 - level) * (1 / 400 + 1 / 4000))
        assert abs((pvalue <= level).mean() - level) < 3.5 * error


def test_a_stranger_object_of_the_same_class_and_noise_has_no_larger_pvalue(model: BADACClassifier) -> None:
    x = np.linspace(0.0, 1.0, 12)
    pushed = Measurements(x + 0.05 * np.arange(200)[:, None] * np.sin(9.0 * x), 0.2, at=x)
    found = model.verdicts(pushed, pvalues=True)
    for label in range(2):
        same = found.label == label
        order = np.argsort(found.score[same])
        assert (np.diff(found["pvalue"][same][order]) <= 0).all()
    # Far beyond the 400 known ones: not stuck at one over their number.
    assert found["pvalue"].min() < 1e-4
    assert set(found["extrapolated"]) == {True, False}
    assert found.pvalue_kind is not None and found.pvalue_kind[np.argmax(found.score)] == "extrapolated"


def test_a_small_class_is_not_stuck_at_one_over_its_members() -> None:
    objects, label = curves(420, 6)
    keep = np.flatnonzero((label == 0) | (np.cumsum(label) <= 20))
    model = BADACClassifier(random_state=0).fit(objects[keep], label[keep])
    x = np.linspace(0.0, 1.0, 12)
    strange = Measurements((x + 3.0 * np.sin(9.0 * x))[None], 0.2, at=x)
    assert model.anomaly_pvalue(strange)[0] < 1 / 100


def test_a_model_file_needs_no_fit_for_pvalues(model: BADACClassifier, tmp_path) -> None:  # type: ignore[no-untyped-def]
    fresh = BADACClassifier("template", random_state=0).fit(*curves(100, 7))
    badac.save(fresh, tmp_path / "model.badac")
    loaded = badac.load(tmp_path / "model.badac")
    assert loaded.left_out_ is not None
    new, _ = curves(30, 8)
    np.testing.assert_array_equal(loaded.anomaly_pvalue(new), fresh.anomaly_pvalue(new))


def test_a_column_that_new_objects_lack_makes_nobody_strange(model: BADACClassifier) -> None:
    new, _ = curves(600, 9)
    values = new.values.copy()
    values[:, 3] = np.nan
    lacking = Measurements(values, new.sigma, at=new.at)
    pvalue = model.anomaly_pvalue(lacking)
    assert abs((pvalue <= 0.1).mean() - 0.1) < 4 * np.sqrt(0.09 * (1 / 600 + 1 / 400))
    assert abs((pvalue <= 0.5).mean() - 0.5) < 4 * np.sqrt(0.25 * (1 / 600 + 1 / 400))
    # Each object for itself: the others of its table do not matter.
    np.testing.assert_array_equal(model.anomaly_pvalue(lacking[:5]), pvalue[:5])


def test_a_column_that_new_objects_lack_with_a_stack() -> None:
    stacked = BADACClassifier(random_state=0).fit(*straying(200, 1))
    assert stacked.fitted_.ranks_left_out
    values = straying(300, 2)[0].values.copy()
    values[:, 2] = np.nan
    pvalue = stacked.anomaly_pvalue(Measurements(values, 0.05))
    assert (pvalue <= 0.1).mean() < 0.1 + 4 * np.sqrt(0.09 * (1 / 200 + 1 / 300))


def test_an_unfitted_model_says_so() -> None:
    with pytest.raises(NotFittedError):
        BADACClassifier().anomaly_pvalue([[0.0]])


def test_an_object_without_any_point_is_no_discovery(model: BADACClassifier) -> None:
    nothing = Measurements(np.full((5, 12), np.nan), 0.1, at=np.linspace(0.0, 1.0, 12))
    np.testing.assert_array_equal(model.anomaly_pvalue(nothing), 1.0)


def test_what_an_anomaly_is_without_a_fold_is_what_learning_anew_says() -> None:
    # 450 members a class, two of them with a steep bend: most are sure of themselves and are not asked again.
    rng = np.random.default_rng(12)
    x = np.linspace(0.0, 1.0, 30)
    curves = rng.normal(1.0, 0.4, (900, 1)) * np.where(np.arange(900)[:, None] < 450, x, np.sin(5.0 * x))
    curves[::90] += 0.8 * np.sin(12.0 * x)
    objects = Measurements(curves + 0.1 * rng.standard_normal(curves.shape), 0.1, at=x)
    model = BADACClassifier("population", random_state=0).fit(objects, np.repeat([0, 1], 450))
    whole, known = model.anomaly_model_, model.fitted_.known
    rest = np.arange(900) % 6 != 1
    around = replace(known, training=known.training[rest], label=known.label[rest])
    asked_of_all = whole.asked_of_all(known)
    assert 90 <= asked_of_all.doubtful.sum() <= 180  # a tenth of each class by either measure
    others = replace(known, label=np.where(rest, known.label, -1))
    quick = whole.refit_without_some(others, asked_of_all, np.random.default_rng(0))
    anew = Deviations().fit(around, np.random.default_rng(0))
    asked = known.training[~rest]
    assert len(quick.grid.unseen) == len(anew.grid.unseen) > 0
    assert len(quick.grid.isolated) == len(anew.grid.isolated) > 0
    for one, other in zip(quick.grid.isolated, anew.grid.isolated, strict=True):
        np.testing.assert_allclose(one.log_evidence(asked), other.log_evidence(asked), rtol=1e-6)
    np.testing.assert_allclose(quick.log_bayes_factor(asked), anew.log_bayes_factor(asked), atol=1e-6)

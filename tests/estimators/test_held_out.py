from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from badac import BADACClassifier, Measurements
from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import keep_back
from badac.estimators.choices import generator
from badac.judge import HeldOut, Judgement


def straying(n: int, seed: int) -> tuple[Measurements, np.ndarray]:
    """Classes in two groups each, whose members stray at single points: a stack is learned there."""
    rng = np.random.default_rng(seed)
    label, side = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    height = side * np.where(label == 1, 1.0, 0.3)
    return Measurements(height[:, None] + 0.4 * rng.standard_t(2, (n, 10)), 0.05), label


@pytest.fixture(scope="module")
def model() -> BADACClassifier:
    return BADACClassifier(random_state=0).fit(*straying(200, 1))


def kept_back(model: BADACClassifier) -> HeldOut:
    """Of a model whose score is no rank among left-out objects, whatever its stack."""
    found = clone(model).adopt(replace(model.fitted_, calibration=PosteriorCalibration.unchanged()))
    held_out = found.prepare_pvalues().fitted_.held_out
    assert held_out is not None
    return held_out


def test_no_stack_is_learned_and_nothing_changes_by_it(model: BADACClassifier) -> None:
    held_out = kept_back(model)
    kept = keep_back(model.training_label_, generator(0))
    everyone = clone(model).fit(model.training_[~kept], model.training_label_[~kept])
    assert everyone.ensemble_ is not None
    assert held_out.learned.calibration.ensemble is None
    new, _ = straying(100, 2)
    np.testing.assert_array_equal(
        Judgement(held_out.learned, new).log_odds, everyone.fitted_.judge(new).log_odds
    )
    np.testing.assert_array_equal(
        held_out.pvalues(new), replace(held_out, learned=everyone.fitted_).pvalues(new)
    )
    again = np.sort(everyone.fitted_.judge(model.training_[kept]).log_odds)
    np.testing.assert_array_equal(again, np.sort(held_out.calibration.score))


def test_learned_once_and_again_after_a_fit(model: BADACClassifier) -> None:
    own = clone(model).set_params(class_model="template", anomaly="tophat").fit(*straying(100, 3))
    first = own.prepare_pvalues().fitted_.held_out
    assert own.prepare_pvalues().fitted_.held_out is first
    own.partial_fit(*straying(20, 4))
    assert own.fitted_.held_out is None
    second = own.prepare_pvalues().fitted_.held_out
    assert first is not None and second is not None
    assert len(second.calibration.score) > len(first.calibration.score)


def test_an_unfitted_model_says_so() -> None:
    with pytest.raises(NotFittedError):
        BADACClassifier().anomaly_pvalue([[0.0]])


def test_an_object_without_any_point_is_no_discovery() -> None:
    objects, label = straying(300, 3)
    known = BADACClassifier(class_model="template", random_state=0).fit(objects, label)
    nothing = Measurements(np.full((5, objects.n_points), np.nan), 0.1)
    np.testing.assert_array_equal(known.anomaly_pvalue(nothing), 1.0)
    assert len(known.rank(nothing, fdr=0.5)) == 0

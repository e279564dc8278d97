"""A hypothesis of one's own is one file (examples/periodic_hypothesis.py), and works on a grid and for irregular curves."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from badac import BADACClassifier, Measurements
from badac.anomalies import Deviations

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "periodic_hypothesis.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("periodic_hypothesis", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up, and so does pickle.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("irregular", [False, True])
def test_a_periodic_signal_is_found_named_and_leaves_ordinary_objects_alone(
    example: ModuleType, irregular: bool
) -> None:
    rng = np.random.default_rng(1)
    training, label, _ = example.curves(100, irregular, rng)
    objects, _, strange = example.curves(140, irregular, rng, share=0.15)
    model = BADACClassifier(anomaly=example.WITH, random_state=0).fit(training, label)
    without = BADACClassifier(random_state=0).fit(training, label).anomaly_score(objects)
    score = model.anomaly_score(objects)
    # A sine of 0.22 in 50 points of noise 0.1 to 0.2 has a signal-to-noise ratio of 5 to 11.
    assert roc_auc_score(strange, score) > 0.98
    assert np.median(score[strange]) > np.median(without[strange]) + 5.0
    explained = model.explain(objects)
    assert (explained.hypothesis[strange] == "periodic signal").mean() > 0.8
    assert (explained.hypothesis[~strange] == "periodic signal").mean() < 0.02
    # The tenth of a nat that larger error bars are allowed too (tests/laws), and nobody crosses even odds.
    assert (score - without)[~strange].mean() < 0.1
    assert (score[~strange] > 0).sum() <= (without[~strange] > 0).sum()
    # What it declared is made again in another process.
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.anomaly_score(objects[:5]), model.anomaly_score(objects[:5]))


def test_a_hypothesis_that_needs_an_order_is_refused_in_words(example: ModuleType) -> None:
    rng = np.random.default_rng(0)
    features = Measurements(rng.standard_normal((60, 5)) * [1.0, 9.0, 0.1, 3.0, 20.0], 0.1)
    with pytest.raises(ValueError, match=r"PeriodicSignal needs points with an order, but these 5 features"):
        BADACClassifier(anomaly=example.WITH, random_state=0).fit(features, np.arange(60) % 2)


@pytest.mark.parametrize("irregular", [False, True])
def test_shapes_of_another_size_or_none_at_all_are_refused(example: ModuleType, irregular: bool) -> None:
    training, label, _ = example.curves(40, irregular, np.random.default_rng(0))
    wrong = Deviations((example.PeriodicSignal(slowest=1e6),), (1.0,))
    with pytest.raises(ValueError, match=r"one column for each of p >= 1 shapes: got \(.*, 0\)"):
        BADACClassifier("gp" if irregular else "template", anomaly=wrong).fit(training, label).rank(training)


def test_what_is_no_hypothesis_is_refused(example: ModuleType) -> None:
    for wrong in ("bump", example.PeriodicSignal):
        with pytest.raises(TypeError, match=r"`hypotheses` must be objects with a method `adds\(scales\)`"):
            Deviations((wrong,), (1.0,))

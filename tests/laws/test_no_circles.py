"""What was judged leaves memory with its last user: nothing of a block waits for Python to look for circles.

The collector comes by the number of new objects, not by their size: blocks that refer to themselves stay by the hundred, and a
file of a million objects once took 200 MB more than one of a hundred thousand.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.simulate import experiment


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    yield
    gc.set_debug(0)
    gc.garbage.clear()


def left_to_the_collector(work: Callable[[], object]) -> list[str]:
    """Types of what the work left behind in circles, the second time: what is kept on purpose is there by then."""
    work()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    work()
    gc.collect()
    gc.set_debug(0)
    return sorted({f"{type(one).__module__}.{type(one).__name__}" for one in gc.garbage})


def test_a_circle_is_seen() -> None:
    class Node:
        pass

    def work() -> None:
        one = Node()
        one.self = one  # type: ignore[attr-defined]

    assert any("Node" in name for name in left_to_the_collector(work))


@pytest.mark.parametrize("verb", ["predict_proba", "rank", "explain", "compare"])
def test_curves_on_a_grid(verb: str) -> None:
    data = experiment(1, "released", n_train=200, n_test=2500, rng=np.random.default_rng(1))
    model = BADACClassifier(random_state=0).fit(data.train, data.train_label)
    assert not left_to_the_collector(lambda: getattr(model, verb)(data.test))


@pytest.mark.parametrize("verb", ["rank", "explain"])
def test_points_of_their_own(verb: str) -> None:
    rng = np.random.default_rng(0)
    at = np.sort(rng.uniform(0, 1, (240, 12)), axis=1)
    label = np.arange(240) % 2
    values = np.sin(3 * at + label[:, None]) + 0.1 * rng.standard_normal(at.shape)
    objects = Measurements(values, 0.1, at=at)
    model = BADACClassifier(random_state=0).fit(objects[:80], label[:80])
    assert not left_to_the_collector(lambda: getattr(model, verb)(objects[80:]))


def test_a_table_through_the_stack() -> None:
    rng = np.random.default_rng(0)
    label = np.arange(600) % 3
    values = rng.standard_normal((600, 8)) + label[:, None] * (np.arange(8) < 3)
    model = BADACClassifier(random_state=0).fit(values[:300], label[:300], X_err=0.3)
    assert not left_to_the_collector(lambda: model.rank(values, X_err=0.3))


def test_learning() -> None:
    data = experiment(1, "released", n_train=200, n_test=20, rng=np.random.default_rng(1))
    learn = BADACClassifier(random_state=0)
    assert not left_to_the_collector(
        lambda: learn.fit(data.train, data.train_label).anomaly_pvalue(data.test)
    )

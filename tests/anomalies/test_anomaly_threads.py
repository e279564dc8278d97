"""`n_jobs` reaches the anomaly: every kernel of the hypotheses, and blocks of objects side by side; no number changes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from badac import BADACClassifier, Measurements
from badac.anomalies import curves_on_a_grid, matched_filter, on_a_grid
from badac.latent import class_summary, likelihood
from badac.simulate import experiment
from badac.threads import over_blocks

KERNELS = {
    "bump_average": matched_filter,
    "bump_ratios": matched_filter,
    "curve_log_evidence": curves_on_a_grid,
    "latent_responsible": class_summary,
    "factor_project": likelihood,
}


@pytest.fixture(scope="module")
def data() -> Any:
    return experiment(1, "released", n_train=200, n_test=1100, n_points=40, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def model(data: Any) -> BADACClassifier:
    fitted = BADACClassifier(class_model="population", random_state=0).fit(data.train, data.train_label)
    assert fitted.anomaly_model_ is not None  # learned when first asked: before anybody counts threads
    return fitted


def irregular(n: int, rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    label = np.arange(n) % 2
    at = np.sort(rng.uniform(0, 10, (n, 12)), axis=1)
    truth = np.where(label[:, None] == 0, np.sin(at), 0.2 * at)
    return Measurements(truth + 0.1 * rng.standard_normal(at.shape), 0.1, at=at), label


def recorded_threads(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int]]:
    """The numbers of threads that each kernel is called with from now on."""
    asked: dict[str, set[int]] = {name: set() for name in KERNELS}
    for name, module in KERNELS.items():
        kernel = getattr(module, name)

        def recorded(*args: Any, name: str = name, kernel: Any = kernel, **options: Any) -> Any:
            asked[name].add(options.get("n_threads", 1))
            return kernel(*args, **options)

        monkeypatch.setattr(module, name, recorded)
    return asked


def test_threads_reach_every_kernel_of_the_hypotheses(
    model: BADACClassifier, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One block: its kernels get all threads."""
    asked = recorded_threads(monkeypatch)
    model.anomaly_model_.by_hypothesis(data.test[:100], n_threads=3)
    model.anomaly_model_.evaluator.reasons(data.test[:20], n_threads=3)
    assert asked == {name: {3} for name in KERNELS}


def test_n_jobs_reaches_the_anomaly(
    model: BADACClassifier, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.prepare_pvalues()  # which learns, on one thread
    asked = recorded_threads(monkeypatch)
    monkeypatch.setattr(model, "n_jobs", 3)
    model.rank(data.test[:100])
    assert asked["bump_average"] == asked["curve_log_evidence"] == {3}
    model.explain(data.test[:20])
    assert asked["bump_ratios"] == {3}


def test_blocks_of_objects_are_judged_side_by_side(
    model: BADACClassifier, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three blocks and two threads: two of them are at work at the same time, or they would wait for each other in vain."""
    together, waited = threading.Barrier(2, timeout=30.0), threading.local()
    kernel = matched_filter.bump_average

    def meeting(*args: Any, **options: Any) -> Any:
        if not getattr(waited, "done", False):
            waited.done = True
            together.wait()
        return kernel(*args, **options)

    monkeypatch.setattr(on_a_grid, "_OBJECTS_PER_BLOCK", 400)
    monkeypatch.setattr(matched_filter, "bump_average", meeting)
    monkeypatch.setattr(model, "n_jobs", 2)
    assert np.isfinite(model.anomaly_score(data.test)).all()


def test_the_number_of_threads_changes_no_bit(
    model: BADACClassifier, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_a_grid, "_OBJECTS_PER_BLOCK", 400)
    rng = np.random.default_rng(1)
    training, label = irregular(40, rng)
    curves, _ = irregular(300, rng)
    at_points = BADACClassifier(class_model="gp", random_state=0).fit(training, label)
    for one, objects in ((model, data.test), (at_points, curves)):
        score, explained = one.anomaly_score(objects), one.explain(objects[:30])
        for jobs in (2, 3):
            monkeypatch.setattr(one, "n_jobs", jobs)
            np.testing.assert_array_equal(one.anomaly_score(objects), score)
            again = one.explain(objects[:30])
            for name in ("log_bayes_factor", "pull", "window", "expected", "expected_sigma", "member"):
                np.testing.assert_array_equal(getattr(again, name), getattr(explained, name))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_blocks", [0, 1, 2, 9])
def test_every_block_is_worked_on_once(n_threads: int, n_blocks: int) -> None:
    seen: list[int] = []
    given: set[int] = set()

    def work(block: int, threads: int) -> None:
        seen.append(block)
        given.add(threads)

    over_blocks(work, iter(range(n_blocks)), n_threads)
    assert sorted(seen) == list(range(n_blocks))
    # The threads are the blocks' or their kernels', not both.
    assert given <= ({n_threads} if n_blocks < 2 else {1})


def test_an_error_in_a_block_stops_the_others_and_is_raised() -> None:
    seen: list[int] = []

    def work(block: int, threads: int) -> None:
        seen.append(block)
        if block == 3:
            raise ValueError("block 3")

    with pytest.raises(ValueError, match="block 3"):
        over_blocks(work, range(10_000), 2)
    assert len(seen) < 10_000


def test_the_error_state_of_the_caller_holds_in_every_thread() -> None:
    with np.errstate(divide="ignore"):
        # Warnings are errors in the tests.
        over_blocks(lambda block, _: np.log(np.zeros(block + 1)), range(20), 3)


def test_where_no_thread_can_be_started_the_work_is_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    seen: list[int] = []
    over_blocks(lambda block, _: seen.append(block), range(5), 4)
    assert sorted(seen) == list(range(5))

"""Parts that are made ahead are the same, in order, and so is what goes wrong with them; threads to spare reach all beneath."""

from __future__ import annotations

import functools
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from badac import BADACClassifier, Measurements, _kernels
from badac._kernels.spare_threads import at_least_spare, sparing
from badac.cached import cached_property
from badac.stream import Stream
from badac.threads import ahead, each_apart, in_order, one_thread_in_blas, over_blocks
from badac.triage import Session


def test_parts_come_in_order_made_on_another_thread() -> None:
    made: list[int] = []

    def parts() -> Iterator[int]:
        for part in range(20):
            made.append(threading.get_ident())
            yield part

    assert list(ahead(parts())) == list(range(20))
    assert threading.get_ident() not in made
    assert list(ahead([])) == []


def test_at_most_one_part_is_made_ahead() -> None:
    begun: list[int] = []

    def parts() -> Iterator[int]:
        for part in range(5):
            begun.append(part)
            yield part

    for part in ahead(parts()):
        assert len(begun) <= part + 2


def test_what_goes_wrong_is_raised_where_the_part_is_taken() -> None:
    def parts() -> Iterator[int]:
        yield 1
        raise ValueError("row 7")

    found = ahead(parts())
    assert next(found) == 1
    with pytest.raises(ValueError, match="row 7"):
        next(found)


def test_matrix_products_take_one_thread_while_it_lasts_and_their_own_number_after() -> None:
    libraries = ThreadpoolController().select(user_api="blas")

    def number() -> set[int]:
        return {library.num_threads for library in libraries.lib_controllers}

    with libraries.limit(limits=2):
        several = number()  # one, where BLAS was built without threads
        with one_thread_in_blas():
            assert number() == {1}
            with one_thread_in_blas():
                assert number() == {1}
            assert number() == {1}
        assert number() == several
        with pytest.raises(ValueError, match="on the way"), one_thread_in_blas():
            raise ValueError("on the way")
        assert number() == several


def test_threads_that_were_used_are_used_again_and_after_an_error_others_are() -> None:
    def own(_: int) -> int:
        time.sleep(0.01)
        return threading.get_ident()

    first, second = (set(in_order(own, range(6), 2)) for _ in range(2))
    assert first == second and threading.get_ident() not in first

    def fails(part: int) -> int:
        done.append(part)
        if part == 1:
            raise ValueError("part 1")
        return part

    done: list[int] = []
    with pytest.raises(ValueError, match="part 1"):
        list(in_order(fails, range(50), 2))
    count = len(done)
    time.sleep(0.02)
    assert len(done) == count < 50, "parts go on after an error was raised"
    assert list(in_order(lambda part: part, range(6), 2)) == list(range(6))


def test_parts_within_parts_have_threads_of_their_own() -> None:
    def sums(part: int) -> int:
        return sum(in_order(lambda inner: part * inner, range(5), 2))

    assert list(in_order(sums, range(8), 2)) == [10 * part for part in range(8)]


def test_without_threads_the_caller_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(ThreadPoolExecutor):
        def submit(self, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]
            raise RuntimeError("can't start new thread")

    idle: dict[object, object] = {}
    monkeypatch.setattr("badac.threads.ThreadPoolExecutor", Refusing)
    monkeypatch.setattr("badac.threads._IDLE", idle)
    assert set(in_order(lambda _: threading.get_ident(), range(6), 2)) == {threading.get_ident()}
    assert not idle, "a pool without its threads is not used again"


def test_threads_to_spare_are_used_by_whoever_asks_for_fewer() -> None:
    assert at_least_spare(1) == 1
    with sparing(3):
        assert (at_least_spare(1), at_least_spare(5)) == (3, 5)
        # What runs beside others has none to spare.
        begun = threading.Barrier(3)

        def beside(part: int) -> tuple[int, int]:
            begun.wait(timeout=10)
            found = part, at_least_spare(1)
            begun.wait(timeout=10)
            return found

        assert list(in_order(beside, range(3))) == [(part, 1) for part in range(3)]
        # A single part has all of them, for kernels that have enough to do.
        assert list(in_order(lambda part: at_least_spare(1), range(1))) == [3]
        alone: list[tuple[int, int]] = []
        over_blocks(lambda part, own: alone.append((own, at_least_spare(own))), [0], 2)
        assert alone == [(2, 3)]
    assert at_least_spare(1) == 1


def test_the_last_part_has_the_threads_of_those_that_ended() -> None:
    """Of classes that are learned side by side the largest is not left with one thread."""
    first_has_ended = threading.Event()

    def work(part: int) -> int:
        if part == 0:
            return 0
        first_has_ended.wait(timeout=10)
        deadline = time.monotonic() + 10
        while at_least_spare(1) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        return at_least_spare(1)

    with sparing(2):
        found = in_order(work, range(2))
        assert next(found) == 0
        first_has_ended.set()
        assert list(found) == [2]


def test_each_part_draws_from_a_generator_of_its_own_whatever_the_others_draw() -> None:
    def draws(counts: list[int], n_threads: int) -> list[float]:
        def work(number: int, rng: np.random.Generator) -> float:
            return float(rng.random(counts[number])[0])

        return each_apart(work, len(counts), np.random.default_rng(3), n_threads)

    few = draws([1, 1, 1], 1)
    assert few == draws([1, 1, 1], 2) == draws([9, 5, 1], 1) == draws([9, 5, 1], 3)
    assert len(set(few)) == 3
    # Once more from the same generator: others.
    rng = np.random.default_rng(3)
    first, second = (each_apart(lambda _, own: float(own.random()), 2, rng) for _ in range(2))
    assert not set(first) & set(second)


def test_what_an_object_keeps_is_computed_without_waiting_for_other_objects() -> None:
    both = threading.Barrier(2)

    class Kept:
        @cached_property
        def number(self) -> int:
            both.wait(timeout=10)
            return id(self)

    made = [Kept(), Kept()]
    assert list(in_order(lambda one: one.number, made, 2)) == [id(one) for one in made]
    assert [one.number for one in made] == [id(one) for one in made]
    assert isinstance(Kept.number, functools.cached_property)


@pytest.mark.parametrize("class_model", ["auto", "template"])
def test_classes_learned_side_by_side_and_their_folds_are_the_same(class_model: str) -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 1.0, 12)
    label = np.repeat([0, 1, 2], [150, 60, 12])
    values = np.sin((3.0 + label[:, None] + rng.uniform(0.0, 1.0, (222, 1))) * x)
    curves = Measurements(values + 0.1 * rng.standard_normal((222, 12)), 0.1, at=x)
    one, three = (
        BADACClassifier(class_model, random_state=0, n_jobs=n_jobs).fit(curves, label) for n_jobs in (None, 3)
    )
    np.testing.assert_array_equal(one.predict_proba(curves), three.predict_proba(curves))
    np.testing.assert_array_equal(one.anomaly_pvalue(curves), three.anomaly_pvalue(curves))


def test_learning_spares_its_threads_to_every_kernel_and_learns_the_same() -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 30)
    values = np.sin(rng.uniform(3.0, 5.0, (600, 1)) * x) + 0.1 * rng.standard_normal((600, 30))
    curves, label = Measurements(values, 0.1, at=x), np.repeat([0, 1], 300)
    asked: set[int] = set()

    def factor_project(*args: object, out: object = None, n_threads: int = 1) -> object:
        asked.add(at_least_spare(n_threads))
        return _kernels.NUMPY.factor_project(*args, out=out)  # type: ignore[arg-type]

    watching = _kernels.Backend("watching", factor_project=factor_project)  # type: ignore[arg-type]
    found = []
    for n_jobs in (None, 2):
        found.append(BADACClassifier("population", random_state=0, n_jobs=n_jobs).fit(curves, label))
        with _kernels.using(watching):
            BADACClassifier("population", anomaly="evidence", random_state=0, n_jobs=n_jobs).fit(
                curves, label
            )
        assert (2 in asked) == (n_jobs == 2)
    np.testing.assert_array_equal(found[0].anomaly_score(curves), found[1].anomaly_score(curves))


def _curves_on_a_grid(rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    label, x = np.repeat([0, 1], 60), np.linspace(0.0, 1.0, 300)
    values = np.sin((5.0 + label[:, None] + rng.uniform(0.0, 1.0, (120, 1))) * x)
    return Measurements(values + 0.1 * rng.standard_normal(values.shape), 0.1, at=x), label


def _curves_at_own_points(rng: np.random.Generator) -> tuple[Measurements, np.ndarray]:
    label, at = np.repeat([0, 1], 60), np.sort(rng.uniform(0.0, 6.0, (120, 12)), axis=1)
    values = np.sin(at * (1.0 + 0.3 * label[:, None]) + 0.3 * rng.standard_normal((120, 1)))
    return Measurements(values + 0.1 * rng.standard_normal(values.shape), 0.1, at=at), label


@pytest.mark.parametrize("kind", [_curves_on_a_grid, _curves_at_own_points])
def test_no_verb_lets_blas_spin_beside_it(
    kind: Callable[[np.random.Generator], tuple[Measurements, np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is decomposed or solved while a verb is at work finds one thread in BLAS, however many the user's environment
    # gives: with two, ranking a hundred light curves took three times the processor, spectra under "gp" sixteen.
    libraries, several = ThreadpoolController().select(user_api="blas"), []
    asked: list[str] = []

    def watch(name: str, solver: Callable[..., object]) -> None:
        def watched(*args: object, **kwargs: object) -> object:
            asked.append(name)
            if any(library.num_threads > 1 for library in libraries.lib_controllers):
                several.append("".join(traceback.format_stack(limit=6)[:-1]))
            return solver(*args, **kwargs)

        monkeypatch.setattr(np.linalg, name, watched)

    objects, label = kind(np.random.default_rng(0))
    for name in ("solve", "inv", "eigh", "svd", "qr", "cholesky", "slogdet"):
        watch(name, getattr(np.linalg, name))
    with libraries.limit(limits=2):
        model = BADACClassifier(random_state=0).fit(objects, label)
        model.anomaly_pvalue(objects)
        model.compare(objects)
        model.adapt(objects)
        model.explain(objects[:2])
        Session(model, objects).say(0, "dull")
        if not objects.own_points:
            Stream(model).process(objects)
            model.diagnose(objects, label)
            BADACClassifier("gp", random_state=0).fit(objects[::6], label[::6]).anomaly_score(objects[:3])
    assert "solve" in asked and "eigh" in asked
    assert not several, several[0]

"""Threads: how many scikit-learn's ``n_jobs`` stands for, and work on parts that gives the same answer for any number.

NumPy, LAPACK and the compiled kernels let other threads run while they work. The parts are the same whatever the number of
threads, so the results are too, to the last bit.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from threading import Lock
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from badac._kernels.kept_memory import keep_freed_memory
from badac._kernels.spare_threads import SideBySide, at_least_spare, sparing

Part = TypeVar("Part")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: None is one, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ValueError(
            f"`n_jobs` must be None, a positive number of threads, or -1 for all cores: got {n_jobs!r}."
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def in_order(work: Callable[[Part], Result], parts: Iterable[Part], n_threads: int = 1) -> Iterator[Result]:
    """Yield ``work(part)`` for each part, in the order of the parts.

    At most twice as many parts as there are threads are under way or waiting to be taken, so that memory does not grow with
    their number. The parts themselves are made on the caller's thread, beside the work on those before. Threads to spare
    (`badac._kernels.spare_threads`) are used too; a single part is worked on here, and has them all.
    """
    n_threads, rest = at_least_spare(n_threads), iter(parts)
    if n_threads <= 1:
        yield from map(work, rest)
        return
    few = list(islice(rest, 2))
    if len(few) < 2:
        with sparing(n_threads):
            done = [work(part) for part in few]
        yield from done
        return
    waiting: deque[Future[Result]] = deque()
    beside = SideBySide(n_threads, waiting=True)
    beside.add(-1)

    def one(part: Part) -> Result:
        try:
            with sparing(beside):
                return work(part)
        finally:
            beside.add(-1)

    with _some_threads(n_threads) as threads:
        try:
            for part in chain(few, rest):
                beside.add(1)
                waiting.append(_begun(threads, one, part))
                if len(waiting) >= 2 * n_threads:
                    yield waiting.popleft().result()
            beside.waiting = False
            while waiting:
                yield waiting.popleft().result()
        finally:
            # What was begun ends before anything else does, as the arrays that it writes to may go away.
            wait([each for each in waiting if not each.cancel()])


def each_apart(
    work: Callable[[int, np.random.Generator], Result], n: int, rng: np.random.Generator, n_threads: int = 1
) -> list[Result]:
    """Return ``work(number, generator)`` for each of n classes, or parts of the objects, learned side by side.

    Each draws from a generator of its own, spawned by its place: how often a class draws is known when it has been learned, and
    must not decide what the next one draws. So the results are the same for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.threads import each_apart
    >>> def learn(number, rng):
    ...     return rng.integers(10, size=number).tolist()
    >>> each_apart(learn, 3, np.random.default_rng(0))
    [[], [6], [6, 8]]
    """
    generators = rng.spawn(n)
    return list(in_order(lambda number: work(number, generators[number]), range(n), n_threads))


@contextmanager
def _some_threads(n_threads: int) -> Iterator[_Threads]:
    """So many threads: those that the last one to ask has left, or new ones while somebody else is at work on these.

    A fit asks some hundred times, for a few milliseconds of work each, and new threads would take one of them.
    """
    key = os.getpid(), n_threads  # a process that was forked has none of its parent's threads
    threads = _IDLE.pop(key, None) or _Threads(ThreadPoolExecutor(n_threads))
    try:
        yield threads
    except BaseException:
        threads.pool.shutdown()
        raise
    if threads.refused or _IDLE.setdefault(key, threads) is not threads:
        threads.pool.shutdown()


@dataclass
class _Threads:
    """Threads of a pool; `refused` if the system did not give all of them: the pool then has parts that nobody waits for."""

    pool: ThreadPoolExecutor
    refused: bool = False


_IDLE: dict[tuple[int, int], _Threads] = {}


def _begun(threads: _Threads, work: Callable[[Part], Result], part: Part) -> Future[Result]:
    try:
        # NumPy's error state is part of the context: each thread works in a copy of the caller's.
        return threads.pool.submit(copy_context().run, work, part)
    except RuntimeError:
        # The system gives no more threads: this one does the work.
        threads.refused = True
        done: Future[Result] = Future()
        done.set_result(work(part))
        return done


def ahead(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts, each made on a thread of its own while the one before is being worked on: reading beside judging."""
    rest = iter(parts)

    def take() -> list[Part]:
        with sparing(1):
            return list(islice(rest, 1))

    with ThreadPoolExecutor(1) as pool:
        threads = _Threads(pool)
        waiting = _begun(threads, lambda _: take(), None)
        while part := waiting.result():
            waiting = _begun(threads, lambda _: take(), None)
            yield part[0]


@contextmanager
def one_thread_in_blas() -> Iterator[None]:
    """While it lasts, matrix products take one thread: in small blocks BLAS's own threads wait longer than they work.

    The setting is one for the whole process. Who comes first, on any thread, asks for it and who leaves last gives it back;
    nobody in between asks BLAS at all: a fit comes here some hundred times, and to ask takes as long as a small kernel.
    """
    _ONE_IN_BLAS.enter()
    try:
        yield
    finally:
        _ONE_IN_BLAS.leave()


class _OneInBlas:
    """How many are inside of `one_thread_in_blas`, and what was there before the first of them."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, ExitStack()

    def enter(self) -> None:
        with self._lock:
            if not self._inside and any(library.num_threads > 1 for library in _blas().lib_controllers):
                self._before.enter_context(_blas().limit(limits=1))
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.close()


_ONE_IN_BLAS = _OneInBlas()


@contextmanager
def lending(n_threads: int) -> Iterator[None]:
    """While it lasts, what is learned may use so many threads in every kernel, and BLAS one in each of them.

    The products of learning are small, and BLAS's own threads wait by spinning: with two of them a fit of 6,000 curves of 100
    points took twice the time of the processor, and "gp" of 200 spectra of 400 points, beside other work, 16 times the time.
    """
    keep_freed_memory()
    with sparing(n_threads), one_thread_in_blas():
        yield


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def over_blocks(work: Callable[[Part, int], None], blocks: Iterable[Part], n_threads: int) -> None:
    """Do `work` on every block, several of them at a time.

    Parameters
    ----------
    work : callable
        Takes a block and the number of threads that its own kernels may use; writes what it finds into arrays of the
        caller, each block into rows of its own.
    blocks : iterable
        Taken as they are needed, so that few are in memory at a time.
    n_threads : int
        A single block gets all of them for its kernels, which take those to spare where they have enough to do.
    """
    keep_freed_memory()
    rest = iter(blocks)
    few = list(islice(rest, 2))
    own, side_by_side = (n_threads, 1) if len(few) < 2 else (1, at_least_spare(n_threads))
    with one_thread_in_blas():
        # One block has the threads for itself; each of several has one.
        parts = chain(few, rest)
        if side_by_side == 1:
            for block in parts:
                work(block, own)
            return
        for _ in in_order(lambda block: work(block, own), parts, side_by_side):
            pass

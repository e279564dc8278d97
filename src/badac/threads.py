"""How many threads scikit-learn's ``n_jobs`` stands for, and blocks of objects shared between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain, islice
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


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


def over_blocks(work: Callable[[T, int], None], blocks: Iterable[T], n_threads: int) -> None:
    """Do `work` on every block, several of them at a time.

    Parameters
    ----------
    work : callable
        Takes a block and the number of threads that its own kernels may use; writes what it finds into arrays of the
        caller, each block into rows of its own. What it finds depends on the block alone, so the number of threads
        changes nothing. NumPy, LAPACK and the compiled kernels let other threads run while they work.
    blocks : iterable
        Taken as they are needed, so that few are in memory at a time.
    n_threads : int
        A single block gets all of them for its kernels.
    """
    rest = iter(blocks)
    few = list(islice(rest, 2))
    if n_threads <= 1 or len(few) < 2:
        for block in chain(few, rest):
            work(block, n_threads)
        return
    left, lock, errors = chain(few, rest), Lock(), list[BaseException]()

    def take_turns() -> None:
        try:
            while not errors:
                with lock:
                    block = next(left, None)
                if block is None:
                    return
                work(block, 1)
        except BaseException as error:
            errors.append(error)

    with ThreadPoolExecutor(n_threads - 1) as pool:
        for _ in range(n_threads - 1):
            try:
                # NumPy's error state is part of the context: each thread works in a copy of the caller's.
                pool.submit(copy_context().run, take_turns)
            except RuntimeError:
                # The system gives no more threads: those that there are do the work, at least this one.
                break
        take_turns()
    if errors:
        raise errors[0]

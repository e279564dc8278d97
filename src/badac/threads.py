"""Threads: how many scikit-learn's ``n_jobs`` stands for, and work on parts that gives the same answer for any number."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

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

    The parts are the same whatever the number of threads, so the results are too, to the last bit. At most twice as many
    as there are threads are under way or waiting to be taken, so that memory does not grow with the number of parts.
    """
    if n_threads <= 1:
        yield from map(work, parts)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for part in parts:
            waiting.append(pool.submit(work, part))
            if len(waiting) >= 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

"""Threads to spare: how many a caller far above lets every kernel beneath it use.

Learning goes through many functions that have nothing to do with threads. Whoever starts it says once how many there are
(`sparing`); a kernel, or a walk over blocks (`badac.threads`), that is asked with fewer takes these. No result depends on the
number. What runs beside others has one thread, and those of the parts that have ended already (`SideBySide`): of two classes
that are learned side by side the larger one has both threads when the smaller one is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock


class SideBySide:
    """Threads that parts under way have between them.

    Attributes
    ----------
    n_threads : int
    waiting : bool
        Whether there may be more parts: their threads are not to spare.
    under_way : int
        Parts that have begun, or wait for a thread, and have not ended.
    """

    def __init__(self, n_threads: int, *, waiting: bool = False) -> None:
        self.n_threads = n_threads
        self.waiting = waiting
        self.under_way = 1
        self._lock = Lock()

    def add(self, parts: int) -> None:
        """Count parts that begin; of those that end, with a minus."""
        with self._lock:
            self.under_way += parts

    def each(self) -> int:
        """Return the number of threads that a part may use now."""
        return 1 if self.waiting else max(1, self.n_threads // max(self.under_way, 1))


_SPARE: ContextVar[SideBySide | None] = ContextVar("badac_spare_threads", default=None)


def at_least_spare(n_threads: int) -> int:
    """Return the number of threads that somebody asked for, or those to spare if they are more."""
    spare = _SPARE.get()
    return n_threads if spare is None else max(n_threads, spare.each())


@contextmanager
def sparing(threads: int | SideBySide) -> Iterator[None]:
    """While it lasts, kernels called from here may use so many threads, or those that they have beside others."""
    before = _SPARE.set(threads if isinstance(threads, SideBySide) else SideBySide(threads))
    try:
        yield
    finally:
        _SPARE.reset(before)

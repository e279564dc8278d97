"""Threads to spare: how many a caller far above lets every kernel beneath it use.

Learning goes through many functions that have nothing to do with threads. Whoever starts it says once how many there are
(`sparing`); a kernel, or a walk over blocks (`badac.threads`), that is asked with fewer takes these. No result depends on the
number. What already runs beside others has none to spare: each part of such a walk begins with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SPARE: ContextVar[int] = ContextVar("badac_spare_threads", default=1)


def at_least_spare(n_threads: int) -> int:
    """Return the number of threads that somebody asked for, or those to spare if they are more."""
    return max(n_threads, _SPARE.get())


@contextmanager
def sparing(n_threads: int) -> Iterator[None]:
    """While it lasts, kernels called from here may use so many threads."""
    before = _SPARE.set(n_threads)
    try:
        yield
    finally:
        _SPARE.reset(before)

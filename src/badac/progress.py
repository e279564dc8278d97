"""What is under way: stages that say their name to whoever listens, and to nobody by default.

    with stage("Learning class 'RR Lyrae'"): ...

The work does not know who listens: the command line shows a line or a bar, ``verbose=True`` prints to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import perf_counter

Listener = Callable[[str], AbstractContextManager[None]]
"""Called with the words for a stage that begins; a context that ends with it."""

_LISTENER: ContextVar[Listener | None] = ContextVar("badac_progress", default=None)


def stage(words: str) -> AbstractContextManager[None]:
    """Return the context of a stage of the work, which whoever listens is told of."""
    listener = _LISTENER.get()
    return nullcontext() if listener is None else listener(words)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Tell a listener of the stages inside; None: nobody."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def spoken(wanted: bool) -> AbstractContextManager[None]:
    """Return a context whose stages are printed to standard error, if wanted; whoever listens already goes on listening."""
    return listening(_printed) if wanted else nullcontext()


@contextmanager
def _printed(words: str) -> Iterator[None]:
    start = perf_counter()
    yield
    print(f"[badac] {words}: {duration(perf_counter() - start)}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(0.04), duration(3.2), duration(200), duration(9000)
    ('0.04 s', '3.2 s', '3 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 90:
        return f"{round(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

"""Memory that is used again: arrays that come and go by the thousand are not given back to the system in between.

The C library of Linux takes an array of more than 128 KiB from the system as fresh pages, and gives it back when it is freed,
until it has seen that such arrays come and go: from then on it keeps as much free memory as twice the largest of them (at
most 64 MiB). Blocks of objects are a few megabytes, so that the memory of every step was cleared and mapped again: 54,000 times
in the p-values of 6,000 curves, a quarter of their time. One array that is allocated, never touched and freed says it at once.
"""

from __future__ import annotations

from functools import cache

import numpy as np

# Bytes: next to the largest size of which the C library learns, 32 MiB.
_LARGEST = 31_000_000


@cache
def keep_freed_memory() -> None:
    """Let the C library keep what is freed for the next array, once in a process.

    It costs some microseconds and no memory. Elsewhere than on Linux, or where ``MALLOC_MMAP_THRESHOLD_`` or
    ``MALLOC_TRIM_THRESHOLD_`` is set, nothing changes.

    Examples
    --------
    >>> from badac._kernels.kept_memory import keep_freed_memory
    >>> keep_freed_memory()
    """
    np.empty(_LARGEST, dtype=np.uint8)

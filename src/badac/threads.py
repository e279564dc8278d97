"""How many threads scikit-learn's ``n_jobs`` stands for."""

from __future__ import annotations

import os


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

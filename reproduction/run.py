"""Run the cells of a comparison, several at a time, and keep each one as soon as it is done.

Cells are independent and each runs on one thread, so a machine's cores take one cell each, the expensive ones first. A
cell that fails does not stop the others: its error is part of the outcome.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from reproduction.cells import Cell
from reproduction.kept import keep, recall
from reproduction.results import Result, run_cell


@dataclass(frozen=True, eq=False)
class Outcome:
    """A cell that has come to its end: a result, kept from before or new, or the words of an error."""

    cell: Cell
    result: Result | None
    error: str | None = None
    kept: bool = False


def run_cells(cells: Sequence[Cell], directory: Path, *, n_processes: int | None = None) -> Iterator[Outcome]:
    """Yield the outcome of every cell: first those that are kept in the directory, then the new ones as they end.

    Parameters
    ----------
    cells : Cells
        What to run.
    directory : Path
        Where results are kept; made if absent.
    n_processes : int, optional
        How many cells run at a time; by default one per core.
    """
    directory.mkdir(parents=True, exist_ok=True)
    todo = []
    for cell in cells:
        found = recall(directory, cell)
        if found is None:
            todo.append(cell)
        else:
            yield Outcome(cell, found, kept=True)
    todo.sort(key=lambda cell: -cell.expected_seconds)
    processes = min(len(todo), cores() if n_processes is None else n_processes)
    if processes <= 1:
        for cell in todo:
            yield run_and_keep(cell, directory)
    else:
        yield from _in_processes(todo, directory, processes)


def run_and_keep(cell: Cell, directory: Path) -> Outcome:
    """Run a cell and write its result down at once."""
    try:
        result = run_cell(cell)
        keep(directory, result)
    except Exception as error:
        return Outcome(cell, None, f"{type(error).__name__}: {error}")
    return Outcome(cell, result)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(cells: Sequence[Cell], directory: Path, processes: int) -> Iterator[Outcome]:
    # Spawned, not forked: a forked child inherits thread pools in whatever state they are in.
    pool = ProcessPoolExecutor(
        processes, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_parent
    )
    before = set(multiprocessing.active_children())
    finished = False
    try:
        running = {pool.submit(run_and_keep, cell, directory): cell for cell in cells}
        for future in as_completed(running):
            yield future.result()
        finished = True
    except BrokenProcessPool:
        raise RuntimeError(
            "a process that ran a cell died, most likely for lack of memory. What is done is kept: run the same command "
            "again, with fewer --jobs."
        ) from None
    finally:
        # Interrupted: what runs now is given up, what is done is on disk.
        workers = set(multiprocessing.active_children()) - before
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for worker in workers:
                worker.terminate()


def _leave_interrupts_to_parent() -> None:
    """Let Ctrl-C end the parent only, which then ends its workers: one message instead of a traceback each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

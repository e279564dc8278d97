"""How a verb speaks: consoles, progress with the time left, and errors as one clear sentence with an exit code.

On a terminal every step is seen while it runs. In a pipe a step of more than two seconds says so on standard error when it has
run that long, and how long it took when it ends; ``--quiet`` silences both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from threading import Lock, Timer
from time import perf_counter
from typing import Any, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.status import Status
from rich.text import Text

from badac.cli import INTERRUPTED, TERMINATED, Terminated, interrupt_with_exceptions
from badac.progress import duration, listening
from badac.writing import clause, plain

FAILED = 1
LONG = 2.0
"""Seconds after which somebody who waits wonders."""

_QUIET: ContextVar[bool] = ContextVar("badac_quiet", default=False)


def to_stdout() -> Console:
    """Return the console for results; in a pipe it does not fold lines at an assumed width.

    Text is text: names come from tables, and brackets in them are no markup. What is printed has a style as `rich.text.Text`.
    """
    return Console(width=None if sys.stdout.isatty() else 160, markup=False, emoji=False)


def to_stderr() -> Console:
    """Return the console for everything that is not the result."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def printable(words: str) -> str:
    """Return text from anywhere so that a terminal only shows it: what would move the cursor or set colours is spelled out."""
    return "".join(
        one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode() for one in words
    )


@contextmanager
def plainly() -> Iterator[None]:
    """Turn what goes wrong inside into one sentence on standard error and an exit code."""
    interrupt_with_exceptions()
    try:
        yield
    except typer.Exit:  # a RuntimeError by descent, but the verb's own decision
        raise
    except KeyboardInterrupt as stopped:
        _stop(stopped)
    except ImportError as missing:
        _stop_if_interrupted(missing)
        if not isinstance(missing, ModuleNotFoundError):
            _fail(str(missing))
        _fail(
            f"the package {missing.name} is not installed: pip install 'badac[cli]' brings what the command line needs."
        )
    except MemoryError:
        _fail("there is not enough memory. Nothing half-written was left behind.")
    except BrokenPipeError:
        # Whoever reads the output has enough of it (`| head`); what is still in the buffer has no reader at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _fail(f"{clause(error.strerror or error)}{where}. Nothing half-written was left behind.")
    except (ValueError, RuntimeError) as error:
        _fail(str(error))


def _stop(stopped: KeyboardInterrupt) -> None:
    terminated = isinstance(stopped, Terminated)
    to_stderr().print("\nTerminated." if terminated else "\nInterrupted.")
    raise typer.Exit(TERMINATED if terminated else INTERRUPTED) from None


def _stop_if_interrupted(error: BaseException | None) -> None:
    """Some packages turn an interruption of their import into an ImportError of their own."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            _stop(error)
        error = error.__cause__ or error.__context__


def _fail(message: str) -> None:
    to_stderr().print(Text.assemble(("Error:", "bold red"), " ", printable(message)), soft_wrap=True)
    raise typer.Exit(FAILED) from None


def progress(unit: str) -> Progress:
    """Return a progress bar on standard error, for a terminal only."""
    console = to_stderr()
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[done]}/{task.fields[of]} " + unit, markup=False),
        TimeLeft(),
        console=console,
        transient=True,
        disable=not console.is_terminal or _QUIET.get(),
    )


def note(words: str, *, warning: bool = False) -> None:
    """Say one line on standard error that is not the result."""
    mark = ("Note: ", "yellow") if warning else ""
    to_stderr().print(Text.assemble(mark, printable(words)), soft_wrap=True)


def warn(words: str) -> None:
    """Say what the user should know before trusting the result."""
    note(words, warning=True)


def inform(words: str) -> None:
    """Say one line about what was understood or written, unless quiet was asked for."""
    if not _QUIET.get():
        note(words)


def be_quiet(wanted: bool) -> None:
    """Show no progress from here on."""
    _QUIET.set(wanted)


@contextmanager
def step(words: str) -> Iterator[None]:
    """Show which step is under way, and how long it took: on a terminal while it runs, in a pipe a line if it is a long one.

    Stages inside (`badac.progress`) are shown in the same way.
    """
    start = perf_counter()
    with waiting(words), listening(_stage):
        yield
    console, seconds = to_stderr(), perf_counter() - start
    if _QUIET.get():
        return
    if console.is_terminal:
        took = (f" ({duration(seconds)})", "dim")
        console.print(Text.assemble(("✓", "green"), " ", printable(words), took))
    elif seconds >= LONG:
        console.print(printable(f"{words}: done after {duration(seconds)}"), soft_wrap=True)


@contextmanager
def _stage(words: str) -> Iterator[None]:
    """A stage within a step."""
    start = perf_counter()
    with _spinning(words):
        yield
    seconds = perf_counter() - start
    if seconds >= LONG and not _QUIET.get():
        to_stderr().print(printable(f"  {words} ({duration(seconds)})"), style="dim", soft_wrap=True)


@contextmanager
def counting(words: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many of about `total` are done and the time left; yields what to call with each number done."""
    bar = progress(unit)
    of = f"{total:,}" if total else "?"
    task = bar.add_task(printable(words), total=float(total) if total else None, done="0", of=of)
    done = 0

    def advance(n: int) -> None:
        nonlocal done
        done += n
        # The total is an estimate where a file does not say how many rows it has.
        known = float(max(total, done)) if total else None
        bar.update(task, completed=float(done), total=known, done=f"{done:,}")

    start = perf_counter()
    quiet = nullcontext() if to_stderr().is_terminal else waiting(words)
    # Older versions of rich end even a bar that is not shown with an empty line.
    shown: AbstractContextManager[object] = nullcontext() if bar.disable else bar
    with shown, quiet:
        yield advance
    seconds = perf_counter() - start
    if seconds >= LONG and not _QUIET.get():
        to_stderr().print(printable(f"{words}: {done:,} {unit}, {duration(seconds)}"), soft_wrap=True)


@contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """Show that something is under way whose end cannot be foreseen: on a terminal at once, in a pipe when it takes long."""
    if _QUIET.get():
        yield
    elif to_stderr().is_terminal:
        with _spinning(for_what):
            yield
    else:
        timer = Timer(LONG, note, (f"{for_what} ...",))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


_SPINNERS: list[Status] = []
_ONE_AT_A_TIME = Lock()  # classes that are learned side by side have a stage each


@contextmanager
def _spinning(words: str) -> Iterator[None]:
    """Show words beside a spinner, on a terminal; one inside another takes its place until it ends."""
    console = to_stderr()
    if not console.is_terminal or _QUIET.get():
        yield
        return
    status = console.status(Text(printable(words)))
    with _ONE_AT_A_TIME:
        if _SPINNERS:
            _SPINNERS[-1].stop()
        _SPINNERS.append(status)
        status.start()
    try:
        yield
    finally:
        with _ONE_AT_A_TIME:
            status.stop()
            _SPINNERS.remove(status)
            if _SPINNERS:
                _SPINNERS[-1].start()


class TimeLeft(ProgressColumn):
    """The time left, from how long the finished share took; nothing before that is known."""

    max_refresh: float | None = 0.5

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        if not task.total or not task.completed or elapsed < LONG or task.completed >= task.total:
            return Text("")
        left = elapsed / task.completed * (task.total - task.completed)
        return Text(f"about {duration(left)} left", style="cyan")


class Finding(Protocol):
    """What a verb found, for scripts and for people."""

    def numbers(self) -> dict[str, Any]:
        """Return it as JSON has it."""

    def lines(self) -> list[str]:
        """Return it in words."""


def tell(verb: str, found: Finding, figure: Path | None, *, as_json: bool) -> None:
    """Print what a verb found, and say where the figure is if there is one."""
    if as_json:
        print_json({"schema": f"badac.{verb}/1", **found.numbers()})
        return
    console = to_stdout()
    for line in found.lines():
        console.print(printable(line), highlight=False, soft_wrap=True)
    if figure is not None:
        note(f"Figure: {figure}")


def print_json(value: object) -> None:
    """Print one JSON document on standard output; numbers that JSON lacks become null."""
    import json

    typer.echo(json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False))

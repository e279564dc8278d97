"""The command line: one file a verb.

Results go to standard output, progress and errors to standard error. Progress is shown on a terminal only; in a pipe nothing
but the result is written. Exit codes: 0 done, 1 failed, 2 the command was wrong, 130 interrupted (Ctrl-C), 143 told to end
(SIGTERM); after both nothing half-written is left.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import NoReturn

_MOMENT = 0.01  # seconds: finalisers are over by then, mostly; else it comes again
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM, as a queue or a container sends it before it kills: everything that Ctrl-C cleans up is cleaned up."""


def main() -> None:
    """Run the command line (the entry point ``badac``)."""
    # Until a verb begins there is nothing to clean up, and half-imported packages turn an interruption into errors of theirs.
    _on(signal.SIGINT, _leave_at_once)
    _on(signal.SIGTERM, _leave_at_once)
    try:
        from badac.cli.app import app
    except ModuleNotFoundError as missing:
        if missing.name not in {"typer", "rich", "click"}:
            raise
        print(
            f"badac's command line needs {missing.name}, which is not installed: pip install 'badac[cli]'.",
            file=sys.stderr,
        )
        sys.exit(1)
    app()


def interrupt_with_exceptions() -> None:
    """From here on there is something to clean up: signals of a program that `main` began raise `KeyboardInterrupt`."""
    if signal.getsignal(signal.SIGINT) is _leave_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is _leave_at_once:
        signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _again_in_a_moment


def _again_in_a_moment(lost: sys.UnraisableHookArgs) -> None:
    """Raise an interruption once more that came while Python could not pass it on, in a finaliser or a weak reference."""
    if lost.exc_type is None or not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    number = signal.SIGTERM if issubclass(lost.exc_type, Terminated) else signal.SIGINT
    if number == signal.SIGTERM:
        signal.signal(number, _terminate)
    # From another thread, so that it is heard where this one goes on.
    threading.Timer(_MOMENT, signal.raise_signal, [number]).start()


def _on(number: signal.Signals, handler: signal._HANDLER) -> None:
    """Listen to a signal, unless whoever started us wants it unheard (nohup, a job in the background)."""
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, handler)


def _terminate(*_: object) -> NoReturn:
    # Once is enough: a second one while things are being put away must not stop that.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated


def _leave_at_once(number: int, _: object) -> NoReturn:
    os.write(2, b"\nTerminated.\n" if number == signal.SIGTERM else b"\nInterrupted.\n")
    os._exit(128 + number)

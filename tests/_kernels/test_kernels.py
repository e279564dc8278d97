"""Every kernel of the table: agreement with its definition, threads, Ctrl-C, and systems that give no thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import TABLE, assert_follows, kernels, run

from badac._kernels import COMPILED, NUMPY, Backend

LINUX = sys.platform == "linux"


@pytest.fixture
def core() -> Backend:
    if COMPILED is None:
        pytest.skip("the core is not built here")
    return COMPILED


def test_every_kernel_is_in_the_table() -> None:
    assert sorted(TABLE) == sorted(kernels())


@pytest.mark.parametrize("kernel", TABLE)
def test_the_core_follows_the_definition(kernel: str, core: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    from badac._kernels.compiled import levels

    ways = [partial(monkeypatch.setenv, "BADAC_SIMD", level) for level in levels()]
    for size in TABLE[kernel].sizes:
        assert_follows(core, NUMPY, kernel, size, ways)


@pytest.mark.parametrize("kernel", TABLE)
def test_threads_do_not_change_a_bit(kernel: str, core: Backend) -> None:
    row = TABLE[kernel]
    for size in (row.sizes[1], row.busy):
        arguments = row.make(*size)
        alone = run(core, kernel, arguments)
        for n_threads in (2, 3, 7):
            for found, expected in zip(run(core, kernel, arguments, n_threads), alone, strict=True):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", [NUMPY, COMPILED], ids=["definition", "core"])
@pytest.mark.parametrize("kernel", TABLE)
def test_no_threads_at_all_are_refused(kernel: str, backend: Backend | None) -> None:
    if backend is None:
        pytest.skip("the core is not built here")
    with pytest.raises(ValueError, match="`n_threads` must be at least 1: got 0"):
        run(backend, kernel, TABLE[kernel].make(*TABLE[kernel].sizes[1]), n_threads=0)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("kernel", TABLE)
def test_ctrl_c_stops_a_long_call(kernel: str, core: Backend) -> None:
    """Work of a second or more, stopped within some tenths of one; until then on as many threads as were asked for.

    Times are those of the process, so that a busy machine does not decide; until a call has its threads, half a second is its.
    Where a fast machine was done before Ctrl-C, that comes sooner.
    """
    arguments = TABLE[kernel].make(*TABLE[kernel].long)
    for n_threads in (1, 2):
        before = _lasting_threads()
        call = partial(getattr(core, kernel), **arguments, n_threads=n_threads)
        tries = (_interrupted(call, delay, before + n_threads) for delay in (0.3, 0.1, 0.03))
        seen = next((found for found in tries if found is not None), None)
        assert seen is not None, "the call was done before it could be stopped: its `long` is too short"
        threads, seconds = seen
        assert seconds < 0.4 * n_threads
        if LINUX:
            assert threads == before + n_threads  # the timer's own is one of them


def _interrupted(call: Callable[[], object], delay: float, wanted: int) -> tuple[int, float] | None:
    """How many threads a call had when Ctrl-C came after `delay` and how long it went on, or None if it was done by then."""
    seen: list[tuple[int, float]] = []
    done = False

    def stop() -> None:
        begun = time.process_time()
        while LINUX and _threads() < wanted and time.process_time() - begun < 0.5:
            time.sleep(0.005)
        seen.append((_threads(), time.process_time()))
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(delay, stop)
    timer.start()
    try:
        call()
        done = True
        timer.cancel()
        timer.join()
        time.sleep(0.01)  # a signal that came too late ends here, and not in what follows
    except KeyboardInterrupt:
        ended = time.process_time()
        timer.join()
        threads, signalled = seen[0]
        return None if done else (threads, ended - signalled)
    return None


def _lasting_threads() -> int:
    """As `_threads`, without those that have done their work and are about to end (a timer that was joined, say)."""
    counts = []
    for _ in range(10):
        counts.append(_threads())
        time.sleep(0.005)
    return min(counts)


def _threads() -> int:
    return len(os.listdir("/proc/self/task")) if LINUX else 0


@pytest.mark.skipif(not LINUX, reason="limits the address space, which only Linux heeds")
@pytest.mark.usefixtures("core")
def test_a_system_without_threads_to_give() -> None:
    """A stack of 256 MB fits no more once the address space is limited: threads cannot start, and the work is done."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY and hard < 256 << 20:
        pytest.skip(f"stacks may not be larger than {hard} bytes here")
    code = f"""
import resource, sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
from kernel_cases import TABLE, run
from badac._kernels import COMPILED
cases = {{name: row.make(*row.busy) for name, row in TABLE.items()}}
alone = {{name: run(COMPILED, name, case) for name, case in cases.items()}}
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
for room in (200, 400):  # MB: for no thread, for one of three
    resource.setrlimit(resource.RLIMIT_AS, (size + (room << 20), hard))
    for name, case in cases.items():
        for found, expected in zip(run(COMPILED, name, case, 4), alone[name], strict=True):
            np.testing.assert_array_equal(found, expected)
    try:
        for _ in range(3):
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            print("started")
    except RuntimeError:
        print("refused")
"""
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -s 262144 && exec "$0" "$@"', sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused", "started", "refused"]

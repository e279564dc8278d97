"""Ctrl-C and SIGTERM at any moment: one word, the right exit code, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import soak

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="signals of POSIX"),
    pytest.mark.usefixtures("interruptible"),
]
SLOW = """
import badac.job.ranking as ranking
from badac.cli import main
score = ranking.score_batch
def slow(model, batch):
    print("scoring", flush=True)
    import time
    time.sleep(0.2)
    return score(model, batch)
ranking.score_batch = slow
main()
"""
# A package that is slow to import, as a cold disk makes them all.
IMPORTING = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            print("importing", flush=True)
            time.sleep(30)
sys.meta_path.insert(0, Slow())
from badac.cli import main
main()
"""


def started(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def stopped(running: subprocess.Popen[str], number: signal.Signals, line: str) -> tuple[int, str]:
    assert running.stdout is not None and running.stdout.readline() == f"{line}\n"
    time.sleep(0.05)
    running.send_signal(number)
    _, words = running.communicate(timeout=60)
    return running.returncode, words


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "Terminated."), (signal.SIGINT, 130, "Interrupted.")]
)
def test_while_it_ranks(
    number: signal.Signals, code: int, word: str, small_files: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = [
        "rank",
        str(small_files / "model.badac"),
        str(small_files / "new.csv"),
        "-o",
        str(out),
        "--batch",
        "5",
        "-j",
        "1",
    ]
    found, said = stopped(started(SLOW, *words), number, "scoring")
    assert (found, said.strip()) == (code, word)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["typer", "numpy", "sklearn"])
def test_while_it_imports(package: str, small_files: Path, tmp_path: Path) -> None:
    code = IMPORTING.format(name=package)
    words = [
        "rank",
        str(small_files / "model.badac"),
        str(small_files / "new.csv"),
        "-o",
        str(tmp_path / "out"),
    ]
    found, said = stopped(started(code, *words), signal.SIGINT, "importing")
    assert (found, said.strip()) == (130, "Interrupted."), said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["typer", "numpy"])
def test_while_the_command_imports(package: str, tmp_path: Path) -> None:
    """The command as it is installed, not only what it calls."""
    command = Path(sys.executable).with_name("badac")
    if not command.exists():
        pytest.skip(f"the command badac is not installed beside {sys.executable}")
    slow = IMPORTING.format(name=package).removesuffix("from badac.cli import main\nmain()\n")
    (tmp_path / "sitecustomize.py").write_text(slow, encoding="utf-8")
    running = subprocess.Popen(
        [command, "simulate", "1", "-o", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    found, said = stopped(running, signal.SIGINT, "importing")
    assert (found, said.strip()) == (130, "Interrupted."), said
    assert not (tmp_path / "out").exists()


def test_a_program_of_the_soak_never_answers_for_the_start_of_python(tmp_path: Path) -> None:
    """Ctrl-C before badac's own beginning ends it without a word; afterwards with one, and no traceback ever."""
    ends = set()
    for moment in range(12):
        running = soak.started("simulate", ["simulate", "1", "-n", "20"], tmp_path / "out")
        time.sleep(moment / 100)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        ends.add((running.returncode, said.strip()))
    assert ends <= {(-signal.SIGINT, ""), (130, "Interrupted.")}
    assert (-signal.SIGINT, "") in ends
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_was_told_not_to_hear_goes_on(small_files: Path, tmp_path: Path) -> None:
    """As `nohup` starts them."""
    out = tmp_path / "out"
    words = [
        "rank",
        str(small_files / "model.badac"),
        str(small_files / "new.csv"),
        "-o",
        str(out),
        "--batch",
        "20",
        "-j",
        "1",
        "--show",
        "1",
    ]
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + SLOW
    found, said = stopped(started(code, *words), signal.SIGINT, "scoring")
    assert found == 0, said
    assert (out / "report.html").exists()


# The signal arrives inside a callback of a weak reference, where Python throws exceptions away.
SWALLOWED = """
import signal, sys, time, weakref
import badac.cli as cli
signal.signal(signal.SIGINT, cli._leave_at_once)
signal.signal(signal.SIGTERM, cli._leave_at_once)
cli.interrupt_with_exceptions()
class Thing: pass
thing = Thing()
watched = weakref.ref(thing, lambda _: signal.raise_signal(getattr(signal, sys.argv[1])))
try:
    del thing
    for _ in range(200):  # heard between two steps of Python
        time.sleep(0.1)
    print("never heard")
except KeyboardInterrupt as heard:
    print(type(heard).__name__)
"""


@pytest.mark.parametrize(("number", "word"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "Terminated")])
def test_a_signal_that_python_would_throw_away(number: str, word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED, number], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.strip() == word, done.stderr
    assert "Exception ignored" not in done.stderr


# Ctrl-C while the cluster starts: what is half-started cannot be closed as Dask closes clusters when Python ends.
HALF_STARTED = """
import distributed
from distributed.deploy.spec import SpecCluster
class Half:
    shutdown_on_close, status = True, "starting"
    def close(self, timeout=None):
        raise AssertionError("Status.init")
half = Half()
SpecCluster._instances.add(half)
def interrupted(**_):
    raise KeyboardInterrupt
distributed.LocalCluster = interrupted
from badac.dask import cluster
try:
    with cluster(workers=1):
        pass
except KeyboardInterrupt:
    print("heard")
"""


def test_a_cluster_that_was_half_started_leaves_no_traceback() -> None:
    pytest.importorskip("distributed")
    done = subprocess.run(
        [sys.executable, "-c", HALF_STARTED], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "heard", done.stderr
    assert "Traceback" not in done.stderr, done.stderr

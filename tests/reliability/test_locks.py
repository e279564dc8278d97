"""One writer at a time, and what a killed one left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from badac.job.folder import output_folder, reserved
from badac.locks import Locked, Owner, is_alive, lock_of, locked
from badac.writing import remove_dead, whole_file

HOLD = """
import sys
from pathlib import Path
from badac.job.folder import output_folder
with output_folder(Path(sys.argv[1]), overwrite=True) as working:
    (working / "report.html").write_text("half")
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(target: Path) -> subprocess.Popen[str]:
    running = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None and running.stdout.readline() == "held\n"
    return running


def test_a_second_run_is_told_who_is_at_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = holder(out)
    try:
        with (
            pytest.raises(
                Locked, match=rf"being written by .* on .* \(process {first.pid}, since 20"
            ) as told,
            output_folder(out),
        ):
            raise AssertionError
        assert "give another place" in str(told.value)
    finally:
        first.communicate("")
    assert first.returncode == 0
    assert (out / "report.html").read_text() == "half"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_the_lock_of_a_killed_run_is_taken_over_and_its_files_go(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = holder(out)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert lock_of(out).exists() and list(tmp_path.glob(".out.working-*"))
    with reserved(out) as lock:
        assert lock.stale is not None and lock.stale.pid == first.pid
        assert list(tmp_path.glob(".out.working-*")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_another_machine_is_respected(tmp_path: Path) -> None:
    out = tmp_path / "out"
    other = {"user": "ana", "host": "node7.elsewhere", "pid": 1, "since": "2026-01-01 00:00:00"}
    lock_of(out).write_text(json.dumps(other))
    with (
        pytest.raises(Locked, match=r"ana on node7\.elsewhere .*If that run is gone, remove .*\.out\.lock"),
        locked(out),
    ):
        raise AssertionError
    assert json.loads(lock_of(out).read_text()) == other


def test_a_damaged_lock_file_holds_nobody(tmp_path: Path) -> None:
    lock_of(tmp_path / "out").write_bytes(b"\xff{")
    with locked(tmp_path / "out") as lock:
        assert lock.stale is None


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe"])
def test_what_lies_where_a_lock_belongs_is_left_alone(tmp_path: Path, kind: str) -> None:
    """In a folder that others write to, a link named as the lock would have a file of ours emptied."""
    mine = tmp_path / "thesis.tex"
    mine.write_text("mine")
    place = lock_of(tmp_path / "out")
    {
        "link": lambda: place.symlink_to(mine),
        "dangling": lambda: place.symlink_to(tmp_path / "nothing"),
        "folder": place.mkdir,
        "pipe": lambda: os.mkfifo(place),
    }[kind]()
    with pytest.raises(Locked, match=r"no ordinary file.*Remove it"), locked(tmp_path / "out"):
        raise AssertionError
    assert mine.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.tex", ".out.lock"}


def test_the_same_thread_again_but_not_another(tmp_path: Path) -> None:
    told: list[str] = []

    def other() -> None:
        try:
            with locked(tmp_path / "out"):
                pass
        except Locked as busy:
            told.append(str(busy))

    with locked(tmp_path / "out") as lock:
        with locked(tmp_path / "out") as again:
            assert again is lock
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(told) == 1
    assert not lock_of(tmp_path / "out").exists()


def write(out: Path, words: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    with output_folder(out, overwrite=True) as working:
        (working / "report.html").write_text(words)
        meanwhile()


def test_a_lock_that_was_taken_away_is_noticed_before_anything_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "first")
    with pytest.raises(Locked, match="was taken away while this run was at work"):
        write(out, "second", lock_of(out).unlink)
    assert (out / "report.html").read_text() == "first"


def test_files_that_turned_up_meanwhile_are_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ValueError, match=r"holds other files \(thesis\.tex\)"):
        write(out, "results", lambda: (out / "thesis.tex").write_text("years of work"))
    assert (out / "thesis.tex").read_text() == "years of work"


def test_results_in_every_form_are_ours_to_replace(tmp_path: Path) -> None:
    from badac.cli.rank import Form

    for form in Form:
        for name in ("ranking", "train"):
            out = tmp_path / f"{name}-{form}"
            out.mkdir()
            (out / f"{name}.{form.suffix}").write_text("before")
            write(out, "after")
            assert [path.name for path in out.iterdir()] == ["report.html"]


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_stays_a_link_and_both_names_have_one_lock(tmp_path: Path) -> None:
    """Results that were to go to a larger disk go there."""
    disk, link = tmp_path / "disk" / "out", tmp_path / "out"
    disk.mkdir(parents=True)
    link.symlink_to(disk)
    for words in ("first", "second"):
        write(link, words)
        assert link.is_symlink() and (disk / "report.html").read_text() == words
    assert lock_of(link) == lock_of(disk)
    model, kept = tmp_path / "model.badac", tmp_path / "disk" / "model.badac"
    model.symlink_to(kept)
    for words in (b"first", b"second"):
        with whole_file(model) as file:
            file.write(words)
        assert model.is_symlink() and kept.read_bytes() == words
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(ValueError, match="leads to itself"), reserved(circle):
        raise AssertionError
    left = [path.name for path in (tmp_path / "disk").rglob("*") if path.is_file()]
    assert sorted(left) == ["model.badac", "report.html"]


def test_results_that_a_killed_run_had_set_aside_come_back(tmp_path: Path) -> None:
    aside = tmp_path / ".out.replaced-x" / "old"
    aside.mkdir(parents=True)
    (aside / "report.html").write_text("old")
    with reserved(tmp_path / "out", overwrite=True):
        assert (tmp_path / "out" / "report.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_temporary_files_of_dead_runs_are_removed(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from badac.writing import whole_file
with whole_file(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""
    running = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "model.badac")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout is not None and running.stdout.readline() == "open\n"
    assert remove_dead(tmp_path) == 0  # it lives
    running.kill()
    running.communicate()
    with whole_file(tmp_path / "mine") as file:
        file.write(b"x")
        assert remove_dead(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_who_is_alive() -> None:
    assert is_alive(os.getpid())
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not is_alive(gone.pid) and not is_alive(0) and not is_alive(-1)
    assert Owner.me().pid == os.getpid()

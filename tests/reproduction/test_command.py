"""`make reproduce` as its users meet it: output, exit codes, interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reproduction.command import app

RUN = CliRunner()
ROOT = Path(__file__).resolve().parents[2]
TINY = [
    "1",
    "--setting",
    "released",
    "--size",
    "200",
    "--jobs",
    "1",
    "-a",
    "lof",
    "-a",
    "forest",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture
def one_figure(monkeypatch):
    """The report with one figure in place of a dozen, where others are not what is held (`test_a_small_run...` draws all)."""
    from reproduction import report

    drawn = report.all_figures
    monkeypatch.setattr(report, "all_figures", lambda results: drawn([])[:1])


def test_a_small_run_says_where_the_report_is(place):
    done = RUN.invoke(app, [*TINY, "-o", str(place)])
    assert done.exit_code == 0, done.output
    assert "Experiment 1" in done.stdout
    assert "(0.83)" in done.stdout  # the paper's MCC of LOF
    assert "report.html" in done.stderr
    assert {path.name for path in place.iterdir()} == {
        "cells",
        "figures",
        "report.html",
        "results.csv",
        "results.json",
    }


@pytest.mark.usefixtures("one_figure")
def test_json_alone_on_standard_output_and_tables_in_the_documentation(place, tmp_path):
    page = tmp_path / "paper.md"
    page.write_text("a\n<!-- reproduce -->\n<!-- end reproduce -->\nb\n")
    done = RUN.invoke(app, [*TINY, "-o", str(place), "--json", "--write-docs", str(page)])
    assert done.exit_code == 0, done.output
    stored = json.loads(done.stdout)
    assert stored["schema"] == "badac.reproduce/1"
    assert stored == json.loads((place / "results.json").read_text())
    assert "| LOF |" in page.read_text()


@pytest.mark.usefixtures("one_figure")
def test_finished_reports_what_is_there_and_computes_nothing(place, tmp_path):
    more = [*TINY, "-o", str(place), "--seeds", "3", "--json", "--finished"]
    done = RUN.invoke(app, more)
    assert done.exit_code == 0, done.output
    assert {cell["cell"]["seed"] for cell in json.loads(done.stdout)["cells"]} == {0}
    empty = RUN.invoke(app, [*TINY, "-o", str(tmp_path), "--finished"])
    assert empty.exit_code == 1
    assert "Leave out --finished" in empty.stderr


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["7"], "experiments"),
        (["--size", "huge"], "size must be one of small, medium, paper"),
        (["--size", "20"], "at least 200"),
        (["--setting", "imagined"], "imagined"),
        (["--seeds", "0"], "--seeds"),
        (["-a", "magic"], "algorithm must be one of"),
    ],
)
def test_a_wrong_command_is_explained_with_exit_code_2(wrong, words, tmp_path):
    done = RUN.invoke(app, ["-o", str(tmp_path / "out"), *wrong])
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused_before_the_work(tmp_path):
    target = tmp_path / "taken"
    target.write_text("mine")
    done = RUN.invoke(app, [*TINY, "-o", str(target)])
    assert done.exit_code == 1
    assert "is a file" in done.stderr
    assert target.read_text() == "mine"


def test_documentation_that_is_absent_or_unmarked_is_refused_before_the_work(tmp_path):
    missing = RUN.invoke(app, [*TINY, "-o", str(tmp_path / "out"), "--write-docs", str(tmp_path / "no.md")])
    assert missing.exit_code == 1
    assert "no.md" in missing.stderr
    (tmp_path / "bare.md").write_text("no markers")
    bare = RUN.invoke(app, [*TINY, "-o", str(tmp_path / "out"), "--write-docs", str(tmp_path / "bare.md")])
    assert bare.exit_code == 1
    assert "must hold the lines" in bare.stderr
    assert not (tmp_path / "out" / "cells").exists()


@pytest.mark.usefixtures("one_figure")
def test_a_failed_cell_is_named_and_fails_the_command(tmp_path, monkeypatch):
    from reproduction import run
    from reproduction.results import run_cell

    def failing(cell):
        if cell.algorithm == "lof":
            raise ValueError("no luck")
        return run_cell(cell)

    monkeypatch.setattr(run, "run_cell", failing)
    done = RUN.invoke(app, [*TINY, "-o", str(tmp_path)])
    assert done.exit_code == 1
    assert "s0-lof: ValueError: no luck" in done.stderr
    assert "Random forest" in done.stdout


@pytest.mark.usefixtures("one_figure")
def test_an_interruption_says_where_things_stand(tmp_path, monkeypatch):
    from reproduction import run
    from reproduction.results import run_cell

    def interrupted(cell):
        if cell.algorithm == "lof":
            raise KeyboardInterrupt
        return run_cell(cell)

    monkeypatch.setattr(run, "run_cell", interrupted)
    done = RUN.invoke(app, [*TINY, "-o", str(tmp_path)])
    assert done.exit_code == 130
    assert "1 of 2 cells are done" in " ".join(done.stderr.split())
    assert not (tmp_path / "report.html").exists()
    monkeypatch.setattr(run, "run_cell", run_cell)
    assert RUN.invoke(app, [*TINY, "-o", str(tmp_path)]).exit_code == 0


def _vanishes(group):
    """Whether every process of the group ends within a few seconds."""
    for _ in range(75):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.2)
    return False


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_all_processes_with_130(tmp_path):
    command = [
        sys.executable, "-m", "reproduction", "--size", "300", "--jobs", "2", "-o", str(tmp_path), "-a", "forest", "-a", "lof",
    ]  # fmt: skip
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=ROOT
    )
    cells = tmp_path / "cells"
    deadline = time.monotonic() + 150.0
    while time.monotonic() < deadline and not (cells.exists() and any(cells.iterdir())):
        time.sleep(0.2)
    os.killpg(running.pid, signal.SIGINT)  # what a terminal does: every process of the group gets it
    _, said = running.communicate(timeout=150)
    assert running.returncode == 130, said
    assert "The same command goes on from there" in said
    assert "Traceback" not in said
    assert _vanishes(running.pid), "a process of the group is still there"
    assert not [path for path in cells.iterdir() if path.name.startswith(".")]


def test_help_has_examples_as_they_are_typed():
    told = RUN.invoke(app, ["--help"])
    assert told.exit_code == 0
    assert "--setting" in told.stdout
    assert 'make reproduce ARGS="1 3 --setting released"' in told.stdout

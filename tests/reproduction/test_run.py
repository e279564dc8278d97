"""What is done is kept: resuming, interrupting, failing."""

import json
import os

import pytest

from badac.writing import write_whole
from reproduction import kept, run
from reproduction.cells import Size, plan
from reproduction.kept import keep, recall
from reproduction.results import run_cell

TINY = Size(200, 200, 5)


@pytest.fixture
def cells():
    return plan(TINY, experiments=(1,), settings=("released",), n_seeds=2, algorithms=("lof", "iforest"))


def test_results_are_kept_and_recalled(cells, tmp_path):
    first = list(run.run_cells(cells, tmp_path, n_processes=1))
    assert [outcome.kept for outcome in first] == [False] * 4
    assert len(list(tmp_path.iterdir())) == 4
    second = list(run.run_cells(cells, tmp_path, n_processes=1))
    assert [outcome.kept for outcome in second] == [True] * 4
    ours = {outcome.cell: outcome.result.metrics for outcome in first}
    assert all(ours[outcome.cell] == outcome.result.metrics for outcome in second)


def test_an_interruption_keeps_what_is_done(cells, tmp_path, monkeypatch):
    calls = []

    def interrupted_at_the_third(cell):
        calls.append(cell)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_cell(cell)

    monkeypatch.setattr(run, "run_cell", interrupted_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        list(run.run_cells(cells, tmp_path, n_processes=1))
    assert len(list(tmp_path.iterdir())) == 2
    outcomes = list(run.run_cells(cells, tmp_path, n_processes=1))
    assert sum(outcome.kept for outcome in outcomes) == 2
    assert all(outcome.result is not None for outcome in outcomes)


def test_a_failing_cell_does_not_stop_the_others(cells, tmp_path, monkeypatch):
    def failing(cell):
        if cell.algorithm == "lof":
            raise MemoryError("too big")
        return run_cell(cell)

    monkeypatch.setattr(run, "run_cell", failing)
    outcomes = list(run.run_cells(cells, tmp_path, n_processes=1))
    assert sorted(outcome.error or "" for outcome in outcomes) == [
        "",
        "",
        "MemoryError: too big",
        "MemoryError: too big",
    ]


def test_processes_give_the_same_numbers(cells, tmp_path):
    alone = {o.cell: o.result.metrics for o in run.run_cells(cells[:2], tmp_path / "a", n_processes=1)}
    together = {o.cell: o.result.metrics for o in run.run_cells(cells[:2], tmp_path / "b", n_processes=2)}
    assert alone == together
    assert len(list((tmp_path / "b").iterdir())) == 2


def test_another_code_or_a_broken_file_is_not_believed(cells, tmp_path, monkeypatch):
    cell = cells[0]
    assert recall(tmp_path, cell) is None
    path = keep(tmp_path, run_cell(cell))
    assert recall(tmp_path, cell) is not None
    stored = json.loads(path.read_text())
    for broken in (
        "",
        "{",
        "[]",
        json.dumps(stored | {"metrics": None}),
        json.dumps({**stored, "fingerprint": "x"}),
    ):
        path.write_text(broken)
        assert recall(tmp_path, cell) is None


def test_the_fingerprint_tells_algorithms_apart():
    assert kept.fingerprint("lof") != kept.fingerprint("iforest")
    assert kept.fingerprint("badac") != kept.fingerprint("badac-exact")


def test_the_fingerprint_follows_the_source_that_a_result_comes_from():
    sources = {name: {path.name for path in kept._sources(name)} for name in ("lof", "limit", "badac")}
    assert "curves.py" in sources["lof"] and "classifier.py" not in sources["lof"]
    assert sources["limit"] == sources["lof"] | {"bayes.py", "sine.py", "linear.py", "mixture.py"}
    assert "classifier.py" in sources["badac"] and "speech.py" not in sources["badac"]


def test_a_file_is_whole_or_absent(tmp_path, monkeypatch):
    target = tmp_path / "numbers.json"
    write_whole(target, "before")

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(target, "after")
    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["numbers.json"]

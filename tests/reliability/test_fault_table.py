"""docs/reliability.md: every promise names a test that is there, and its counts are those that were kept."""

from __future__ import annotations

import json
import re

import pytest
from tally import PAGE, PLACE, RESULTS, ROOT, table


def promises() -> list[list[str]]:
    """The rows of the tables of faults and of bits: what is at fault or changed, what is promised, what holds it."""
    rows = [
        line.strip("| ").split(" | ")
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    return [row for row in rows if len(row) == 3 and "`tests/" in row[2]]


def test_every_promise_is_held_by_a_test_that_exists() -> None:
    found = promises()
    assert len(found) > 15
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for fault, _, held in found:
        for one in re.findall(r"`([^`]+)`", held):
            if one.startswith("make "):
                assert re.search(rf"^{one.removeprefix('make ')}:", makefile, re.M), one
                continue
            path = ROOT / one
            assert path.exists(), f"{fault}: {one}"
            files = [path] if path.is_file() else list(path.glob("test_*.py"))
            assert any("def test_" in file.read_text(encoding="utf-8") for file in files), one


def test_every_fault_of_the_table_is_promised_something() -> None:
    lines = PAGE.read_text(encoding="utf-8").split("| fault |")[1].split("\n\n")[0].splitlines()[2:]
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        assert len(cells) == 3 and all(cells), line
        assert "`tests/" in cells[2], line


def test_the_counts_are_those_that_were_kept() -> None:
    if not RESULTS.exists():
        pytest.skip("no counts were kept in benchmarks/results/reliability.json")
    kept = table(json.loads(RESULTS.read_text(encoding="utf-8")))
    assert f"<!-- {PLACE} -->\n{kept}\n<!-- end {PLACE} -->" in PAGE.read_text(encoding="utf-8")

"""docs/architecture.md: its walks are those that really run, its files exist, and every layer is named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from reproduction import tree
from reproduction.architecture import PAGE, with_walks
from reproduction.walk import walk

ROOT = PAGE.parents[1]


def test_the_walks_are_those_that_run():
    text = PAGE.read_text()
    assert with_walks(text) == text, "run python -m reproduction.architecture"


# Beside the page, as a walk is remembered by the process that took it.
@pytest.mark.parametrize("what", ["fit", "rank"])
def test_fit_and_rank_begin_at_the_estimator(what):
    found = walk(what)
    assert found.steps[0].path == "estimators/classifier.py"
    assert found.steps[0].function == f"BADACClassifier.{what}"
    assert len(found.files) > 10 < found.depth


@pytest.mark.slow
def test_the_command_goes_through_the_job_and_the_estimator(capsys):
    tree.main(["--walk", "fit", "cli-rank"])
    told = capsys.readouterr().out
    assert "cli/rank.py" in told and "job/report.py" in told
    assert told.count("estimators/classifier.py") == 1  # the second walk prints what it adds


def test_every_layer_is_named_here_and_in_contributing():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = {name.strip("() ") for line in contract["layers"] for name in re.split("[:|]", line)}
    for page in (PAGE, ROOT / "CONTRIBUTING.md"):
        named = set(re.findall(r"`(\w+)/?`", page.read_text()))
        assert layers <= named, f"{page.name} lacks {sorted(layers - named)}"


def test_files_that_are_named_exist():
    for path in re.findall(r"`((?:src|tests|examples|reproduction)/[\w/.]+)`", PAGE.read_text()):
        assert Path(ROOT, path).exists(), path

"""docs/architecture.md: its walks are those that really run, its files exist, and every layer is named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from reproduction.architecture import PAGE, with_walks

ROOT = PAGE.parents[1]


def test_the_walks_are_those_that_run():
    text = PAGE.read_text()
    assert with_walks(text) == text, "run python -m reproduction.architecture"


def test_every_layer_is_named_here_and_in_contributing():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = {name.strip("() ") for line in contract["layers"] for name in re.split("[:|]", line)}
    for page in (PAGE, ROOT / "CONTRIBUTING.md"):
        named = set(re.findall(r"`(\w+)/?`", page.read_text()))
        assert layers <= named, f"{page.name} lacks {sorted(layers - named)}"


def test_files_that_are_named_exist():
    for path in re.findall(r"`((?:src|tests|examples|reproduction)/[\w/.]+)`", PAGE.read_text()):
        assert Path(ROOT, path).exists(), path

"""What the documentation tells people to type exists, and the numbers it copies are where they are said to be."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from badac.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands():
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line.startswith("badac "):
                    yield pytest.param(line.partition("#")[0].strip(), id=f"{page.name}: {line[:60]}")


@pytest.mark.parametrize("line", list(commands()))
def test_a_command_has_only_options_that_exist(line: str) -> None:
    verb, *words = shlex.split(line)[1:]
    command = typer.main.get_command(app).commands[verb]
    parsed = command.make_context(verb, words)  # raises on an unknown option or a missing argument
    assert parsed.command.name == verb


def test_the_readme_has_the_blocks_that_the_script_fills() -> None:
    spec = importlib.util.spec_from_file_location("readme", ROOT / "benchmarks" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = module.glance((ROOT / "docs" / "paper.md").read_text(encoding="utf-8"))
    filled = module.put(text, "glance", table)
    assert table in filled
    filled = module.put(filled, "throughput", "so fast")
    assert "so fast" in filled and "## Citation" in filled

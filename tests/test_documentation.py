"""What the documentation tells people to type exists, and the numbers it copies are where they are said to be."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from badac.cli.app import app
from reproduction import readme
from reproduction.command import app as reproduce
from reproduction.marked import put

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "paper.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "how_to").glob("*.md")),
]


def commands():
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line.startswith("badac "):
                    yield pytest.param(line.partition("#")[0].strip(), id=f"{page.name}: {line[:60]}")


def test_every_link_to_a_file_of_the_repository_leads_somewhere() -> None:
    """The site's build looks at its own pages; those beside it are looked at here."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http", "mailto:")):
                assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_figures_of_the_joss_paper_stand_in_the_documentation() -> None:
    """Every row of its table is a row of the table that the reproduction writes, so no number is only there."""
    rows = readme.glance((ROOT / "docs" / "paper.md").read_text(encoding="utf-8")).splitlines()
    cells = {tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows}
    found = re.findall(r"^\| (?:printed|released) .*$", (ROOT / "paper.md").read_text(encoding="utf-8"), re.M)
    assert len(found) >= 4
    for row in found:
        assert tuple(cell.strip() for cell in row.strip("|").split("|")) in cells


def test_what_is_said_of_rows_in_which_a_peer_is_ahead_is_so() -> None:
    """The paper and the comparison say in words what the table says in numbers."""
    rows = readme.glance((ROOT / "docs" / "paper.md").read_text(encoding="utf-8")).splitlines()
    cells = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in rows
        if "printed" in row or "released" in row
    ]
    ahead = [row[4].partition(" ")[2] for row in cells if float(row[4].split()[0]) > float(row[2])]
    assert (len(cells), ahead) == (8, ["Kernel density"])
    for name, words in {
        "paper.md": "Kernel density is ahead of the default in one of these rows",
        "docs/comparison.md": "Kernel density is ahead on one of the eight rows",
    }.items():
        assert words in " ".join((ROOT / name).read_text(encoding="utf-8").split())


def reproductions():
    for page in PAGES:
        for typed in re.findall(r'make reproduce ARGS="(.*?)"', page.read_text(encoding="utf-8")):
            yield pytest.param(typed, id=f"{page.name}: {typed}")


@pytest.mark.parametrize("typed", list(reproductions()))
def test_the_reproduction_has_the_options_that_are_named(typed: str) -> None:
    typer.main.get_command(reproduce).make_context("reproduce", shlex.split(typed))


@pytest.mark.parametrize("line", list(commands()))
def test_a_command_has_only_options_that_exist(line: str) -> None:
    verb, *words = shlex.split(line)[1:]
    command = typer.main.get_command(app).commands[verb]
    parsed = command.make_context(verb, words)  # raises on an unknown option or a missing argument
    assert parsed.command.name == verb


def test_every_place_for_measured_numbers_has_an_end() -> None:
    places = [
        (page, name)
        for page in PAGES
        for name in re.findall(r"<!-- (?!end )(.*?) -->", page.read_text(encoding="utf-8"))
    ]
    assert len(places) > 10
    for page, name in places:
        text = page.read_text(encoding="utf-8")
        assert "12 nm" in put(text, name, "12 nm", page.name)


def test_the_readme_has_the_blocks_that_the_script_fills() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.glance((ROOT / "docs" / "paper.md").read_text(encoding="utf-8"))
    filled = put(text, "glance", table)
    assert table in filled
    filled = put(filled, "throughput", "so fast")
    assert "so fast" in filled and "## Citation" in filled

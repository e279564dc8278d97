"""Names come from tables, and are never markup: not on a terminal, not in HTML, not in a figure, not in a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tables import small_table
from typer.testing import CliRunner

from badac.cli.app import app
from badac.cli.speech import printable
from badac.data import write_table
from badac.data.spreadsheets import as_text
from badac.plots import ConfusionDisplay, ObjectsDisplay
from badac.plots.style import rendered

RUN = CliRunner()
NASTY = (
    "[/red]x",
    "a[bold]b[/bold]",
    "=cmd|' /C calc'!A0",
    "$\\frac$",
    "<script>alert(1)</script>",
    ":smile:",
    "\x1b[2Jx",
)


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The whole walk, with nasty names of classes and objects."""
    folder = tmp_path_factory.mktemp("nasty[red]")
    train, new = small_table(80, 1, ("[/low]$a$b$", "@high<b>")), small_table(40, 2)
    new["object"] = [*(f"{name}{i}" for i, name in enumerate(NASTY * 6))][:40]
    train.to_csv(folder / "train[bold].csv", index=False)
    new.drop(columns="label").to_csv(folder / "new[red].csv", index=False)
    done = RUN.invoke(
        app,
        [
            "rank", str(folder / "train[bold].csv"), str(folder / "new[red].csv"), "-o", str(folder / "out"),
            "--class-model", "population", "--folds", "2", "--no-diagnose", "--format", "csv", "-j", "1",
        ],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return done.output, folder / "out"


def test_a_terminal_shows_names_as_they_are(ranked: tuple[str, Path]) -> None:
    said, _ = ranked
    assert "new[red].csv" in said and "[/low]$a$b$" in said and "train[bold].csv" in said
    assert "\x1b[2J" not in said
    assert any(name in said for name in ("[/red]x", "a[bold]b[/bold]", ":smile:"))


def test_a_report_shows_them_too(ranked: tuple[str, Path]) -> None:
    page = (ranked[1] / "report.html").read_text()
    assert "<script>" not in page and "<b>" not in page
    assert "@high&lt;b&gt;" in page


def test_a_spreadsheet_runs_none_of_them(ranked: tuple[str, Path]) -> None:
    said, out = ranked
    table = pd.read_csv(out / "ranking.csv")
    assert "'=cmd|' /C calc'!A02" in table["object"].tolist()
    assert "'@high<b>" in table["class"].tolist()
    assert "would be formulas in a spreadsheet" in said and "Parquet keeps every name" in " ".join(
        said.split()
    )
    texts = [cell for name in ("object", "class") for cell in table[name]]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts)


def test_errors_and_notes_have_no_markup(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["rank", str(tmp_path / "[red].badac"), str(tmp_path / "[/x]new.csv")])
    assert done.exit_code == 1 and "[/x]new.csv" in done.output and "Traceback" not in done.output


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-1e3", "-1e3"),
        ("-x", "'-x"),
        ("@a", "'@a"),
        ("a=b", "a=b"),
        ("\t=1", "'\t=1"),
    ],
)
def test_cells_of_tables(tmp_path: Path, cell: str, written: str) -> None:
    assert as_text(cell) == written
    write_table({"name": [cell, "b"]}, tmp_path / "t.csv")
    assert pd.read_csv(tmp_path / "t.csv", dtype=str)["name"][0] == written
    write_table({"name": [cell, "b"]}, tmp_path / "raw.csv", formulas=True)
    assert pd.read_csv(tmp_path / "raw.csv", dtype=str)["name"][0] == cell
    write_table({"name": [cell, "b"]}, tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet")["name"][0] == cell


def test_what_a_terminal_would_obey_is_spelled_out() -> None:
    assert printable("a\x1b[31mb\x07\u202e") == "a\\x1b[31mb\\x07\\u202e"
    assert printable("Ångström [x]\n") == "Ångström [x]\n"


def test_dollars_are_no_formula_in_a_figure() -> None:
    display = ConfusionDisplay(np.eye(2, dtype=int), ["$\\frac$", "a$b$c"]).plot()
    assert display.figure_ is not None and b"<svg" in rendered(display.figure_, "svg")
    assert ObjectsDisplay is not None

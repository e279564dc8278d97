"""The demonstration runs, and its page says what it found."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from badac import demo
from badac.cli.app import app


@pytest.fixture(scope="module")
def found() -> demo.Demo:
    return demo.run(seed=1, n_curves=400)


def test_both_parts_are_judged_beside_the_forest(found: demo.Demo) -> None:
    columns, rows = demo.table(found)
    assert [row[:2] for row in rows] == [
        ("curves", "badac"),
        ("curves", "random forest"),
        ("digits", "badac"),
        ("digits", "random forest"),
    ]
    assert len(columns) == len(rows[0])


def test_bumps_are_found(found: demo.Demo) -> None:
    assert found.detection.auc > 0.9
    assert found.is_anomaly[found.ranking.objects[0]]


def test_the_page_is_written_whole(found: demo.Demo, tmp_path: Path) -> None:
    path = demo.write(found, tmp_path / "new" / "folder")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert text.count("<img") == 2
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_the_command_says_where_the_report_is(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["demo", "-o", str(tmp_path), "--size", "300"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").exists()
    assert "report.html" in result.stderr

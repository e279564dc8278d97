"""The demonstration runs the main job, and its page says what it found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from badac import demo
from badac.cli.app import app
from badac.job import Settings

QUICK = Settings(class_model="population", folds=0, diagnose=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demonstration") / "demo"


@pytest.fixture(scope="module")
def parts(place: Path) -> tuple[demo.Part, ...]:
    return demo.run(place, demo.DemoOptions(1, 300, n_jobs=1, settings=QUICK, n_shown=2))


def test_each_kind_of_data_is_judged(parts: tuple[demo.Part, ...]) -> None:
    assert [part.name for part in parts] == ["curves", "light_curves", "catalogue"]
    assert [part.found.shown.kind for part in parts] == ["grid curve", "light curve", "catalogue"]
    columns, rows = demo.table(parts)
    assert [row[0] for row in rows] == ["curves on a grid", "light curves", "stars of a catalogue"]
    assert len(columns) == len(rows[0])


def test_what_is_new_is_found(parts: tuple[demo.Part, ...]) -> None:
    assert all(part.detection.auc > 0.9 for part in parts)


def test_the_folder_holds_what_badac_rank_writes(place: Path, parts: tuple[demo.Part, ...]) -> None:
    assert {entry.name for entry in place.iterdir()} == {"curves", "light_curves", "catalogue", "report.html"}
    for part in parts:
        assert {entry.name for entry in (place / part.name).iterdir()} - {"labels.csv"} == {
            "train.parquet", "new.parquet", "truth.csv", "ranking.parquet", "report.html", "summary.json", "model.badac",
        }  # fmt: skip
    text = (place / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert all(f'href="{part.name}/report.html"' in text for part in parts)
    # The strangest of each kind is drawn on the first page.
    assert all(f"<h3>1. {part.found.shown.ids[0]}</h3>" in text for part in parts) and "<figure" in text


@pytest.mark.slow
def test_the_command_says_where_the_report_is_and_what_to_try_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = demo.run
    quick = {"settings": QUICK, "n_shown": 1}
    monkeypatch.setattr(
        demo, "run", lambda folder, options, **named: run(folder, replace(options, **quick), **named)
    )
    done = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "out"), "--size", "200", "-j", "1"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "report.html").exists()
    assert "report.html" in done.stderr
    assert "light_curves --rank 1" in done.stderr
    again = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "out"), "--size", "200"])
    assert again.exit_code == 1
    assert "--overwrite" in again.stderr

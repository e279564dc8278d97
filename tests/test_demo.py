"""The demonstration runs the main job, and its page says what it found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from badac import demo
from badac.cli.app import app
from badac.job import Settings

QUICK = Settings(class_model="template", folds=2, diagnose=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demonstration") / "demo"


@pytest.fixture(scope="module")
def parts(place: Path) -> tuple[demo.Part, ...]:
    return demo.run(place, demo.DemoOptions(1, 300, n_jobs=1, settings=QUICK, n_shown=2))


def test_both_parts_are_judged_beside_the_forest(parts: tuple[demo.Part, ...]) -> None:
    columns, rows = demo.table(parts)
    assert [row[:2] for row in rows] == [
        ("curves", "badac"),
        ("curves", "random forest"),
        ("digits", "badac"),
        ("digits", "random forest"),
    ]
    assert len(columns) == len(rows[0])


def test_bumps_are_found(parts: tuple[demo.Part, ...]) -> None:
    assert parts[0].detection.auc > 0.9


def test_nines_are_what_is_new_among_the_digits(parts: tuple[demo.Part, ...]) -> None:
    digits = parts[1]
    assert 9 not in digits.drawn.train_label
    assert set(digits.drawn.truth[digits.drawn.is_anomaly].tolist()) == {9}
    assert digits.detection.auc > 0.6


def test_the_folder_holds_what_badac_rank_writes(place: Path, parts: tuple[demo.Part, ...]) -> None:
    assert {entry.name for entry in place.iterdir()} == {"curves", "digits", "report.html"}
    for part in parts:
        assert {entry.name for entry in (place / part.name).iterdir()} == {
            "train.parquet", "new.parquet", "truth.csv", "ranking.parquet", "report.html", "summary.json",
        }  # fmt: skip
    text = (place / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.rstrip().endswith("</html>")
    assert 'href="curves/report.html"' in text


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
    assert "badac explain model.badac" in done.stderr
    again = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "out"), "--size", "200"])
    assert again.exit_code == 1
    assert "--overwrite" in again.stderr

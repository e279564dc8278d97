"""``badac rank`` on a cluster writes what it writes alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from surveys import frame_of
from typer.testing import CliRunner

import badac
from badac import BADACClassifier, Measurements
from badac.cli.app import app
from badac.job import Layout, RankOptions, Record, rank_file
from badac.job.record import versions

pytestmark = pytest.mark.usefixtures("one_drawing")


@pytest.fixture
def files(tmp_path: Path, model: BADACClassifier, survey: Measurements) -> Path:
    """A model file, a survey in two files, and the same in one."""
    layout = Layout(features=tuple(f"y{j}" for j in range(6)))
    Record(layout, "train.csv", "label", "", {}, (), {}, 0.0, versions()).attach(model)
    badac.save(model, tmp_path / "model.badac")
    table = frame_of(survey)
    (tmp_path / "survey").mkdir()
    table[:90].to_parquet(tmp_path / "survey" / "a.parquet", index=False)
    table[90:].to_parquet(tmp_path / "survey" / "b.parquet", index=False)
    table.to_parquet(tmp_path / "whole.parquet", index=False)
    return tmp_path


def rank(files: Path, *words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["rank", str(files / "model.badac"), *words])
    assert result.exit_code == code, result.output
    return result


def test_a_cluster_writes_the_same_ranking(client: Any, files: Path) -> None:
    rank(files, str(files / "whole.parquet"), "-o", str(files / "alone"), "--fdr", "0.3")
    found = rank(
        files,
        *(str(files / "survey"), "-o", str(files / "together"), "--fdr", "0.3"),
        *("--scheduler", client.scheduler.address, "--json"),
    )
    alone, together = (pd.read_parquet(files / name / "ranking.parquet") for name in ("alone", "together"))
    pd.testing.assert_frame_equal(alone, together, check_exact=False, rtol=1e-6)
    assert (files / "together" / "report.html").stat().st_size > 10_000
    assert len(pd.read_parquet(files / "together" / "verdicts")) == 200
    said = json.loads(found.stdout)
    assert said["n_objects"] == 200 and said["discoveries"] > 0
    assert sorted(path.name for path in files.iterdir()) == [
        "alone", "model.badac", "survey", "together", "whole.parquet",
    ]  # fmt: skip


def test_bad_rows_stop_a_run_or_are_listed(client: Any, files: Path) -> None:
    table = pd.read_parquet(files / "survey" / "b.parquet")
    table.loc[20, "y3_err"] = -2.0
    table.to_parquet(files / "survey" / "b.parquet", index=False)
    words = (str(files / "survey"), "-o", str(files / "out"))
    # Processes of this machine, and a cluster that runs already.
    stopped = rank(files, *words, "--workers", "1", code=1)
    assert "partition 1 (b.parquet" in stopped.output and "row 110: negative error" in stopped.output
    assert not (files / "out").exists()
    finished = rank(files, *words, "--scheduler", client.scheduler.address, "--on-error", "report")
    assert "1 row could not be used" in finished.output
    listed = pd.read_csv(files / "out" / "bad_rows.csv")
    assert listed["object"].tolist() == ["object 110"]
    ranked = pd.read_parquet(files / "out" / "ranking.parquet")
    np.testing.assert_array_equal(ranked["rank"], np.arange(1, 200))
    assert "object 110" not in set(ranked["object"])


def test_options_that_need_a_cluster_say_so(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("badac.dask.files.ANSWERS_WITHIN", 1)
    folder = rank(files, str(files / "survey"), "-o", str(files / "out"), code=1)
    assert "add --workers N" in folder.output
    report = rank(files, str(files / "whole.parquet"), "--on-error", "report", code=2)
    assert "--workers or --scheduler" in report.output
    nobody = rank(files, str(files / "survey"), "--scheduler", "tcp://127.0.0.1:1", code=1)
    assert "no scheduler answers" in nobody.output


def test_a_full_disk_at_the_end_says_where_the_finished_parts_are(
    files: Path, model: BADACClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take room until the run goes on: who needs it must know."""
    parts = files / ".out.parts-1"
    found = replace(rank_file(model, files / "whole.parquet", RankOptions()), parts=str(parts))
    monkeypatch.setattr("badac.cli.rank.rank_on_cluster", lambda *_, **__: found)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("badac.job.write_results", full)
    words = (str(files / "whole.parquet"), "-o", str(files / "out"), "--workers", "1")
    said = " ".join(rank(files, *words, code=1).stderr.split())
    assert "What is finished is kept in" in said and ".out.parts-1" in said.replace(" ", "")
    assert "No space left on device" in said and not (files / "out").exists()

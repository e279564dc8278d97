"""The three stories run as they are told, on files that they write themselves."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas
import pytest
from typer.testing import CliRunner

from badac.cli.app import app

DOCS = Path(__file__).resolve().parents[1] / "docs"
STORIES = {
    "tutorial_catalogue": "catalogue",
    "tutorial_light_curves": "light curve",
    "tutorial_spectra": "spectrum",
}


def commands(page: str) -> list[list[str]]:
    blocks = re.findall(r"```bash\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("page", list(STORIES))
def test_a_story_runs_as_it_is_told(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = {}
    for words in commands(page):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)
        said[words[0]] = done.stdout
    folder = Path("results")
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "<article>" in report
    strangest = pandas.read_parquet(folder / "ranking.parquet").iloc[0]
    truth = pandas.read_csv(Path(words[2]).parent / "truth.csv").set_index("object")
    assert truth.loc[strangest["object"], "anomaly"]
    assert str(strangest["object"]) in said["explain"]
    names = {
        "catalogue": ("bp_rp", "pm"),
        "light curve": ("band", "phase"),
        "spectrum": ("Angstrom", "wavelength"),
    }
    assert all(word in said["explain"] for word in names[STORIES[page]])
    assert ("aladin" in report) == (page == "tutorial_catalogue")
    assert "objects of unknown classes" in said["evaluate"]
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert (folder / summary["table"]).exists() and (folder / summary["model"]).exists()

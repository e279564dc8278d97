"""Where results cannot go: a full disk, a device, a pipe. The message names the place, and nothing is left or lost."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from badac import BADACClassifier, save
from badac.cli.app import app

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits and pipes of POSIX")
RUN = CliRunner()
LIMITED = """
import resource, sys
from badac.cli import main
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main()
"""


def on_a_small_disk(limit: int, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_a_model(small_files: Path, tmp_path: Path) -> None:
    words = [
        "fit",
        str(small_files / "train.csv"),
        "--class-model",
        "template",
        "--folds",
        "0",
        "--no-diagnose",
    ]
    said = on_a_small_disk(2000, *words, "-o", str(tmp_path / "m.badac"))
    assert f"Error: File too large ({tmp_path / 'm.badac'}). Nothing half-written was left behind." in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("form", "limit"), [("csv", 1000), ("parquet", 2000), ("fits", 1000)])
def test_a_ranking(form: str, limit: int, small_files: Path, tmp_path: Path) -> None:
    words = ["rank", str(small_files / "model.badac"), str(small_files / "new.csv"), "--format", form]
    said = on_a_small_disk(limit, *words, "-o", str(tmp_path / "out"))
    assert "File too large" in said and f"ranking.{form}). Nothing half-written was left behind." in said
    assert list(tmp_path.iterdir()) == []


def test_a_device_or_a_pipe_is_not_replaced(
    small_files: Path, small_model: BADACClassifier, tmp_path: Path
) -> None:
    """Written under another name and renamed, a result would stand where /dev/null was."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    words = [
        "fit",
        str(small_files / "train.csv"),
        "--class-model",
        "template",
        "--folds",
        "0",
        "--no-diagnose",
    ]
    for place in (pipe, link):
        done = subprocess.run(
            [sys.executable, "-c", "from badac.cli import main; main()", *words, "-o", str(place), "--overwrite"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert f"Error: {place} is no file but a folder, a device or a pipe" in done.stderr
        with pytest.raises(ValueError, match="is no file but a folder, a device or a pipe"):
            save(small_model, place)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == [link, pipe]


def test_overwrite_replaces_a_model_and_no_table(small_files: Path, tmp_path: Path) -> None:
    """`badac fit train.csv -o train.csv --overwrite` put the model in the place of the only training table."""
    train, model, figure = tmp_path / "train.csv", tmp_path / "m.badac", tmp_path / "f.png"
    train.write_bytes(whole := (small_files / "train.csv").read_bytes())
    words = [str(train), "--class-model", "template", "--folds", "0", "--no-diagnose", "--overwrite"]
    done = RUN.invoke(app, ["fit", *words, "-o", str(train)])
    assert done.exit_code == 1
    assert "train.csv is there already, is not the model of an earlier run, and is left alone" in " ".join(
        done.output.split()
    )
    assert train.read_bytes() == whole
    model.touch()  # as mktemp makes them
    for _ in range(2):
        assert RUN.invoke(app, ["fit", *words, "-o", str(model)]).exit_code == 0
    figure.write_bytes(whole)
    done = RUN.invoke(app, ["diagnose", str(train), "-o", str(figure), "--overwrite"])
    assert done.exit_code == 1 and "is not the figure of an earlier run" in " ".join(done.output.split())

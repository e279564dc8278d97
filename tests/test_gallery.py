"""Every example of the gallery runs as it stands, without a warning, and draws at least one figure."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples" / "gallery").glob("plot_*.py"))


def test_there_are_enough_of_them() -> None:
    assert len(EXAMPLES) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    numbers = plt.get_fignums()
    assert numbers
    for number in numbers:
        assert all(axes.has_data() for axes in plt.figure(number).axes)
    plt.close("all")
    assert not list(tmp_path.iterdir()), "an example leaves no file behind"

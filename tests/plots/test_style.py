"""The house style draws without global state and writes whole files."""

import subprocess
import sys

import numpy as np
import pytest

from badac.plots import PALETTE, new_axes, new_figure, save
from badac.plots.style import COLUMN, rendered


def test_figures_are_one_column_wide():
    figure, ax = new_figure()
    assert figure.get_figwidth() == COLUMN
    assert new_axes(ax) is ax
    assert new_axes(None).figure.get_figwidth() == COLUMN


def test_the_style_leaves_matplotlib_as_it_was():
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure, ax = new_figure(2, 2)
    ax[0, 0].plot([0, 1])
    rendered(figure, "png")
    assert dict(matplotlib.rcParams) == before


def test_drawing_needs_no_pyplot():
    code = (
        "import sys\n"
        "from badac.plots import RankingDisplay\n"
        "assert 'matplotlib' not in sys.modules, 'importing the plots imports matplotlib'\n"
        "RankingDisplay([0.9, 0.1]).plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_save_writes_both_forms_and_nothing_else(tmp_path):
    figure, ax = new_figure()
    ax.plot([0, 1], [0, 1])
    png, svg = save(figure, tmp_path / "deep" / "figure")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in svg.read_bytes()[:1000]
    assert sorted(path.name for path in png.parent.iterdir()) == ["figure.png", "figure.svg"]


def test_the_same_numbers_give_the_same_file():
    drawn = []
    for _ in range(2):
        figure, ax = new_figure()
        ax.plot([0, 1], [0, 1])
        drawn.append(rendered(figure, "svg"))
    assert drawn[0] == drawn[1]


def test_a_failed_write_leaves_nothing(tmp_path):
    figure, _ = new_figure()
    (tmp_path / "figure.png").mkdir()  # cannot be replaced by a file
    with pytest.raises(ValueError, match="is no file but a folder"):
        save(figure, tmp_path / "figure")
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


def test_a_figure_that_cannot_be_renamed_leaves_nothing(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError("no")

    figure, _ = new_figure()
    monkeypatch.setattr("badac.writing.os.replace", refused)
    with pytest.raises(OSError, match="no"):
        save(figure, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


# Dichromatic vision, Vienot et al. 1999, in linear RGB.
_PROTAN = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
_DEUTAN = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


@pytest.mark.parametrize("vision", [np.eye(3), _PROTAN, _DEUTAN], ids=["full", "protan", "deutan"])
def test_class_and_anomaly_colours_differ_for_every_reader(vision):
    seen = {}
    for name in ("sky", "orange", "ink"):
        rgb = np.array([int(PALETTE[name][i : i + 2], 16) / 255 for i in (1, 3, 5)])
        seen[name] = np.clip(vision @ rgb**2.2, 0, 1) ** (1 / 2.2)
    names = list(seen)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert np.abs(seen[one] - seen[other]).max() > 0.25, (one, other)

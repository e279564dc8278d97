"""The files that a reproduction leaves behind."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from reproduction.documentation import PLACE, write_documentation
from reproduction.figures import all_figures
from reproduction.report import SCHEMA, write_report

BEGIN, END = f"<!-- {PLACE} -->", f"<!-- end {PLACE} -->"


@pytest.fixture(scope="module")
def folder(tiny_run, tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    write_report(tiny_run, place)
    return place


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.images, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs))
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_report_is_well_formed_and_self_contained(folder):
    checker = Balanced()
    checker.feed((folder / "report.html").read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    assert len(checker.images) >= 8
    assert all(
        image["src"].startswith("data:image/svg+xml;base64,") and image["alt"] for image in checker.images
    )
    words = " ".join(checker.words)
    for expected in (
        "Experiment 1",
        "BADAC, default",
        "(0.95)",
        'make reproduce ARGS="1 4"',
        "ECOD",
        "200 + 200 curves",
    ):
        assert expected in words


def test_every_figure_is_there_in_both_forms(folder):
    names = {path.stem for path in (folder / "figures").iterdir()}
    assert {"toy", "examples-released", "compact-released", "covariance", "roc-released"} <= names
    assert {"evidence-released-badac-exact", "evidence-released-badac", "calibration-released"} <= names
    for name in names:
        assert (folder / "figures" / f"{name}.png").stat().st_size > 8_000
        assert (folder / "figures" / f"{name}.svg").stat().st_size > 8_000


def test_figures_have_captions_and_descriptions(tiny_results):
    figures = all_figures(tiny_results)
    assert len({one.name for one in figures}) == len(figures)
    assert all(len(one.caption) > 40 and len(one.description) > 20 for one in figures)


def test_json_follows_its_schema(folder, tiny_results):
    stored = json.loads((folder / "results.json").read_text())
    assert stored["schema"] == SCHEMA
    assert set(stored) == {
        "schema", "command", "versions", "n_train", "n_test", "n_trees", "skipped", "rows", "cells",
    }  # fmt: skip
    assert len(stored["cells"]) == len(tiny_results)
    for cell in stored["cells"]:
        assert set(cell) == {"cell", "metrics", "fit_seconds", "score_seconds"}
        assert set(cell["cell"]) == {
            "experiment",
            "setting",
            "seed",
            "algorithm",
            "n_train",
            "n_test",
            "n_trees",
        }
        assert all(isinstance(value, float | int) for value in cell["metrics"].values())
    for row in stored["rows"]:
        assert set(row) == {
            "experiment",
            "setting",
            "algorithm",
            "n_seeds",
            "values",
            "fit_seconds",
            "score_seconds",
        }


def test_nothing_half_written_is_left(folder):
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_documentation_is_replaced_between_the_markers_only(tiny_run, tmp_path):
    page = tmp_path / "paper.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_documentation(tiny_run, page)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "Experiment 4" in text
    assert "top-hat" in text
    write_documentation(tiny_run, page)
    assert page.read_text() == text


def test_documentation_keeps_the_rows_of_algorithms_that_were_not_run_again(tiny_run, tmp_path):
    page = tmp_path / "paper.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    write_documentation(tiny_run, page)
    whole = page.read_text()
    algorithms = {row.algorithm for row in tiny_run.rows}
    assert len(algorithms) > 2 and "badac" in algorithms
    again = replace(
        tiny_run, results=[one for one in tiny_run.results if one.cell.algorithm == "badac"], command="again"
    )
    write_documentation(again, page)
    text = page.read_text()
    assert "Rows of earlier runs, which this one left as they were: " in text
    # To the digits that are printed, every table is what it was; sums of times are those of rounded parts.
    before, after = (one.partition("### CPU seconds")[0].splitlines() for one in (whole, text))
    assert [line for line in after if line.startswith("|")] == [
        line for line in before if line.startswith("|")
    ]
    assert "| LOF | " in text.partition("### CPU seconds")[2]
    # Rows of another number of curves are not comparable.
    page.write_text(whole.replace("training and", "and"))
    write_documentation(again, page)
    assert "Rows of earlier runs" not in page.read_text()


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_documentation_without_markers_is_refused(text, tiny_run, tmp_path):
    page = tmp_path / "paper.md"
    page.write_text(text)
    with pytest.raises(ValueError, match="must hold the lines"):
        write_documentation(tiny_run, page)
    assert page.read_text() == text

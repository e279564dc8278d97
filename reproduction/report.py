"""Everything that a reproduction leaves behind: report.html, the figures, results.json and results.csv.

All files are written whole or not at all, and from the same rows, so none of them contradicts another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from badac.plots.page import Page, Text
from badac.plots.style import save
from badac.writing import write_whole
from reproduction.algorithms import ALGORITHMS
from reproduction.cells import Size
from reproduction.figures import PaperFigure, all_figures
from reproduction.kept import as_json, versions
from reproduction.published import SETTINGS, TITLES
from reproduction.results import METRICS, Result
from reproduction.tables import GLANCE, Row, as_csv, as_dicts, at_a_glance, by_experiment, rows_of, time_table

SCHEMA = "badac.reproduce/1"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The results of a run, with what is needed to repeat it.

    Attributes
    ----------
    results : Results
        Of all cells that are done, in the order of the plan.
    size : Size
    command : str
        The command line that makes them again.
    skipped : sequence of str
        Algorithms that were left out because their package is not installed.
    """

    results: Sequence[Result]
    size: Size
    command: str
    skipped: Sequence[str] = ()

    @property
    def rows(self) -> list[Row]:
        return rows_of(self.results)

    @property
    def n_seeds(self) -> int:
        return len({result.cell.seed for result in self.results})

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON has them: what was run, the rows of the tables, and every cell."""
        return {
            "schema": SCHEMA,
            "command": self.command,
            "versions": versions(),
            "n_train": self.size.n_train,
            "n_test": self.size.n_test,
            "n_trees": self.size.n_trees,
            "skipped": list(self.skipped),
            "rows": as_dicts(self.rows),
            "cells": [
                {key: value for key, value in result.as_dict().items() if key in _NUMBERS}
                for result in self.results
            ],
        }


_NUMBERS = {"cell", "metrics", "fit_seconds", "score_seconds"}


def write_report(run: Reproduction, directory: Path) -> Path:
    """Write report.html, figures/, results.json and results.csv into the directory; return the report's path."""
    figures = all_figures(run.results)
    svg = {}
    for one in figures:
        _, path = save(one.figure, directory / "figures" / one.name)
        svg[one.name] = path.read_bytes()
    write_whole(directory / "results.json", as_json(run.as_dict()))
    write_whole(directory / "results.csv", as_csv(run.results))
    report = directory / "report.html"
    write_whole(report, page(run, figures, svg).render())
    return report


def page(run: Reproduction, figures: Sequence[PaperFigure], svg: Mapping[str, bytes]) -> Page:
    """Put the report together; `svg` holds the drawn figures by name."""
    rows = run.rows
    out = Page("Bayesian Anomaly Detection and Classification: the paper, reproduced")
    out.paragraph(
        "The four experiments of Roberts, Bassett and Lochner (arXiv:1902.08627), run again. In each table the paper's own "
        "value stands in parentheses beside ours.",
        kind="lead",
    )
    if run.size.caveat:
        out.paragraph(run.size.caveat[0].upper() + run.size.caveat[1:], kind="note")
    out.section("At a glance")
    out.table("BADAC against its best peer, our numbers", GLANCE, at_a_glance(rows))
    settings = list(dict.fromkeys(row.setting for row in rows))
    for setting in settings:
        out.section(f"Setting “{setting}”")
        out.paragraph(f"Simulated {SETTINGS[setting]}. {_why(setting)}")
        for (of, number), table in by_experiment(rows).items():
            if of == setting:
                _add_table(out, number, table)
        for one in figures:
            if f"-{setting}" in one.name:
                out.figure(one.figure, one.caption, one.description, svg[one.name])
    times = time_table(rows)
    if times:
        out.section("Run times")
        out.paragraph(
            f"CPU seconds on one thread for Experiment 1 with {run.size.n_train:,} training and {run.size.n_test:,} test "
            "curves; the last column is the paper's total for 15,000 + 15,000 on a core at 2.9 GHz."
        )
        out.table("Run times in seconds", ("Algorithm", "Fit", "Score", "Total", "Paper"), times)
    out.section("The model, the toy example and the covariance")
    for one in figures:
        if not any(f"-{setting}" in one.name for setting in settings):
            out.figure(one.figure, one.caption, one.description, svg[one.name])
    _add_notes(out, run)
    return out


def _add_table(out: Page, number: int, rows: Sequence[Row]) -> None:
    out.heading(f"Experiment {number}: {TITLES[number]}")
    shown = [metric for metric in METRICS if any(metric in row.values for row in rows)]
    cells: list[list[Text | str]] = []
    for row in rows:
        texts = (row.text(metric) for metric in shown)
        cells.append([row.label, *(Text(ours, f"({theirs})" if theirs else "") for ours, theirs in texts)])
    seeds = max(row.n_seeds for row in rows)
    spread = f" Mean and standard deviation of {seeds} seeds." if seeds > 1 else " One seed."
    out.table(
        f"Experiment {number}. In parentheses: the paper.{spread}",
        ("", *(METRICS[metric] for metric in shown)),
        cells,
        ours=[row.algorithm == "badac" for row in rows],
    )


def _add_notes(out: Page, run: Reproduction) -> None:
    out.section("How this was made")
    out.paragraph(
        "MCC, AUC and RWS judge the ranking of all test objects, one percent of which are anomalies; MCC and RWS look at as "
        "many objects as there are anomalies. Accuracy, log-loss and calibration error judge the classes of the normal "
        "objects. Only BADAC and the Bayes limit see the error bars. The Bayes limit knows the generating model: on average "
        "nobody can be right more often."
    )
    if run.skipped:
        labels = ", ".join(ALGORITHMS[name].label for name in run.skipped)
        out.paragraph(
            f"Left out, since the package is not installed: {labels}. pip install 'badac[peers]' adds them."
        )
    out.code(run.command)
    listed = ", ".join(f"{name} {number}" for name, number in versions().items())
    out.paragraph(f"Seeds 0 to {run.n_seeds - 1}. {listed}." if run.n_seeds > 1 else f"Seed 0. {listed}.")


def _why(setting: str) -> str:
    if setting == "printed":
        return "The paper's numbers cannot be reached at this noise: even its own peers do far worse than it prints."
    return "Here the peers land on the paper's rows of Experiment 1, so this is most likely the noise that it used."

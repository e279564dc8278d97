"""The tables of a reproduction as Markdown, for the place ``<!-- reproduce -->`` of a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.algorithms import ALGORITHMS
from reproduction.earlier import earlier_rows, earlier_top_hats, merged
from reproduction.kept import versions
from reproduction.marked import put, write_into
from reproduction.published import SETTINGS, TITLES
from reproduction.report import Reproduction
from reproduction.tables import GLANCE, Row, at_a_glance, by_experiment, markdown, time_table

PLACE = "reproduce"


def write_documentation(run: Reproduction, path: Path) -> None:
    """Put the tables of this run into their place in a Markdown file.

    Rows of algorithms that the run left out stay as the page has them, if they are of as many curves.
    """
    write_into(path, {PLACE: tables(run, path.read_text(encoding="utf-8"))})


def check_place(path: Path) -> None:
    """Raise, before the work, what `write_documentation` would after it."""
    put(path.read_text(encoding="utf-8"), PLACE, "", path.name)


def tables(run: Reproduction, page: str = "") -> str:
    """Return the tables of a run as Markdown, with the rows of a page that it does not have."""
    before = page if _size(run) in page else ""
    new = {(row.setting, row.experiment, row.algorithm) for row in run.rows}
    rows = merged(run.rows, earlier_rows(before, run.n_seeds))
    kept = [row for row in rows if (row.setting, row.experiment, row.algorithm) not in new]
    seeds = f"{run.n_seeds} seeds, mean ± standard deviation" if run.n_seeds > 1 else "one seed"
    listed = ", ".join(f"{name} {number}" for name, number in versions().items())
    parts = [
        f"Written by `{run.command}` ({listed}).",
        f"{_size(run)}, {seeds}; in parentheses what the paper prints.",
    ]
    if kept:
        labels = dict.fromkeys(ALGORITHMS[row.algorithm].label for row in kept)
        parts.append(f"Rows of earlier runs, which this one left as they were: {'; '.join(labels)}.")
    if run.size.caveat:
        parts.append(f"Note: {run.size.caveat}")
    parts += ["### At a glance", _lines(GLANCE, at_a_glance(rows))]
    for (setting, number), table in by_experiment(rows).items():
        parts.append(
            f"### `{setting}`, Experiment {number}: {TITLES[number]}\n\nSimulated {SETTINGS[setting]}."
        )
        parts.append(markdown(table))
    hats = _top_hats(run.rows) or earlier_top_hats(before)
    if hats:
        parts += ["### The top-hat, once or per point", hats]
    times = time_table(rows)
    if times:
        headings = ("", "fit", "score", "total", "the paper's total")
        parts += ["### CPU seconds on one thread, Experiment 1", _lines(headings, times)]
    return "\n\n".join(parts)


def _size(run: Reproduction) -> str:
    return f"{run.size.n_train:,} training and {run.size.n_test:,} test curves, 100 points each"


def _lines(headings: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    head = "| " + " | ".join(headings) + " |"
    return "\n".join(
        [head, "|---" * len(headings) + "|", *("| " + " | ".join(line) + " |" for line in table)]
    )


def _top_hats(rows: list[Row]) -> str:
    """Return what the two readings of the paper's top-hat flag, for exact BADAC."""
    rules = {"top-hat once": "1/(b-a) once per object", "top-hat per point": "1/(b-a) per point"}
    exact = [row for row in rows if row.algorithm == "badac-exact"]
    if not exact:
        return ""
    head = " | ".join(f"{words}: flagged | MCC" for words in rules.values())
    lines = [
        f"| setting, experiment | {head} | MCC, 1 % flagged (the paper's) |",
        "|---|" + "---|" * (2 * len(rules) + 1),
    ]
    for row in exact:
        cells = []
        for rule in rules:
            cells += [
                f"{row.values[f'flagged ({rule})'].mean:.0f}",
                f"{row.values[f'mcc ({rule})'].mean:.3f}",
            ]
        paper = row.values["mcc"].paper
        cells.append(f"{row.values['mcc'].mean:.3f} ({'' if paper is None else f'{paper:.2f}'})")
        lines.append(f"| {row.setting}, {row.experiment} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

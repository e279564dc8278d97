"""Rows that a page holds already, of algorithms that a run left out.

A forest of 1,000 trees takes hours where badac takes minutes, and does not change when badac does. So a run of some algorithms
writes its own rows, and those of the others stay as they are, where both are of one size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reproduction.algorithms import ALGORITHMS
from reproduction.published import SETTINGS, TITLES
from reproduction.results import METRICS
from reproduction.tables import Row, Value

_EXPERIMENT = re.compile(
    r"### `(\w+)`, Experiment (\d):[^\n]*\n.*?((?:^\|[^\n]*\n?)+)", re.MULTILINE | re.DOTALL
)
_TIMES = re.compile(r"### CPU seconds[^\n]*\n+((?:^\|[^\n]*\n?)+)", re.MULTILINE)
_CELL = re.compile(r"(-?[\d.]+)(?: ± ([\d.]+))?(?: \(([\d.]+)\))?")
_SEEDS = re.compile(r" \((\d+) seeds?\)$")
_HATS = re.compile(r"### The top-hat[^\n]*\n+((?:^\|[^\n]*\n?)+)", re.MULTILINE)


def earlier_rows(tables: str, of_seeds: int) -> list[Row]:
    """Return the rows of the tables that `reproduction.documentation` has written, to the digits that they print.

    Parameters
    ----------
    tables : str
        Markdown.
    of_seeds : int
        How many seeds stand behind a row that does not say it.
    """
    names = {algorithm.label: name for name, algorithm in ALGORITHMS.items()}
    seconds = {cells[0]: (_number(cells[1]), _number(cells[2])) for cells in _cells(_found(_TIMES, tables))}
    rows = []
    for setting, number, table in _EXPERIMENT.findall(tables):
        headings = _line(table.splitlines()[0])
        for label, *cells in _cells(table):
            counted = _SEEDS.search(label)
            name = names.get(_SEEDS.sub("", label))
            if name is None:
                continue
            values = {
                metric: _value(metric, cells[headings.index(words) - 1])
                for metric, words in METRICS.items()
                if words in headings and cells[headings.index(words) - 1]
            }
            n_seeds = int(counted.group(1)) if counted else of_seeds
            rows.append(
                Row(int(number), setting, name, n_seeds, values, *seconds.get(label, (0.0, 0.0)), of_seeds)
            )
    return rows


def merged(rows: Sequence[Row], earlier: Sequence[Row]) -> list[Row]:
    """Return new rows, and earlier ones where there is no new one, in the order of the tables."""
    found: Mapping[tuple[str, int, str], Row] = {
        (row.setting, row.experiment, row.algorithm): row for row in (*earlier, *rows)
    }
    order = [(s, e, a) for s in SETTINGS for e in TITLES for a in ALGORITHMS]
    return [found[key] for key in order if key in found]


def earlier_top_hats(tables: str) -> str:
    """Return the table of the two readings of the top-hat, or nothing."""
    return _found(_HATS, tables).strip()


def _found(pattern: re.Pattern[str], tables: str) -> str:
    match = pattern.search(tables)
    return match.group(1) if match else ""


def _cells(table: str) -> list[list[str]]:
    """The cells of a table below its headings."""
    return [_line(line) for line in table.splitlines()[2:]]


def _line(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _number(text: str) -> float:
    return float(text) if text and text != "-" else float("nan")


def _value(metric: str, cell: str) -> Value:
    match = _CELL.match(cell)
    if match is None:
        return Value(float("nan"), None, None)
    per = 0.01 if metric == "accuracy" else 1.0
    mean, sd, paper = (None if part is None else per * float(part) for part in match.groups())
    assert mean is not None
    return Value(mean, sd, paper)

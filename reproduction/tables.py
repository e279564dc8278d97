"""The results as tables: ours with the spread between seeds, the paper's value beside it.

A `Row` is one algorithm on one experiment in one setting, averaged over the seeds. The same rows feed the terminal, the
report, the CSV file and the documentation, so none of them can say something else.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduction.algorithms import ALGORITHMS
from reproduction.published import SECONDS, SETTINGS, TITLES, published
from reproduction.results import METRICS, Result


@dataclass(frozen=True)
class Value:
    """A mean over seeds, its standard deviation between them (None for one seed), and the paper's number."""

    mean: float
    sd: float | None
    paper: float | None


@dataclass(frozen=True, eq=False)
class Row:
    """One algorithm on one experiment in one setting, over all seeds that are done."""

    experiment: int
    setting: str
    algorithm: str
    n_seeds: int
    values: Mapping[str, Value]
    fit_seconds: float
    score_seconds: float
    of_seeds: int = 1

    @property
    def label(self) -> str:
        """The algorithm's name; where it has fewer seeds than others, how many."""
        name = ALGORITHMS[self.algorithm].label
        if self.n_seeds >= self.of_seeds:
            return name
        return f"{name} ({self.n_seeds} seed{'s' if self.n_seeds > 1 else ''})"

    def text(self, metric: str) -> tuple[str, str]:
        """Return the metric as printed, ours and the paper's; empty where there is none."""
        if metric not in self.values:
            return "", ""
        value = self.values[metric]
        ours = _text(metric, value.mean)
        if value.sd is not None:
            ours += f" ± {_text(metric, value.sd)}"
        # The paper prints two decimals, of percentages too.
        theirs = (
            "" if value.paper is None else f"{100 * value.paper if metric == 'accuracy' else value.paper:.2f}"
        )
        return ours, theirs


def rows_of(results: Iterable[Result]) -> list[Row]:
    """Average results over their seeds, in the order of the tables: setting, experiment, algorithm."""
    groups: dict[tuple[str, int, str], list[Result]] = {}
    for result in results:
        cell = result.cell
        groups.setdefault((cell.setting, cell.experiment, cell.algorithm), []).append(result)
    order = [(s, e, a) for s in SETTINGS for e in TITLES for a in ALGORITHMS]
    most = max((len(group) for group in groups.values()), default=1)
    return [_row(groups[key], most) for key in order if key in groups]


def by_experiment(rows: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    """Return the rows of each table, by setting and experiment."""
    out: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        out.setdefault((row.setting, row.experiment), []).append(row)
    return out


_OURS = ("badac-exact", "badac", "badac-learned")

GLANCE: tuple[str, ...] = (
    "Setting, experiment",
    "MCC: exact",
    "default",
    "noise learned",
    "best peer",
    "Accuracy %: exact",
    "default",
    "noise learned",
    "forest",
    "limit",
)
"""Headings of `at_a_glance`."""


def at_a_glance(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a line per setting and experiment: BADAC against its best peer, in detection and in classification."""
    out = []
    for (setting, number), table in by_experiment(rows).items():
        mcc, accuracy = (
            {row.algorithm: row.values[name].mean for row in table if name in row.values}
            for name in ("mcc", "accuracy")
        )
        peers = {name: value for name, value in mcc.items() if not name.startswith("badac")}
        best = max(peers, key=lambda name: peers[name], default=None)
        out.append(
            (
                f"{setting} {number}",
                *(_text("mcc", mcc[name]) if name in mcc else "" for name in _OURS),
                "" if best is None else f"{_text('mcc', peers[best])} {ALGORITHMS[best].label}",
                *(
                    _text("accuracy", accuracy[name]) if name in accuracy else ""
                    for name in (*_OURS, "forest", "limit")
                ),
            )
        )
    return out


def time_table(rows: Sequence[Row]) -> list[tuple[str, str, str, str, str]]:
    """Return the paper's table of run times: algorithm, fit, score, total, the paper's total, in seconds.

    Experiment 1, as in the paper, in the released setting if it was run.
    """
    ours = {}
    for row in rows:
        if row.experiment == 1:
            ours[row.algorithm] = row  # released comes last
    out = []
    for name, row in ours.items():
        if name == "limit":
            continue
        paper = f"{SECONDS[name][2]:.2f}" if name in SECONDS else ""
        total = row.fit_seconds + row.score_seconds
        out.append(
            (row.label, _seconds(row.fit_seconds), _seconds(row.score_seconds), _seconds(total), paper)
        )
    return out


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows of one experiment as a Markdown table, the paper's values in parentheses."""
    shown = [metric for metric in METRICS if any(metric in row.values for row in rows)]
    lines = [
        "| | " + " | ".join(METRICS[metric] for metric in shown) + " |",
        "|---|" + "---|" * len(shown),
    ]
    for row in rows:
        cells = [f"{ours} ({theirs})" if theirs else ours for ours, theirs in (row.text(m) for m in shown)]
        lines.append(f"| {row.label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def as_csv(results: Iterable[Result]) -> str:
    """Return one line per cell: what it was, its metrics and its times."""
    out = io.StringIO()
    names = ("experiment", "setting", "seed", "algorithm", "n_train", "n_test", "n_trees")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, *METRICS, "fit_seconds", "score_seconds"])
    for result in results:
        cell = result.cell.as_dict()
        metrics = ["" if m not in result.metrics else f"{result.metrics[m]:.6g}" for m in METRICS]
        times = [f"{result.fit_seconds:.4g}", f"{result.score_seconds:.4g}"]
        writer.writerow([*(cell[name] for name in names), *metrics, *times])
    return out.getvalue()


def as_dicts(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows as JSON has them."""
    return [
        {
            "experiment": row.experiment,
            "setting": row.setting,
            "algorithm": row.algorithm,
            "n_seeds": row.n_seeds,
            "values": {
                name: {"mean": _finite(value.mean), "sd": _finite(value.sd), "paper": value.paper}
                for name, value in row.values.items()
            },
            "fit_seconds": row.fit_seconds,
            "score_seconds": row.score_seconds,
        }
        for row in rows
    ]


def _row(results: Sequence[Result], of_seeds: int) -> Row:
    cell = results[0].cell
    paper = published(cell.experiment, cell.algorithm)
    values = {}
    for name in results[0].metrics:
        numbers = np.array([result.metrics[name] for result in results])
        sd = float(numbers.std(ddof=1)) if len(numbers) > 1 else None
        values[name] = Value(float(numbers.mean()), sd, paper.get(name))
    return Row(
        cell.experiment,
        cell.setting,
        cell.algorithm,
        len(results),
        values,
        float(np.mean([result.fit_seconds for result in results])),
        float(np.mean([result.score_seconds for result in results])),
        of_seeds,
    )


def _text(metric: str, number: float) -> str:
    if not math.isfinite(number):
        return "-"
    return f"{100 * number:.2f}" if metric == "accuracy" else f"{number:.3f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value

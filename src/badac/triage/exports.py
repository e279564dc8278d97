"""What was said as tables of others: verdicts, a training table, and the labels of coniferest and Astronomaly.

verdicts      object, said, name, who, when, rank, score         (as `badac fit --verdicts` and `badac rank --verdicts` take it)
coniferest    object, label                        -1 anomaly, 0 unknown, 1 regular (`coniferest.label.Label`)
astronomaly   object, human_label                  0 to 5 by interest, -1 not labelled (the column of its ml_scores file)
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.data.measurements import Measurements
from badac.triage.journal import Journal
from badac.triage.session import Session
from badac.triage.statement import Statement, standing
from badac.writing import write_whole

FORMS = ("verdicts", "coniferest", "astronomaly")

_WORTH = ("new", "interesting")
_MOST_INTERESTING = 5
# From here on an Astronomaly label counts as interesting: the upper half of its scale.
_INTERESTING_FROM = 3


def verdict_table(statements: Sequence[Statement]) -> dict[str, list[Any]]:
    """Return what holds of each object, a row each: object, said, name, who, when, rank, score."""
    held = standing(list(statements))
    names = ("object", "said", "name", "who", "when", "rank", "score")
    return {name: [getattr(each, name) for each in held] for name in names}


def coniferest_labels(statements: Sequence[Statement]) -> dict[str, int]:
    """Return -1 (anomaly), 0 (unknown) or 1 (regular) of each object."""
    return {
        each.object: -1 if each.said in _WORTH else 0 if each.said == "unsure" else 1
        for each in standing(list(statements))
    }


def astronomaly_labels(statements: Sequence[Statement]) -> dict[str, int]:
    """Return 0 to 5 by interest; -1 where nobody could tell."""
    return {
        each.object: _MOST_INTERESTING if each.said in _WORTH else -1 if each.said == "unsure" else 0
        for each in standing(list(statements))
    }


def training_table(session: Session) -> tuple[Measurements, npt.NDArray[np.str_]]:
    """Return the objects (k, m) that have a class or a named kind by now, and their labels: for `partial_fit`."""
    rows = [row for row, each in session.said.items() if each.said in ("class", "new") and each.name]
    labels = [session.said[row].name for row in rows]
    return session.objects[np.array(rows, dtype=np.int64)], np.array(labels, dtype=str)


def take_labels(session: Session, labels: Mapping[str, int], form: str) -> int:
    """Say what the labels of coniferest or Astronomaly say, of the objects of the same names; return how many those were."""
    row_of = {name: row for row, name in enumerate(session.ids)}
    said = {
        "coniferest": {-1: "interesting", 0: "unsure", 1: "dull"},
        "astronomaly": {
            k: "interesting" if k >= _INTERESTING_FROM else "dull" for k in range(_MOST_INTERESTING + 1)
        },
    }
    if form not in said:
        raise ValueError(f"labels are those of {' or '.join(said)}: got {form!r}.")
    count = 0
    for name, label in labels.items():
        if name in row_of and int(label) in said[form]:
            session.say(row_of[name], said[form][int(label)])
            count += 1
    return count


def read_labels(path: str | os.PathLike[str], form: str) -> dict[str, int]:
    """Read a label file of coniferest (object, label) or Astronomaly (object, human_label; other columns are passed by)."""
    wanted = {"coniferest": "label", "astronomaly": "human_label"}[form]
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        names = rows.fieldnames or []
        if wanted not in names:
            raise ValueError(
                f"{path} has no column {wanted!r}, as {form}'s labels do: it has {', '.join(names)}."
            )
        # The names are in the first column, called or not (a pandas index).
        return {row[names[0]]: int(float(row[wanted])) for row in rows if row[wanted] not in ("", None)}


def write_export(session: str | os.PathLike[str], path: Path, form: str = "verdicts") -> int:
    """Write what a session's file says as CSV; return how many objects that are."""
    if form not in FORMS:
        raise ValueError(f"what is exported must be one of {', '.join(FORMS)}: got {form!r}.")
    if not Path(session).exists():
        raise FileNotFoundError(f"there is no session {session}")
    statements = Journal.at(session).statements
    if form == "verdicts":
        table = verdict_table(statements)
    else:
        labels = coniferest_labels(statements) if form == "coniferest" else astronomaly_labels(statements)
        column = "label" if form == "coniferest" else "human_label"
        table = {"object": list(labels), column: list(labels.values())}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    write_whole(path, text.getvalue())
    return len(table["object"])

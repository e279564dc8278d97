"""What was said, for those who learn and rank: a session's file, or a table with the columns object, said and name.

`with_verdicts` adds the objects that have a class or a named kind by now to a training; `dismissed` names the objects that a
person has explained (a known class, dull, an artefact), which a ranking then leaves out (`badac.job.RankOptions`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from badac.data import Catalogue
from badac.data.files import read_frame
from badac.job import Training, batches
from badac.triage.journal import Journal
from badac.triage.statement import SAID, standing

DISMISSED = ("class", "dull", "artefact")


def read_verdicts(path: Path) -> tuple[dict[str, tuple[str, str]], str]:
    """Return what is said of each object, (said, name), and the table that a session says it is about ("" if unknown)."""
    if not path.exists():
        raise FileNotFoundError(f"there are no verdicts at {path}")
    if path.suffix == ".jsonl":
        journal = Journal.at(path)
        source = str(journal.heads[-1].get("source", "")) if journal.heads else ""
        return {each.object: (each.said, each.name) for each in standing(journal.statements)}, source
    frame = read_frame(path, text=["object", "name"])
    absent = [name for name in ("object", "said", "name") if name not in frame.columns]
    if absent:
        raise ValueError(
            f"{path} has no column {absent[0]!r}: verdicts have the columns object, said and name (badac triage SESSION "
            "--export verdicts.csv writes them)."
        )
    said = frame["said"].astype(str)
    unknown = sorted(set(said) - set(SAID))
    if unknown:
        raise ValueError(f"{path}: {unknown[0]!r} is not one of {', '.join(SAID)}.")
    names = frame["name"].where(frame["name"].notna(), "").astype(str)
    rows = zip(frame["object"].astype(str), said, names, strict=True)
    return {name: (what, kind) for name, what, kind in rows}, ""


def with_verdicts(training: Training, verdicts: Path, table: Path | None = None) -> tuple[Training, int]:
    """Return the training with the objects that were given a class or a kind, and how many those are.

    Parameters
    ----------
    training : Training
    verdicts : path
        A session's file, or a table of verdicts.
    table : path, optional
        Where the objects are; the table that the session was about by default.
    """
    said, source = read_verdicts(verdicts)
    wanted = {name: kind for name, (what, kind) in said.items() if what in ("class", "new") and kind}
    place = table or (Path(source) if source else None)
    if place is None or not place.exists():
        where = f" ({place} is not there)" if place is not None else ""
        raise ValueError(
            f"{verdicts} does not say which table its objects are in{where}: give it with --verdicts-table FILE."
        )
    parts = []
    for batch in batches(place, training.layout):
        names = np.asarray(batch.ids).astype(str)
        rows = np.flatnonzero(np.isin(names, list(wanted)))
        if rows.size:
            labels = np.array([wanted[name] for name in names[rows].tolist()])
            parts.append(replace(batch[rows], label=labels, ids=names[rows]))
    count = sum(len(part) for part in parts)
    if not count:
        raise ValueError(
            f"none of the {len(wanted)} objects that {verdicts} names a class or kind for is in {place.name}."
        )
    first = training.catalogue
    whole = replace(first, label=training.labels.astype(str), ids=np.asarray(first.ids).astype(str))
    return replace(training, catalogue=Catalogue.together([whole, *parts])), count


def dismissed(verdicts: Path) -> frozenset[str]:
    """Return the names of the objects that a person has explained."""
    said, _ = read_verdicts(verdicts)
    return frozenset(name for name, (what, _) in said.items() if what in DISMISSED)

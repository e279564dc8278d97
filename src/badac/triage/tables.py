"""Where a session's objects come from: a model and a table, or a folder that ``badac rank`` has written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from badac.data import Catalogue, Layout
from badac.data.files import read_frame
from badac.estimators import BADACClassifier
from badac.job.batches import batches
from badac.job.explaining import Results
from badac.job.record import layout_of
from badac.triage.options import TriageOptions
from badac.triage.session import Session
from badac.triage.view import Desk
from badac.verdicts import Verdicts


@dataclass(frozen=True)
class Source:
    """The model, the table, and the ranking where there is one already."""

    model: Path
    table: Path
    ranking: Path | None = None


def place_of(model: Path, new: Path | None) -> Source:
    """Tell a model and a table from a folder of results."""
    if model.is_dir():
        if new is not None:
            raise ValueError(
                f"{model} is a folder of results, which knows its table: leave {new} out, or give a model file."
            )
        found = Results.of(model)
        return Source(found.model, found.table, found.ranking)
    if new is None:
        raise ValueError(
            f"give the table to look at too: badac triage {model} NEW, or a folder that badac rank has written."
        )
    if not new.exists():
        raise FileNotFoundError(f"{new} does not exist (looked in {Path.cwd()})")
    return Source(model, new)


def read_catalogue(table: Path, layout: Layout) -> Catalogue:
    """Read all objects of a table."""
    parts = list(batches(table, layout))
    whole = parts[0] if len(parts) == 1 else Catalogue.together(parts)
    return replace(whole, label=None, ids=_different(np.asarray(whole.ids).astype(str)))


def _different(ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return names that are all different: the second of a name is called name#2."""
    seen: dict[str, int] = {}
    out = []
    for name in ids.tolist():
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return np.array(out)


def open_desk(model: BADACClassifier, source: Source, session: Path | None, asked: Mapping[str, Any]) -> Desk:
    """Open the session of a table, or begin it; the file lies beside the table unless another is given.

    Parameters
    ----------
    model : BADACClassifier
    source : Source
    session : path, optional
    asked : mapping
        "who", "values" and "teach" as in `TriageOptions`, "other_model" as in `Session.open`, and the "layout" of the table
        (as the training's by default).
    """
    catalogue = read_catalogue(source.table, asked.get("layout") or layout_of(model))
    path = session or source.table.with_name(f"{source.table.name.split('.')[0]}.triage.jsonl")
    verdicts, pvalues = (None, {}) if source.ranking is None else _ranked(model, source.ranking, catalogue)
    options = TriageOptions(asked["values"], asked["teach"], asked["who"], str(source.table), verdicts)
    if path.exists() and path.stat().st_size:
        made = Session.open(
            path,
            model,
            catalogue.objects,
            catalogue.ids.tolist(),
            options=options,
            other_model=asked["other_model"],
        )
    else:
        made = Session(model, catalogue.objects, path, catalogue.ids.tolist(), options=options)
    return Desk(made, catalogue, pvalues)


def _ranked(
    model: BADACClassifier, ranking: Path, catalogue: Catalogue
) -> tuple[Verdicts | None, dict[int, float]]:
    """Take score, probabilities and p-values from a ranking, if it has every object of the table."""
    frame = read_frame(ranking, text=["object"])
    columns = [f"proba_{name}" for name in model.classes_.tolist()]
    if not {"object", "score", *columns} <= set(map(str, frame.columns)):
        return None, {}
    frame = frame.assign(object=_different(np.asarray(frame["object"].astype(str)))).set_index("object")
    if not set(catalogue.ids.tolist()) <= set(frame.index.tolist()):
        return None, {}
    frame = frame.loc[catalogue.ids.tolist()]
    quantities = {
        "score": np.asarray(frame["score"], dtype=np.float64),
        "proba": np.asarray(frame[columns], dtype=np.float64),
    }
    found = Verdicts(model.classes_, quantities)
    if "pvalue" not in frame.columns:
        return found, {}
    return found, {row: float(p) for row, p in enumerate(frame["pvalue"]) if np.isfinite(p)}

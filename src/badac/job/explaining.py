"""One object of a file, explained: by its name, or by its place in a ranking.

A results folder of ``badac rank`` knows its model and its table (``summary.json``), so that ``badac explain results --rank 1``
needs nothing else.
"""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from badac.data import Catalogue, Layout
from badac.data.files import read_frame
from badac.data.losses import Losses
from badac.estimators import BADACClassifier
from badac.explain import Explanation
from badac.job.batches import batches
from badac.job.record import layout_of
from badac.job.story import Story
from badac.plots import ObjectDisplay
from badac.ranking import strangest_first
from badac.verdicts import Verdicts

_POINTS_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Explained:
    """Why an object is strange.

    Attributes
    ----------
    model : BADACClassifier
    object : Catalogue
        Of one object.
    verdict : Verdicts
    explanation : Explanation
    """

    model: BADACClassifier
    object: Catalogue
    verdict: Verdicts
    explanation: Explanation

    @property
    def display(self) -> ObjectDisplay:
        """The figure."""
        return ObjectDisplay.from_explanation(self.explanation, 0, period_of(self.object, 0))

    def numbers(self) -> dict[str, Any]:
        """Return what was found, as JSON has it."""
        row = {name: column.tolist()[0] for name, column in self.verdict.columns().items()}
        found = self.explanation
        return row | {
            "hypothesis": str(found.hypothesis[0]),
            "log_bayes_factor": float(found.log_bayes_factor[0]),
            "window": [place_name(self.object, edge) for edge in found.window[0]],
            "where": found.where(0),
            "window_log_bayes_factor": float(found.window_log_bayes_factor[0]),
            "points": [
                {
                    "point": self.object.about.point(self.object.objects, 0, index),
                    "value": float(self.object.objects.values[0, index]),
                    "sigma": float(self.object.objects.sigma[0, index]),
                    "expected": float(found.expected[0, index]),
                    "pull": float(found.pull[0, index]),
                }
                for index in found.strongest(0, _POINTS_SHOWN).tolist()
            ],
        }

    def lines(self) -> list[str]:
        """Return what was found, in words."""
        found, explanation, about = self.numbers(), self.explanation, self.object.about
        story = Story.of(self.model, found | {"hypothesis": explanation.reason(0)})
        if not found["points"]:
            return [f"{found['object']}: {story.verdict}", "Nothing was measured, so nothing is strange."]
        lines = [f"{found['object']}: {story.verdict}", f"{story.why(found['where'])}"]
        lines.append(
            f"The points furthest from what class {explanation.label[0]} and the other points predict:"
        )
        points = zip(explanation.strongest(0, _POINTS_SHOWN).tolist(), found["points"], strict=True)
        return lines + [
            f"  {point['point']}: {about.value(point['value'], index)}"
            + (f" +- {point['sigma']:.2g}" if self.object.objects.has_errors else "")
            + f", expected {point['expected']:.4g}, {point['pull']:+.1f} sigma"
            for index, point in points
        ]


def find_object(
    model: BADACClassifier, path: str | os.PathLike[str], name: str, layout: Layout | None = None
) -> Catalogue:
    """Return the object of that name from a file, reading no further than it; by default laid out as the training."""
    near: list[str] = []
    for batch in batches(path, layout or layout_of(model)):
        names = batch.ids.astype(str)
        rows = np.flatnonzero(names == name)
        if rows.size:
            # What else is odd in the file is not this object's affair.
            losses = Losses()
            if rows.size > 1:
                losses = losses.and_note(
                    f"{rows.size} objects are called {name!r}: this is the first of them"
                )
            return replace(batch[rows[:1]], losses=losses)
        near += difflib.get_close_matches(name, names[:5000].tolist(), n=3, cutoff=0.7)
    hint = f" Near it: {', '.join(near[:3])}." if near else ""
    raise ValueError(f"{Path(path).name} has no object {name!r}.{hint}")


@dataclass(frozen=True)
class Results:
    """A folder that ``badac rank`` has written: where its model, its table and its ranking are."""

    model: Path
    table: Path
    ranking: Path

    @classmethod
    def of(cls, folder: Path) -> Results:
        """Read where they are from the folder's summary."""
        summary = folder / "summary.json"
        rankings = sorted(folder.glob("ranking.*"))
        if not summary.exists() or not rankings:
            raise ValueError(
                f"{folder} is not a folder of results: it has no summary.json and ranking, as badac rank writes them. Give "
                "such a folder, or a model file and a table."
            )
        kept = json.loads(summary.read_text())
        for key in ("model", "table"):
            if not kept.get(key):
                raise ValueError(
                    f"{summary} does not say where the {key} is: give the model file and the table instead of the folder."
                )
            if not (folder / kept[key]).exists():
                raise ValueError(
                    f"the {key} of these results is no longer at {folder / kept[key]}: give the model file and the table."
                )
        return cls(folder / kept["model"], folder / kept["table"], rankings[0])

    def at_rank(self, rank: int) -> tuple[str, float | None]:
        """Return the name of the object at a rank, from 1, and its p-value."""
        return at_rank(self.ranking, rank)

    def pvalue(self, name: str) -> float | None:
        """Return the p-value of an object by its name; None if the ranking does not have it."""
        frame = _ranking(self.ranking)
        rows = np.flatnonzero(np.asarray(frame["object"].astype(str)) == name)
        return float(frame["pvalue"].iloc[rows[0]]) if rows.size and "pvalue" in frame.columns else None


def at_rank(ranking: Path, rank: int) -> tuple[str, float | None]:
    """Return the name of the object at a rank, from 1, and its p-value, of a ranking's file."""
    frame = _ranking(ranking)
    rows = np.flatnonzero(np.asarray(frame["rank"]) == rank)
    if not rows.size:
        raise ValueError(
            f"{ranking.name} has no rank {rank}: its ranks go from {int(frame['rank'].min())} to "
            f"{int(frame['rank'].max())}."
        )
    row = frame.iloc[int(rows[0])]
    return str(row["object"]), float(row["pvalue"]) if "pvalue" in frame.columns else None


def _ranking(path: Path) -> Any:
    frame = read_frame(path, text=["object"])
    absent = [name for name in ("rank", "object") if name not in frame.columns]
    if absent:
        raise ValueError(f"{path} is not a ranking: it has no column {absent[0]!r}.")
    return frame


def ranked_now(
    model: BADACClassifier, path: str | os.PathLike[str], rank: int, layout: Layout | None = None
) -> Catalogue:
    """Return the object at a rank, from 1, of a file that has not been ranked yet; by the score, without p-values."""
    kept: list[tuple[Catalogue, np.ndarray[Any, Any]]] = []
    for batch in batches(path, layout or layout_of(model)):
        score = judged(model, batch).score
        top = strangest_first(score)[:rank]
        kept.append((replace(batch[top], label=None), score[top]))
    score = np.concatenate([one for _, one in kept])
    if rank > len(score):
        raise ValueError(f"{Path(path).name} has no rank {rank}: it has {len(score)} objects.")
    place = int(strangest_first(score)[rank - 1])
    for part, scores in kept:
        if place < len(scores):
            return replace(part[[place]], losses=Losses())
        place -= len(scores)
    raise AssertionError("a place is in one of the parts")


def judged(model: BADACClassifier, one: Catalogue, *, pvalues: bool = False) -> Verdicts:
    """Return the verdicts on some objects, with their names."""
    return model.verdicts(one.objects, pvalues=pvalues).having(object=one.ids)


def explained(model: BADACClassifier, one: Catalogue, *, pvalue: float | None = None) -> Explained:
    """Judge and explain one object.

    A p-value that is known already (from a ranking) is taken; otherwise it is worked out only where the model has what it needs
    at hand, since learning the classes once more for it takes as long as learning them did.
    """
    verdict = judged(model, one, pvalues=pvalue is None and model.pvalues_ready)
    if pvalue is not None:
        verdict = verdict.having(pvalue=np.array([pvalue]))
    return Explained(model, one, verdict, model.explain(one.objects).described(one.about))


def period_of(found: Catalogue, row: int) -> float | None:
    """Return the period that an object came with, if it is known and positive."""
    if "period" not in found.carried:
        return None
    try:
        period = float(found.carried["period"][row])
    except (TypeError, ValueError):
        return None
    return period if np.isfinite(period) and period > 0 else None


def place_name(found: Catalogue, place: float) -> str:
    """Return the coordinate of a point, or the name of its column where there are no coordinates."""
    if found.objects.at is None and found.features:
        return found.features[int(np.clip(round(float(place)), 0, len(found.features) - 1))]
    return f"{float(place):.6g}"

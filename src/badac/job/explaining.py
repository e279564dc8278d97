"""One object of a file, explained."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from badac.data import Catalogue
from badac.data.losses import Losses
from badac.estimators import BADACClassifier
from badac.explain import Explanation
from badac.job.batches import batches
from badac.job.ranking import score_batch
from badac.job.record import layout_of
from badac.plots import ObjectDisplay
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
        return ObjectDisplay.from_explanation(self.explanation, 0, self.object.bands)

    def numbers(self) -> dict[str, Any]:
        """Return what was found, as JSON has it."""
        row = {name: column[0].item() for name, column in self.verdict.columns().items()}
        found = self.explanation
        return row | {
            "hypothesis": str(found.hypothesis[0]),
            "log_bayes_factor": float(found.log_bayes_factor[0]),
            "window": [place_name(self.object, edge) for edge in found.window[0]],
            "window_log_bayes_factor": float(found.window_log_bayes_factor[0]),
            "points": [
                {
                    "point": place_name(self.object, _place(self.object, index)),
                    "value": float(self.object.objects.values[0, index]),
                    "sigma": float(self.object.objects.sigma[0, index]),
                    "expected": float(found.expected[0, index]),
                    "pull": float(found.pull[0, index]),
                }
                for index in self._strangest_points()
            ],
        }

    def lines(self) -> list[str]:
        """Return what was found, in words."""
        found = self.numbers()
        lines = [
            f"{found['object']}: nearest class {found['class']} (probability {found['class_proba']:.3f} among the known), "
            f"anomaly probability {found['anomaly_proba']:.3g}, p-value {found['pvalue']:.2g}."
        ]
        first, last = found["window"]
        where = f"at {first}" if first == last else f"from {first} to {last}"
        lines.append(
            f"{found['hypothesis'].capitalize()} (log Bayes factor {found['log_bayes_factor']:.1f}); strangest {where} "
            f"(log Bayes factor {found['window_log_bayes_factor']:.1f})."
        )
        if not found["points"]:
            return [lines[0], "Nothing was measured, so nothing is strange."]
        lines.append(
            "Strangest points, with their deviation from what the class and the other points predict:"
        )
        lines += [
            f"  {point['point']}: {point['value']:.4g} +- {point['sigma']:.2g}, expected {point['expected']:.4g}, "
            f"{point['pull']:+.1f} standard deviations"
            for point in found["points"]
        ]
        return lines

    def _strangest_points(self) -> list[int]:
        seen = np.flatnonzero(self.object.objects.observed[0])
        size = np.abs(np.nan_to_num(self.explanation.pull[0, seen]))
        return [int(index) for index in seen[np.argsort(-size, kind="stable")[:_POINTS_SHOWN]]]


def find_object(model: BADACClassifier, path: str | os.PathLike[str], name: str) -> Catalogue:
    """Return the object of that name from a file, reading no further than it."""
    near: list[str] = []
    for batch in batches(path, layout_of(model)):
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


def explained(model: BADACClassifier, one: Catalogue) -> Explained:
    """Judge and explain one object."""
    return Explained(model, one, score_batch(model, one), model.explain(one.objects))


def place_name(found: Catalogue, place: float) -> str:
    """Return the coordinate of a point, or the name of its column where there are no coordinates."""
    if found.objects.at is None and found.features:
        return found.features[int(np.clip(round(float(place)), 0, len(found.features) - 1))]
    return f"{float(place):.6g}"


def _place(found: Catalogue, index: int) -> float:
    at = found.objects.at
    return float(index) if at is None else float(np.broadcast_to(at, found.objects.shape)[0, index])

"""Objects that somebody has looked at: what they teach about the others, without learning the model again.

    {17: "known", 203: "anomaly"}        rows of the new objects, and what they were found to be

A confirmed known object joins the left-out training objects that the others are compared with: if the strangest of a list turn
out to be known after all, everything like them gets a larger p-value. A confirmed anomaly leaves the objects that are asked
about, and so does a known one: neither is news any more. The list of the others is computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from badac.calibration.posterior import PosteriorCalibration
from badac.calibration.pvalues import IntArray
from badac.judge import FittedModel, Judgement

KNOWN, ANOMALY = "known", "anomaly"


def looked_at(judged: Judgement, verdicts: Mapping[int, str]) -> tuple[Judgement, IntArray]:
    """Return the walk of the objects that nobody has looked at, compared with the known ones too, and their rows.

    Parameters
    ----------
    judged : Judgement
        Of all objects (n, m).
    verdicts : mapping
        From row to "known" or "anomaly".
    """
    n = len(judged.objects)
    said = check_verdicts(verdicts, n)
    known = np.array(sorted(row for row, what in said.items() if what == KNOWN), dtype=np.int64)
    rest = np.setdiff1d(np.arange(n), list(said))
    model = joined(judged.model, judged, known) if known.size else judged.model
    return Judgement(model, judged.objects[rest], judged.n_threads), rest


def joined(model: FittedModel, judged: Judgement, rows: IntArray) -> FittedModel:
    """Return a model whose p-values compare with some judged objects too, which were found to be known."""
    ensemble = model.calibration.ensemble
    if ensemble is not None and model.ranks_left_out:
        shape = ensemble.nonconformity
        together = shape.together.joined_by(judged.strangeness[rows])
        stack = replace(ensemble, nonconformity=replace(shape, together=together))
        return replace(
            model,
            calibration=PosteriorCalibration(
                model.calibration.coarsening, model.calibration.missingness, stack
            ),
        )
    if model.left_out is None:
        return model
    found = judged.strangeness[rows], judged.level[rows], judged.predicted[rows]
    return replace(model, left_out=model.left_out.joined_by(*found))


def check_verdicts(verdicts: Any, n_objects: int) -> dict[int, str]:
    """Return the verdicts as plain rows and words, or refuse what is none."""
    if not isinstance(verdicts, Mapping):
        raise ValueError(
            f'`verdicts` must map rows of the objects to "known" or "anomaly": got {type(verdicts).__name__}. '
            'Example: {17: "known", 203: "anomaly"}.'
        )
    out: dict[int, str] = {}
    for row, what in verdicts.items():
        if what not in (KNOWN, ANOMALY):
            raise ValueError(f'`verdicts` of object {row!r} must be "known" or "anomaly": got {what!r}.')
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_objects:
            raise ValueError(
                f"`verdicts` must name rows of the {n_objects} objects, 0 to {n_objects - 1}: got {row!r}."
            )
        out[int(row)] = what
    return out

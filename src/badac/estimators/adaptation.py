"""A fitted model for new, unlabelled objects: their class frequencies, and a stack that has been asked beyond its training.

    columns unlike any mixture of the training classes  ->  other weights of the stack  ->  frequencies by EM

See `badac.calibration.stacking.beyond_training` for the first step and `badac.calibration.class_frequencies` for the last. No
label of a new object is used.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from badac.calibration.class_frequencies import ClassFrequencies, unlike
from badac.calibration.stacking.beyond_training import learn_beyond, likeness, shifted_columns
from badac.data.beside import ColumnsBeside
from badac.data.measurements import Measurements
from badac.judge import FittedModel, Judgement
from badac.progress import stage
from badac.training import IntArray, TrainingSet


def adapt_to(
    model: FittedModel, objects: Measurements, rng: np.random.Generator, *, n_threads: int = 1
) -> tuple[Judgement, ClassFrequencies]:
    """Return the walk of new objects (n, m) by a model that was adapted to them, and the frequencies that it has."""
    judged = model.judge(objects, n_threads=n_threads)
    found = judged.frequencies()
    bands = beyond(model, judged, found)
    ensemble, known = model.calibration.ensemble, model.known
    if len(bands) and ensemble is not None and model.calibration.stacked and len(known.training):
        training = TrainingSet(known.training, known.label, model.classes, model.noise, model.scales, rng)
        like = likeness(known.training, judged.objects, bands)
        with stage("Asking the stack about objects beyond those it learned from"):
            other = learn_beyond(training, model.class_models, ensemble, like, n_threads=n_threads)
        calibration = replace(model.calibration, ensemble=other)
        judged = replace(model, calibration=calibration).judge(objects, n_threads=n_threads)
        found = judged.frequencies()
    return judged.with_frequencies(found), found


def beyond(model: FittedModel, judged: Judgement, found: ClassFrequencies) -> IntArray:
    """Return (g,): bands of columns that new objects have otherwise than the training objects."""
    known = model.known
    if not known.training.own_points:
        return np.empty(0, dtype=np.int64)
    return shifted_columns(known.training, known.label, judged.objects, found.share)


def unsupported(
    model: FittedModel, judged: Judgement, found: ClassFrequencies, beside: ColumnsBeside | None
) -> list[str]:
    """Return what of new objects training does not support, in words; none if it does."""
    said = unlike(model.known.training, judged.objects, model.scales)
    if beside is not None:
        names = [beside.names[band - beside.first_band] for band in beyond(model, judged, found).tolist()]
        if names:
            said.append(
                f"{', '.join(names)}: distributed otherwise than in any mixture of the training classes"
            )
    return said

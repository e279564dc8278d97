"""A fitted model for new, unlabelled objects: their error bars, their class frequencies, and a stack asked beyond its training.

    error bars too small in the new objects alone       ->  widened in all that the model is asked about
    columns unlike any mixture of the training classes  ->  other weights of the stack  ->  frequencies by EM

See `badac.comparison` for the first step, `badac.calibration.stacking.beyond_training` for the second and
`badac.calibration.class_frequencies` for the last. No label of a new object is used.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from badac.calibration.class_frequencies import ClassFrequencies, unlike
from badac.calibration.stacking.beyond_training import learn_beyond, likeness, shifted_columns
from badac.comparison.compare import compare
from badac.data.beside import ColumnsBeside
from badac.data.measurements import Measurements
from badac.judge import FittedModel, Judgement
from badac.progress import stage
from badac.threads import one_thread_in_blas
from badac.training import IntArray, TrainingSet


@one_thread_in_blas()
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


def with_wider_error_bars(model: FittedModel, objects: Measurements, *, n_threads: int = 1) -> FittedModel:
    """Return the model that widens the error bars of new objects where those of these (n, m) are too small; else as it is.

    By the rule of `compare`: their bulk is more probable with larger ones by four standard errors, training objects that
    were left out are not, and with the factor nothing else differs that would break the promise of a list. Error bars that
    are too large are left alone: an object that is judged too cautiously is not judged wrongly.

    Parameters
    ----------
    model : FittedModel
        Ready for p-values.
    objects : Measurements
        (n, m)
    """
    factor = compare(model.judge(objects, n_threads=n_threads)).widening
    return model if factor == 1.0 else replace(model, error_scale=factor * model.error_scale)


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

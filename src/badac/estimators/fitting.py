"""Learning all classes, each from its own members, and how far their evidence can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.anomalies import Known
from badac.classes import (
    Auto,
    Candidate,
    ClassModel,
    Instances,
    IrregularPopulation,
    Population,
    Surroundings,
)
from badac.coarsening import MOST_OBJECTS, Coarsening, learn_coarsening, relative_noise
from badac.data.measurements import Measurements
from badac.evidence import training_log_evidence
from badac.missingness import Missingness, learn_missingness
from badac.noise import Noise, noise_of_class

Fitted = tuple[ClassModel, tuple[Candidate, ...]]


def fit_classes(
    class_model: ClassModel,
    objects: Measurements,
    index: npt.NDArray[np.int64],
    labels: list[Any],
    noise: Noise,
    rng: np.random.Generator,
    surroundings: Surroundings,
    kept: Mapping[Any, Fitted],
) -> list[Fitted]:
    """Fit one model per class; classes in `kept` have no new members and stay as they are.

    Returns
    -------
    list of (fitted model, what was tried)
        Of an `Auto` model the one that it chose.
    """
    if objects.own_points and isinstance(class_model, Auto | Population):
        # The same model, with curves in place of columns.
        class_model = IrregularPopulation()
    fitted: list[Fitted] = []
    for number, label in enumerate(labels):
        if label in kept:
            fitted.append(kept[label])
            continue
        model = class_model.fit(objects[index == number], noise_of_class(noise, number), rng, surroundings)
        if isinstance(model, Auto) and model.chosen is not None:
            fitted.append((model.chosen, model.report))
        else:
            fitted.append((model, ()))
    return fitted


def trust(
    known: Known, rng: np.random.Generator, n_threads: int, *, use_gaps: bool = True
) -> tuple[Coarsening, Missingness]:
    """Learn how far the evidence can be trusted, and what gaps say, from training objects left out of their own class.

    The exact instances are the paper's equation and stay as they are; one class alone has nothing to be confused with.
    """
    exact = all(isinstance(model, Instances) for model in known.models)
    if exact or len(known.models) < 2:
        return Coarsening(1.0, 1.0, np.inf), Missingness.ignored()
    rows = np.arange(known.training.n_objects)
    if len(rows) > MOST_OBJECTS:
        rows = np.sort(rng.choice(rows, MOST_OBJECTS, replace=False))
    evidence = training_log_evidence(
        known.models, known.training, known.label, rows=rows, n_threads=n_threads
    )
    noise = (
        relative_noise(known.training[rows], known.surroundings.scale) if known.training.has_errors else None
    )
    coarsening = learn_coarsening(evidence, known.label[rows], known.log_prior, noise)
    if not use_gaps or known.training.own_points:
        return coarsening, Missingness.ignored()
    tempered = coarsening.apply(evidence, noise)
    return coarsening, learn_missingness(
        known.training.observed, known.label, rows, tempered, known.log_prior
    )

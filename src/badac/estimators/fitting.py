"""Learning all classes, each from its own members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from badac.classes import (
    Auto,
    Candidate,
    ClassModel,
    ClassReport,
    IrregularPopulation,
    Population,
    TrainingScales,
)
from badac.data.measurements import Measurements
from badac.noise import Noise, noise_of_class
from badac.nuisance import Nuisance

Fitted = tuple[ClassModel, tuple[Candidate, ...]]


def without_new_members(
    classes: npt.NDArray[Any], models: Sequence[ClassModel], report: ClassReport | None, touched: set[Any]
) -> dict[Any, Fitted]:
    """Return the classes that learning on leaves as they are: those whose labels are not in `touched`."""
    tried = report.candidates if report else ((),) * len(classes)
    fitted = zip(classes.tolist(), models, tried, strict=True)
    return {name: (model, candidates) for name, model, candidates in fitted if name not in touched}


def fit_classes(
    class_models: Sequence[ClassModel],
    objects: Measurements,
    index: npt.NDArray[np.int64],
    labels: list[Any],
    noise: Noise,
    rng: np.random.Generator,
    scales: TrainingScales,
    kept: Mapping[Any, Fitted],
    nuisance: Sequence[Nuisance] = (),
) -> list[Fitted]:
    """Fit each class with its model; classes in `kept` have no new members and stay as they are.

    Wrappers in `nuisance` come around the fitted model, the first one innermost.

    Returns
    -------
    list of (fitted model, what was tried)
        Of an `Auto` model the one that it chose.
    """
    fitted: list[Fitted] = []
    for number, label in enumerate(labels):
        if label in kept:
            fitted.append(kept[label])
            continue
        class_model = class_models[number]
        if objects.own_points and isinstance(class_model, Auto | Population):
            # The same model, with curves in place of columns.
            class_model = IrregularPopulation()
        members, own_noise = objects[index == number], noise_of_class(noise, number)
        learned_from = members
        for wrapper in nuisance:
            learned_from = wrapper.prepared(learned_from, own_noise)
        model = class_model.fit(learned_from, own_noise, rng, scales)
        report: tuple[Candidate, ...] = ()
        if isinstance(model, Auto) and model.chosen is not None:
            report = model.report
            model = model.chosen
        for wrapper in nuisance:
            model = wrapper.wrap(model, members, learned_from)
        fitted.append((model, report))
    return fitted

"""What the estimator's parameters may be: words for what is registered (`badac.registry`), or models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from badac import registry
from badac.anomalies import AnomalyModel
from badac.classes import ClassModel
from badac.data.measurements import Measurements
from badac.data.units import units_of
from badac.data.validation import FloatArray, is_number
from badac.noise import Noise, needs_sigma
from badac.nuisance import Nuisance

PROTOCOLS: dict[str, type] = {"class_model": ClassModel, "noise": Noise, "anomaly": AnomalyModel}
NO_ANOMALY = "evidence"
"""Instead of an anomaly model: objects are ranked by the evidence of the known classes."""
MISSINGNESS = {"learn": True, "ignore": False}


def words(parameter: str) -> tuple[str, ...]:
    """Return the words that a parameter takes."""
    return (*registry.named(parameter), *((NO_ANOMALY,) if parameter == "anomaly" else ()))


def choose(parameter: str, value: Any) -> Any:
    """Return the model that a parameter names, or the model that it is; None for `NO_ANOMALY`."""
    known = words(parameter)
    if isinstance(value, str):
        if value not in known:
            raise ValueError(f"`{parameter}` must be one of {', '.join(known)} or a model: got {value!r}.")
        found = registry.named(parameter).get(value)
        return None if found is None else found.cls()
    protocol = PROTOCOLS[parameter]
    if isinstance(value, type) or not isinstance(value, protocol):
        raise ValueError(
            f"`{parameter}` must be one of {', '.join(known)} or an instance of a model with the methods of "
            f"{protocol.__name__}: got {value!r}."
        )
    return value


def choose_class_models(value: Any, labels: Sequence[Any]) -> list[ClassModel]:
    """Return one class model per label: the same for all, or by a mapping from labels; "auto" where that says nothing."""
    if not isinstance(value, Mapping):
        return [choose("class_model", value)] * len(labels)
    unknown = [name for name in value if name not in labels]
    if unknown:
        raise ValueError(
            f"`class_model` must map labels of training objects: got {unknown[0]!r}, which none of them has. "
            f"Labels: {', '.join(map(repr, labels))}."
        )
    return [choose("class_model", value.get(name, "auto")) for name in labels]


def choose_nuisance(value: Any) -> tuple[Nuisance, ...]:
    """Return the wrappers, innermost first, that a parameter names with their widths, or that it holds.

    A nuisance declares the words for its widths, `widths`, and with `order` whether it comes around others (high) or within.
    """
    if value is None:
        return ()
    known: dict[str, registry.Entry] = {
        word: entry for entry in registry.entries("nuisance") for word in getattr(entry.cls, "widths", ())
    }
    example = dict.fromkeys(known, 0.1)
    if isinstance(value, Mapping):
        unknown = [word for word in value if word not in known]
        if unknown:
            raise ValueError(
                f"`nuisance` must give widths of {', '.join(map(repr, known))}: got {unknown[0]!r}. "
                f"Example: nuisance={example}."
            )
        given = [
            _with_widths(entry.cls, value)
            for entry in {known[word].part: known[word] for word in value}.values()
        ]
    else:
        given = list(value) if isinstance(value, list | tuple) else [value]
    for one in given:
        if isinstance(one, type) or not isinstance(one, Nuisance):
            raise ValueError(
                f"`nuisance` must be None, widths such as {example}, or badac.nuisance models: got {one!r}."
            )
    return tuple(sorted(given, key=lambda one: getattr(one, "order", 0)))


def _with_widths(nuisance: Any, value: Mapping[str, float]) -> Any:
    return nuisance(**{field: value[word] for word, field in nuisance.widths.items() if word in value})


def others_can_tell(class_models: Sequence[ClassModel], nuisance: Sequence[Nuisance]) -> bool:
    """Whether models of other kinds can tell the classes too: they know nothing of a nuisance, nor of a formula."""
    return are_left_to_data(class_models) and all(one.idle for one in nuisance)


def are_left_to_data(class_models: Sequence[ClassModel]) -> bool:
    """Whether it is left to the data what each class is: a class model that does so says it, `left_to_data`."""
    return all(getattr(one, "left_to_data", False) for one in class_models)


def is_left_open(anomaly: Any) -> bool:
    """Whether nobody said what an anomaly is, so that left-out training objects may say what is strange."""
    return isinstance(anomaly, str) and anomaly == "auto"


def choose_missingness(value: Any) -> bool:
    """Return whether gaps may tell the class."""
    if not isinstance(value, str) or value not in MISSINGNESS:
        raise ValueError(f"`missingness` must be {' or '.join(map(repr, MISSINGNESS))}: got {value!r}.")
    return MISSINGNESS[value]


def choose_units(estimator: Any, objects: Measurements) -> FloatArray:
    """Return the units (1,) or (m,) that the estimator learns in.

    Those of the data, if a parameter is more than a word: a model of the user's own may have widths, or count.
    """
    models = estimator.class_model
    given = {
        "class_model": tuple(models.values()) if isinstance(models, Mapping) else (models,),
        "noise": (estimator.noise,),
        "anomaly": (estimator.anomaly,),
    }
    free = estimator.nuisance is None or (
        isinstance(estimator.nuisance, Mapping) and set(estimator.nuisance) <= {"gain", "shift"}
    )
    if not free or not all(_is_unitless(kind, one) for kind, ones in given.items() for one in ones):
        return np.ones(1)
    return units_of(objects)


def _is_unitless(parameter: str, value: Any) -> bool:
    """Whether a model knows no number in the unit of the values: one of badac's, as a word that does not stand for counts."""
    entry = registry.named(parameter).get(value) if isinstance(value, str) else None
    if entry is None:
        return parameter == "anomaly" and isinstance(value, str) and value == NO_ANOMALY
    return entry.ours and (parameter != "noise" or needs_sigma(entry.cls()))


def check_share(parameter: str, value: Any) -> None:
    """Refuse a prior probability that leaves nothing for one side."""
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"`{parameter}` must be between 0 and 1: got {value!r}.")


def drawn_seed(random_state: Any) -> int:
    """Return a seed by what scikit-learn takes as `random_state` (a number, a RandomState or None), or drawn by a Generator."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ValueError(
            "`random_state` must be a whole number from 0 to 2**32 - 1, a numpy.random.Generator or RandomState, or None: got "
            f"{random_state!r}."
        ) from error


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator of its own, seeded by `drawn_seed`."""
    return np.random.default_rng(drawn_seed(random_state))

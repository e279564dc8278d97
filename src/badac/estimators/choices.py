"""What the words of the estimator's parameters stand for, in one table each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from badac.anomalies import AnomalyModel, Broad, Contamination, Deviations, TopHat
from badac.classes import Auto, ClassModel, GaussianProcess, Instances, Population, Subclasses, Template
from badac.data.measurements import Measurements
from badac.data.units import units_of
from badac.data.validation import FloatArray, is_number
from badac.noise import AutoNoise, Correlated, Gaussian, Noise, Outliers, Poisson, Student
from badac.nuisance import Calibration, Nuisance, Shift

CLASS_MODELS: dict[str, Callable[[], ClassModel]] = {
    "auto": Auto,
    "instances": Instances,
    "population": Population,
    "template": Template,
    "subclasses": Subclasses,
    "gp": GaussianProcess,
}
NOISE_MODELS: dict[str, Callable[[], Noise]] = {
    "auto": AutoNoise,
    "gaussian": Gaussian,
    "correlated": Correlated,
    "outliers": Outliers,
    "student": Student,
    "poisson": Poisson,
}
ANOMALY_MODELS: dict[str, Callable[[], AnomalyModel | None]] = {
    "auto": Deviations,
    "tophat": TopHat,
    "broad": Broad,
    "contamination": Contamination,
    "evidence": lambda: None,
}


def choose(parameter: str, value: Any, table: dict[str, Callable[[], Any]], protocol: type) -> Any:
    """Return the model a parameter names, or the model it is."""
    if isinstance(value, str):
        if value not in table:
            raise ValueError(f"`{parameter}` must be one of {', '.join(table)} or a model: got {value!r}.")
        return table[value]()
    if isinstance(value, type) or not isinstance(value, protocol):
        raise ValueError(
            f"`{parameter}` must be one of {', '.join(table)} or an instance of a model with the methods of "
            f"{protocol.__name__}: got {value!r}."
        )
    return value


def choose_class_models(value: Any, labels: Sequence[Any]) -> list[ClassModel]:
    """Return one class model per label: the same for all, or by a mapping from labels; "auto" where that says nothing."""
    if not isinstance(value, Mapping):
        return [choose("class_model", value, CLASS_MODELS, ClassModel)] * len(labels)
    unknown = [name for name in value if name not in labels]
    if unknown:
        raise ValueError(
            f"`class_model` must map labels of training objects: got {unknown[0]!r}, which none of them has. "
            f"Labels: {', '.join(map(repr, labels))}."
        )
    return [choose("class_model", value.get(name, "auto"), CLASS_MODELS, ClassModel) for name in labels]


def choose_nuisance(value: Any) -> tuple[Nuisance, ...]:
    """Return the wrappers, innermost first, that a parameter names with their widths, or that it holds."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in ("gain", "offset", "shift")]
        if unknown:
            raise ValueError(
                f"`nuisance` must give widths of 'gain', 'offset' and 'shift': got {unknown[0]!r}. "
                "Example: nuisance={'gain': 0.1, 'offset': 0.3}."
            )
        found: list[Nuisance] = []
        if "gain" in value or "offset" in value:
            found.append(Calibration(value.get("gain", 0.0), value.get("offset", 0.0)))
        if "shift" in value:
            found.append(Shift(value["shift"]))
        return tuple(found)
    given = value if isinstance(value, list | tuple) else (value,)
    for one in given:
        if isinstance(one, type) or not isinstance(one, Nuisance):
            raise ValueError(
                f"`nuisance` must be None, widths such as {{'gain': 0.1, 'offset': 0.3, 'shift': 0.05}}, or badac.nuisance "
                f"models: got {one!r}."
            )
    # A shift moves what it wraps: a calibration goes with it, but does not carry it.
    return tuple(sorted(given, key=lambda one: isinstance(one, Shift)))


def others_can_tell(class_models: Sequence[ClassModel], nuisance: Sequence[Nuisance]) -> bool:
    """Whether models of other kinds can tell the classes too: they know nothing of a nuisance, nor of a formula."""
    return all(isinstance(one, Auto) for one in class_models) and all(one.idle for one in nuisance)


def is_left_open(anomaly: Any) -> bool:
    """Whether nobody said what an anomaly is, so that left-out training objects may say what is strange."""
    return isinstance(anomaly, str) and anomaly == "auto"


def choose_missingness(value: Any) -> bool:
    """Return whether gaps may tell the class."""
    if value not in ("learn", "ignore"):
        raise ValueError(f"`missingness` must be 'learn' or 'ignore': got {value!r}.")
    return bool(value == "learn")


def choose_units(estimator: Any, objects: Measurements) -> FloatArray:
    """Return the units (1,) or (m,) that the estimator learns in.

    Those of the data, if a parameter is more than a word: a model of the user's own may have widths, or count.
    """
    models = estimator.class_model
    given = [
        *(models.values() if isinstance(models, Mapping) else (models,)),
        estimator.noise,
        estimator.anomaly,
    ]
    free = estimator.nuisance is None or (
        isinstance(estimator.nuisance, Mapping) and "offset" not in estimator.nuisance
    )
    if not free or estimator.noise == "poisson" or not all(isinstance(one, str) for one in given):
        return np.ones(1)
    return units_of(objects)


def check_share(parameter: str, value: Any) -> None:
    """Refuse a prior probability that leaves nothing for one side."""
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"`{parameter}` must be between 0 and 1: got {value!r}.")


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator seeded by what scikit-learn takes as `random_state`: a number, a RandomState or None."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))

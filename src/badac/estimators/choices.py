"""What the words of the estimator's parameters stand for, in one table each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from badac.anomalies import AnomalyModel, Broad, Contamination, Deviations, TopHat
from badac.classes import Auto, ClassModel, GaussianProcess, Instances, Population, Template
from badac.noise import AutoNoise, Correlated, Gaussian, Noise, Outliers, Poisson, Student

CLASS_MODELS: dict[str, Callable[[], ClassModel]] = {
    "auto": Auto,
    "instances": Instances,
    "population": Population,
    "template": Template,
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

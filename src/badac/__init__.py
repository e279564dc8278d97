"""badac: what a noisy object is, or that it is something new, with its error bars.

A class is a weighted set of curves with error bars. The noise model says how well a noisy object matches each curve.
Evidence is the weighted mean of those matches. The anomaly is one more class. Bayes does the rest, and the ranking is what
you look at first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from badac import anomalies, classes, latent, metrics, noise, nuisance
    from badac.data.measurements import Measurements
    from badac.estimators import BADACClassifier, MissingErrorsWarning
    from badac.ranking import Ranking
    from badac.store import load, save
    from badac.stream import Stream

__version__ = "0.1.0"

__all__ = [
    "BADACClassifier",
    "Measurements",
    "MissingErrorsWarning",
    "Ranking",
    "Stream",
    "anomalies",
    "classes",
    "latent",
    "load",
    "metrics",
    "noise",
    "nuisance",
    "save",
]

# Imported when they are asked for: `badac --help` and the completion of a shell ask for none of them.
_HOMES = {
    "BADACClassifier": "badac.estimators",
    "Measurements": "badac.data.measurements",
    "MissingErrorsWarning": "badac.estimators",
    "Ranking": "badac.ranking",
    "Stream": "badac.stream",
    "load": "badac.store",
    "save": "badac.store",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'badac' has no attribute {name!r}")
    home = _HOMES.get(name)
    found = import_module(f"badac.{name}") if home is None else getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

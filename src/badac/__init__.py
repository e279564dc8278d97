"""badac: what a noisy object is, or that it is something new, with its error bars.

A class is a weighted set of curves with error bars. The noise model says how well a noisy object matches each curve.
Evidence is the weighted mean of those matches. The anomaly is one more class. Bayes does the rest, and the ranking is what
you look at first.
"""

from badac import anomalies, classes, metrics, noise, nuisance
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
    "load",
    "metrics",
    "noise",
    "nuisance",
    "save",
]

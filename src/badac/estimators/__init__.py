"""The scikit-learn estimators."""

from badac.estimators.classifier import BADACClassifier
from badac.estimators.door import MissingErrorsWarning

__all__ = ["BADACClassifier", "MissingErrorsWarning"]

"""The scikit-learn estimators."""

from badac.estimators.classifier import BADACClassifier
from badac.estimators.door import MissingErrorsWarning
from badac.estimators.online import Stream

__all__ = ["BADACClassifier", "MissingErrorsWarning", "Stream"]

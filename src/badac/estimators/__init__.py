"""The scikit-learn estimator."""

from badac.estimators.classifier import BADACClassifier
from badac.estimators.validation import MissingErrorsWarning

__all__ = ["BADACClassifier", "MissingErrorsWarning"]

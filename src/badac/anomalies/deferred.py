"""An anomaly model that is learned when it is first asked: whoever only classifies pays nothing.

Telling known classes apart needs no idea of what an anomaly is, and on real tables learning one costs as much as learning the
classes (a population of each class under noise with bad points, its rare members). Where nobody said what an anomaly is, `fit`
leaves a `Deferred` behind, with the generator as it stood: what is learned later is to the last bit what would have been
learned at once. An anomaly model that a user named is learned in `fit`, which is where it may refuse the data.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from badac.anomalies.model import AnomalyModel, Known
from badac.progress import stage
from badac.threads import lending


@dataclass(frozen=True, eq=False)
class Deferred:
    """What it takes to learn an anomaly model.

    Attributes
    ----------
    anomaly : AnomalyModel
        Not fitted.
    known : Known
    rng : numpy Generator
        As it stands; never drawn from here.
    n_threads : int

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier
    >>> model = BADACClassifier(random_state=0).fit(np.eye(6), [0, 0, 0, 1, 1, 1], X_err=0.1)
    >>> type(model.fitted_.anomaly_model).__name__, type(model.anomaly_model_).__name__
    ('Deferred', 'Deviations')
    """

    anomaly: AnomalyModel
    known: Known
    rng: np.random.Generator
    n_threads: int = 1

    @classmethod
    def of(cls, anomaly: AnomalyModel, known: Known, rng: np.random.Generator, n_threads: int) -> Deferred:
        """Return what it takes, the generator copied."""
        return cls(anomaly, known, deepcopy(rng), n_threads)

    @cached_property
    def learned(self) -> AnomalyModel:
        """The fitted anomaly model."""
        with lending(self.n_threads), stage("Learning what an anomaly would look like"):
            return self.anomaly.fit(self.known, deepcopy(self.rng))

    def __reduce__(self) -> tuple[Any, ...]:
        # What is sent or copied whole is the model, not the training objects that it would be learned from.
        return _itself, (self.learned,)


def _itself(model: AnomalyModel) -> AnomalyModel:
    return model


def as_learned(model: AnomalyModel | Deferred | None) -> AnomalyModel | None:
    """Return the fitted anomaly model, learned now if it was not yet."""
    return model.learned if isinstance(model, Deferred) else model


class _LearnedWhenAsked:
    """An attribute that may hold a `Deferred`, and is read as the fitted anomaly model."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else as_learned(held(instance, self._name))

    def __set__(self, instance: object, value: AnomalyModel | Deferred | None) -> None:
        hold(instance, self._name, value)


def learned_when_asked() -> Any:
    """Return an attribute of an estimator that may hold a `Deferred`, and is read as the fitted anomaly model."""
    return _LearnedWhenAsked()


def held(instance: object, name: str) -> AnomalyModel | Deferred | None:
    """Return what such an attribute holds, learned or not."""
    try:
        found: AnomalyModel | Deferred | None = vars(instance)[name]
    except KeyError:
        raise AttributeError(f"{type(instance).__name__} has no {name} before fit") from None
    return found


def hold(instance: object, name: str, model: AnomalyModel | Deferred | None) -> None:
    """Set such an attribute."""
    vars(instance)[name] = model

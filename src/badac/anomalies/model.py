"""What an anomaly model is: one more class, which knows the known ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from badac.classes.model import ClassModel
from badac.data.measurements import Measurements
from badac.noise.model import Noise
from badac.training import TrainingScales

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Known:
    """The known classes that an anomaly is measured against.

    Attributes
    ----------
    training : Measurements
        (n, m), the members of all classes.
    label : (n,) int
        Index of each member's class.
    models : tuple of ClassModel
        The fitted classes.
    log_prior : (k,)
        Their log priors.
    anomaly_prior : float
        Prior probability that an object belongs to none of them.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.anomalies import Known, TopHat
    >>> from badac.classes import Template, TrainingScales
    >>> from badac.noise import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> objects = Measurements(0.1 * rng.standard_normal((20, 5)), 0.1)
    >>> one = Template().fit(objects, Gaussian(), rng)
    >>> known = Known(objects, np.zeros(20, dtype=int), (one,), np.zeros(1), 0.01, Gaussian(), TrainingScales.of(objects))
    >>> TopHat().fit(known, rng).log_evidence(objects[:2], one.log_evidence(objects[:2])).shape
    (2,)
    """

    training: Measurements
    label: npt.NDArray[np.int64]
    models: tuple[ClassModel, ...]
    log_prior: FloatArray
    anomaly_prior: float
    noise: Noise
    scales: TrainingScales


@runtime_checkable
class AnomalyModel(Protocol):
    """A density over objects that belong to no known class.

    Examples
    --------
    >>> from badac.anomalies import AnomalyModel, TopHat
    >>> isinstance(TopHat(), AnomalyModel)
    True
    """

    def fit(self, known: Known, rng: np.random.Generator) -> Self:
        """Return a copy that knows what the known classes are."""

    def log_evidence(self, objects: Measurements, log_known: FloatArray, *, n_threads: int = 1) -> FloatArray:
        """Return (n,): log P(object | anomaly). `log_known` (n, k) are its evidences under the known classes."""


@runtime_checkable
class OfPart(Protocol):
    """An anomaly model that knows from how many training objects it was learned."""

    def as_of_all(self, share: float) -> Self:
        """Return what was learned from a `share` of the training objects, counting as if it had been from all of them."""


@runtime_checkable
class QuicklyRefittable(AnomalyModel, Protocol):
    """An anomaly model that is learned again without some of the training objects for less."""

    def asked_of_all(self, known: Known) -> Any:
        """Return what need not be asked again of part of the training objects that it was learned from."""

    def refit_without_some(self, known: Known, asked: Any, rng: np.random.Generator) -> Self:
        """Return what all but a few training objects, drawn at random, teach.

        In `known` those that are left out have the label -1; `asked` is `asked_of_all` of the same objects, none left out.
        """

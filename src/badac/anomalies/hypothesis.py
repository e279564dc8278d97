"""What an anomaly hypothesis is: a density with the object's own noise, on the ground that the known classes give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from badac.anomalies.class_summary import Described, View
from badac.anomalies.model import FloatArray
from badac.data.measurements import Measurements
from badac.latent.mixture import logsumexp_rows
from badac.registry import registered
from badac.training import TrainingScales

_HOPELESS = 30.0


@registered("part")
@dataclass(frozen=True, eq=False)
class Ground:
    """What all hypotheses share.

    Attributes
    ----------
    where : (m,) or None
        Coordinates of the points on [0, 1]; None for features without an order.
    level : float
        Mean of the known classes, over all points.
    variance : float
        Of the known classes' true values around that level, averaged over the points.
    centre, scale : (m,)
        Mean and standard deviation of each point over all training objects, noise included.
    """

    where: FloatArray | None
    level: float
    variance: float
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, where: FloatArray | None, classes: tuple[Described, ...], scales: TrainingScales) -> Ground:
        level = float(np.mean([one.factor.mean for one in classes]))
        spread = [
            np.mean((one.factor.factors**2).sum(axis=1) + one.factor.psi + (one.factor.mean - level) ** 2)
            for one in classes
        ]
        return cls(where, level, float(np.mean(spread)), scales.centre, scales.scale)


@runtime_checkable
class Hypothesis(Protocol):
    """One way of being an anomaly."""

    def fit(self, ground: Ground) -> Self:
        """Return a copy that knows the points and the scale of the known classes."""

    def log_evidence(self, objects: Measurements, views: tuple[View, ...]) -> FloatArray:
        """Return (n,): log P(object | hypothesis), with the objects as each known class sees them."""


def over_classes(views: tuple[View, ...], log_evidence: Callable[[View], FloatArray]) -> FloatArray:
    """Average a hypothesis about each known class over the classes that an object may belong to at all.

    Parameters
    ----------
    views : tuple of View
        The n objects as each class sees them.
    log_evidence : callable
        (n,) of a view: log P(d | class, hypothesis).

    Returns
    -------
    (n,)
        A class that explains an object by `_HOPELESS` nats worse than another does is not asked: what spoils a few points,
        or all of them a little, spoils them for every class. So the cost does not grow with the number of classes.
    """
    joint = np.stack([view.log_prior + view.log_evidence for view in views], axis=1)
    asked = joint >= joint.max(axis=1, keepdims=True) - _HOPELESS
    out = np.full(joint.shape, -np.inf)
    for column, view in enumerate(views):
        rows = np.flatnonzero(asked[:, column])
        if rows.size:
            part = view if rows.size == len(asked) else view.take(rows)
            out[rows, column] = view.log_prior + log_evidence(part)
    return logsumexp_rows(out)


def log_mean_exp(terms: list[FloatArray]) -> FloatArray:
    """Log of the mean of the densities whose logs (n,) are given: equal prior shares."""
    return np.asarray(logsumexp_rows(np.stack(terms, axis=1)) - np.log(len(terms)))


def mean_variance(weight: FloatArray) -> FloatArray:
    """Return (n,): the variance that has the mean precision of the points with a precision ``weight`` (n, m) at all."""
    return np.asarray(np.maximum((weight > 0).sum(axis=1), 1) / np.maximum(weight.sum(axis=1), 1e-300))


def typical_amplitude(powers: list[FloatArray]) -> FloatArray:
    """Return (q,): standard deviation of each cosine, averaged over processes of several lengths."""
    most = max(power.size for power in powers)
    return np.asarray(np.sqrt(np.mean([np.pad(power, (0, most - power.size)) for power in powers], axis=0)))

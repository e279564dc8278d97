"""What an anomaly hypothesis is: a declaration of what it adds, to a known class or to nothing known, at any coordinates.

A hypothesis is one small class with one method, `Hypothesis.adds`. It returns one of three declarations:

    ShapeOnClass      a known class plus one of many shapes, of unknown height          (`badac.anomalies.bump`)
    ProcessOnClass    a known class plus a random curve of unknown size                 (`badac.anomalies.smooth`)
    ProcessAlone      a random curve of no known class                                  (`badac.anomalies.something_else`)

How likely an object is under it is no business of the hypothesis: that is worked out once for objects on a common grid
(`badac.anomalies.on_a_grid`) and once for objects with points of their own (`badac.anomalies.at_points`). Coordinates are in
units of the range of the training objects': 0 where they begin, 1 where they end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from badac._kernels import Pairs, row_log_sums
from badac._kernels.stretches import Stretches
from badac.anomalies.model import FloatArray, Known
from badac.anomalies.reasons import Reasons
from badac.anomalies.sequence import RandomCurves
from badac.cached import cached_property
from badac.data.measurements import Measurements
from badac.data.validation import IntArray
from badac.latent.class_summary import ClassSummary
from badac.registry import registered
from badac.training import TrainingScales

# Nats. What spoils a few points, or all of them a little, spoils them for every class: a class that explains an object by so
# much worse than another is not asked. Leaving it out moves no score by more than a hundredth of a nat (test_hypotheses).
_HOPELESS = 30.0
# Variance of a random curve of no class per variance of the object's noise: something that could be seen, at twice the noise.
# With none of it a noisy object of a known class drifts towards even odds, and above the quiet ones (tests/laws).
NOISE_SHARE = 4.0


@registered("part", holds={"variance": ">= 0", "centre": "(m,)", "scale": "(m,) >= 0"})
@dataclass(frozen=True, eq=False)
class Scales:
    """What the training objects tell all hypotheses: where the points lie, and how large things are.

    Attributes
    ----------
    where : (m,) or None
        Coordinates of the points on [0, 1]; None for features without an order. For objects with points of their own, as
        many coordinates as they typically have points, evenly spaced.
    level : float
        Mean of the known classes, over all points.
    variance : float
        Of the known classes' true values around that level, averaged over the points.
    centre, scale : (m,)
        Mean and standard deviation of each point over all training objects, noise included.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.anomalies import Scales
    >>> Scales(np.linspace(0, 1, 3), level=0.0, variance=1.0, centre=np.zeros(3), scale=np.ones(3)).variance
    1.0
    """

    where: FloatArray | None
    level: float
    variance: float
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(
        cls, where: FloatArray | None, classes: tuple[ClassSummary, ...], scales: TrainingScales
    ) -> Scales:
        """Take them from the known classes on a grid."""
        level = float(np.mean([one.factor.mean for one in classes]))
        spread = [
            np.mean((one.factor.factors**2).sum(axis=1) + one.factor.psi + (one.factor.mean - level) ** 2)
            for one in classes
        ]
        return cls(where, level, float(np.mean(spread)), scales.centre, scales.scale)

    def coordinates(self, hypothesis: object) -> FloatArray:
        """Return `where` for a hypothesis that makes no sense without an order of the points, or refuse it."""
        if self.where is None:
            raise ValueError(
                f"the hypothesis {type(hypothesis).__name__} needs points with an order, but these {self.centre.size} "
                "features have none: no coordinates `at`, and neighbours that do not resemble each other. Leave it out of "
                "`hypotheses`, or give `at` to Measurements if the features are points of a curve."
            )
        return self.where


@dataclass(frozen=True, eq=False)
class ShapeOnClass:
    """A known class plus one of many shapes, all equally likely, of unknown height.

    Attributes
    ----------
    shapes : callable
        Coordinates (..., m) to the p shapes there, (..., m, p), each of height 1. For features without an order the
        coordinates are the numbers of the features.
    signal_to_noise : float
        Prior standard deviation of the height, in units of the error with which it would be measured.
    components : int
        Number of components of the class's mixture that are tried per object.
    stretches : callable, optional
        Coordinates (m,) to the same shapes there as `badac._kernels.stretches.Stretches`, where each is 0 at most points: of
        thousands of points that takes far less time and memory.

    Examples
    --------
    >>> import numpy as np
    >>> from badac.anomalies import ShapeOnClass
    >>> def one_step(at):
    ...     return (at > 0.5).astype(float)[None, :]
    >>> ShapeOnClass(one_step).shapes(np.array([0.0, 1.0]))
    array([[0., 1.]])
    """

    shapes: Callable[[FloatArray], FloatArray]
    signal_to_noise: float = 5.0
    components: int = 2
    stretches: Callable[[FloatArray], Stretches] | None = None

    def at(self, x: FloatArray) -> FloatArray:
        """Return (..., m, p): the shapes at coordinates (..., m)."""
        shapes = np.asarray(self.shapes(x), dtype=np.float64)
        if shapes.shape[:-1] != x.shape or not shapes.shape[-1]:
            raise ValueError(
                f"`shapes` of a ShapeOnClass must return (..., m, p) at coordinates (..., m), one column for each of p >= 1 "
                f"shapes: got {shapes.shape} at coordinates of shape {x.shape}."
            )
        return shapes

    def weighed_by(self, evaluator: Evaluator) -> Weigh:
        """Return the function that gives the log densities (n,) of objects under the hypothesis."""
        return evaluator.shape_on_class(self)


@dataclass(frozen=True, eq=False)
class ProcessOnClass:
    """A known class plus a random curve.

    Attributes
    ----------
    curves : tuple of RandomCurves
        Families of curves, all their alternatives equally likely; none for an independent deviation of each point.
    amplitudes : tuple of float
        In units of the object's noise (and the class's psi) at a point.

    Examples
    --------
    >>> from badac.anomalies import ProcessOnClass, SmoothCurves
    >>> ProcessOnClass((SmoothCurves((0.1, 0.3)),), amplitudes=(0.5, 1.0)).amplitudes
    (0.5, 1.0)
    """

    curves: tuple[RandomCurves, ...]
    amplitudes: tuple[float, ...] = (1.0,)

    def weighed_by(self, evaluator: Evaluator) -> Weigh:
        """Return the function that gives the log densities (n,) of objects under the hypothesis."""
        return evaluator.process_on_class(self)


@dataclass(frozen=True, eq=False)
class ProcessAlone:
    """A random curve around a level of its own, of no known class.

    Attributes
    ----------
    curves : tuple of RandomCurves
        Families of curves, all their alternatives equally likely; none for independent values.
    amplitudes : tuple of float
        In units of the known classes' own scale; for independent values, of each feature's standard deviation.

    Examples
    --------
    >>> from badac.anomalies import ProcessAlone, SmoothCurves
    >>> ProcessAlone((SmoothCurves((0.1, 0.3)),)).amplitudes
    (0.7,)
    """

    curves: tuple[RandomCurves, ...]
    amplitudes: tuple[float, ...] = (0.7,)

    def weighed_by(self, evaluator: Evaluator) -> Weigh:
        """Return the function that gives the log densities (n,) of objects under the hypothesis."""
        return evaluator.process_alone(self)


Addition = ShapeOnClass | ProcessOnClass | ProcessAlone


@runtime_checkable
class Hypothesis(Protocol):
    """One way of being an anomaly. `badac.explain` calls it by the name of its class, in words.

    Examples
    --------
    >>> from badac.anomalies import Bump, Hypothesis
    >>> isinstance(Bump(), Hypothesis)
    True
    """

    def adds(self, scales: Scales) -> Addition:
        """Declare what is added; `Scales.coordinates` refuses features without an order where it needs one."""


class UnderOneClass(Protocol):
    """Some objects as one known class sees them."""

    @property
    def log_prior(self) -> float:
        """Log prior of the class."""

    @property
    def log_evidence(self) -> FloatArray:
        """(n,): log P(object | class)."""

    def take(self, rows: IntArray) -> Self:
        """Return some of the objects."""


Under = TypeVar("Under", bound=UnderOneClass)
# From the objects as each class sees them to their log densities (n,).
Weigh = Callable[["UnderClasses[Any]"], FloatArray]


class Evaluator(Protocol):
    """Works out what the declarations say of objects: one for a common grid, one for points of an object's own.

    Objects come in blocks, and a block as `UnderClasses`.
    """

    @property
    def log_prior(self) -> FloatArray:
        """(k,), of the known classes."""

    @property
    def scales(self) -> Scales:
        """What the hypotheses are told."""

    def shape_on_class(self, added: ShapeOnClass) -> Weigh: ...

    def process_on_class(self, added: ProcessOnClass) -> Weigh: ...

    def process_alone(self, added: ProcessAlone) -> Weigh: ...

    def blocks(self, objects: Measurements) -> Iterator[tuple[slice | IntArray, Any]]:
        """Yield which objects, and a block of them as `under` takes it; the blocks depend on the objects alone."""

    def under(self, block: Any, *, n_threads: int = 1) -> UnderClasses[Any]:
        """Return the objects of a block as each known class sees them."""

    def log_known(self, under: UnderClasses[Any], log_anomaly: FloatArray) -> FloatArray:
        """Return (n,): log P(d | known classes); `log_anomaly` (n,) is what it is compared with."""

    def reasons(self, objects: Measurements, *, n_threads: int = 1) -> Reasons:
        """Say of each object which class fits best, and where it does not."""

    def to_compare(self, index: int, objects: Measurements, known: Known) -> tuple[IntArray, Pairs]:
        """Return (k,) the rows of the training objects of class `index`, and objects and these as they are compared."""


class UnderClasses(tuple[Under, ...]):
    """The n objects of a block as each known class sees them; what several hypotheses ask of all classes is found once.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.anomalies.hypothesis import UnderClasses
    >>> from badac.latent import Factor, Mixture
    >>> from badac.latent.class_summary import ClassSummary, ObjectsUnderClass
    >>> from badac.noise import Gaussian
    >>> objects = Measurements([[0.0, 0.0], [9.0, 9.0]], 0.1)
    >>> at_zero, at_nine = (Factor(np.full(2, mean), np.zeros((2, 1)), np.zeros(2)) for mean in (0.0, 9.0))
    >>> classes = [ClassSummary(one, Mixture.standard(1), Gaussian()) for one in (at_zero, at_nine)]
    >>> under = UnderClasses(ObjectsUnderClass(objects, one) for one in classes)
    >>> [(number, rows.tolist()) for number, rows, _ in under.asked]
    [(0, [0]), (1, [1])]
    """

    @cached_property
    def joint(self) -> FloatArray:
        """(n, classes): log prior plus log evidence of each class."""
        return np.stack([one.log_prior + one.log_evidence for one in self], axis=1)

    @cached_property
    def asked(self) -> tuple[tuple[int, IntArray, Under], ...]:
        """The classes that some object may belong to at all: their places, the rows of such objects, and these under the class.

        The objects keep what was found of them, and know nothing of this: a block ends with its last user, not when Python
        looks for circles.
        """
        may = self.joint >= self.joint.max(axis=1, keepdims=True) - _HOPELESS
        found = (
            (number, np.flatnonzero(may[:, number])) for number in np.flatnonzero(may.any(axis=0)).tolist()
        )
        return tuple(
            (number, rows, self[number] if rows.size == len(may) else self[number].take(rows))
            for number, rows in found
        )


def over_classes(under: UnderClasses[Under], log_evidence: Callable[[Under], FloatArray]) -> FloatArray:
    """Average a hypothesis about each known class over the classes that an object may belong to at all.

    Parameters
    ----------
    under : UnderClasses
        The n objects as each class sees them.
    log_evidence : callable
        Objects under one class to (n,): log P(d | class, hypothesis).

    Returns
    -------
    (n,)
        The cost does not grow with the number of classes: hopeless ones are not asked.
    """
    out = np.full(under.joint.shape, -np.inf)
    for number, rows, part in under.asked:
        out[rows, number] = part.log_prior + log_evidence(part)
    return row_log_sums(out)


def over_classes_at_once(
    under: UnderClasses[Under], log_evidence: Callable[[Sequence[Under]], FloatArray]
) -> FloatArray:
    """As `over_classes`, with a `log_evidence` of the objects under all classes that are asked, one class after the other.

    For classes so quick to ask that what is done with each answer would take as long.
    """
    out = np.full(under.joint.shape, -np.inf)
    if under.asked:
        parts = [part for _, _, part in under.asked]
        row = np.concatenate([rows for _, rows, _ in under.asked])
        column = np.concatenate([np.full(rows.size, number) for number, rows, _ in under.asked])
        prior = np.array([one.log_prior for one in under])
        out[row, column] = prior[column] + log_evidence(parts)
    return row_log_sums(out)


def log_mean_exp(terms: FloatArray) -> FloatArray:
    """Log of the mean (n,) of densities whose logs (n, terms) are given: equal prior shares."""
    return np.asarray(row_log_sums(terms) - np.log(terms.shape[1]))

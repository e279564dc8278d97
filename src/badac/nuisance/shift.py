"""A shift of each new object along the coordinate: a zero point that nobody knows, summed over its prior.

    P(d | class) = sum_s P(s) P(d | class moved by s)

A class on a grid (population, template, instances, mixtures of these) is moved (`badac.classes.moving`); a class model that
reads the coordinates themselves (parametric, Gaussian process, irregular population) is asked about the object at
``at - s``. With
``align=True`` the training curves, too, have shifts of their own: they are aligned by class first
(`badac.nuisance.alignment`), and the error of the alignment stays with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from badac.classes.model import ClassModel, FloatArray, MovableClass, Summary, summary_of
from badac.classes.moving import move_objects
from badac.data.measurements import Measurements
from badac.data.validation import is_number
from badac.latent.basis import coordinates
from badac.latent.likelihood import weigh
from badac.latent.nodes import even_nodes, groups, log_average, normal_nodes
from badac.noise.model import Noise
from badac.nuisance.alignment import align
from badac.nuisance.model import innermost, left_out
from badac.registry import registered
from badac.training import TrainingScales

_NODES = 64
_SHAPES = ("uniform", "gaussian")


@registered("nuisance", holds={"n_nodes": "> 0, < 100000"})
@dataclass(frozen=True, eq=False)
class Shift:
    """A class whose new objects are shifted along the coordinate by an unknown amount.

    Parameters
    ----------
    width : float >= 0
        In units of `at`: the largest shift ("uniform"), or the standard deviation ("gaussian").
    shape : {"uniform", "gaussian"}
        Of the prior.
    align : bool
        Whether the training curves have such shifts too, and are aligned by class before it is learned.
    n_nodes : int, optional
        Shifts to sum over; by default as many as the object's noise and the slopes of the class ask for.
    of : ClassModel, optional
        The class model that it wraps.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import BADACClassifier, Measurements
    >>> from badac.nuisance import Shift
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 30)
    >>> truth = np.where(np.arange(60)[:, None] < 30, np.exp(-(((x - 0.5) / 0.1) ** 2)), x)
    >>> train = Measurements(truth + 0.1 * rng.standard_normal(truth.shape), 0.1, at=x)
    >>> model = BADACClassifier("template", anomaly="tophat", nuisance=Shift(0.2), random_state=0)
    >>> _ = model.fit(train, np.repeat(["flash", "rise"], 30))
    >>> model.predict(Measurements([np.exp(-(((x - 0.62) / 0.1) ** 2))], 0.1, at=x))
    array(['flash'], dtype='<U5')
    """

    widths: ClassVar[dict[str, str]] = {"shift": "width"}
    # A shift moves what it wraps: a calibration goes with it, but does not carry it.
    order: ClassVar[int] = 1

    width: float = 0.0
    shape: str = "uniform"
    align: bool = False
    n_nodes: int | None = None
    of: ClassModel | None = None
    members: Measurements | None = None
    learned_from: Measurements | None = None

    def __post_init__(self) -> None:
        if not is_number(self.width) or not 0 <= self.width < np.inf:
            raise ValueError(f"`width` of a Shift must be >= 0: got {self.width!r}.")
        if self.shape not in _SHAPES:
            raise ValueError(f"`shape` of a Shift must be one of {', '.join(_SHAPES)}: got {self.shape!r}.")

    @property
    def idle(self) -> bool:
        return self.width == 0

    def prepared(self, members: Measurements, noise: Noise) -> Measurements:
        self._check(members)
        if not self.align or self.idle:
            return members
        nodes, log_weights = self._nodes(_NODES)
        return align(members, noise, nodes, log_weights).members

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        if self.of is None:
            raise ValueError("a Shift wraps a class model: give it one, Shift(width, of=Population()).")
        learned_from = self.prepared(members, noise)
        return self.wrap(self.of.fit(learned_from, noise, rng, scales), members, learned_from)

    def wrap(
        self, model: ClassModel, members: Measurements, learned_from: Measurements | None = None
    ) -> Self:
        self._check(members)
        if not self.idle:
            check_movable(model)
        return replace(self, of=model, members=members, learned_from=learned_from if self.align else None)

    def spoiled(self, members: Measurements, rng: np.random.Generator) -> Measurements:
        # Members that had to be aligned are spoiled as they are.
        if members.at is None or members.own_points or self.align:
            return members
        size = members.n_objects
        drawn = rng.uniform(-1, 1, size) if self.shape == "uniform" else rng.standard_normal(size)
        return move_objects(members, members.at, self.width * drawn)

    def summary(self) -> Summary | None:
        """Return that of the class inside if this changes nothing; otherwise one is learned from spoiled members."""
        return summary_of(self.of) if self.idle else None

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.members is not None, "fit first"
        learned_from = self.members if self.learned_from is None else self.learned_from
        return left_out(self, self.members, learned_from, n_threads=n_threads)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        assert self.of is not None, "fit first"
        if self.idle:
            return self.of.log_evidence(objects, n_threads=n_threads)
        self._check(objects)
        out = np.empty(objects.n_objects)
        for rows, count in self._groups(objects):
            nodes, log_weights = self._nodes(count)
            some = objects[rows]
            terms = [moved_log_evidence(self.of, some, float(node), n_threads) for node in nodes]
            out[rows] = log_average(terms, log_weights)
        return out

    def _nodes(self, count: int) -> tuple[FloatArray, FloatArray]:
        nodes, log_weights = even_nodes(count) if self.shape == "uniform" else normal_nodes(count)
        return self.width * nodes, log_weights

    def _groups(self, objects: Measurements) -> list[tuple[np.ndarray, int]]:
        every = np.arange(objects.n_objects)
        if self.n_nodes is not None:
            return [(every, self.n_nodes)]
        assert self.of is not None
        model = innermost(self.of)
        if not isinstance(model, MovableClass) or objects.own_points:
            return [(every, _NODES)]
        at = objects.at
        assert at is not None
        # How well an object knows its shift: the squared slope of the class in units of the noise.
        columns, psi = model.columns()
        power = (np.gradient(columns, at, axis=0) ** 2).sum(axis=1)
        known = weigh(objects, np.zeros(len(at)), psi)[0] @ power
        span = 2.0 if self.shape == "uniform" else 10.0
        return list(groups(span * np.sqrt(1.0 + self.width**2 * known)))

    def _check(self, objects: Measurements) -> None:
        if self.idle:
            return
        if objects.at is None:
            raise ValueError(
                "a Shift moves objects along their coordinate, but they have none: give `at` to Measurements."
            )
        if not objects.own_points and not (np.diff(objects.at) > 0).all():
            raise ValueError("a Shift needs coordinates `at` in increasing order: sort the points first.")


def check_movable(model: ClassModel) -> None:
    """Refuse a class model that would not notice a shift: it can neither be moved nor asks where a point is."""
    inner = innermost(model)
    if not isinstance(inner, MovableClass) and not getattr(inner, "reads_coordinates", False):
        raise ValueError(
            f"a Shift of {type(inner).__name__} is not possible: it can neither be moved along the coordinate (`moved` and "
            "`columns`, badac.classes.model.MovableClass) nor does it read the coordinates (`reads_coordinates = True`)."
        )


def moved_log_evidence(model: ClassModel, objects: Measurements, by: float, n_threads: int) -> FloatArray:
    """Return (n,): log evidence of objects under the class moved by `by`."""
    if isinstance(model, MovableClass) and not objects.own_points:
        assert objects.at is not None
        moved = model.moved(objects.at, by)
        if moved is not None:
            return moved.log_evidence(objects, n_threads=n_threads)
    at = coordinates(objects) if objects.own_points else objects.at
    assert at is not None
    return model.log_evidence(objects._changed(at=at - by), n_threads=n_threads)

"""A gain and an offset of each new object's own: instruments and nights that differ from those of the training objects.

    d = (1 + gain g) y + offset o + noise,     g, o ~ N(0, 1) for each object

Population, template and exact instances integrate them out themselves (`badac.latent.gain_offset`); a parametric class
gets them as two more parameters (`badac.classes.model.CalibratedClass`). Any other class model is asked about corrected objects
``(d - offset o) / (1 + gain g)``, by importance sampling (`badac.classes.parametric.importance`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from badac.classes.model import CalibratedClass, ClassModel, FloatArray, MovableClass, Summary, summary_of
from badac.classes.parametric.importance import integrate
from badac.data.measurements import Measurements
from badac.data.validation import IntArray, is_number
from badac.latent.gain_offset import SMALLEST_GAIN, GainOffset, corrected
from badac.noise.model import LinkedNoise, Noise
from badac.nuisance.model import left_out
from badac.registry import registered
from badac.training import TrainingScales

_POINTS = 128


@registered("nuisance")
@dataclass(frozen=True, eq=False)
class Calibration:
    """A class whose new objects have an unknown gain and offset.

    Parameters
    ----------
    gain : float >= 0
        Standard deviation of the gain around 1.
    offset : float >= 0
        Standard deviation of the offset around 0, in units of the values.
    of : ClassModel, optional
        The class model that it wraps.

    Examples
    --------
    >>> import numpy as np
    >>> from badac import Measurements
    >>> from badac.classes import Template
    >>> from badac.noise import Gaussian
    >>> from badac.nuisance import Calibration
    >>> members = Measurements(np.sin(np.linspace(0, 6, 20)) + np.zeros((5, 1)), 0.1)
    >>> plain = Template().fit(members, Gaussian(), np.random.default_rng(0))
    >>> star = Measurements(1.2 * members.values[:1] + 0.3, 0.1)
    >>> wrapped = Calibration(gain=0.2, offset=0.3).wrap(plain, members)
    >>> bool(wrapped.log_evidence(star)[0] > plain.log_evidence(star)[0] + 10)
    True
    """

    widths: ClassVar[dict[str, str]] = {"gain": "gain", "offset": "offset"}

    gain: float = 0.0
    offset: float = 0.0
    of: ClassModel | None = None
    members: Measurements | None = None

    def __post_init__(self) -> None:
        for name in ("gain", "offset"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < np.inf:
                raise ValueError(f"`{name}` of a Calibration must be a width >= 0: got {value!r}.")

    @property
    def idle(self) -> bool:
        return self.gain == 0 and self.offset == 0

    def prepared(self, members: Measurements, noise: Noise) -> Measurements:
        if isinstance(noise, LinkedNoise):
            raise ValueError(
                f"a Calibration of counts is not possible: got {noise!r}. A count that is divided by a gain is no count; give "
                "each object its exposure, or make the gain a parameter of a Parametric class."
            )
        return members

    def fit(
        self,
        members: Measurements,
        noise: Noise,
        rng: np.random.Generator,
        scales: TrainingScales | None = None,
    ) -> Self:
        if self.of is None:
            raise ValueError(
                "a Calibration wraps a class model: give it one, Calibration(of=Population(), ...)."
            )
        return self.wrap(self.of.fit(self.prepared(members, noise), noise, rng, scales), members)

    def wrap(
        self, model: ClassModel, members: Measurements, learned_from: Measurements | None = None
    ) -> Self:
        # What prepared the members (an alignment) is another wrapper's business: to this one they are as prepared.
        return replace(self, of=model, members=members if learned_from is None else learned_from)

    def spoiled(self, members: Measurements, rng: np.random.Generator) -> Measurements:
        gain = np.maximum(1.0 + self.gain * rng.standard_normal(members.n_objects), SMALLEST_GAIN)
        offset = self.offset * rng.standard_normal(members.n_objects)
        return corrected(members, 1.0 / gain, -offset / gain)

    def summary(self) -> Summary | None:
        """Return that of the class inside if this changes nothing; otherwise one is learned from spoiled members."""
        return summary_of(self.of) if self.idle else None

    def leave_one_out(self, *, n_threads: int = 1) -> FloatArray:
        assert self.members is not None, "fit first"
        return left_out(self, self.members, self.members, n_threads=n_threads)

    def log_evidence(self, objects: Measurements, *, n_threads: int = 1) -> FloatArray:
        model = self.of
        assert model is not None, "fit first"
        if self.idle:
            return model.log_evidence(objects, n_threads=n_threads)
        if isinstance(model, CalibratedClass):
            widths = GainOffset(self.gain, self.offset)
            found = model.calibrated_log_evidence(objects, widths, n_threads=n_threads)
            if found is not None:
                return found
        return self._by_correction(model, objects, n_threads)

    def moved(self, at: FloatArray, by: float) -> Self | None:
        """Return the calibration of the moved class; None if that cannot be moved."""
        assert self.of is not None, "fit first"
        inner = self.of.moved(at, by) if isinstance(self.of, MovableClass) else None
        return None if inner is None else replace(self, of=inner)

    def columns(self) -> tuple[FloatArray, FloatArray]:
        assert self.of is not None and isinstance(self.of, MovableClass)
        return self.of.columns()

    def _by_correction(self, model: ClassModel, objects: Measurements, n_threads: int) -> FloatArray:
        widths = np.array([self.gain, self.offset])
        used = np.flatnonzero(widths)
        count = objects.observed.sum(axis=1)

        def likelihood(rows: IntArray, points: FloatArray) -> FloatArray:
            moved = np.broadcast_to(points, (len(rows), *points.shape[-2:]))
            numbers = np.zeros((*moved.shape[:2], 2))
            numbers[..., used] = moved * widths[used]
            gain, offset = 1.0 + numbers[..., 0], numbers[..., 1]
            possible = gain > SMALLEST_GAIN
            gain = np.where(possible, gain, 1.0)
            repeated = objects[np.repeat(rows, moved.shape[1])]
            found = model.log_evidence(corrected(repeated, gain.ravel(), offset.ravel()), n_threads=n_threads)
            found = found.reshape(gain.shape) - count[rows, None] * np.log(gain)
            return np.where(possible, found, -np.inf)

        return integrate(
            likelihood, (objects.n_objects, len(used)), n_prior=_POINTS, n_refined=_POINTS, block=256
        ).log_evidence

"""A gain and an offset of each new object's own: instruments and nights that differ from those of the training objects.

    d = (1 + gain g) y + offset o + noise,     g, o ~ N(0, 1) for each object

For a population the offset is one more column of its factors, in closed form. With ``z' = (1 + gain g) z`` the
gain is another one, along the mean: the object is reduced to its latent likelihood once, and the sum over ``g`` that is left
costs as much as the latent space (trapezoid rule; spacing by how well the object knows its gain). For exact instances both
are a rank-2 covariance around each curve. A parametric class gets them as two more parameters. Any other class model is asked
about corrected objects ``(d - offset o) / (1 + gain g)``, by importance sampling (`badac.classes.parametric.importance`).

What no factor of a population explains (psi), and the error bars of instances, are taken at their mean square over the
gains, ``1 + gain^2`` times what they were. A template, whose scatter is all psi, is summed over the gains point by point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.stats import norm

from badac._kernels.latent import pack, unpack
from badac.classes.instances import Instances
from badac.classes.model import ClassModel, FloatArray, Summary, summary_of
from badac.classes.parametric.importance import integrate
from badac.classes.parametric.parametric import Parametric
from badac.classes.population.population import Population
from badac.classes.template import Template
from badac.data.measurements import Measurements
from badac.data.validation import IntArray, is_number
from badac.latent.density import LatentDensity
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.likelihood import LatentLikelihood, weigh
from badac.latent.marginalise import marginalise
from badac.noise.gaussian import Gaussian
from badac.noise.model import LinkedNoise, Noise
from badac.nuisance.model import left_out
from badac.nuisance.nodes import groups, log_average, normal_nodes
from badac.nuisance.pairs import calibrated_log_mixture
from badac.registry import registered
from badac.training import TrainingScales

_POINTS = 128
_SMALLEST_GAIN = 0.02


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
        gain = np.maximum(1.0 + self.gain * rng.standard_normal(members.n_objects), _SMALLEST_GAIN)
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
        if isinstance(model, Population):
            assert model.density is not None and model.tails is not None, "fit first"
            widths = [
                self._through_factors(objects, model.factor.widened(extra), model.density, model.noise)
                for extra in model.tails.variances
            ]
            return model.tails.combine(np.column_stack(widths))
        if isinstance(model, Template):
            assert model.mean is not None and model.error is not None and model.width is not None
            psi = model.error**2 + model.width**2
            return self._around_template(
                objects, Factor(model.mean, np.ones((psi.size, 1)), psi), model.noise
            )
        if isinstance(model, Instances) and isinstance(model.noise, Gaussian):
            assert model.curves is not None
            scaled, curves = model.noise.scaled(objects), model.noise.scaled(model.curves)
            if scaled.covariance is None and curves.covariance is None:
                return calibrated_log_mixture(scaled, curves, self.gain, self.offset)
        if isinstance(model, Parametric) and not callable(model.prior):
            return self._as_parameters(model).log_evidence(objects)
        return self._by_correction(model, objects, n_threads)

    def _through_factors(
        self, objects: Measurements, factor: Factor, density: LatentDensity, noise: Noise | None
    ) -> FloatArray:
        psi = (1.0 + self.gain**2) * factor.psi
        columns = [np.full(len(psi), self.offset)] if self.offset else []
        if self.gain:
            columns.append(self.gain * factor.mean)
        wide = Factor(factor.mean, np.column_stack([*columns, factor.factors]), psi)
        latent = marginalise(latent_likelihood(objects, wide, noise), 1 if self.offset else 0)
        if not self.gain:
            return density.log_evidence(latent)
        # How well an object knows its gain: the squared curve in units of the noise.
        power = factor.mean**2 + (factor.factors**2).sum(axis=1)
        known = self.gain**2 * (weigh(objects, factor.mean, psi)[0] @ power)
        out = np.empty(objects.n_objects)
        for rows, count in groups(10.0 * np.sqrt(1.0 + known)):
            out[rows] = self._over_gains(latent[rows], density, count)
        return out

    def _over_gains(self, latent: LatentLikelihood, density: LatentDensity, count: int) -> FloatArray:
        full = unpack(latent.precision)
        own, inner = full[:, 0, 0], pack(full[:, 1:, 1:])
        nodes, log_weights = normal_nodes(count)
        usable = 1.0 + self.gain * nodes > _SMALLEST_GAIN
        terms = []
        for x in nodes[usable]:
            scale = 1.0 + self.gain * x
            offset = latent.offset - 2.0 * latent.shift[:, 0] * x + own * x**2
            shift = scale * (latent.shift[:, 1:] - full[:, 1:, 0] * x)
            terms.append(density.log_evidence(LatentLikelihood(scale**2 * inner, shift, offset)))
        return log_average(terms, log_weights[usable])

    def _around_template(self, objects: Measurements, factor: Factor, noise: Noise | None) -> FloatArray:
        """Sum over gains of corrected objects: one curve is cheap, and all its scatter is in psi."""
        known = self.gain**2 * (weigh(objects, factor.mean, factor.psi)[0] @ factor.mean**2)
        out = np.empty(objects.n_objects)
        for rows, count in groups(10.0 * np.sqrt(1.0 + known)) if self.gain else [(slice(None), 1)]:
            nodes, log_weights = normal_nodes(count) if self.gain else (np.zeros(1), np.zeros(1))
            usable = 1.0 + self.gain * nodes > _SMALLEST_GAIN
            some, terms = objects[rows], []
            points = some.observed.sum(axis=1)
            for scale in 1.0 + self.gain * nodes[usable]:
                ones = np.ones(some.n_objects)
                one = Factor(factor.mean, self.offset / scale * factor.factors, factor.psi)
                latent = latent_likelihood(corrected(some, scale * ones, 0.0 * ones), one, noise)
                terms.append(latent.gaussian_log_evidence() - points * np.log(scale))
            out[rows] = log_average(terms, log_weights[usable])
        return out

    def _as_parameters(self, model: Parametric) -> Parametric:
        function = model.function
        assert not callable(model.prior)

        def calibrated(theta: FloatArray, at: FloatArray) -> FloatArray:
            return np.asarray(theta[-2] * function(theta[:-2], at) + theta[-1])

        # A width of zero is a distribution as good as none: a hair instead.
        prior = (*model.prior, norm(1.0, max(self.gain, 1e-12)), norm(0.0, max(self.offset, 1e-12)))
        return replace(model, function=calibrated, prior=prior)

    def _by_correction(self, model: ClassModel, objects: Measurements, n_threads: int) -> FloatArray:
        widths = np.array([self.gain, self.offset])
        used = np.flatnonzero(widths)
        count = objects.observed.sum(axis=1)

        def likelihood(rows: IntArray, points: FloatArray) -> FloatArray:
            moved = np.broadcast_to(points, (len(rows), *points.shape[-2:]))
            numbers = np.zeros((*moved.shape[:2], 2))
            numbers[..., used] = moved * widths[used]
            gain, offset = 1.0 + numbers[..., 0], numbers[..., 1]
            possible = gain > _SMALLEST_GAIN
            gain = np.where(possible, gain, 1.0)
            repeated = objects[np.repeat(rows, moved.shape[1])]
            found = model.log_evidence(corrected(repeated, gain.ravel(), offset.ravel()), n_threads=n_threads)
            found = found.reshape(gain.shape) - count[rows, None] * np.log(gain)
            return np.where(possible, found, -np.inf)

        return integrate(
            likelihood, objects.n_objects, len(used), n_prior=_POINTS, n_refined=_POINTS, block=256
        ).log_evidence


def corrected(objects: Measurements, gain: FloatArray, offset: FloatArray) -> Measurements:
    """Return the objects with their offsets (n,) subtracted and their gains (n,) divided out, errors included."""
    covariance = objects.covariance
    if covariance is not None:
        covariance = covariance / gain[:, None, None] ** 2
    return Measurements._trusted(
        (objects.values - offset[:, None]) / gain[:, None],
        objects.sigma / gain[:, None],
        covariance,
        objects.at,
        objects.has_errors,
        objects.band,
    )

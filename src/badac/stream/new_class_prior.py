"""A class founded by an anomaly: one example at first, learned on as others join.

One curve with error bars says what its class is like, but not how much the members of the class differ. That is borrowed, and
averaged over several ways ``h`` of being alike, whose weights the members then learn:

    z_i = c + u_i,     c ~ N(0, C_h),   u_i ~ N(0, U_h),     d_i = level + waves z_i + noise

    the same smooth curve but for a share of the scale of all classes; the same smoothness only (a share of one); or the same
    curve, varying as the members of a known class do

Everything is Gaussian, and each member enters by a message about ``c`` that is added to a sum: a member joins, leaves, and two
classes merge by adding or subtracting, at a cost that does not depend on how many there are. The evidence of all members
together (`ConjugateClass.log_evidence_of_members`) compares one class with two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac._kernels.latent import unpack
from badac.anomalies.hypothesis import Scales
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import cosines, spectrum
from badac.data.measurements import Measurements
from badac.latent.class_summary import ClassSummary
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture
from badac.noise.kinds import with_covariance_of
from badac.noise.model import Noise, noise_of_class
from badac.registry import registered

_LENGTHS = (0.05, 0.15, 0.4)
_AMPLITUDE = 0.7
_SHARES = (0.02, 0.1, 0.4, 0.98)
_BORROWED_MORE = 0.02
_MOST_DIRECTIONS = 32
_MOST_BORROWED = 4
# Of a hypothesis, relative to the best: less changes no evidence by more than a hundredth of a nat.
_LEAST_WEIGHT = 1e-3


@registered("part")
@dataclass(frozen=True, eq=False)
class Alikeness:
    """How members of a class may be alike: the hypotheses that all classes of few members share.

    Attributes
    ----------
    factor : Factor
        Level (m,), waves (m, q) and the variance (m,) that the waves leave.
    between, within : (h, q, q)
        Covariances ``C_h`` of a class's own curve and ``U_h`` of its members around it.
    noise : Noise
        Of the objects.
    """

    factor: Factor
    between: FloatArray
    within: FloatArray
    noise: Noise

    @classmethod
    def of(cls, scales: Scales, classes: tuple[ClassSummary, ...], noise: Noise) -> Self:
        """Take scale and coordinates from the known classes, and their variability as one to borrow."""
        factor, totals = _waves(scales)
        between, within = [], []
        for total in totals:
            for share in _SHARES:
                between.append((1.0 - share) * total)
                within.append(share * total)
        weight = 1.0 / (factor.psi + 1e-3 * scales.scale**2)
        normal = (factor.factors * weight[:, None]).T @ factor.factors
        for summary in classes[:_MOST_BORROWED]:
            # The known class's factors as waves.
            right = (factor.factors * weight[:, None]).T @ summary.factor.factors
            known = np.linalg.solve(normal + 1e-9 * np.trace(normal) * np.eye(len(normal)), right)
            between.append(totals[len(totals) // 2])
            within.append(known @ known.T + _BORROWED_MORE * totals[0])
        return cls(factor, np.stack(between), np.stack(within), noise)

    def latent_likelihood(self, objects: Measurements) -> LatentLikelihood:
        """Reduce objects to their likelihoods in the waves."""
        noise = noise_of_class(self.noise, None)
        return latent_likelihood(with_covariance_of(noise, objects), self.factor, noise)


def _waves(scales: Scales) -> tuple[Factor, list[FloatArray]]:
    """Return the waves, and the covariance (q, q) of any curve for each length."""
    if scales.where is None:
        # Features without an order: each is its own direction, up to a number that stays quick.
        most = min(scales.scale.size, _MOST_DIRECTIONS)
        widest = np.sort(np.argsort(-scales.scale, kind="stable")[:most])
        waves = np.zeros((scales.scale.size, most))
        waves[widest, np.arange(most)] = scales.scale[widest]
        psi = scales.scale.copy() ** 2
        psi[widest] *= 1e-6
        return Factor(scales.centre, waves, psi), [np.eye(most)]
    powers = [spectrum(length) for length in _LENGTHS]
    count = max(power.size for power in powers)
    level = np.full(scales.where.size, scales.level)
    jitter = np.full(scales.where.size, 1e-6 * scales.variance)
    variances = np.full((len(powers), count), 1e-4 / count)
    for variance, power in zip(variances, powers, strict=True):
        variance[: power.size] += _AMPLITUDE**2 * power
        variance[0] += 1.0
    # In units in which any curve is N(0, I), averaged over the lengths.
    mean = variances.mean(axis=0)
    waves = cosines(scales.where, count) * np.sqrt(scales.variance * mean)
    return Factor(level, waves, jitter), [np.diag(variance / mean) for variance in variances]


@registered("part", holds={"precision": "any", "shift": "any", "constant": "any", "count": ">= 0"})
@dataclass(frozen=True, eq=False)
class ConjugateClass:
    """The sums over the members of a class with few members.

    Attributes
    ----------
    alike : Alikeness
    precision : (h, q, q)
    shift : (h, q)
    constant : (h,)
        Sums of the members' messages about the class's curve under each hypothesis.
    count : int
        Number of members.
    """

    alike: Alikeness
    precision: FloatArray
    shift: FloatArray
    constant: FloatArray
    count: int = 0

    @classmethod
    def empty(cls, alike: Alikeness) -> Self:
        h, q, _ = alike.within.shape
        return cls(alike, np.zeros((h, q, q)), np.zeros((h, q)), np.zeros(h))

    @classmethod
    def of(cls, alike: Alikeness, members: LatentLikelihood) -> Self:
        """Return the class of some members (k of them)."""
        made = cls.empty(alike)
        for row in range(len(members)):
            made = made.plus(message(alike, members[row : row + 1]))
        return made

    def plus(self, other: ConjugateClass) -> Self:
        """Return the class of the members of both."""
        return self._combined(other, 1)

    def minus(self, other: ConjugateClass) -> Self:
        """Return the class without some of its members."""
        return self._combined(other, -1)

    def _combined(self, other: ConjugateClass, sign: int) -> Self:
        return replace(
            self,
            precision=self.precision + sign * other.precision,
            shift=self.shift + sign * other.shift,
            constant=self.constant + sign * other.constant,
            count=self.count + sign * other.count,
        )

    def log_evidence_by_hypothesis(self) -> FloatArray:
        """Return (h,): log P(all members | hypothesis)."""
        return self._solved()[0]

    def log_evidence_of_members(self) -> float:
        """Return the log evidence of all members together as one class."""
        by_hypothesis = self.log_evidence_by_hypothesis()
        top = by_hypothesis.max()
        return float(top + np.log(np.exp(by_hypothesis - top).mean()))

    def _solved(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log evidence (h,), mean (h, q) and covariance (h, q, q) of the class's curve."""
        root = np.linalg.cholesky(self.alike.between)
        turned = root.transpose(0, 2, 1)
        inner = turned @ self.precision @ root + np.eye(root.shape[1])
        covariance = np.asarray(root @ np.linalg.solve(inner, turned), dtype=np.float64)
        mean = (covariance @ self.shift[..., None])[..., 0]
        log_det = np.linalg.slogdet(inner)[1]
        return self.constant + 0.5 * (np.einsum("hq,hq->h", self.shift, mean) - log_det), mean, covariance

    def mixture(self) -> Mixture:
        """Return what the next member is expected to be, one component for each hypothesis."""
        evidence, mean, covariance = self._solved()
        weights = np.exp(evidence - evidence.max())
        kept = weights > _LEAST_WEIGHT
        weights, covariance = weights[kept], (covariance + self.alike.within)[kept]
        return Mixture(
            weights / weights.sum(), mean[kept], 0.5 * (covariance + covariance.transpose(0, 2, 1))
        )

    def log_evidence(self, latent: LatentLikelihood) -> FloatArray:
        """Return (n,): log P(object | the class's members so far)."""
        return self.mixture().log_evidence(latent)


def message(alike: Alikeness, member: LatentLikelihood) -> ConjugateClass:
    """Return what one member (a `Latent` of one object) says about the curve of its class: a class of one."""
    precision, shift = unpack(member.precision)[0], member.shift[0]
    root = np.linalg.cholesky(alike.within)
    turned = root.transpose(0, 2, 1)
    inner = turned @ precision @ root + np.eye(len(precision))
    # Posterior of the member's own deviation, given the class's curve.
    spread = root @ np.linalg.solve(inner, turned)
    pulled = spread @ shift
    log_det = np.linalg.slogdet(inner)[1]
    constant = 0.5 * (pulled @ shift - log_det - member.offset[0])
    seen = precision - precision @ spread @ precision
    return ConjugateClass(
        alike, 0.5 * (seen + seen.transpose(0, 2, 1)), shift - pulled @ precision, constant, 1
    )

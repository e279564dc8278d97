"""A class founded by an anomaly: one example at first, learned on as others join.

One curve with error bars says what its class is like, but not how much the members of the class differ. That is borrowed, and
averaged over several ways ``h`` of being alike, whose weights the members then learn:

    z_i = c + u_i,     c ~ N(0, C_h),   u_i ~ N(0, U_h),     d_i = level + waves z_i + noise

    the same smooth curve but for a share of the scale of all classes; the same smoothness only (a share of one); or the same
    curve, varying as the members of a known class do

Everything is Gaussian, and each member enters by a message about ``c`` that is added to a sum: a member joins, leaves, and two
classes merge by adding or subtracting, at a cost that does not depend on how many there are. The evidence of all members
together (`YoungClass.log_evidence_of_members`) compares one class with two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from badac._kernels.latent import unpack
from badac.anomalies.class_summary import Described
from badac.anomalies.deviations import Deviations
from badac.anomalies.hypothesis import Ground
from badac.anomalies.model import FloatArray
from badac.anomalies.sequence import cosines, spectrum
from badac.data.measurements import Measurements
from badac.latent.factor import Factor
from badac.latent.gaussian_approximation import latent_likelihood
from badac.latent.likelihood import LatentLikelihood
from badac.latent.mixture import Mixture, logsumexp_rows
from badac.noise.kinds import with_covariance_of
from badac.noise.model import Noise, noise_of_class

_LENGTHS = (0.05, 0.15, 0.4)
_AMPLITUDE = 0.7
_SHARES = (0.02, 0.1, 0.4, 0.98)
_BORROWED_MORE = 0.02
_MOST_DIRECTIONS = 32
_MOST_BORROWED = 4
# Of a hypothesis, relative to the best: less changes no evidence by more than a hundredth of a nat.
_LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class Alikeness:
    """How members of a class may be alike: the hypotheses that all young classes share.

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
    def of(cls, ground: Ground, classes: tuple[Described, ...], noise: Noise) -> Self:
        """Take scale and coordinates from the ground of the known classes, and their variability as one to borrow."""
        factor, totals = _waves(ground)
        between, within = [], []
        for total in totals:
            for share in _SHARES:
                between.append((1.0 - share) * total)
                within.append(share * total)
        weight = 1.0 / (factor.psi + 1e-3 * ground.scale**2)
        normal = (factor.factors * weight[:, None]).T @ factor.factors
        for described in classes[:_MOST_BORROWED]:
            # The known class's factors as waves.
            right = (factor.factors * weight[:, None]).T @ described.factor.factors
            known = np.linalg.solve(normal + 1e-9 * np.trace(normal) * np.eye(len(normal)), right)
            between.append(totals[len(totals) // 2])
            within.append(known @ known.T + _BORROWED_MORE * totals[0])
        return cls(factor, np.stack(between), np.stack(within), noise)

    def latent_likelihood(self, objects: Measurements) -> LatentLikelihood:
        """Reduce objects to their likelihoods in the waves."""
        noise = noise_of_class(self.noise, None)
        return latent_likelihood(with_covariance_of(noise, objects), self.factor, noise)


def _waves(ground: Ground) -> tuple[Factor, list[FloatArray]]:
    """Return the waves, and the covariance (q, q) of any curve for each length."""
    if ground.where is None:
        # Features without an order: each is its own direction, up to a number that stays quick.
        most = min(ground.scale.size, _MOST_DIRECTIONS)
        widest = np.sort(np.argsort(-ground.scale, kind="stable")[:most])
        waves = np.zeros((ground.scale.size, most))
        waves[widest, np.arange(most)] = ground.scale[widest]
        psi = ground.scale.copy() ** 2
        psi[widest] *= 1e-6
        return Factor(ground.centre, waves, psi), [np.eye(most)]
    powers = [spectrum(length) for length in _LENGTHS]
    count = max(power.size for power in powers)
    level = np.full(ground.where.size, ground.level)
    jitter = np.full(ground.where.size, 1e-6 * ground.variance)
    variances = np.full((len(powers), count), 1e-4 / count)
    for variance, power in zip(variances, powers, strict=True):
        variance[: power.size] += _AMPLITUDE**2 * power
        variance[0] += 1.0
    # In units in which any curve is N(0, I), averaged over the lengths.
    mean = variances.mean(axis=0)
    waves = cosines(ground.where, count) * np.sqrt(ground.variance * mean)
    return Factor(level, waves, jitter), [np.diag(variance / mean) for variance in variances]


@dataclass(frozen=True, eq=False)
class YoungClass:
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

    def plus(self, other: YoungClass) -> Self:
        """Return the class of the members of both."""
        return self._combined(other, 1)

    def minus(self, other: YoungClass) -> Self:
        """Return the class without some of its members."""
        return self._combined(other, -1)

    def _combined(self, other: YoungClass, sign: int) -> Self:
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


def message(alike: Alikeness, member: LatentLikelihood) -> YoungClass:
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
    return YoungClass(alike, 0.5 * (seen + seen.transpose(0, 2, 1)), shift - pulled @ precision, constant, 1)


def log_anomaly_density(anomaly: Deviations, objects: Measurements) -> FloatArray:
    """Return (n,): log P(object | anomaly) as the hypotheses have it.

    `Deviations.log_evidence` is the Bayes factor under the descriptions times the evidence of the class models, whose tails may
    be other ones. A young class is a density like the hypotheses, and is compared with them as they are.
    """
    views = anomaly.views(objects)
    evidence = np.stack([one.log_evidence(objects, views) for one in anomaly.hypotheses], axis=1)
    return logsumexp_rows(evidence + np.log(anomaly.shares))

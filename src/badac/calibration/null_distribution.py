"""The null distribution: how strange an object is by comparison with training objects that were left out.

    unlike(d)       = sum_class P(class | d) s_class( misfit(d, class) )              far from the members of its classes
    ambiguous(d)    = s( 1 - max_class P(class | d) )                                 between the classes
    deviating(d)    = s( log P(d | an anomaly) / P(d | known) )                      curves at own points: a bump, a course
    surprise(d)     = s( unlike + ambiguous + deviating )                            all, as Fisher adds up p-values

    misfit(d, class) = mean over points of -log [ P(d | class) / N(0 ; 0, sigma_d^2 + spread^2) ]

    s(x) = -log of the share of left-out objects (of the class) whose x is at least as large, at the noise of the object

Odds of an anomaly that come from evidence are as wrong as the evidence. Where the classes do not follow their models, so that
other base models are stacked beside them (`badac.calibration.stacking.ensemble`), the score is a rank among left-out training
objects instead: a conformal p-value (Vovk, Gammerman & Shafer 2005) with ``unlike + ambiguous`` as the measure of
nonconformity. No density has to be right, and a new class is found that lies among the known ones, where every density is high
and no class fits better than another. ``P(d | class)`` is that of the members themselves, widened (of the class models, for
objects with points of their own). A misfit is an average over all points of a curve, in which a flare of a few days is lost.
The hypotheses (`badac.anomalies`) see it, so of curves at their own points their Bayes factor, too, is ranked among left-out
objects, and added. Copies of the left-out objects with known noise added say what is normal for a noisy one; with more noise
than any of them had, an object is less and less strange.

The probability of an anomaly takes p = exp(-surprise), uniform for known objects, to be Beta(xi, 1) for anomalies:

    log odds = log prior odds + log xi + (1 - xi) surprise

a Bayes factor that averages to one over known objects (Sellke, Bayarri & Berger 2001; Vovk & Wang 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from badac.cached import cached_property
from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.pool import BoolArray, Pool
from badac.calibration.stacking.base_models import AT_WIDE_INSTANCES, BaseOutputs
from badac.calibration.stacking.weights import hats
from badac.calibration.unusual_gaps import Gap
from badac.data.measurements import Measurements
from badac.registry import registered

# The middle of (0, 1): no anomaly is typical enough to learn it from.
_XI = 0.5
# Beyond this share of the left-out objects their number is too small to tell, and a tail continues them. As evidence is
# softened in `badac.calibration.stacking.weights`: twice as far out is not twice as strange.
_BODY, _SOFTNESS = 0.8, 1.0
# A misfit beyond this is as far as any: sums of it are still numbers.
_FARTHEST = 1e12
# Objects with a smaller p-value are worth a reason.
_STRANGE = 0.1
UNLIKE, BETWEEN, DEVIATING = (
    "unlike the members of its class",
    "between the classes",
    "a deviation from its class",
)


@registered("part", holds={"level": "(q,) sorted", "values": "(q, n)"})
@dataclass(frozen=True, eq=False)
class NullDistribution:
    """The empirical distribution of one number of known objects, at several noise levels.

    Attributes
    ----------
    level : (q,)
        Noise levels, rising.
    values : (q, n)
        The objects' numbers at each level, rising.
    """

    level: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, level: FloatArray, values: FloatArray) -> NullDistribution:
        """Take the numbers (q, n) of objects at the levels (q,)."""
        order = np.argsort(level, kind="stable")
        return cls(level[order], np.sort(values[order], axis=1))

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The numbers at each level, counted and continued by a tail."""
        return tuple(Pool(row) for row in self.values)

    def compare(self, number: FloatArray, level: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return (n,): share of known objects with at least this number, and whether it is beyond what they can tell."""
        rows = np.array([-np.log(pool.pvalue(number)) for pool in self.pools])
        beyond = np.array([pool.extrapolated(number) for pool in self.pools], dtype=np.float64)
        return np.exp(-self._between(rows, level)), self._between(beyond, level) > 0

    def joined_by(self, numbers: FloatArray) -> NullDistribution:
        """Return the distribution with numbers (j,) of known objects more, at every level."""
        more = np.broadcast_to(numbers, (len(self.level), len(numbers)))
        return NullDistribution.of(self.level, np.concatenate([self.values, more], axis=1))

    def surprise(self, number: FloatArray, level: FloatArray) -> FloatArray:
        """Return (n,): minus the log of that share, continued beyond the largest known number."""
        rows = np.array([_continued(row, number) for row in self.values])
        return self._between(rows, level)

    def _between(self, rows: FloatArray, level: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("nq,qn->n", hats(level, self.level), rows))


def _counted(known: FloatArray, number: FloatArray) -> FloatArray:
    larger = len(known) - np.searchsorted(known, number, side="left")
    return np.asarray(-np.log((larger + 1.0) / (len(known) + 1.0)))


def _continued(known: FloatArray, number: FloatArray) -> FloatArray:
    surprise = _counted(known, number)
    edge = known[min(int(_BODY * len(known)), len(known) - 1)]
    excess = known[known > edge] - edge
    if not excess.size:
        return surprise
    share = (len(excess) + 1.0) / (len(known) + 1.0)
    above = np.maximum(number - edge, 0.0) / (_SOFTNESS * excess.mean())
    return np.where(number > edge, -np.log(share) + _SOFTNESS * np.log1p(above), surprise)


@registered(
    "part",
    version=5,
    holds={"unlike": "(k,)", "log_prior": "(k,) may be -inf", "scale": "(m,) > 0"},
)
@dataclass(frozen=True, eq=False)
class Nonconformity:
    """How little an object conforms to the known classes, and the null distributions that say what is normal.

    Attributes
    ----------
    unlike : k of NullDistribution
        How badly the members of each class fit it.
    ambiguous, together : NullDistribution
        Of all known objects: how much between the classes, and both numbers together.
    log_prior : (k,)
        Of the classes, as in training.
    scale : (m,) or (1,)
        Spread of each point in training; of all of them for objects with points of their own.
    column : int
        The base model whose evidence says how badly an object fits: the widened members; the class models at own points.
    deviating : NullDistribution or None
        Of all known objects: the log Bayes factor of the anomaly hypotheses; None where they are not asked.
    noisiest : float or None
        Noise level up to which left-out objects tell what is normal; None for that of the noisiest copies.
    """

    unlike: tuple[NullDistribution, ...]
    ambiguous: NullDistribution
    together: NullDistribution
    log_prior: FloatArray
    scale: FloatArray
    column: int = AT_WIDE_INSTANCES
    deviating: NullDistribution | None = None
    noisiest: float | None = None

    @cached_property
    def with_gaps(self) -> dict[Gap, FloatArray]:
        """Numbers of some training objects with a gap, by its kind: filled by whoever judges them so."""
        return {}

    def surprise(self, number: FloatArray, outputs: BaseOutputs) -> FloatArray:
        """Return (n,): minus the log of the share of known objects as strange, about 0.7 for a middling known one."""
        found = self.together.surprise(number, outputs.level)
        return np.asarray(
            np.where(outputs.objects.observed.any(axis=1), found, 0.0) * self._covered(outputs.level)
        )

    def number(self, outputs: BaseOutputs) -> FloatArray:
        """Return (n,): how little each object conforms, by all measures together; high = strange."""
        return np.asarray(np.sum(self._parts(outputs), axis=0))

    def compare(self, number: FloatArray, outputs: BaseOutputs) -> tuple[FloatArray, BoolArray]:
        """Return (n,): share of known objects that are at least as strange at the same noise, and which are extrapolated."""
        found, extrapolated = self.together.compare(number, outputs.level)
        return found ** self._covered(outputs.level), extrapolated

    def reason(self, pvalue: FloatArray, outputs: BaseOutputs) -> npt.NDArray[np.str_]:
        """Return (n,): which of them makes each object strange; empty for nine of ten known objects, by p-values (n,)."""
        parts = np.stack(self._parts(outputs))
        names = np.array([UNLIKE, BETWEEN, DEVIATING])
        return np.where(pvalue <= _STRANGE, names[parts.argmax(axis=0)], "")

    def _covered(self, level: FloatArray) -> FloatArray:
        """How far the left-out objects cover an object's noise: 1 up to the noisiest of them, ever less beyond."""
        noisiest = self.together.level[-1] if self.noisiest is None else self.noisiest
        return np.asarray(np.exp(-np.maximum(level - noisiest, 0.0)))

    def _parts(self, outputs: BaseOutputs) -> tuple[FloatArray, ...]:
        misfit = _misfit(outputs.objects, outputs.log_evidences[:, self.column], self.scale)
        posterior = softmax(outputs.stacked + self.log_prior, axis=1)
        both = _parts(self.unlike, self.ambiguous, misfit, posterior, outputs.level)
        if self.deviating is None:
            return both
        assert outputs.deviation is not None, "strangeness asks for the hypotheses"
        return *both, self.deviating.surprise(outputs.deviation, outputs.level)


def log_odds(surprise: FloatArray, prior: float) -> FloatArray:
    """Return (n,): posterior log odds of the anomaly for objects of this surprise (n,)."""
    return np.asarray(np.log(prior) - np.log1p(-prior) + np.log(_XI) + (1.0 - _XI) * surprise)


def learn_nonconformity(
    left_out: Sequence[BaseOutputs],
    label: IntArray,
    log_prior: FloatArray,
    scale: FloatArray,
    *,
    column: int = AT_WIDE_INSTANCES,
) -> Nonconformity:
    """Learn what is normal from left-out objects.

    Parameters
    ----------
    left_out : q of BaseOutputs
        Of the objects (n, m) with more and more noise: of base models, stacked with weights, that had not seen them.
    label : (n,)
    log_prior : (k,)
    scale : (m,) or (1,)
        Spread of each point in training.
    column : int
        Which of the base models says how badly an object fits.
    """
    at = np.array([np.median(copy.level) for copy in left_out])
    misfit = np.stack([_misfit(copy.objects, copy.log_evidences[:, column], scale) for copy in left_out])
    posterior = softmax(np.stack([copy.stacked for copy in left_out]) + log_prior, axis=2)
    unlike = tuple(
        NullDistribution.of(at, misfit[:, label == number, number])
        if (label == number).any()
        # A class whose only member was never left out: nothing is known of what is normal there.
        else NullDistribution.of(at, misfit.min(axis=2))
        for number in range(len(log_prior))
    )
    ambiguous = NullDistribution.of(at, 1.0 - posterior.max(axis=2))
    number = [
        np.add(*_parts(unlike, ambiguous, far, share, copy.level))
        for far, share, copy in zip(misfit, posterior, left_out, strict=True)
    ]
    together, deviating = np.stack(number), None
    told = [copy.deviation for copy in left_out if copy.deviation is not None]
    if len(told) == len(left_out):
        deviating = NullDistribution.of(at, np.stack(told))
        together += [deviating.surprise(own, copy.level) for own, copy in zip(told, left_out, strict=True)]
    # Without copies the objects as they are have noise of every level up to their own largest.
    noisiest = float(left_out[0].level.max(initial=at[0])) if len(left_out) == 1 else None
    normal = NullDistribution.of(at, together)
    return Nonconformity(unlike, ambiguous, normal, log_prior, scale, column, deviating, noisiest)


def _misfit(objects: Measurements, evidence: FloatArray, scale: FloatArray) -> FloatArray:
    """How badly objects (n, m) of this evidence (n, k) fit each class, (n, k), a point on average; 0 without any point.

    Relative to the densest that an object of its noise can be, so that it does not grow with noise beyond all that was tried.
    """
    seen = objects.observed
    densest = np.where(
        seen, -0.5 * np.log(2.0 * np.pi * (np.where(seen, objects.sigma, 1.0) ** 2 + scale**2)), 0.0
    )
    behind = densest.sum(axis=1, keepdims=True) - evidence
    return np.asarray(np.minimum(behind / np.maximum(seen.sum(axis=1, keepdims=True), 1), _FARTHEST))


def _parts(
    unlike: Sequence[NullDistribution],
    ambiguous: NullDistribution,
    misfit: FloatArray,
    posterior: FloatArray,
    level: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """How unlike its classes each object is, and how much between them: (n,) each."""
    far = np.column_stack([own.surprise(column, level) for own, column in zip(unlike, misfit.T, strict=True)])
    return (posterior * far).sum(axis=1), ambiguous.surprise(1.0 - posterior.max(axis=1), level)

"""Second opinions: what other kinds of class models say, weighed by left-out objects.

On data that follow the class models nothing is better than their posterior. Real classes do not follow them, and then each kind
of model sees something that the others miss: the population sees through noise, the members themselves (`Instances`, widened
by a fraction of each point's spread) keep whatever shape a class has, and the `Pointwise` density trusts no
correlations. Asked are

    the class models, instances of two widths, pointwise, and the gaps (where `badac.trust.missingness` uses them)

Every one is learned without a fifth of the training objects at a time and asked about those: as they are, and again with known
noise added (values drawn, error bars grown accordingly), so that the weights (`badac.trust.stacking`) hold for noisier objects
than any in training. They are used if, and only if, the log-loss of left-out objects gains more than a standard error over
the coarsened posterior. Not asked at all where the coarsened posterior is the plain one: the class models are right then.
``log_evidence`` stays what it is, log P(d | class) under the class models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from badac.classes.instances import Instances, widen
from badac.classes.model import ClassModel, Surroundings
from badac.classes.pointwise import Pointwise
from badac.data.measurements import Measurements, concatenate
from badac.evidence import log_evidence
from badac.noise.gaussian import Gaussian
from badac.noise.model import Noise
from badac.trust.coarsening import Coarsening, FloatArray, IntArray, relative_noise
from badac.trust.missingness import Missingness, log_probability, shares
from badac.trust.stacking import Stacking, learn_stacking, log_losses

# Fewer objects cannot tell the weights; with more, the class models can grow instead, and every object would cost too much.
LEAST_OBJECTS, MOST_OBJECTS = 60, 4000
FOLDS = 5
# So many left-out objects tell the weights, and so many groups of members the density of one point.
MOST_ASKED, MOST_GROUPS = 1500, 48
# Where the error bars alone name the class, weights that follow them would read it off: nobody else is asked there.
MOST_TOLD = 0.8
# Widths of the instances, in units of each point's spread.
WIDTHS = (0.03, 0.2)
# Noise added to copies of left-out objects, in the same units.
LEVELS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Opinions:
    """Other models of the same classes, and how much each of them counts.

    Attributes
    ----------
    names : tuple of str
        Of the opinions, the class models first.
    models : tuple of tuple of ClassModel
        Those asked beside the class models, each with one model per class.
    stacking : Stacking
    gain, standard_error : float
        Of the log-loss of left-out objects over the coarsened posterior, in nats an object.
    """

    names: tuple[str, ...]
    models: tuple[tuple[ClassModel, ...], ...]
    stacking: Stacking
    gain: float
    standard_error: float

    def apply(
        self,
        objects: Measurements,
        evidence: FloatArray,
        scale: FloatArray,
        missingness: Missingness,
        *,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return (n, k), to be used in place of the log evidence.

        Parameters
        ----------
        objects : Measurements
            (n, m)
        evidence : (n, k)
            Theirs under the class models.
        scale : (m,)
            Spread of each point in training.
        missingness : Missingness
        """
        told = [evidence, *(log_evidence(own, objects, n_threads=n_threads) for own in self.models)]
        if "gaps" in self.names:
            told.append(log_probability(objects.observed, missingness.share))
        return self.stacking.apply(np.stack(told, axis=1), _levels(objects, scale))


def learn_opinions(
    training: Measurements,
    label: IntArray,
    models: Sequence[ClassModel],
    noise: Noise,
    around: Surroundings,
    coarsening: Coarsening,
    missingness: Missingness,
    rng: np.random.Generator,
    *,
    n_threads: int = 1,
) -> Opinions | None:
    """Ask other models, and return them if left-out objects gain by it.

    Parameters
    ----------
    training : Measurements
        (n, m)
    label : (n,)
    models : k fitted class models
        Learned again without a part of the objects.
    noise, around
        As in their fit.
    coarsening, missingness
        What they are compared with.
    """
    grid = isinstance(noise, Gaussian) and training.covariance is None and not training.own_points
    if not grid or not LEAST_OBJECTS <= len(label) <= MOST_OBJECTS or coarsening.exponent == 1.0:
        return None
    if _told_by_level(_levels(training, around.scale), label) > MOST_TOLD:
        return None
    gaps = missingness.weight > 0
    levels = LEVELS if training.has_errors else LEVELS[:1]
    copies = [_noisier(training, level * around.scale, rng) for level in levels]
    asked = np.zeros(len(label), dtype=np.bool_)
    asked[rng.permutation(len(label))[:MOST_ASKED]] = True
    told = _ask(copies, label, asked, models, noise, around, gaps, rng, n_threads)
    # The only member of a class was never left out: it says nothing.
    usable = asked & (np.bincount(label)[label] > 1) & ~np.isnan(told).any(axis=(0, 2, 3))
    told, truth = told[:, usable], label[usable]
    level = np.stack([_levels(copy[usable], around.scale) for copy in copies])
    log_prior = np.log(np.maximum(np.bincount(truth, minlength=len(models)), 0.5) / len(truth))
    before = np.empty(level.shape)
    for place, part, at in zip(before, told, level, strict=True):
        tempered = coarsening.apply(part[:, 0], at if training.has_errors else None)
        factor = missingness.weight * part[:, -1] if gaps else 0.0
        place[:] = log_losses(tempered + factor + log_prior, truth)
    gain = (before - _left_out_losses(told, truth, log_prior, level, rng)).mean(axis=0)
    mean, error = float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))
    if not mean > error:
        return None
    others = [
        tuple(_learn([model] * len(models), training, label, noise, around, rng))
        for model in _others().values()
    ]
    stacking = _stack(told, truth, log_prior, level)
    return Opinions(_names(gaps), tuple(others), stacking, mean, error)


def _ask(
    copies: Sequence[Measurements],
    label: IntArray,
    asked: npt.NDArray[np.bool_],
    models: Sequence[ClassModel],
    noise: Noise,
    around: Surroundings,
    gaps: bool,
    rng: np.random.Generator,
    n_threads: int,
) -> FloatArray:
    """Return (copies, n, o, k): what every opinion, learned from the first copy of other objects, says of each copy.

    NaN for objects that are not `asked`.
    """
    training, n_classes = copies[0], len(models)
    out = np.full((len(copies), len(label), len(_names(gaps)), n_classes), np.nan)
    alone = np.bincount(label)[label] < 2
    fold = _deal(label, rng)
    for number in np.unique(fold):
        held, rest = (fold == number) & asked, (fold != number) | alone
        opinions = [models, *([model] * n_classes for model in _others().values())]
        learned = [_learn(each, training[rest], label[rest], noise, around, rng) for each in opinions]
        share = shares(training.observed[rest], label[rest], n_classes)
        everyone = concatenate([copy[held] for copy in copies])
        for column, each in enumerate(learned):
            told = log_evidence(each, everyone, n_threads=n_threads)
            out[:, held, column] = told.reshape(len(copies), -1, n_classes)
        if gaps:
            out[:, held, -1] = log_probability(training.observed[held], share)
    return out


@dataclass(frozen=True, eq=False)
class _Widened:
    """Instances widened by a fraction of each point's spread."""

    fraction: float

    def fit(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, surroundings: Surroundings
    ) -> Instances:
        exact = Instances().fit(members, noise, rng, surroundings)
        assert exact.curves is not None
        width = self.fraction * surroundings.scale
        return replace(exact, curves=widen(exact.curves, width), width=width)


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Each point on its own, where neighbours among many members speak as one."""

    def fit(
        self, members: Measurements, noise: Noise, rng: np.random.Generator, surroundings: Surroundings
    ) -> Pointwise:
        excess = max(members.n_objects / MOST_GROUPS, 1.0)
        few = members if excess == 1.0 else _groups(members, MOST_GROUPS)
        # The kernel is as narrow as the number of members allows, not that of the groups.
        return Pointwise(width=Pointwise().width * excess**-0.2).fit(few, noise, rng, surroundings)


def _groups(members: Measurements, most: int) -> Measurements:
    """Return (most, m): at each point the members in order of value, so many at a time, with their spread as error."""
    values, sigma = np.full((most, members.n_points), np.nan), np.full((most, members.n_points), np.inf)
    for point in range(members.n_points):
        seen = np.flatnonzero(members.observed[:, point])
        order = seen[np.argsort(members.values[seen, point], kind="stable")]
        if not len(order):
            continue
        number = min(most, len(order))
        first = np.arange(number) * len(order) // number
        count = np.diff(first, append=len(order))
        own, variance = members.values[order, point], members.sigma[order, point] ** 2
        values[:number, point] = mean = np.add.reduceat(own, first) / count
        variance = variance + (own - np.repeat(mean, count)) ** 2
        sigma[:number, point] = np.sqrt(np.add.reduceat(variance, first) / count)
    return Measurements(values, sigma if members.has_errors else None)


def _names(gaps: bool) -> tuple[str, ...]:
    return ("class models", *_others(), *(("gaps",) if gaps else ()))


def _others() -> dict[str, _Widened | _Grouped]:
    near = {f"instances, width {width:g}": _Widened(width) for width in WIDTHS}
    return {**near, "pointwise": _Grouped()}


def _learn(
    models: Sequence[ClassModel | _Widened | _Grouped],
    training: Measurements,
    label: IntArray,
    noise: Noise,
    around: Surroundings,
    rng: np.random.Generator,
) -> list[ClassModel]:
    return [model.fit(training[label == number], noise, rng, around) for number, model in enumerate(models)]


def _stack(told: FloatArray, label: IntArray, log_prior: FloatArray, level: FloatArray) -> Stacking:
    n_levels, n = told.shape[:2]
    return learn_stacking(
        told.reshape(n_levels * n, *told.shape[2:]), np.tile(label, n_levels), log_prior, level.ravel(), n
    )


def _left_out_losses(
    told: FloatArray, label: IntArray, log_prior: FloatArray, level: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Log-loss (levels, n) of objects that the weights had not seen either."""
    out = np.empty(level.shape)
    fold = _deal(label, rng) % 2
    for number in range(2):
        held = fold == number
        stacking = _stack(told[:, ~held], label[~held], log_prior, level[:, ~held])
        for place, part, at in zip(out, told, level, strict=True):
            place[held] = log_losses(stacking.apply(part[held], at[held]) + log_prior, label[held])
    return out


def _deal(label: IntArray, rng: np.random.Generator) -> IntArray:
    """Return (n,): folds that each have their share of every class."""
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % FOLDS
    return fold


def _noisier(objects: Measurements, added: FloatArray, rng: np.random.Generator) -> Measurements:
    """Add known noise of standard deviations (m,)."""
    if not added.any():
        return objects
    values = objects.values + added * rng.standard_normal(objects.shape)
    sigma = np.where(objects.observed, np.hypot(objects.sigma, added), np.inf)
    return Measurements(values, sigma, at=objects.at, band=objects.band)


def _told_by_level(level: FloatArray, label: IntArray) -> float:
    """Share of the variance of the noise levels (n,) that the classes explain."""
    count = np.maximum(np.bincount(label), 1)
    mean = np.bincount(label, weights=level) / count
    total = float(((level - level.mean()) ** 2).sum())
    return 1.0 - float(((level - mean[label]) ** 2).sum()) / total if total > 0 else 0.0


def _levels(objects: Measurements, scale: FloatArray) -> FloatArray:
    return relative_noise(objects, scale) if objects.has_errors else np.zeros(objects.n_objects)

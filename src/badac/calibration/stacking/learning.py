"""When a stack of base models is learned, and how.

A stack is learned where left-out training objects gain by a coarsened posterior over the plain one,

    gain >= max(0.02, 1.2 / n) nats an object,     n training objects

or where a few trees beside the class models gain as much (`badac.calibration.stacking.gate`): an exponent of 1 does not say
that nothing else tells the classes better. The class models are right otherwise, and nothing is better than they are. In few
objects a gain is chance: two free numbers (exponent and share of contaminated objects) gain one nat of all objects together
where nothing is wrong (Wilks 1938), so that much must be gained in all. Of many objects some thousand tell the weights and what
is normal as well as all: the objects that told the exponent, and members of every class. So the rule is the same at any number
of objects, and its cost is bounded.

Every base model is learned without a fifth of the objects at a time and asked about those: as they are, and again with known
noise added (values drawn, error bars grown accordingly), so that the weights (`badac.calibration.stacking.weights`) and what
is normal (`badac.calibration.null_distribution`) hold for noisier objects than any in training. Trees may see the gaps of an
object if left-out objects gain by that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from badac.calibration.coarsening import Coarsening, FloatArray, IntArray
from badac.calibration.missingness import Missingness
from badac.calibration.null_distribution import learn_nonconformity
from badac.calibration.stacking.base_models import (
    BaseModels,
    BaseOutputs,
    kinds,
    learn_base_models,
    learn_each_again,
)
from badac.calibration.stacking.ensemble import Ensemble, noise_levels, on_a_grid
from badac.calibration.stacking.trees import N_TREES
from badac.calibration.stacking.weights import Stacking, learn_stacking, log_losses
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.added_noise import add_noise
from badac.data.measurements import concatenate
from badac.evidence import log_evidence
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.model import PerClassNoise
from badac.training import TrainingSet

BoolArray = npt.NDArray[np.bool_]

FOLDS = 5
# Nats an object by which the coarsened posterior must gain over the plain one: models that are off by less are right enough.
# The paper's simulated classes with Gaussian noise gain 0.0015 at most (15,000 objects); settled on real sets.
LEAST_GAIN = 0.02
# Nats of all objects together: a little more than the one that chance gains, and LEAST_GAIN for 60 objects.
LEAST_TOTAL_GAIN = 1.2
# Members of a class that are learned from, if it has them: two for each fold.
LEAST_MEMBERS = 2 * FOLDS
# So many left-out objects tell the weights.
MOST_LEFT_OUT = 1500
# Where the error bars alone name the class, weights that follow them would read it off: no stack there.
MOST_TOLD = 0.8
# Noise added to copies of left-out objects, in units of each point's spread.
LEVELS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
# Where trees stand among the base outputs.
_TREES = 1 + len(kinds())


def learn_ensemble(
    training: TrainingSet,
    models: Sequence[ClassModel],
    single: tuple[Coarsening, Missingness],
    loss: FloatArray,
    *,
    use_gaps: bool = True,
    invited: bool = False,
    n_threads: int = 1,
) -> Ensemble | None:
    """Learn a stack, where the coarsened posterior gains over the plain one, or trees beside it do.

    Parameters
    ----------
    training : TrainingSet
    models : k fitted class models
        Learned again without a part of the objects.
    single : Coarsening and Missingness
        The posterior of the class models alone, which the stack is compared with.
    loss : (n,)
        Log-loss of the left-out objects with it, for objects with points of their own; NaN where it is not known.
    use_gaps : bool
        Whether trees may see the gaps of an object.
    invited : bool
        Whether trees were found to tell more (`badac.calibration.stacking.gate`). Then there is a stack only if probabilities
        follow it; what is strange is left to the class models, which hold.
    """
    coarsening, missingness = single
    wanted = is_worth_a_stack(coarsening.gain, len(training))
    if not can_be_stacked(training) or not (wanted or invited):
        return None
    gridded = None
    if training.objects.own_points:
        gridded, training = on_a_grid(training)
        models = gridded.models
    objects, label, scale, rng = training.objects, training.label, training.scales.scale, training.rng
    if _told_by_level(noise_levels(objects, scale), label) > MOST_TOLD:
        return None
    levels = LEVELS if objects.has_errors else LEVELS[:1]
    copies = [add_noise(objects, level * scale, rng) for level in levels]
    left_out = np.zeros(len(label), dtype=np.bool_)
    left_out[rng.permutation(len(label))[:MOST_LEFT_OUT]] = True
    # The only member of a class is never left out: it says nothing.
    left_out &= training.counts[label] > 1
    ways = (False, True) if use_gaps and not objects.complete else (False,)
    gaps = missingness.weight > 0
    # It knows no labels, so it may know the objects that are left out; and it is asked about all copies, so it is a simple one.
    blind = Population(shape="gaussian").fit(objects, training.noise, rng, training.scales)

    def learn(part: TrainingSet, ways: Sequence[bool], n_trees: int) -> BaseModels:
        return learn_base_models(part, (blind, levels, n_trees), trees_see_gaps=ways, with_gaps=gaps)

    log_evidences = np.full((len(copies), len(label), _TREES + len(ways) + gaps, len(models)), np.nan)
    for held, rest in _parts(training, left_out):
        part = training.take(rest)
        own = learn_each_again(models, part)
        everyone = concatenate([copy[held] for copy in copies])
        evidence = log_evidence(own, everyone, n_threads=n_threads)
        said = learn(part, ways, N_TREES // 2).log_evidences(everyone, evidence, n_threads=n_threads)
        log_evidences[:, held] = said.reshape(len(copies), -1, *said.shape[1:])
    usable = left_out & ~np.isnan(log_evidences).any(axis=(0, 2, 3))
    log_evidences, truth = log_evidences[:, usable], label[usable]
    level = np.stack([noise_levels(copy[usable], scale) for copy in copies])
    log_prior = np.log(np.maximum(np.bincount(truth, minlength=len(models)), 0.5) / len(truth))
    if len(ways) == 2:
        ways, log_evidences = _better_trees(log_evidences, truth, log_prior)
    stacking = _stack(log_evidences, truth, log_prior, level)
    stacked = _stacked_left_out(log_evidences, truth, log_prior, level, stacking.softness, rng)
    after = np.stack([log_losses(part + log_prior, truth) for part in stacked])
    if gridded is not None:
        known_loss = ~np.isnan(loss[usable])
        mean, error = _gain(loss[None, usable][:, known_loss], after[:1, known_loss])
    else:
        before = np.empty(level.shape)
        for place, each, at in zip(before, log_evidences, level, strict=True):
            tempered = coarsening.apply(each[:, 0], at if objects.has_errors else None)
            factor = missingness.weight * each[:, -1] if gaps else 0.0
            place[:] = log_losses(tempered + factor + log_prior, truth)
        mean, error = _gain(before, after)
    if not wanted and mean <= error:
        return None
    base_models = learn(training, ways, N_TREES)
    known = [
        BaseOutputs(copy[usable], *of_copy)
        for copy, *of_copy in zip(copies, log_evidences, stacked, level, strict=True)
    ]
    nonconformity = learn_nonconformity(known, truth, log_prior, scale)
    return Ensemble(base_models, gridded, stacking, nonconformity, mean, error, wanted)


def can_be_stacked(training: TrainingSet) -> bool:
    """Whether the base models know the noise of the objects, and every fold holds two of them."""
    if training.objects.covariance is not None or isinstance(training.noise, PerClassNoise):
        return False
    return kind_of(training.noise) is NoiseKind.GAUSSIAN and len(training) >= 2 * FOLDS


def is_worth_a_stack(gain: float, n: int) -> bool:
    """Whether a gain of the coarsened posterior over the plain one, in nats for each of n objects, is real and matters."""
    return gain >= least_gain(n)


def least_gain(n: int) -> float:
    """Return what each of n objects must gain, in nats."""
    return max(LEAST_GAIN, LEAST_TOTAL_GAIN / n)


def objects_to_learn_from(training: TrainingSet, rows: IntArray) -> IntArray:
    """Return some rows of a training set, and more of the classes that have next to no members among them.

    Parameters
    ----------
    training : TrainingSet
        The rows to add are drawn by its generator.
    rows : (r,)
        Rising.

    Returns
    -------
    (r or more,)
        Rising.
    """
    if len(rows) == len(training):
        return rows
    found = np.bincount(training.label[rows], minlength=training.n_classes)
    more = [rows]
    for number in np.flatnonzero(found < np.minimum(training.counts, LEAST_MEMBERS)).tolist():
        rest = np.setdiff1d(np.flatnonzero(training.label == number), rows)
        wanted = min(LEAST_MEMBERS - int(found[number]), len(rest))
        more.append(training.rng.choice(rest, wanted, replace=False))
    return np.sort(np.concatenate(more))


def _parts(training: TrainingSet, left_out: BoolArray) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Objects to be left out, and those to learn from; the only member of a class is always among the latter."""
    fold = _deal(training.label, training.rng)
    alone = training.counts[training.label] < 2
    for number in np.unique(fold):
        yield (fold == number) & left_out, (fold != number) | alone


def _better_trees(
    log_evidences: FloatArray, label: IntArray, log_prior: FloatArray
) -> tuple[tuple[bool], FloatArray]:
    """Whether trees should see gaps, from the outputs of both kinds; and all outputs without the worse kind."""
    hidden, seen = (
        np.stack([log_losses(part[:, column] + log_prior, label) for part in log_evidences])
        for column in (_TREES, _TREES + 1)
    )
    mean, error = _gain(hidden, seen)
    return (mean > error,), np.delete(log_evidences, _TREES if mean > error else _TREES + 1, axis=2)


def _gain(before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Mean gain of losses (levels, n), and its standard error: copies of an object are worth one."""
    gain = (before - after).mean(axis=0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _stack(
    log_evidences: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    level: FloatArray,
    softness: float | None = None,
) -> Stacking:
    n_levels, n = log_evidences.shape[:2]
    return learn_stacking(
        log_evidences.reshape(n_levels * n, *log_evidences.shape[2:]),
        np.tile(label, n_levels),
        log_prior,
        level.ravel(),
        n,
        softness=softness,
    )


def _stacked_left_out(
    log_evidences: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    level: FloatArray,
    softness: float,
    rng: np.random.Generator,
) -> FloatArray:
    """The stack (levels, n, k) of objects that the weights had not seen either; they told one of four kinds of softness."""
    out = np.empty((*level.shape, len(log_prior)))
    fold = _deal(label, rng) % 2
    for number in range(2):
        held = fold == number
        stacking = _stack(log_evidences[:, ~held], label[~held], log_prior, level[:, ~held], softness)
        for place, part, at in zip(out, log_evidences, level, strict=True):
            place[held] = stacking.apply(part[held], at[held])
    return out


def _deal(label: IntArray, rng: np.random.Generator) -> IntArray:
    """Return (n,): folds that each have their share of every class."""
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % FOLDS
    return fold


def _told_by_level(level: FloatArray, label: IntArray) -> float:
    """Share of the variance of the noise levels (n,) that the classes explain."""
    count = np.maximum(np.bincount(label), 1)
    mean = np.bincount(label, weights=level) / count
    total = float(((level - level.mean()) ** 2).sum())
    return 1.0 - float(((level - mean[label]) ** 2).sum()) / total if total > 0 else 0.0

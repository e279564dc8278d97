"""When a stack of base models is learned, and how.

A stack is learned where left-out training objects gain by a coarsened posterior over the plain one,

    gain >= max(0.02, 1.2 / n) nats an object,     n training objects

or where a few trees, or the members in a few of the columns, gain as much beside the class models
(`badac.calibration.stacking.gate`): an exponent of 1 does not say that nothing else tells the classes better. The class models
are right otherwise, and nothing is better than they are. In few objects a gain is chance: two free numbers (exponent and
share of contaminated objects) gain one nat of all objects together where nothing is wrong (Wilks 1938), so that much must be
gained in all. So the rule is the same at any number of objects.

Every base model is asked about objects that it had not seen: as they are, and again with known noise added (values drawn, error
bars grown accordingly), so that the weights (`badac.calibration.stacking.weights`) and what is normal
(`badac.calibration.null_distribution`) hold for noisier objects than any in training. Trees are grown once, each without a
fifth of the objects, and are asked about those (out of bag: Breiman 1996). Class models are learned again without a fifth of
the objects at a time (a third, of more than 300); of many objects some are left out at once, and 20,000 others are learned
from. 1,500 left-out objects tell the weights as well as all, so that the cost is bounded; trees see every object. They may see
the gaps of an object if left-out objects gain by that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from badac.calibration.coarsening import Coarsening, FloatArray, IntArray
from badac.calibration.missingness import Missingness, left_out_log_probability, shares
from badac.calibration.null_distribution import learn_nonconformity
from badac.calibration.stacking.all_classes import log_evidence_of_kind
from badac.calibration.stacking.base_models import (
    BaseModels,
    BaseOutputs,
    kinds,
    learn_each_again,
    learn_kinds,
)
from badac.calibration.stacking.ensemble import Ensemble, noise_levels
from badac.calibration.stacking.samples import at_most
from badac.calibration.stacking.telling_columns import InColumns, learn_in, learn_in_again
from badac.calibration.stacking.trees import N_KEPT, N_TREES, TO_CHOOSE_WITH, Copies, Trees, grow
from badac.calibration.stacking.weights import Stacking, learn_stacking, log_losses
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.added_noise import add_noise
from badac.data.concatenation import concatenate
from badac.data.measurements import Measurements
from badac.evidence import log_evidence
from badac.noise.kinds import NoiseKind, kind_of
from badac.noise.model import PerClassNoise
from badac.threads import in_order
from badac.training import TrainingSet

BoolArray = npt.NDArray[np.bool_]

FOLDS = 5
# Of more objects than this a third less teaches nearly as much, and class models are learned again three times (asteroids and
# supernovae of benchmarks/default.py, 410 and 309 objects, seeds 500 and 501: log-loss .583 in five parts, .581 in three).
MOST_IN_FIVE, FEW_FOLDS = 300, 3
# Nats an object by which the coarsened posterior must gain over the plain one: models that are off by less are right enough.
# The paper's simulated classes with Gaussian noise gain 0.0015 at most (15,000 objects); settled on real sets.
LEAST_GAIN = 0.02
# Nats of all objects together: a little more than the one that chance gains, and LEAST_GAIN for 60 objects.
LEAST_TOTAL_GAIN = 1.2
# So many left-out objects tell the weights.
MOST_LEFT_OUT = 1500
# More objects than this teach nobody: not the trees, each of which sees a few thousand of them.
MOST_LEARNED = 100_000
# Of more objects than the first all are left out at once; the others, as many as the second, teach the class models again.
MOST_IN_FOLDS, MOST_RELEARNED = 4500, 20_000
# Where the error bars alone name the class, weights that follow them would read it off: no stack there.
MOST_TOLD = 0.8
# Noise added to copies of left-out objects, in units of each point's spread: the weights have three knots. Trees, which learn
# from their copies, see more of them.
LEVELS = (0.0, 0.3, 1.5)
TREE_LEVELS = (0.0, 0.1, 0.3, 0.8, 2.0)


def learn_ensemble(
    training: TrainingSet,
    models: Sequence[ClassModel],
    single: tuple[Coarsening, Missingness],
    told: BoolArray,
    *,
    use_gaps: bool = True,
    columns: IntArray | None = None,
    invited: bool = False,
) -> Ensemble | None:
    """Learn a stack, where the coarsened posterior gains over the plain one, or trees beside it do.

    Threads are those to spare (`badac._kernels.spare_threads`).

    Parameters
    ----------
    training : TrainingSet
    models : k fitted class models
        Learned again without a part of the objects.
    single : Coarsening and Missingness
        The posterior of the class models alone, which the stack is compared with.
    told : (n,)
        Which of the objects told the coarsening: some of them tell the weights.
    use_gaps : bool
        Whether trees may see the gaps of an object.
    columns : (c,), optional
        In which classes are learned as well (`badac.calibration.stacking.telling_columns`).
    invited : bool
        Whether others were found to tell more (`badac.calibration.stacking.gate`), where a stack is not wanted anyway
        (`is_wanted`). Then there is a stack only if probabilities
        follow it; what is strange is left to the class models, which hold.
    """
    coarsening, missingness = single
    wanted = is_wanted(coarsening, len(training))
    if not can_be_stacked(training) or not (wanted or invited):
        return None
    objects, label, scale, rng = training.objects, training.label, training.scales.scale, training.rng
    if told_by_level(noise_levels(objects, scale), label) > MOST_TOLD:
        return None
    levels, of_trees = (LEVELS, TREE_LEVELS) if objects.has_errors else (LEVELS[:1], TREE_LEVELS[:1])
    left_out = _to_leave_out(training, told)
    if not left_out.any():
        return None
    gaps = missingness.weight > 0
    # It knows no labels, so it may know the objects that are left out; and it is asked about all copies, so it is a simple one.
    known = at_most(training, MOST_RELEARNED).objects
    blind = Population(shape="gaussian").described(known, training.noise, rng, training.scales)
    asked = np.flatnonzero(left_out)
    copies = [add_noise(objects[asked], level * scale, rng) for level in levels]
    seen = Copies.of(training, blind, of_trees)
    if use_gaps and not objects.complete:
        trees, unseen = _grow_the_better(training, seen, asked, copies)
    else:
        trees, unseen = grow(training, seen, sees_gaps=False)
    of_gaps = left_out_log_probability(objects.observed, label, asked, training.n_classes)
    of_columns: tuple[tuple[InColumns, ...], ...] = ()
    if columns is not None:
        apart = training.with_generator(rng.spawn(1)[0])
        of_columns = (learn_in(columns, at_most(apart, MOST_RELEARNED)),)
    log_evidences = np.stack(
        [
            *_of_class_models(training, models, asked, copies),
            *(_in_columns(apart, own, asked, copies) for own in of_columns),
            _of_trees(trees, unseen[asked], copies),
            *([np.tile(of_gaps, (len(copies), 1, 1))] if gaps else []),
        ],
        axis=2,
    )
    usable = ~np.isnan(log_evidences).any(axis=(0, 2, 3))
    log_evidences, asked, copies = log_evidences[:, usable], asked[usable], [copy[usable] for copy in copies]
    truth = label[asked]
    level = np.stack([noise_levels(copy, scale) for copy in copies])
    log_prior = np.log(np.maximum(np.bincount(truth, minlength=len(models)), 0.5) / len(truth))
    stacking = stack(log_evidences, truth, log_prior, level)
    stacked = stacked_left_out(log_evidences, truth, log_prior, level, stacking, rng)
    after = np.stack([log_losses(part + log_prior, truth) for part in stacked])
    before = np.empty(level.shape)
    for place, each, at in zip(before, log_evidences, level, strict=True):
        tempered = coarsening.apply(each[:, 0], at if objects.has_errors else None)
        factor = missingness.weight * each[:, -1] if gaps else 0.0
        place[:] = log_losses(tempered + factor + log_prior, truth)
    mean, error = gain_of(before, after)
    if not wanted and mean <= error:
        return None
    share = shares(objects.observed, label, training.n_classes) if gaps else None
    base_models = BaseModels((*learn_kinds(training), *of_columns), (trees.first(N_KEPT),), share)
    outputs = [BaseOutputs(*of_copy) for of_copy in zip(copies, log_evidences, stacked, level, strict=True)]
    nonconformity = learn_nonconformity(outputs, truth, log_prior, scale)
    return Ensemble(base_models, None, stacking, nonconformity, mean, error, wanted)


def can_be_stacked(training: TrainingSet) -> bool:
    """Whether the base models know the noise of the objects, and every fold holds two of them."""
    if training.objects.covariance is not None or isinstance(training.noise, PerClassNoise):
        return False
    return kind_of(training.noise) is NoiseKind.GAUSSIAN and len(training) >= 2 * FOLDS


def is_wanted(coarsening: Coarsening, n: int) -> bool:
    """Whether n objects that tell the weights gain so much by the coarsened posterior that the class models are not right."""
    # An exponent above 1 says that a density is smoother than its class, not that it is of the wrong shape.
    return coarsening.exponent <= 1.0 and is_worth_a_stack(coarsening.gain, n)


def is_worth_a_stack(gain: float, n: int) -> bool:
    """Whether a gain of the coarsened posterior over the plain one, in nats for each of n objects, is real and matters."""
    return gain >= least_gain(n)


def least_gain(n: int) -> float:
    """Return what each of n objects must gain, in nats."""
    return max(LEAST_GAIN, LEAST_TOTAL_GAIN / n)


def _to_leave_out(training: TrainingSet, may: BoolArray) -> BoolArray:
    """Which objects (n,) to leave out, of those that may be; the only member of a class is never left out: it says nothing."""
    order = training.rng.permutation(len(training))
    order = order[may[order] & (training.counts[training.label[order]] > 1)]
    left_out = np.zeros(len(training), dtype=np.bool_)
    left_out[order[:MOST_LEFT_OUT]] = True
    if len(training) > MOST_IN_FOLDS:
        # All at once: no class may lose more than half of its members.
        for number in np.flatnonzero(2 * np.bincount(training.label[left_out]) > training.counts).tolist():
            members = np.flatnonzero(left_out & (training.label == number))
            left_out[members[training.counts[number] // 2 :]] = False
    return left_out


def _parts(training: TrainingSet, asked: IntArray) -> Iterator[tuple[IntArray, TrainingSet]]:
    """Places in `asked` (r,) of objects to be left out together, and those to learn from, with a generator of their own."""
    held = np.zeros(len(training), dtype=np.bool_)
    if len(training) > MOST_IN_FOLDS:
        held[asked] = True
        yield np.arange(len(asked)), at_most(training.take(~held), MOST_RELEARNED)
        return
    fold = deal(training.label, training.rng, FOLDS if len(training) <= MOST_IN_FIVE else FEW_FOLDS)
    # The only member of a class is always learned from.
    alone = training.counts[training.label] < 2
    for number in np.unique(fold[asked]):
        rest = training.take((fold != number) | alone)
        yield np.flatnonzero(fold[asked] == number), rest.with_generator(training.rng.spawn(1)[0])


def _of_class_models(
    training: TrainingSet,
    models: Sequence[ClassModel],
    asked: IntArray,
    copies: Sequence[Measurements],
) -> FloatArray:
    """Log evidence (o, levels, r, k) of the copies of objects (r,) under class models and `kinds` that had not seen them."""
    out = np.empty((1 + len(kinds()), len(copies), len(asked), len(models)))

    def ask(part: tuple[IntArray, TrainingSet]) -> None:
        held, rest = part
        everyone = concatenate([copy[held] for copy in copies])
        of_models = log_evidence(learn_each_again(models, rest), everyone)
        of_kinds = (log_evidence_of_kind(own, everyone) for own in learn_kinds(rest))
        for row, found in enumerate((of_models, *of_kinds)):
            out[row][:, held] = found.reshape(len(copies), len(held), -1)

    # Some parts side by side.
    for _ in in_order(ask, _parts(training, asked)):
        pass
    return out


def _in_columns(
    training: TrainingSet, models: Sequence[InColumns], asked: IntArray, copies: Sequence[Measurements]
) -> FloatArray:
    """Log evidence (levels, r, k) of the copies of objects (r,) under classes in some columns that had not seen them."""
    out = np.empty((len(copies), len(asked), len(models)))

    def ask(part: tuple[IntArray, TrainingSet]) -> None:
        held, rest = part
        everyone = concatenate([copy[held] for copy in copies])
        out[:, held] = log_evidence(learn_in_again(models, rest), everyone).reshape(
            len(copies), len(held), -1
        )

    for _ in in_order(ask, _parts(training, asked)):
        pass
    return out


def _of_trees(trees: Trees, unseen: BoolArray, copies: Sequence[Measurements]) -> FloatArray:
    """Log evidence (levels, r, k) of the copies of objects by the trees that had not seen them, (r, t)."""
    return np.stack([trees.log_evidence(copy, unseen) for copy in copies])


def _grow_the_better(
    training: TrainingSet, seen: Copies, asked: IntArray, copies: Sequence[Measurements]
) -> tuple[Trees, BoolArray]:
    """Grow trees that see gaps if left-out objects gain by it, else trees that do not: a few of both, more of the better."""
    label = training.label[asked]
    log_prior = np.log(np.maximum(np.bincount(label, minlength=training.n_classes), 0.5) / len(label))
    few, losses = [], []
    for way in (False, True):
        trees, unseen = grow(training, seen, sees_gaps=way, n_trees=TO_CHOOSE_WITH)
        told = _of_trees(trees, unseen[asked], copies)
        few.append((trees, unseen))
        losses.append(np.stack([log_losses(part + log_prior, label) for part in told]))
    mean, error = gain_of(*losses)
    trees, unseen = few[int(mean > error)]
    rest, unseen_by_rest = grow(training, seen, sees_gaps=trees.sees_gaps, n_trees=N_TREES - TO_CHOOSE_WITH)
    return trees.and_more(rest), np.hstack([unseen, unseen_by_rest])


def gain_of(before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Mean gain of losses (levels, n), and its standard error: copies of an object are worth one."""
    gain = (before - after).mean(axis=0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def stack(
    log_evidences: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    level: FloatArray,
    like: Stacking | None = None,
) -> Stacking:
    """Learn weights from base outputs (levels, n, o, k) of left-out objects; `like` is where the search begins."""
    n_levels, n = log_evidences.shape[:2]
    return learn_stacking(
        log_evidences.reshape(n_levels * n, *log_evidences.shape[2:]),
        np.tile(label, n_levels),
        log_prior,
        level.ravel(),
        n,
        like=like,
    )


def stacked_left_out(
    log_evidences: FloatArray,
    label: IntArray,
    log_prior: FloatArray,
    level: FloatArray,
    like: Stacking,
    rng: np.random.Generator,
) -> FloatArray:
    """The stack (levels, n, k) of objects that the weights had not seen either; they told one of four kinds of softness."""
    out = np.empty((*level.shape, len(log_prior)))
    fold = deal(label, rng) % 2
    for number in range(2):
        held = fold == number
        stacking = stack(log_evidences[:, ~held], label[~held], log_prior, level[:, ~held], like)
        for place, part, at in zip(out, log_evidences, level, strict=True):
            place[held] = stacking.apply(part[held], at[held])
    return out


def deal(label: IntArray, rng: np.random.Generator, folds: int = FOLDS) -> IntArray:
    """Return (n,): folds that each have their share of every class."""
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % folds
    return fold


def told_by_level(level: FloatArray, label: IntArray) -> float:
    """Share of the variance of the noise levels (n,) that the classes explain."""
    count = np.maximum(np.bincount(label), 1)
    mean = np.bincount(label, weights=level) / count
    total = float(((level - level.mean()) ** 2).sum())
    return 1.0 - float(((level - mean[label]) ** 2).sum()) / total if total > 0 else 0.0

"""The stack of objects with points of their own: the class models at these points, and trees on what objects are like there.

The class models see every point where it is. In the stack's training all evidence of an object, that of its own class and that
of every other, is by classes learned again without its part of the objects (`left_out_evidence`). Were its own class alone
learned without it, trees would tell which class that was, wherever one wild member moves a class.

Trees ask for the latent positions of an object under all training objects and for the columns beside its curve
(`badac.calibration.stacking.latent_columns`). Instances and pointwise densities, which need columns, are not among the base
models: on positions of ten dimensions they say what the class models say better.

Every object is asked of trees that had not seen it. No copies with noise added are among them, as there are on a grid
(`badac.calibration.stacking.learning`): an object's own noise is in the width of its positions, and on the SPCC trees that were
grown on noisier copies too told objects as they are worse (log-loss .29 for .26, 1,103 objects, one draw). All training objects
grow trees; some thousand tell the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from badac.calibration.coarsening import Coarsening, FloatArray, IntArray
from badac.calibration.null_distribution import learn_nonconformity
from badac.calibration.stacking.base_models import BaseModels, BaseOutputs, learn_each_again
from badac.calibration.stacking.coverage import Coverage
from badac.calibration.stacking.ensemble import Ensemble, noise_levels
from badac.calibration.stacking.gate import Gate
from badac.calibration.stacking.latent_columns import LatentColumns
from badac.calibration.stacking.learning import (
    MOST_RELEARNED,
    MOST_TOLD,
    can_be_stacked,
    deal,
    gain_of,
    is_worth_a_stack,
    least_gain,
    stack,
    stacked_left_out,
    told_by_level,
)
from badac.calibration.stacking.samples import at_most
from badac.calibration.stacking.trees import Copies, grow
from badac.calibration.stacking.weights import log_losses
from badac.classes.model import ClassModel
from badac.classes.population.population import Population
from badac.data.measurements import Measurements
from badac.evidence import log_evidence
from badac.threads import each_apart
from badac.training import TrainingSet

MOST_LEFT_OUT = 1500  # objects that tell the weights and what is normal, by cost
# Parts of the objects that are left out in turn: every one costs a fit of all classes, and classes learned from much less than
# all are less sure than those that judge. With 3 the biased SPCC with photo-z had a log-loss of 1.22, with 5 1.01, with 6 1.02
# (benchmarks/spcc.py, draw 0).
PARTS = 5


# From class models and the objects that they were learned from to the log Bayes factor (n,) of an anomaly in other objects.
Deviating = Callable[[Sequence[ClassModel], TrainingSet], Callable[[Measurements], FloatArray]]


def left_out_evidence(
    training: TrainingSet,
    models: Sequence[ClassModel],
    deviating: Deviating | None = None,
    *,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray | None]:
    """Return (n, k): the log evidence of every object under classes learned again without its part of the objects.

    And (n,), their log Bayes factors of an anomaly under the same, where `deviating` is given.

    Parameters
    ----------
    training : TrainingSet
        The parts are drawn by its generator, each with its share of every class; the only member of a class is in none.
    models : k fitted class models
        Learned again with their choices kept, where they can (`badac.classes.model.Refittable`).
    """
    out, factor = np.empty((len(training), len(models))), np.zeros(len(training))
    part = deal(training.label, training.rng, PARTS)
    alone = training.counts[training.label] < 2

    def ask(number: int, rng: np.random.Generator) -> None:
        held = part == number
        if held.any():
            rest, asked = training.take(~held | alone).with_generator(rng), training.objects[held]
            again = learn_each_again(models, rest)
            out[held] = log_evidence(again, asked)
            if deviating is not None:
                factor[held] = deviating(again, rest)(asked)

    each_apart(ask, PARTS, training.rng, n_threads)
    return out, None if deviating is None else factor


def learn_at_points(
    training: TrainingSet,
    models: Sequence[ClassModel],
    coarsening: Coarsening,
    rows: IntArray,
    deviating: Deviating | None = None,
    *,
    n_threads: int = 1,
) -> Ensemble | None:
    """Learn a stack, where the coarsened posterior gains over the plain one, or trees beside it do.

    Parameters
    ----------
    training : TrainingSet
        With points of their own.
    models : k fitted class models
    coarsening : Coarsening
        The posterior of the class models alone, which the stack is compared with.
    rows : (r,)
        Objects that told the coarsening, and tell the weights.
    deviating : Deviating, optional
        Learns what an anomaly is, where strangeness asks for it.
    """
    if not can_be_stacked(training):
        return None
    label, rng, scale = training.label, training.rng, training.scales.scale
    level = noise_levels(training.objects[rows], scale)
    if told_by_level(level, label[rows]) > MOST_TOLD:
        return None
    share = np.maximum(np.bincount(label[rows], minlength=len(models)), 0.5)
    log_prior = np.log(share / share.sum())
    evidence, factor = left_out_evidence(training, models, deviating, n_threads=n_threads)
    alone = coarsening.apply(evidence[rows], level if training.objects.has_errors else None)
    columns, seen = LatentColumns.of(training, evidence)
    latent = replace(training, objects=seen, scales=columns.scales)
    wanted = coarsening.exponent <= 1.0 and is_worth_a_stack(coarsening.gain, len(rows))
    if not wanted:
        gate = Gate.of(latent.take(rows), alone + log_prior, least_gain(len(rows)))
        if gate is None or not gate.trees_tell_more():
            return None
    # It knows no labels, so it may know the objects that are left out.
    known = at_most(latent, MOST_RELEARNED).objects
    blind = Population(shape="gaussian").fit(known, training.noise, rng, latent.scales)
    trees, unseen = grow(latent, Copies.of(latent, blind, (0.0,)), sees_gaps=False, n_threads=n_threads)
    chosen = np.flatnonzero(training.counts[label[rows]] > 1)
    chosen = chosen[np.sort(rng.permutation(len(chosen))[:MOST_LEFT_OUT])]
    asked, truth = rows[chosen], label[rows[chosen]]
    told = trees.log_evidence(seen[asked], unseen[asked], n_threads=n_threads)
    log_evidences = np.stack([evidence[asked], told], axis=1)[None]
    levels = level[None, chosen]
    stacking = stack(log_evidences, truth, log_prior, levels)
    stacked = stacked_left_out(log_evidences, truth, log_prior, levels, stacking, rng)
    after = log_losses(stacked[0] + log_prior, truth)
    mean, error = gain_of(log_losses(alone[chosen] + log_prior, truth)[None], after[None])
    if not wanted and mean <= error:
        return None
    factor = None if factor is None else factor[asked]
    outputs = [BaseOutputs(training.objects[asked], log_evidences[0], stacked[0], levels[0], factor)]
    nonconformity = learn_nonconformity(outputs, truth, log_prior, scale[:1], column=0)
    return Ensemble(
        BaseModels((), (trees,), None),
        columns,
        stacking,
        nonconformity,
        mean,
        error,
        wanted,
        coverage=Coverage.of(training.objects),
    )

"""Whether trees would tell left-out objects better than the class models do: asked cheaply, before a stack is learned.

    log P(class | d) = a log P_models(class | d) + b log P_trees(class | d) + constant

A few randomised trees are grown on a share of at most a thousand objects, and each object is asked of the trees that
had not seen it (out of bag: Breiman 1996). The two weights are learned on one half of the objects and judged on the other. No
noisy copies, no folds: it takes a tenth of a second, and only opens the gate. What the stack is worth is found by the stack.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from badac import _kernels
from badac._kernels.trees import Growth
from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.stacking.trees import draw, not_drawn
from badac.calibration.stacking.weights import log_losses
from badac.training import TrainingSet

_OBJECTS = 1000  # tell a gain of 0.02 nats
# Trees, each grown from so large a share of the objects: 30 of them had not seen an object.
_TREES, _SHARE = 100, 0.7
_LEAST_IN_LEAF = 2
_SURE = 2.0  # standard errors
_LEAST_OBJECTS = 60  # fewer cannot be sure of a gain that matters


def trees_tell_more(training: TrainingSet, log_posterior: FloatArray, least: float) -> bool:
    """Whether objects gain more than `least` nats each, for sure, by trees beside the class models.

    Parameters
    ----------
    training : TrainingSet
        (n, m), on a common grid.
    log_posterior : (n, k)
        Of the objects, left out of their own class; a constant per object does not matter.
    least : float
    """
    usable = np.flatnonzero(np.isfinite(log_posterior).all(axis=1) & (training.counts[training.label] > 1))
    if training.objects.own_points or len(usable) < _LEAST_OBJECTS:
        return False
    # A generator of its own: whether the gate is asked must not change what is drawn later.
    rng = np.random.default_rng(len(usable))
    if len(usable) > _OBJECTS:
        usable = np.sort(rng.choice(usable, _OBJECTS, replace=False))
    own = log_posterior[usable]
    # A loss is never negative: who loses no more than that cannot gain it, whatever trees say.
    if log_losses(own, training.label[usable]).mean() <= least:
        return False
    part = training.take(usable)
    trees, asked = _out_of_bag(part)
    own, label = own[asked], part.label[asked]
    outputs = np.stack([own - own.max(axis=1, keepdims=True), trees[asked]], axis=1)
    before = log_losses(outputs[:, 0], label)
    after = np.empty(len(label))
    half = rng.permutation(len(label)) % 2 == 0
    for held in (half, ~half):
        weights = _weights(outputs[~held], label[~held])
        after[held] = log_losses(np.einsum("nok,o->nk", outputs[held], weights), label[held])
    gain = before - after
    return bool(gain.mean() > max(least, _SURE * float(gain.std()) / np.sqrt(len(gain))))


def _out_of_bag(training: TrainingSet) -> tuple[FloatArray, IntArray]:
    """Log probabilities (n, k) by trees that had not seen the object, and the rows that any tree had not seen."""
    scales, n, k = training.scales, len(training), training.n_classes
    values = (training.objects.values - scales.centre) / scales.scale
    seen = np.clip(np.where(training.objects.observed, values, 0.0), -1e30, 1e30).astype(np.float32)
    rng = np.random.default_rng(0)
    drawn = draw(training.label, _TREES, int(_SHARE * n), rng)
    tried, seed = max(1, int(np.sqrt(seen.shape[1]))), rng.integers(2**62, size=_TREES)
    nodes = _kernels.grow_trees(Growth(seen, training.label, drawn, seed, k, tried, _LEAST_IN_LEAF))
    unseen = not_drawn(drawn, n)
    votes, count = _kernels.walk_trees(seen, nodes, unseen), unseen.sum(axis=1)
    share = np.maximum(np.bincount(training.label, minlength=k), 0.5) / n
    asked = np.flatnonzero(count > 0)
    return np.log((votes + share) / (count[:, None] + 1.0)), asked


def _weights(outputs: FloatArray, label: IntArray) -> FloatArray:
    """Weights (2,), both positive, with the least log-loss; near those of the class models alone before anything is seen."""

    def loss(log_weights: FloatArray) -> float:
        joint = np.einsum("nok,o->nk", outputs, np.exp(log_weights))
        return float(log_losses(joint, label).sum()) + 0.05 * float((log_weights**2).sum())

    found = minimize(loss, np.log([0.7, 0.3]), method="Nelder-Mead", options={"maxiter": 60})
    return np.asarray(np.exp(found.x))

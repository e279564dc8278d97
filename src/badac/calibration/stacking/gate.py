"""Whether others would tell left-out objects better than the class models do: asked cheaply, before a stack is learned.

    log P(class | d) = a log P_models(class | d) + b log P_others(class | d) + constant

The others are a few randomised trees, grown on a share of at most a thousand objects, where each object is asked of the trees
that had not seen it (out of bag: Breiman 1996); and the members in the few columns that these trees divide most by
(`badac.calibration.stacking.telling_columns`). The weights are learned on one half of the objects and judged on the other.
No noisy copies, no folds: it takes a tenth of a second, and only opens the gate. What the stack is worth is found by the stack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from badac import _kernels
from badac._kernels.trees import Growth, Nodes
from badac.cached import cached_property
from badac.calibration.coarsening import FloatArray, IntArray
from badac.calibration.stacking.telling_columns import (
    importance,
    left_out_in,
    sets_of_columns,
)
from badac.calibration.stacking.trees import draw, not_drawn
from badac.calibration.stacking.weights import log_losses
from badac.training import TrainingSet

BoolArray = npt.NDArray[np.bool_]

_OBJECTS = 1000  # tell a gain of 0.02 nats
# Trees, each grown from so large a share of the objects: 30 of them had not seen an object.
_TREES, _SHARE = 100, 0.7
_LEAST_IN_LEAF = 2
_SURE = 2.0  # standard errors
# Of columns, which have more ways to be lucky; and they must tell about as much alone as all columns do, or their classes are
# learned for little.
_SURE_OF_COLUMNS, _ALONE = 3.0, 1.1
# So many objects tell how many columns; these numbers of them are tried first.
_TO_CHOOSE_WITH, _FIRST = 400, (1, 2, 4, 8)
_EXPONENTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
_LEAST_OBJECTS = 60  # fewer cannot be sure of a gain that matters


@dataclass(frozen=True, eq=False)
class Gate:
    """Some left-out objects, what the class models say of them, and what others would.

    Attributes
    ----------
    training : TrainingSet
        (n, m), on a common grid.
    own : (n, k)
        Log posterior by the class models relative to the best, each object left out of its own class.
    half : (n,)
        Objects by which the others are weighed; the rest judges, and the other way round.
    least : float
        Nats that an object must gain.
    """

    training: TrainingSet
    own: FloatArray
    half: BoolArray
    least: float

    @classmethod
    def of(cls, training: TrainingSet, log_posterior: FloatArray, least: float) -> Gate | None:
        """Return the gate for training objects with their left-out log posterior (n, k); None where nothing can be gained."""
        usable = np.flatnonzero(
            np.isfinite(log_posterior).all(axis=1) & (training.counts[training.label] > 1)
        )
        if training.objects.own_points or len(usable) < _LEAST_OBJECTS:
            return None
        # A generator of its own: whether the gate is asked must not change what is drawn later.
        rng = np.random.default_rng(len(usable))
        if len(usable) > _OBJECTS:
            usable = np.sort(rng.choice(usable, _OBJECTS, replace=False))
        own = log_posterior[usable] - log_posterior[usable].max(axis=1, keepdims=True)
        # A loss is never negative: who loses no more than that cannot gain it, whatever others say.
        if log_losses(own, training.label[usable]).mean() <= least:
            return None
        return cls(training.take(usable), own, rng.permutation(len(usable)) % 2 == 0, least)

    @cached_property
    def _seen(self) -> npt.NDArray[np.float32]:
        """Values (n, m) in units of each point's spread, 0 where there is none."""
        scales, objects = self.training.scales, self.training.objects
        values = (objects.values - scales.centre) / scales.scale
        return np.clip(np.where(objects.observed, values, 0.0), -1e30, 1e30).astype(np.float32)

    @cached_property
    def _trees(self) -> tuple[Nodes, BoolArray]:
        """Trees, and (n, t) which of them had not seen each object."""
        training, rng = self.training, np.random.default_rng(0)
        n, k = len(training), training.n_classes
        drawn = draw(training.label, _TREES, int(_SHARE * n), rng)
        tried, seed = max(1, int(np.sqrt(self._seen.shape[1]))), rng.integers(2**62, size=_TREES)
        growth = Growth(self._seen, training.label, drawn, seed, k, tried, _LEAST_IN_LEAF)
        return _kernels.grow_trees(growth), not_drawn(drawn, n)

    @cached_property
    def _by_trees(self) -> FloatArray:
        """(n, k): log probabilities by the trees that had not seen the object."""
        trees, unseen = self._trees
        votes, count = _kernels.walk_trees(self._seen, trees, unseen), unseen.sum(axis=1)
        share = np.maximum(self.training.counts, 0.5) / len(self.training)
        return np.asarray(np.log((votes + share) / (count[:, None] + 1.0)))

    def trees_tell_more(self) -> bool:
        """Whether objects gain by trees beside the class models, for sure."""
        before = log_losses(self.own, self.training.label)
        return self._is_gained(before, self._weighed(self.own, self._by_trees), _SURE)

    def telling_columns(self) -> IntArray | None:
        """Return few columns by which objects gain beside class models and trees, for sure; None if there are none."""
        columns, training = self._columns_to_try(), self.training
        if columns is None:
            return None
        told = _by_members(training, columns)[1]
        before, after = (self._weighed(self.own, self._by_trees, *more) for more in ((), (told,)))
        return columns if self._is_gained(before, after, _SURE_OF_COLUMNS) else None

    def _columns_to_try(self) -> IntArray | None:
        """Return the largest set of columns that tells some objects as much as any does: a mixture sees in more columns.

        None where none of them tells about as much alone as the class models do.
        """
        training = self.training
        sets = sets_of_columns(importance(self._trees[0], self._seen, training.label, training.n_classes))
        rows = np.arange(0, len(training), -(-len(training) // _TO_CHOOSE_WITH))
        some = training.take(rows)
        enough = _ALONE * log_losses(self.own[rows], some.label).mean()
        first = {len(columns): _by_members(some, columns)[0] for columns in sets if len(columns) in _FIRST}
        if min((losses.mean() for losses in first.values()), default=np.inf) > enough:
            return None
        losses = np.stack(
            [
                first[len(columns)] if len(columns) in first else _by_members(some, columns)[0]
                for columns in sets
            ]
        )
        worse = losses - losses[losses.mean(axis=1).argmin()]
        error = worse.std(axis=1) / np.sqrt(losses.shape[1])
        return sets[int(np.flatnonzero(worse.mean(axis=1) <= error)[-1])]

    def _weighed(self, *outputs: FloatArray) -> FloatArray:
        """Return (n,): losses by the weighted sum of outputs (n, k), with the weights of the other half of the objects."""
        both, label = np.stack(outputs, axis=1), self.training.label
        losses = np.empty(len(label))
        for held in (self.half, ~self.half):
            weights = _weights(both[~held], label[~held])
            losses[held] = log_losses(np.einsum("nok,o->nk", both[held], weights), label[held])
        return losses

    def _is_gained(self, before: FloatArray, after: FloatArray, errors: float) -> bool:
        """Whether losses (n,) fall for sure, by more than so many standard errors."""
        gain = before - after
        return bool(gain.mean() > max(self.least, errors * float(gain.std()) / np.sqrt(len(gain))))


def _by_members(training: TrainingSet, columns: IntArray) -> tuple[FloatArray, FloatArray]:
    """Loss (n,) of each object by the members in these columns alone, and what they say of it (n, k)."""
    log_share = np.log(np.maximum(training.counts, 0.5) / len(training))
    told = left_out_in(columns, training) + log_share
    losses = (log_losses(power * told, training.label) for power in _EXPONENTS)
    return min(losses, key=np.mean), told


def _weights(outputs: FloatArray, label: IntArray) -> FloatArray:
    """Weights (o,), all positive, with the least log-loss; near those of the first alone before anything is seen."""
    others = outputs.shape[1] - 1

    def loss(log_weights: FloatArray) -> float:
        joint = np.einsum("nok,o->nk", outputs, np.exp(log_weights))
        return float(log_losses(joint, label).sum()) + 0.05 * float((log_weights**2).sum())

    start = np.log([0.7, *[0.3 / others] * others])
    found = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 60 * others})
    return np.asarray(np.exp(found.x))
